import * as z from "zod/mini";
import { UsageError } from "../errors.ts";
import type { Look } from "../monitor/poll.ts";
import { durationFrom } from "../monitor/run.ts";
import type { Source, Unreadable } from "../monitor/source.ts";
import type { Reading } from "../monitor/verdict.ts";
import { repositoryOf } from "../repository.ts";
import { formatDuration, plus, type Time } from "../time.ts";
import { type Api, githubApi, pathTo, readAll } from "./api.ts";
import {
  type Job,
  JobSchema,
  type Owner,
  queuedAt,
  RunnerSchema,
  runnerVerdicts,
  type Seen,
} from "./runners.ts";

/** The flags of `github-runners.mts`, besides `--repo`, which every monitor has. */
export const RUNNER_FLAGS = {
  org: { type: "string" },
  labels: { type: "string" },
  queued: { type: "string" },
} as const;

type Asked = { [name in keyof typeof RUNNER_FLAGS | "repo"]?: string | undefined };

/**
 * Looks at the self-hosted runners of an organisation or a repository, and at the jobs that a repository has queued.
 * Throws `UsageError` for what cannot be asked, and `Unreadable` when GitHub does not tell: also 403 and 404, which are
 * no runners that are not there.
 */
export async function lookAtRunners(
  { source, signal, now }: Pick<Look, "source" | "signal" | "now">,
  asked: Asked,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Reading> {
  const { org, repo, queued } = asked;
  if ((org === undefined) === (repo === undefined))
    throw new UsageError("--org: name an organisation with it, or a repository with --repo, and not both");
  if (org !== undefined && queued !== undefined)
    throw new UsageError("--queued: an organisation has no list of its jobs; name a repository with --repo");
  const longest = durationFrom("--queued", queued ?? USUAL);
  const patience = longest === durationFrom("--queued", USUAL) ? undefined : formatDuration(longest);
  const labels = labelsFrom(asked.labels);
  const api = await githubApi(env, signal);
  const owner = org === undefined ? repositoryOwner(repo ?? "", api) : organisation(org, api);

  const listing = { name: "runners", row: RunnerSchema, most: 20 };
  const { rows: runners, cut } = await readAll(source, api, `${owner.path}/actions/runners`, listing);
  // The rest may hold the one runner of a pool that is online.
  if (cut) throw cut;
  const none: Queue = { late: [] };
  const jobs = org === undefined ? await lateJobs(source, api, owner.path, plus(now, -longest)) : none;
  const verdicts = runnerVerdicts(owner, { runners, ...jobs, patience }, labels);
  if (jobs.isPart) return { verdicts, unread: jobs.unread };
  const gone = `${owner.name}: no such runner is registered any more, and no job is known to wait for one`;
  return { verdicts, gone };
}

/** How long a job may be queued. */
const USUAL = "15m";

/** What was read of a queue. */
type Queue = Omit<Seen, "runners"> & { unread?: Unreadable | undefined };

/** The least of a run that says whether to look at its jobs. */
const RunSchema = z.object({ id: z.number(), created_at: z.string(), updated_at: z.string() });

/** At most so many runs are asked for their jobs at one look. */
const MOST_RUNS = 20;

/**
 * The jobs that were queued before `limit` and still are. A run is listed as queued while one of its jobs is, whatever
 * its others do. GitHub gives up a job that was queued for a day; a run in which nothing moved for so long has lost
 * its jobs, and would be asked for ever.
 */
async function lateJobs(source: Source, api: Api, repository: string, limit: Time): Promise<Queue> {
  const queued = `${repository}/actions/runs?status=queued`;
  const listing = { name: "workflow_runs", row: RunSchema, most: 3 };
  const { rows, cut } = await readAll(source, api, queued, listing);
  const isOlder = (time: string, than: Time) => Date.parse(time) <= Date.parse(than);
  const runs = rows
    .filter((run) => isOlder(run.created_at, limit) && !isOlder(run.updated_at, plus(limit, -DAY_MS)))
    .sort((a, b) => a.id - b.id);
  const late: Job[] = [];
  let unread = cut;
  for (const { id } of runs.slice(0, MOST_RUNS)) {
    const path = `${repository}${pathTo`/actions/runs/${id}/jobs`}`;
    const jobs = await readAll(source, api, path, { name: "jobs", row: JobSchema, most: 3 });
    late.push(...jobs.rows.filter((job) => job.status === "queued" && isOlder(queuedAt(job), limit)));
    unread ??= jobs.cut;
  }
  return { late, unread, isPart: unread !== undefined || runs.length > MOST_RUNS };
}

const DAY_MS = 24 * 3_600_000;

function organisation(org: string, { host }: Api): Owner & { path: string } {
  if (!/^[\w.-]+$/.test(org))
    throw new UsageError(`--org: ${org}: is no organisation; write its name, such as acme`);
  return {
    name: org,
    scope: `${host}/${org}`.toLowerCase(),
    url: `https://${host}/organizations/${org}/settings/actions/runners`,
    path: pathTo`/orgs/${org}`,
  };
}

function repositoryOwner(text: string, { host }: Api): Owner & { path: string } {
  const long = repositoryOf(text) ?? text;
  const [, at = host, owner = "", name = ""] = /^(?:([^/]+)\/)?([\w.-]+)\/([\w.-]+)$/.exec(long) ?? [];
  if (at.toLowerCase() !== host || !owner || !name)
    throw new UsageError(`--repo: ${text}: is no repository of ${host}; write one such as acme/api`);
  return {
    name: `${owner}/${name}`,
    scope: `${host}/${owner}/${name}`.toLowerCase(),
    url: `https://${host}/${owner}/${name}/settings/actions/runners`,
    path: pathTo`/repos/${owner}/${name}`,
  };
}

function labelsFrom(text: string | undefined): string[] | undefined {
  if (text === undefined) return undefined;
  const labels = text.split(",").map((label) => label.trim());
  if (labels.every((label) => label !== "")) return labels;
  throw new UsageError(`--labels: ${text}: holds no label somewhere; write them as gpu,linux`);
}
