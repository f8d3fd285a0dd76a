import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { structuredPatch } from "diff";
import { codeOf, messageOf, SignalsError } from "../errors.ts";
import { createFile, replaceFile } from "../file.ts";
import { cleanLine } from "../script.ts";
import { clean } from "../text.ts";
import { realPath } from "./paths.ts";
import { readSettings } from "./settings-file.ts";

/** One file that is to become another: nothing is done before a person has seen it. */
export interface Change {
  path: string;
  /** The text that it has now; undefined for a file that is not there. */
  was: string | undefined;
  /** The text that it is to have; undefined for one that is to go. */
  text: string | undefined;
  /** Of a file that is new, or not a person's own; a settings file keeps its own. */
  mode: number;
  /** The outermost folder above it that goes with it when it is empty. */
  upTo?: string | undefined;
}

/** The outermost folder that has to be made for a file; undefined when there is one for it. */
export function missingFolder(path: string): string | undefined {
  const folder = dirname(path);
  return existsSync(folder) ? undefined : (missingFolder(folder) ?? folder);
}

// ---------------------------------------------------------------- carrying out

/** Throws `SignalsError` when a settings file cannot be changed: said before anyone is asked. */
export function requireWritable({ path }: Pick<Change, "path">, instead = "choose another --scope"): void {
  const real = realPath(path);
  const folder = dirname(missingFolder(real) ?? real);
  try {
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error(), { code: "ENOTDIR" });
    accessSync(folder, constants.W_OK);
    const found = statSync(real, { throwIfNoEntry: false });
    // The administrator may write anything, and still this one is not meant to be written.
    if (found && !(found.mode & 0o200)) throw Object.assign(new Error(), { code: "EACCES" });
    if (found) accessSync(real, constants.W_OK);
  } catch (error) {
    throw new SignalsError(
      `settings: ${path}: cannot be written (${codeOf(error)}); make it writable, or ${instead}`,
    );
  }
}

/**
 * Changes a settings file, through a symbolic link to where it leads, all or nothing, with its mode and owner kept.
 * Throws `SignalsError` when it is no longer what the person was shown.
 */
export function changeSettings(change: Change): void {
  requireUnchanged(change);
  const real = realPath(change.path);
  const found = statSync(real, { throwIfNoEntry: false });
  makeChange({ ...change, path: real, mode: found ? found.mode & 0o7777 : change.mode });
  // Only for the administrator, who works in the folder of another.
  if (found && change.text !== undefined && found.uid !== process.getuid?.()) {
    chownSync(real, found.uid, found.gid);
  }
}

/**
 * Throws `SignalsError` when a file is no longer what the person was shown. One that has become what it is to be is
 * fine: somebody else did the same.
 */
export function requireUnchanged({ path, was, text }: Change): void {
  const now = readSettings(path);
  if (now !== was && now !== text) {
    throw new SignalsError(`${path}: was changed meanwhile, and is left as it is; run this again`);
  }
}

/**
 * Writes or removes a file. Throws `SignalsError` that names it, also for a new one that somebody else was faster to
 * make: what that installation has noted of itself must not be lost.
 */
export function makeChange(change: Change): void {
  const { path, was, text, mode, upTo } = change;
  try {
    if (text === undefined) {
      rmSync(path, { force: true });
      removeEmpty(dirname(path), upTo);
    } else {
      mkdirSync(dirname(path), { recursive: true });
      if (was === undefined && isCreated(path, text, mode)) return;
      if (was === undefined) requireUnchanged(change);
      replaceFile(path, text, mode);
    }
  } catch (error) {
    if (error instanceof SignalsError) throw error;
    const done = text === undefined ? "removed" : "written";
    throw new SignalsError(
      `${path}: cannot be ${done} (${codeOf(error) ?? messageOf(error)}); mend that, and run this again`,
      { cause: error },
    );
  }
}

function isCreated(path: string, text: string, mode: number): boolean {
  try {
    createFile(path, text, mode);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** Removes empty folders, from the inner to the outermost. */
function removeEmpty(folder: string, upTo: string | undefined): void {
  if (upTo === undefined || !`${folder}/`.startsWith(`${upTo}/`)) return;
  try {
    rmdirSync(folder);
  } catch (error) {
    // It holds something, or another file of it was the last.
    if (codeOf(error) !== "ENOENT") return;
  }
  removeEmpty(dirname(folder), upTo);
}

// ---------------------------------------------------------------- showing and asking

/** The change of a file as a unified diff; its text comes from outside, so no line of it can harm a terminal. */
export function printDiff({ path, was, text }: Change): void {
  const { hunks } = structuredPatch(path, path, was ?? "", text ?? "", "", "", { context: 3 });
  cleanLine(`--- ${was === undefined ? "/dev/null" : clean(path)}`);
  cleanLine(`+++ ${text === undefined ? "/dev/null" : clean(path)}`);
  // By convention, an empty side begins one line earlier.
  const range = (start: number, count: number) => `${count === 0 ? start - 1 : start},${count}`;
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    cleanLine(`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`);
    for (const line of lines) {
      const [, sign = " ", indent = "", rest = ""] = /^(.)([ \t]*)(.*)$/s.exec(line) ?? [];
      cleanLine(`${sign}${indent}${clean(rest)}`, COLOURS[sign]);
    }
  }
}

const COLOURS: Record<string, "green" | "red"> = { "+": "green", "-": "red" };

/** Asks on stderr and reads a line of stdin, a terminal or not. The end of it, and all but `y` and `yes`, is a no. */
export async function isConfirmed(question: string): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: process.stdin });
  let answer: string | undefined;
  for await (const line of lines) {
    answer = line.trim();
    break;
  }
  // Else an open stdin, as a terminal is, would keep the process from ending.
  lines.close();
  // What a person types ends the line of the question; nothing else does.
  if (answer === undefined || !process.stdin.isTTY) process.stderr.write("\n");
  return /^y(es)?$/i.test(answer ?? "");
}
