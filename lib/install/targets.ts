import { join, relative, resolve } from "node:path";
import { CLIENTS, HARNESSES, type Harness } from "../client.ts";
import { UsageError } from "../errors.ts";
import { inboxDirectory } from "../inbox.ts";
import { defaultInbox, type Scope, type Situation, sameFile, settingsPath, workTrees } from "./paths.ts";
import type { Request } from "./plan.ts";
import { clientsThere } from "./presence.ts";

/** A settings file of a client that is to be changed. */
export interface Target {
  harness: Harness;
  scope: Scope;
  path: string;
}

/** Why a client has nothing to change for a scope. */
interface Unfit {
  name: string;
  why: string;
  mend: string;
}

/** The settings files that a request is about, and who is left out. Throws `UsageError` when nobody is left. */
export function targetsOf(
  { harness, scope = "user" }: Request,
  situation: Situation,
): { targets: Target[]; leftOut: string[] } {
  const there = clientsThere(situation.env);
  const wanted = harness ? [harness] : there.length > 0 ? there : HARNESSES;
  const found = wanted.map((harness) => targetOf(harness, scope, situation));
  const targets = found.flatMap((one) => ("path" in one ? [one] : []));
  const unfit = found.flatMap((one) => ("why" in one ? [one] : []));
  const [first] = unfit;
  if (first && targets.length === 0)
    throw new UsageError(`--scope: ${scope}: ${first.name} ${first.why}; ${first.mend}`);
  return {
    targets,
    leftOut: unfit.map(({ name, why, mend }) => `${name} is left out, since it ${why}; for it, ${mend}`),
  };
}

/** Where a client reads the hooks of a scope. */
function targetOf(harness: Harness, scope: Scope, situation: Situation): Target | Unfit {
  const { name } = CLIENTS[harness];
  const path = settingsPath(harness, scope, situation);
  if (path === undefined)
    return { name, why: "has no settings of that kind", mend: "choose --scope user or --scope project" };
  // In the home directory, the project's settings are the user's.
  if (sameFile(path, settingsPath(harness, "user", situation))) return { harness, scope: "user", path };
  const trees = harness === "codex" && scope === "project" && workTrees(situation.cwd);
  if (trees && trees.own !== trees.first) {
    const why = "reads the hooks of a second work tree from the first one";
    return { name, why, mend: `run this in ${join(trees.first, relative(trees.own, trees.cwd))}` };
  }
  return { harness, scope, path };
}

/** An absolute path each; undefined leaves the inbox to the environment of the hooks. */
export interface InboxOfEntries {
  all: string | undefined;
  first: string | undefined;
}

/**
 * The inbox of a client's hooks. Codex may run them in the environment of another shell, so there any but the usual one
 * stands in the command.
 */
export function inboxFor({ harness }: Target, { dir }: Request, { cwd, env }: Situation): InboxOfEntries {
  return {
    all: dir === undefined ? undefined : resolve(cwd, dir),
    first: harness === "codex" ? namedInbox(env) : undefined,
  };
}

/** The inbox that an environment names; undefined for the usual one. */
export function namedInbox(env: NodeJS.ProcessEnv): string | undefined {
  const named = env["HARN_EXT_SIGNALS_DIR"] ? inboxDirectory() : undefined;
  return named === undefined || sameFile(named, defaultInbox(env)) ? undefined : named;
}
