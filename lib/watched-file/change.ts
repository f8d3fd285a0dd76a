import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Reading, Verdict } from "../monitor/verdict.ts";
import type { Time } from "../time.ts";
import { changedAt, MOST_REPORTED, pathFrom, toSeconds, type Watched } from "./files.ts";
import { absent, type Found } from "./glob.ts";

/** Of a file up to this size, in bytes, the content counts; of a larger one its size and time. */
const MOST_HASHED = 4 * 1024 * 1024;

/** What tells one content of a file from another, by path. A list, since a file may be called `__proto__`. */
export type Digests = [path: string, digest: string][];

export function isDigests(value: unknown): value is Digests {
  return Array.isArray(value) && value.every((entry) => Array.isArray(entry) && entry.length === 2);
}

export async function digestsOf(files: readonly Found[], signal: AbortSignal): Promise<Digests> {
  const digests: Digests = [];
  for (const { path, stats } of files) {
    signal.throwIfAborted();
    const digest = stats.size > MOST_HASHED ? `${stats.size} ${stats.mtimeMs}` : await hashOf(path);
    // It may have gone meanwhile.
    if (digest !== undefined) digests.push([path, digest]);
  }
  return digests;
}

async function hashOf(path: string): Promise<string | undefined> {
  try {
    return createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
  } catch (error) {
    return absent(error, path);
  }
}

/**
 * What is not as it was at the last look, as events. There is one signal for each file, however often it changes until
 * a session is told: that is its first change, and the session then sees the file as it is by then.
 */
export function changes(
  { place, cwd, glob, files }: Watched,
  before: Digests | undefined,
  digests: Digests,
  now: Time,
): Reading {
  const count = `${digests.length} file${digests.length === 1 ? "" : "s"}`;
  // Nothing lasts that could be over.
  const gone = "";
  if (before === undefined) {
    return { verdicts: [], gone, summary: `remembers ${count}; from the next look on it tells what changed` };
  }
  const [was, is] = [new Map(before), new Map(digests)];
  const times = new Map(files.map(({ path, stats }) => [path, changedAt(stats)]));
  const told: [path: string, what: string][] = [];
  for (const [path, digest] of is) {
    const old = was.get(path);
    if (old === undefined) told.push([path, `appeared, last changed at ${times.get(path)}`]);
    else if (old !== digest) told.push([path, `changed at ${times.get(path)}`]);
  }
  for (const path of was.keys()) if (!is.has(path)) told.push([path, `is gone, seen at ${toSeconds(now)}`]);

  const event = {
    status: "WARNING",
    kind: "changed",
    once: true,
    why: "Whoever works with this file may go by what it was before.",
    action: "If the work at hand depends on it, look at it as it is now: it may have changed again since.",
  } as const;
  const verdicts = told.slice(0, MOST_REPORTED).map(
    ([path, what]): Verdict => ({
      ...event,
      identity: [place, path],
      summary: `${pathFrom(cwd, path)} ${what}`,
      source_url: pathToFileURL(path).href,
    }),
  );
  if (told.length > MOST_REPORTED) {
    const summary = `More than ${MOST_REPORTED} files of ${glob} changed, appeared or went at once`;
    verdicts.push({ ...event, identity: [place, resolve(cwd, glob), "more"], summary });
  }
  if (told.length === 0) return { verdicts, gone, summary: `${count}, as at the last look` };
  return told.length === 1
    ? { verdicts, gone }
    : { verdicts, gone, summary: `${told.length} files changed, appeared or went` };
}
