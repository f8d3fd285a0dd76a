import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** Writes a file that must not be there yet, and waits until the disk has it. Throws the system's error. */
export function writeDurably(path: string, text: string, mode = 0o600): void {
  const file = openSync(path, "wx", mode);
  try {
    // Whatever the umask says.
    if (mode !== 0o600) fchmodSync(file, mode);
    const bytes = Buffer.from(text);
    for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Puts a file in the place of another, all or nothing: who reads meanwhile sees the one or the other, and after a
 * failure the old one is there and nothing is left over. Throws the system's error.
 */
export function replaceFile(path: string, text: string, mode: number): void {
  const beside = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  try {
    writeDurably(beside, text, mode);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
