import { closeSync, constants, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "./errors.ts";
import { replaceFile, writeAll } from "./file.ts";
import { parseTime, type Time } from "./time.ts";

/** One run of a hook that went wrong. */
export interface Failure {
  at: Time;
  /** The entry file, such as `claude-code post-tool-use.mjs`, or as much as is known of it. */
  hook: string;
  event?: string | undefined;
  session?: string | undefined;
  message: string;
}

/** The log that `doctor` reads: past this size only its newer half is kept. */
const LOG = "failures.jsonl";
const MAX_BYTES = 32 * 1024;
/** What is longer, from a client or a message, is cut: so a line is always far smaller than the log. */
const MAX_LENGTH = 500;

/** Not through a link, and not into a pipe that nobody reads. Windows has neither flag, nor such links. */
const CAREFULLY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Notes a failure in the inbox directory, which must be one that may be written into. It is a help for later and
 * never a reason to fail, so where it cannot be written it is not.
 */
export function recordFailure(dir: string, failure: Failure): void {
  const path = join(dir, LOG);
  const fields = Object.entries(failure).map(([name, value]) => [name, value?.slice(0, MAX_LENGTH)]);
  attempt(() => {
    const file = openSync(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | CAREFULLY,
      0o600,
    );
    try {
      // In one piece, so that hooks that fail together do not mix their lines.
      writeAll(file, `${JSON.stringify(Object.fromEntries(fields))}\n`);
    } finally {
      closeSync(file);
    }
    if (statSync(path).size <= MAX_BYTES) return;
    const newer = readFileSync(path)
      .subarray(-MAX_BYTES / 2)
      .toString("utf8");
    replaceFile(path, newer.slice(newer.indexOf("\n") + 1), 0o600);
  });
}

/** The failures on record, oldest first. Lines that are none are passed over. */
export function readFailures(dir: string): Failure[] {
  const path = join(dir, LOG);
  const text = attempt(() => (statSync(path).isFile() ? readFileSync(path, "utf8") : "")) ?? "";
  return text.split("\n").flatMap((line) => {
    const failure = attempt(() => JSON.parse(line) as Failure | null);
    const { at, hook, message } = failure ?? {};
    const isOne =
      typeof hook === "string" && typeof message === "string" && typeof at === "string" && parseTime(at);
    return failure && isOne ? [failure] : [];
  });
}
