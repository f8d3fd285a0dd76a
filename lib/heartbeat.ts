import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, SignalsError } from "./errors.ts";
import type { CheckIn, Heartbeat } from "./session.ts";
import { timeOf } from "./time.ts";

/**
 * A sign of life is the time stamp of a small file per session, `hook/<id>` for the session's own hooks and
 * `seen/<id>` for its subagents: a hook that has nothing else to say need not rewrite the inbox. The next
 * transaction that does rewrite it folds the stamps in.
 */
const KINDS = ["hook", "seen"] as const;

/** All signs of life, in no order. A stamp in the future, after the clock was set back, is made now for good. */
export function readHeartbeats(dir: string, nowMs: number): Heartbeat[] {
  const beats = new Map<string, Heartbeat>();
  for (const kind of KINDS) {
    for (const name of list(join(dir, kind))) {
      const path = join(dir, kind, name);
      const id = decodeName(name);
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined || id === undefined) continue;
      // Whole milliseconds come back from the file system as a little less or more.
      const atMs = Math.round(stat.mtimeMs);
      if (atMs > nowMs + 1_000) restamp(path, nowMs);
      beats.set(id, { ...beats.get(id), id, [kind]: timeOf(Math.min(atMs, nowMs)) });
    }
  }
  return [...beats.values()];
}

/** Leaves the sign of life of one check-in. A subagent's counts only beside a session that is known. */
export function writeHeartbeat(dir: string, { id, subagent }: CheckIn, nowMs: number): void {
  const name = encodeName(id);
  if (subagent && statSync(join(dir, "hook", name), { throwIfNoEntry: false }) === undefined) return;
  stamp(join(dir, subagent ? "seen" : "hook", name), nowMs);
}

/** Removes the files of sessions that `isKnown` denies, once they are older than `maxAgeMs`. */
export function sweepHeartbeats(
  dir: string,
  isKnown: (id: string) => boolean,
  nowMs: number,
  maxAgeMs: number,
): void {
  for (const kind of KINDS) {
    for (const name of list(join(dir, kind))) {
      const path = join(dir, kind, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      const id = decodeName(name);
      if (stat && (id === undefined || !isKnown(id)) && nowMs - stat.mtimeMs > maxAgeMs) {
        rmSync(path, { force: true, recursive: true });
      }
    }
  }
}

function stamp(path: string, nowMs: number): void {
  const at = new Date(nowMs);
  try {
    utimesSync(path, at, at);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(path, "", { mode: 0o600 });
    utimesSync(path, at, at);
  }
}

/** A reader may lack the right to write; then the stamp is still read as now. */
function restamp(path: string, nowMs: number): void {
  try {
    stamp(path, nowMs);
  } catch {}
}

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new SignalsError(`inbox: cannot read ${dir} (${codeOf(error)}); check its permissions`, {
      cause: error,
    });
  }
}

/** The id as a file name that cannot leave its directory. */
function encodeName(id: string): string {
  return encodeURIComponent(id).replace(/^\./, "%2E");
}

function decodeName(name: string): string | undefined {
  try {
    return decodeURIComponent(name);
  } catch {
    return undefined;
  }
}
