import { closeSync, fchmodSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { codeOf } from "./errors.ts";

/** Writes a file that must not be there yet, and waits until the disk has it. Throws the system's error. */
export function writeDurably(path: string, text: string, mode = 0o600): void {
  const file = openSync(path, "wx", mode);
  try {
    // Whatever the umask says.
    if (mode !== 0o600) fchmodSync(file, mode);
    writeAll(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The process that made a temporary file of `replaceFile`; undefined for any other path. */
export function temporaryOf(path: string): number | undefined {
  const pid = /\.(\d+)\.[a-z0-9]+\.tmp$/.exec(path)?.[1];
  return pid === undefined ? undefined : Number(pid);
}

/**
 * Puts a file in the place of another, all or nothing: who reads meanwhile sees the one or the other, and after a
 * failure the old one is there and nothing is left over. Throws the system's error.
 */
export function replaceFile(path: string, text: string, mode: number, move = renameSync): void {
  const beside = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
  try {
    writeDurably(beside, text, mode);
    move(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}

/**
 * The same where none may be yet: of several processes at once one makes it, and the others' error is `EEXIST`. A file
 * system that has no hard links cannot tell them apart.
 */
export function createFile(path: string, text: string, mode: number): void {
  replaceFile(path, text, mode, (from, to) => {
    try {
      linkSync(from, String(to));
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw error;
      return renameSync(from, to);
    }
    rmSync(from);
  });
}

/**
 * Writes all of a text before it returns, also into a pipe that is full for the moment. Throws the system's error, such
 * as when nobody reads any more.
 */
export function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(file, bytes, written);
    } catch (error) {
      if (codeOf(error) !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
