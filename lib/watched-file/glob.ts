import type { Stats } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { codeOf, SignalsError, UsageError } from "../errors.ts";
import { namePattern } from "./name-pattern.ts";

/** A file that is there. */
export interface Found {
  /** Absolute. */
  path: string;
  stats: Stats;
}

/** One part of a path: a name, a pattern for names, or any number of folders. */
type Part = string | ((name: string) => boolean) | typeof DEEP;
const DEEP = Symbol("**");

/** More are no crash dumps, but a glob that was meant otherwise. */
export const MOST_FILES = 10_000;
/** So many globs may come of the braces of one. */
export const MOST_CHOICES = 1_000;

/**
 * The files that a glob names, relative to `cwd`, in no order. `*`, `?`, `[a-z]`, `[!a-z]`, `{a,b}` and `**` are those of a
 * shell, `\` takes their meaning away, and `~/` is the home directory. As in a shell, a name that begins with a dot has
 * to be named with it, and `**` does not follow links, which may lead in circles. Folders, pipes, devices and links
 * that lead nowhere are no files.
 *
 * What cannot be read is never passed over: it throws `SignalsError` for a folder or file that cannot be looked at,
 * for a glob without a pattern that names a folder, and for too many files; `UsageError` for what is no glob.
 */
export async function filesOf(glob: string, cwd: string, signal: AbortSignal): Promise<Found[]> {
  if (glob.trim() === "") throw new UsageError("GLOB: is empty; name files, such as 'crash/*.dmp'");
  if (glob.endsWith("/"))
    throw new UsageError(`GLOB: ${glob}: names a folder; write '${glob}*' for the files in it`);
  const found = new Map<string, Stats>();
  for (const parts of alternatives(glob).map(partsOf)) {
    const root = parts[0] === "" ? "/" : cwd;
    for await (const path of walk(root, parts, signal)) {
      const stats = await statsOf(path);
      if (stats?.isDirectory() && parts.every((part) => typeof part === "string"))
        throw new SignalsError(`${path}: is a folder; write '${glob}/*' for the files in it`);
      if (stats?.isFile()) found.set(path, stats);
      if (found.size > MOST_FILES)
        throw new SignalsError(`${glob}: matches more than ${MOST_FILES} files; name fewer`);
    }
  }
  return Array.from(found, ([path, stats]) => ({ path, stats }));
}

/** Paths that may be there, of everything in a folder that the parts name. */
async function* walk(folder: string, parts: readonly Part[], signal: AbortSignal): AsyncGenerator<string> {
  const [part, ...rest] = parts;
  if (part === undefined) return yield folder;
  if (typeof part === "string") return yield* walk(join(folder, part), rest, signal);
  if (part === DEEP) yield* walk(folder, rest, signal);
  for await (const entry of await entriesOf(folder)) {
    signal.throwIfAborted();
    const path = join(folder, entry.name);
    if (part === DEEP) {
      if (entry.isDirectory() && !entry.name.startsWith(".")) yield* walk(path, parts, signal);
    } else if (part(entry.name)) {
      if (rest.length === 0) yield path;
      else if (entry.isDirectory() || entry.isSymbolicLink()) yield* walk(path, rest, signal);
    }
  }
}

async function entriesOf(folder: string) {
  try {
    return await opendir(folder);
  } catch (error) {
    return absent(error, folder) ?? [];
  }
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    return absent(error, path);
  }
}

/** Undefined for an error that means that there is none, or a link that leads nowhere. Throws for any other. */
export function absent(error: unknown, path: string): undefined {
  const code = codeOf(error);
  const isAbsent = code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";
  // A name that is no UTF-8 is listed with this in the place of what cannot be told, and is not found by that.
  if (isAbsent && !path.includes("\ufffd")) return undefined;
  throw new SignalsError(`${path}: cannot be looked at (${code})`, { cause: error });
}

/** The same glob once for each choice that its braces leave; the innermost ones are chosen first. */
function alternatives(glob: string): string[] {
  const done: string[] = [];
  const open = [glob];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [all, before = "", inner = "", after = ""] =
      /^((?:\\.|[^\\])*?)\{((?:\\.|[^\\{}])*,(?:\\.|[^\\{}])*)\}(.*)$/s.exec(next) ?? [];
    if (all === undefined) done.push(next);
    else open.push(...inner.split(/(?<!\\),/).map((choice) => `${before}${choice}${after}`));
    if (done.length + open.length > MOST_CHOICES)
      throw new UsageError(`GLOB: ${glob}: its braces leave more than ${MOST_CHOICES} choices; write fewer`);
  }
  return done;
}

function partsOf(glob: string): Part[] {
  const whole = glob.replace(/^~(?=\/)/, () => homedir().replace(/[\\*?[]/g, "\\$&"));
  const names = whole.split(/\/+/).filter((name, i) => name !== "." && (name !== "" || i === 0));
  const parts = names.map(partOf).filter((part, i, all) => part !== DEEP || all[i - 1] !== DEEP);
  // Nothing is named behind it, so all are meant.
  return parts.at(-1) === DEEP ? [...parts, partOf("*")] : parts;
}

function partOf(name: string): Part {
  if (name === "**") return DEEP;
  return /[*?[]/.test(name) ? namePattern(name) : name.replace(/\\(.)/gs, "$1");
}
