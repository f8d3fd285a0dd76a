import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { codeOf } from "./errors.ts";
import { replaceFile, writeAll } from "./file.ts";
import type { Time } from "./time.ts";

/** One run of a hook that went wrong. */
export interface Failure {
  at: Time;
  /** The entry file, such as `claude-code post-tool-use`, or as much as is known of it. */
  hook: string;
  event?: string | undefined;
  session?: string | undefined;
  message: string;
}

/** The log that `doctor` reads: past this size only its newer half is kept. */
const LOG = "failures.jsonl";
const MAX_BYTES = 32 * 1024;
const MAX_MESSAGE = 500;

/**
 * Notes a failure in the inbox directory, which must be one that may be written into. It is a help for later and
 * never a reason to fail, so where it cannot be written it is not.
 */
export function recordFailure(dir: string, failure: Failure): void {
  const path = join(dir, LOG);
  const message = failure.message.slice(0, MAX_MESSAGE);
  try {
    // In one piece, so that hooks that fail together do not mix their lines; and never through a link.
    const file = openSync(
      path,
      constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | NO_FOLLOW,
      0o600,
    );
    try {
      writeAll(file, `${JSON.stringify({ ...failure, message })}\n`);
    } finally {
      closeSync(file);
    }
    if (statSync(path).size > MAX_BYTES) {
      const half = readFileSync(path, "utf8").slice(-MAX_BYTES / 2);
      replaceFile(path, half.slice(half.indexOf("\n") + 1), 0o600);
    }
  } catch {}
}

/** The failures on record, oldest first. Lines that are none are passed over. */
export function readFailures(dir: string): Failure[] {
  let text = "";
  try {
    text = readFileSync(join(dir, LOG), "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    try {
      const { at, hook, message, ...rest } = JSON.parse(line) as Failure;
      return [at, hook, message].every((field) => typeof field === "string")
        ? [{ ...rest, at, hook, message }]
        : [];
    } catch {
      return [];
    }
  });
}

/** Windows has no such flag, and no such links. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** Where it is kept what each session's person was told. */
const TOLD = "told";

/** Makes that place while all is well: a disk that is full takes no folder, but may take an empty file yet. */
export function prepareTold(dir: string): void {
  try {
    mkdirSync(join(dir, TOLD), { mode: 0o700 });
  } catch {
    // It is there, or whoever writes next finds out what is wrong.
  }
}

/**
 * Whether this is the first time that this session meets this trouble: then its person is to be told, and later ones
 * are only noise. It is remembered as an empty file, which needs neither the inbox, that may be what is broken, nor
 * room on a disk that may be full. Undefined when it cannot be remembered.
 */
export function meetsFirst(
  dir: string,
  session: string,
  trouble: string,
  nowMs: number,
): boolean | undefined {
  const path = join(dir, TOLD, `${fingerprint(session)}-${fingerprint(trouble)}`);
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") return undefined;
  }
  try {
    // What is still met is not forgotten.
    utimesSync(path, new Date(nowMs), new Date(nowMs));
  } catch {}
  return false;
}

/** Forgets what has not been met for a day. Throws the system's error. */
export function sweepTold(dir: string, nowMs: number): void {
  for (const name of readdirSync(join(dir, TOLD))) {
    const path = join(dir, TOLD, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && nowMs - stat.mtimeMs > 24 * 3_600_000) rmSync(path, { force: true, recursive: true });
  }
}

/** A short name for any text: FNV-1a, twice 32 bits. Not against anyone who makes two texts meet on purpose. */
function fingerprint(text: string): string {
  const hash = (seed: number) =>
    [...text].reduce((sum, char) => Math.imul(sum ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0, seed);
  return [0x811c9dc5, 0x050c5d1f].map((seed) => hash(seed).toString(16).padStart(8, "0")).join("");
}
