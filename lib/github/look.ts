import * as z from "zod/mini";
import { type Source, Unreadable } from "../monitor/source.ts";
import { isBad, type Verdict } from "../monitor/verdict.ts";
import { type Api, type Listed, type Listing, pathTo, read, readAll } from "./api.ts";
import { ACTIONS_APP, CheckRunSchema, checkRunVerdicts } from "./check-run.ts";
import { CommitStatusSchema, statusVerdicts } from "./commit-status.ts";
import { isKnown, type Judged, type Subject } from "./conclusion.ts";
import type { Watch } from "./watch.ts";
import { isNamed, isOff, offVerdict, type Workflow, WorkflowSchema } from "./workflow.ts";
import {
  branchOf,
  newestConclusive,
  type WorkflowRun,
  WorkflowRunSchema,
  workflowVerdicts,
} from "./workflow-run.ts";

/** What one look at a branch, or at a pull request, found. */
export interface Seen {
  subject: Subject;
  /**
   * On all that ended well or badly; after a read that was cut off, only on what is bad, and on a branch that is not
   * there only on what is well: nobody mends the rest.
   */
  ended: Judged[];
  /** On workflows that are switched off. */
  off: Verdict[];
  /** The ids of the workflows that there are; undefined when they were not read, or not all. */
  workflows?: ReadonlySet<string> | undefined;
  /** What could not be read, or not to its end. */
  troubles: Unreadable[];
  /** What is not to be read at all, as many tokens may read neither checks nor statuses: no failure. */
  denied: Unreadable[];
  /** This is all there is, so that what was seen before and is not among it is over. */
  isWhole: boolean;
  /** Conclusions that nobody here knows. */
  unknown: string[];
  /** Why there is nothing to see, and whether that is as it should be. */
  nothing?: { status: "OK" | "UNKNOWN"; why: string } | undefined;
}

const RepositorySchema = z.object({
  id: z.number(),
  full_name: z.string().check(z.regex(/^[\w.-]+\/[\w.-]+$/)),
  default_branch: z.string(),
  html_url: z.string(),
});

const PullSchema = z.object({ state: z.string(), head: z.object({ sha: z.string() }) });

/** The rows of a list of the repository. */
type List = <Row extends { id: number }>(path: string, listing: Listing<Row>) => Promise<Listed<Row>>;

/** Looks at one branch or pull request. Throws `Unreadable` when what its workflows say cannot be read. */
export async function lookAt(source: Source, api: Api, watch: Watch, workflow?: string): Promise<Seen> {
  const { pull, hints } = watch;
  const repository = await read(source, api, pathTo`/repos/${watch.owner}/${watch.name}`, RepositorySchema);
  // Where it is now: it may have been renamed, and so may its branch.
  const [owner = "", name = ""] = repository.full_name.split("/");
  const base = pathTo`/repos/${owner}/${name}`;
  const list: List = (path, listing) => readAll(source, api, `${base}/${path}`, listing);
  const branch = pull === undefined ? (watch.branch ?? repository.default_branch) : `pull/${pull}`;
  const subject = { repository, branch, hints };
  const nothing = (status: "OK" | "UNKNOWN", why: string): Seen => ({
    ...{ subject, ended: [], off: [], troubles: [], denied: [], isWhole: true, unknown: [] },
    nothing: { status, why },
  });

  let sha: string | undefined;
  if (pull !== undefined) {
    const { state, head } = await read(source, api, `${base}/pulls/${pull}`, PullSchema);
    if (state !== "open") return nothing("OK", `${branch} of ${repository.full_name} is ${state}`);
    sha = head.sha;
  }

  // Who asks for one workflow does not ask what others say of the commit.
  const checks = workflow === undefined ? await checksOf(list, sha ?? `heads/${branch}`, subject) : [];
  const isMissing = sha === undefined && isNowhere(checks);

  const listed = await list("actions/workflows", { name: "workflows", row: WorkflowSchema });
  const cut = listed.cut ? [listed.cut] : [];
  const chosen = listed.rows.filter((one) => workflow === undefined || isNamed(one, workflow));
  if (workflow !== undefined && chosen.length === 0)
    return {
      ...nothing("UNKNOWN", `${repository.full_name} has no workflow ${workflow}`),
      ...{ troubles: cut, isWhole: cut.length === 0 },
    };

  const active = chosen.filter((one) => !isOff(one));
  const names = new Map(active.map((one) => [one.id, one.name]));
  const ids = new Set(chosen.map(({ id }) => id));
  // The runs of a workflow that was deleted are still there.
  const isListed = ({ workflow_id: id }: WorkflowRun) => (ids.has(id) ? names.has(id) : cut.length > 0);
  const counts = (run: WorkflowRun) => (sha !== undefined || branchOf(run) === branch) && isListed(run);
  const query = sha === undefined ? pathTo`branch=${branch}` : pathTo`head_sha=${sha}`;
  const runs = await runsOf(list, query, active, workflow !== undefined, counts);

  const parts = [seenOf(runs, workflowVerdicts(runs.rows, subject, names), "conclusion"), ...checks];
  const ended = parts.flatMap(({ ended }) => ended);
  const troubles = [...cut, ...parts.flatMap(({ troubles }) => troubles)];
  const denied = parts.flatMap(({ denied }) => denied);
  return {
    subject,
    ended: isMissing ? ended.filter(({ status }) => status === "OK") : ended,
    off: chosen.filter(isOff).map((one) => offVerdict(one, subject)),
    workflows: listed.cut ? undefined : new Set([...ids].map(String)),
    troubles,
    denied: denied.filter((error) => !(isMissing && isNoCommit(error))),
    isWhole: troubles.length + denied.length === 0,
    unknown: parts.flatMap(({ unknown }) => unknown),
    ...(isMissing && {
      nothing: { status: "UNKNOWN", why: `${repository.full_name} has no branch ${branch}` },
    }),
  };
}

/** The runs that count, as far back as it takes to learn how each workflow ended, within reason. */
async function runsOf(
  list: List,
  query: string,
  workflows: readonly Workflow[],
  oneByOne: boolean,
  counts: (run: WorkflowRun) => boolean,
): Promise<Listed<WorkflowRun>> {
  const found: Listed<WorkflowRun> = { rows: [] };
  for (const group of oneByOne ? workflows.map((one) => [one]) : [workflows]) {
    const path = oneByOne ? `actions/workflows/${group[0]?.id}/runs` : "actions/runs";
    const { rows, cut } = await list(`${path}?${query}&exclude_pull_requests=true`, {
      name: "workflow_runs",
      row: WorkflowRunSchema,
      most: 5,
      enough: (rows) => {
        const decided = newestConclusive(rows.filter(counts));
        return group.every(({ id }) => decided.has(id));
      },
    });
    found.rows.push(...rows.filter(counts));
    found.cut ??= cut;
  }
  return found;
}

type Part = Pick<Seen, "ended" | "troubles" | "denied" | "unknown">;

/** What others than workflows say of a commit. What cannot be read of it must not hide what the workflows say. */
async function checksOf(list: List, ref: string, subject: Subject): Promise<Part[]> {
  const statuses = await partly(async () => {
    const listing = { name: "statuses", row: CommitStatusSchema };
    const listed = await list(pathTo`commits/${ref}/status`, listing);
    return seenOf(listed, statusVerdicts(listed.rows, subject, subject.repository.html_url), "state");
  });
  const runs = await partly(async () => {
    const listing = { name: "check_runs", row: CheckRunSchema };
    const listed = await list(pathTo`commits/${ref}/check-runs`, listing);
    const rows = listed.rows.filter(({ app }) => app?.slug !== ACTIONS_APP);
    return seenOf({ ...listed, rows }, checkRunVerdicts(rows, subject), "conclusion");
  });
  return [statuses, runs];
}

async function partly(reading: () => Promise<Part>): Promise<Part> {
  try {
    return await reading();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const none = { ended: [], troubles: [], denied: [], unknown: [] };
    return isDenied(error) ? { ...none, denied: [error] } : { ...none, troubles: [error] };
  }
}

/** Of a list that was cut off, what is well proves nothing: a newer row may be missing. */
function seenOf<Key extends string>(
  { rows, cut }: Listed<{ [key in Key]?: string | null | undefined }>,
  verdicts: readonly Judged[],
  said: Key,
): Part {
  return {
    ended: verdicts.filter(({ status }) => isBad(status) || (status === "OK" && !cut)),
    troubles: cut ? [cut] : [],
    denied: [],
    unknown: rows.flatMap((row) => (isKnown(row[said]) ? [] : [row[said] ?? ""])),
  };
}

function isDenied(error: Unreadable): boolean {
  return (error.status === 403 && !error.limited) || isNoCommit(error);
}

/** As it is answered for a branch that is not there: not pushed yet, or no longer, or in a repository without any. */
function isNoCommit({ status = 0 }: Unreadable): boolean {
  return [404, 409, 422].includes(status);
}

/** A branch seems not to be there when one answer says so, and no other has found it. */
function isNowhere(parts: readonly Part[]): boolean {
  return (
    parts.some(({ denied }) => denied.some(isNoCommit)) &&
    parts.every(({ denied, troubles }) => denied.length + troubles.length > 0)
  );
}
