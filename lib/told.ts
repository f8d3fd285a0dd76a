import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "./errors.ts";

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
