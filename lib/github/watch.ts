import { branchAt, locate } from "../checkout.ts";
import type { Hints, Session } from "../document.ts";
import { attempt, UsageError } from "../errors.ts";
import { repositoryOf } from "../repository.ts";
import type { Api } from "./api.ts";

/** What somebody wants to know the CI of. */
export interface Watch {
  owner: string;
  name: string;
  /** Without one, the repository's default branch, whichever that is. */
  branch?: string | undefined;
  /** A pull request instead of a branch. */
  pull?: number | undefined;
  /** Where news of it is at home. */
  hints: Hints;
}

export interface Watches {
  all: readonly Watch[];
  /** They go with what is checked out: what was watched before is not over by that. */
  follow: boolean;
  /** Why there is nothing to watch for the moment. */
  nowhere?: string | undefined;
}

export interface CiFlags {
  live?: boolean | undefined;
  branch?: string | undefined;
  workflow?: string | undefined;
  pr?: string | undefined;
}

/**
 * What the arguments ask for. Throws `UsageError` for what is wrong with them. A checkout that served at an earlier look,
 * as `memory` knows, is none of that: it is on no branch in a rebase, and may be away for a while.
 */
export async function watchesFrom(
  flags: CiFlags,
  args: readonly string[],
  api: Api,
  sessions: () => Promise<readonly Session[]>,
  memory: Record<string, unknown>,
): Promise<Watches> {
  const { live = false, branch, pr } = flags;
  const [named] = args;
  for (const flag of ["branch", "workflow", "pr"] as const)
    if (flags[flag]?.trim() === "")
      throw new UsageError(`--${flag}: is empty; give it a value, or leave it out`);
  if (live && (named ?? branch ?? pr) !== undefined)
    throw new UsageError("--live: goes by the sessions; leave out the repository, --branch and --pr");
  if (branch !== undefined && pr !== undefined)
    throw new UsageError("--pr: a pull request has a branch of its own; leave out --branch");
  if (live) return { all: watchesOf(await sessions(), api), follow: true };

  const pull = pr === undefined ? undefined : pullFrom(pr);
  if (named !== undefined) {
    const watch = { ...repositoryFrom(named, api), branch, pull };
    return { all: [{ ...watch, hints: { repository: hintOf(watch, api) } }], follow: false };
  }
  const follow = branch === undefined && pull === undefined;
  const here = watchHere(api);
  if (typeof here === "string") {
    if (memory["checkout"] !== true) throw new UsageError(`OWNER/REPO: ${here}`);
    return { all: [], follow, nowhere: here };
  }
  memory["checkout"] = true;
  if (follow && here.branch === undefined)
    return { all: [], follow, nowhere: "no branch is checked out here; --branch names one" };
  const asked = { branch: pull === undefined ? (branch ?? here.branch) : undefined, pull };
  return { all: [{ ...here, ...asked }], follow };
}

/** The checkout that the monitor runs in, or why that serves for nothing. */
function watchHere(api: Api): Watch | string {
  // A directory that was removed has no path any more.
  const { work_tree, repository } = locate(attempt(() => process.cwd()) ?? "/");
  if (work_tree === undefined || repository === undefined)
    return "no repository is checked out here; name one";
  const found = namesOf(repository, api);
  if (!found) return `${repository}: is not on ${api.host}; name one that is, or set GITHUB_API_URL`;
  return { ...found, branch: branchAt(work_tree), hints: { repository, cwd: work_tree } };
}

/** One for each branch of a repository that is checked out in a session, at home where it was last heard from. */
function watchesOf(sessions: readonly Session[], api: Api): Watch[] {
  const watches = new Map<string, Watch>();
  for (const { work_tree, repository } of [...sessions].sort((a, b) =>
    a.last_seen < b.last_seen ? -1 : 1,
  )) {
    const found = repository === undefined ? undefined : namesOf(repository, api);
    const branch = work_tree === undefined ? undefined : branchAt(work_tree);
    if (found && branch !== undefined)
      watches.set(JSON.stringify([repository, branch]), {
        ...found,
        branch,
        hints: { repository, cwd: work_tree },
      });
  }
  // Always in one order, whoever was heard from last.
  return [...watches].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, watch]) => watch);
}

/** A repository as a person writes it: `OWNER/REPO`, with its host, or its URL. */
function repositoryFrom(text: string, api: Api): Pick<Watch, "owner" | "name"> {
  const long = repositoryOf(text) ?? text;
  const found = namesOf(long.split("/").length === 2 ? `${api.host}/${long}` : long, api);
  if (found) return found;
  throw new UsageError(
    `OWNER/REPO: ${text}: is no repository of ${api.host}; write one such as acme/api, or set GITHUB_API_URL`,
  );
}

/** The names in `host/owner/name`; undefined for a repository of another server. */
function namesOf(repository: string, api: Api): Pick<Watch, "owner" | "name"> | undefined {
  const [host = "", owner = "", name = "", ...rest] = repository.split("/");
  // Where port 22 is closed, git goes by ssh.github.com.
  const isHere = host.toLowerCase().replace(/^(ssh|www)\./, "") === api.host;
  const areNames = [owner, name].every((part) => /^[\w.-]+$/.test(part));
  return isHere && areNames && rest.length === 0 ? { owner, name } : undefined;
}

function hintOf({ owner, name }: Pick<Watch, "owner" | "name">, api: Api): string {
  return `${api.host}/${owner}/${name}`.toLowerCase();
}

function pullFrom(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--pr: ${text}: is no number of a pull request; write one such as 7`);
}
