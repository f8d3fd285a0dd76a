import type { Stats } from "node:fs";
import { relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SignalsError } from "../errors.ts";
import type { Reading, Verdict } from "../monitor/verdict.ts";
import { formatDuration, plus, type Time, timeOf } from "../time.ts";
import type { Found } from "./glob.ts";

/** The files that a glob names. */
export interface Watched {
  /** The work tree, or the directory where there is none. */
  place: string;
  cwd: string;
  glob: string;
  /** The newest first. */
  files: Found[];
}

/** So many files are reported one by one, the newest first. */
export const MOST_REPORTED = 20;
/** A file may be so far ahead of this machine's clock, in milliseconds. */
const MOST_AHEAD = 3_600_000;

/** Each file is a condition. Of too many only the newest are, and then none is known to be over. */
export function presence({ place, cwd, glob, files }: Watched): Reading {
  const verdicts = files.slice(0, MOST_REPORTED).map(
    ({ path, stats }): Verdict => ({
      status: "WARNING",
      kind: "file",
      identity: [place, path],
      summary: `${pathFrom(cwd, path)} is there, last changed at ${changedAt(stats)}`,
      source_url: pathToFileURL(path).href,
    }),
  );
  if (files.length > MOST_REPORTED)
    return { verdicts, summary: `${files.length} files match ${glob}; the newest ${MOST_REPORTED} are told` };
  const gone = "the file is gone";
  if (files.length === 0) return { verdicts, gone, summary: `nothing matches ${glob}` };
  return { verdicts, gone };
}

/** The newest file is to be no older than this. */
export function staleness({ place, cwd, glob, files }: Watched, longest: number, now: Time): Verdict {
  const age = formatDuration(longest);
  const [newest] = files;
  const verdict = {
    kind: "stale",
    // The age too: one monitor may warn early, and another be urgent late.
    identity: [place, resolve(cwd, glob), age],
    ...(newest && { source_url: pathToFileURL(newest.path).href }),
    why: "Something was to write a file by now and did not, such as a backup.",
    action: "If it is yours to mend, see why what writes the file did not run, or failed.",
  };
  if (!newest) return { ...verdict, status: "WARNING", summary: `Nothing matches ${glob}` };
  const changed = timeOf(newest.stats.mtimeMs);
  const said = `${pathFrom(cwd, newest.path)}, last changed at ${changedAt(newest.stats)}`;
  if (changed > plus(now, MOST_AHEAD))
    throw new SignalsError(`${said}: that is still to come; set its time or this clock right`);
  return plus(changed, longest) < now
    ? { ...verdict, status: "WARNING", summary: `The newest file of ${glob} is older than ${age}: ${said}` }
    : { ...verdict, status: "OK", summary: `The newest file of ${glob}: ${said}` };
}

/** A path as a person in `cwd` would write it. */
export function pathFrom(cwd: string, path: string): string {
  const inside = relative(cwd, path);
  return inside.startsWith("..") ? path : inside;
}

export function changedAt(stats: Stats): string {
  return toSeconds(timeOf(stats.mtimeMs));
}

export function toSeconds(time: Time): string {
  return time.replace(/\.\d+Z$/, "Z");
}
