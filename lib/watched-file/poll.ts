import { locate } from "../checkout.ts";
import { UsageError } from "../errors.ts";
import type { Reading } from "../monitor/verdict.ts";
import { parseDuration, type Time } from "../time.ts";
import { changes, digestsOf, isDigests } from "./change.ts";
import { presence, staleness, type Watched } from "./files.ts";
import { filesOf } from "./glob.ts";

export const FILE_FLAGS = { changed: { type: "boolean" }, stale: { type: "string" } } as const;

interface FileAsked {
  flags: {
    changed?: boolean | undefined;
    stale?: string | undefined;
    polls?: string | undefined;
    over?: string | undefined;
  };
  args: readonly string[];
  now: Time;
  memory: Record<string, unknown>;
  signal: AbortSignal;
}

/**
 * Looks at the files that a glob names: that they are there, what has changed since the last look, or whether the newest
 * is too old. Throws `UsageError` for wrong flags, and `SignalsError` for what cannot be read.
 */
export async function lookAtFiles(asked: FileAsked): Promise<Reading> {
  const { flags, args, now, memory, signal } = asked;
  const [glob = "", ...others] = args;
  if (others.length > 0)
    throw new UsageError(`GLOB: ${glob}: is one of several; quote it, so that the shell leaves it as it is`);
  const longest = flags.stale === undefined ? undefined : longestFrom(flags.stale);
  if (flags.changed) refuseWith(flags);
  const { cwd, work_tree: place = cwd } = locate(process.cwd());
  const watched: Watched = { place, cwd, glob, files: await filesOf(glob, cwd, signal) };
  watched.files.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs);
  if (longest !== undefined) return { verdicts: [staleness(watched, longest, now)] };
  if (!flags.changed) return presence(watched);
  const before = memory["files"];
  const digests = await digestsOf(watched.files, signal);
  memory["files"] = digests;
  return changes(watched, isDigests(before) ? before : undefined, digests, now);
}

function longestFrom(text: string): number {
  const ms = parseDuration(text) ?? 0;
  if (ms > 0) return ms;
  throw new UsageError(`--stale: ${text}: is no duration; write a whole number and a unit, such as 26h`);
}

function refuseWith(flags: FileAsked["flags"]): void {
  const other = (["stale", "polls", "over"] as const).find((flag) => flags[flag] !== undefined);
  if (other === undefined) return;
  const why =
    other === "stale" ? "asks for another look at the files" : "is for what lasts, and a change does not";
  throw new UsageError(`--${other}: ${why}; leave it out, or leave out --changed`);
}
