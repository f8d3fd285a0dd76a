import fs, { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Document, Severity } from "../document.ts";
import { SignalsError } from "../errors.ts";
import { look, transact } from "../inbox.ts";
import { type FireReport, fire, resolve } from "../lifecycle.ts";
import type { Time } from "../time.ts";
import { card } from "./build.ts";

/** What a worker process is to do: see the function of that name. */
export type Job =
  | ({ do: "storm" } & StormJob)
  | ({ do: "one" } & OneJob)
  | ({ do: "count" } & OneJob)
  | { do: "look"; dir: string }
  | { do: "full"; dir: string; of: "bytes" | "files" };

/** Runs one job. What it has to say goes to stdout, as JSON. */
export async function work(job: Job): Promise<void> {
  // So a file that may not grow is an error like a full disk, not the end.
  process.on("SIGXFSZ", () => {});
  if (job.do === "storm") await storm(job);
  else if (job.do === "one") print(await one(job));
  else if (job.do === "count") print(await count(job));
  else if (job.do === "look") print((await look(job.dir)).doc.signals.map(({ key }) => key));
  else print(await full(job));
}

function print(report: unknown): void {
  process.stdout.write(JSON.stringify(report));
}

// ---------------------------------------------------------------- a loop of transactions

export interface StormJob {
  dir: string;
  worker: number;
  /** Gets one line per transaction, once its outcome is known. */
  log: string;
  /** A file whose appearance ends the storm. Without it, it ends by itself after a minute. */
  stop: string;
}

/** One line of the log: what was acknowledged, by the generations that it made, or why it was refused. */
export interface Logged {
  pid: number;
  from: number;
  to: number;
  key: string;
  made?: { own: number; shared: number };
  refused?: string;
}

export const SHARED_KEY = "shared";
const LONGEST_PAUSE_MS = 20;
const LONGEST_STORM_MS = 60_000;

/** Reads, modifies and writes in a loop: in each transaction a key of its own, and one that all workers share. */
async function storm({ dir, worker, log, stop }: StormJob): Promise<void> {
  const key = `w${worker}`;
  for (const end = Date.now() + LONGEST_STORM_MS; !existsSync(stop) && Date.now() < end; ) {
    const from = Date.now();
    const change = (doc: Document, now: Time) => {
      const [first, own] = step(doc, key, now);
      const [second, shared] = step(first, SHARED_KEY, now);
      return [second, { own, shared }] as const;
    };
    const outcome = await attempt(async () => ({
      made: (await transact(dir, { change }, { onConfigFault: "throw" })).value,
    }));
    const line = { pid: process.pid, from, to: Date.now(), key, ...outcome };
    appendFileSync(log, `${JSON.stringify(line)}\n`);
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
}

/**
 * The next transition of a key: fired, escalated, resolved, fired again. Each one adds 1 to its generation, so that
 * the generation counts them, and two that made the same one show that a change was lost.
 */
export function step(doc: Document, key: string, now: Time): readonly [Document, number] {
  const signal = doc.signals.find((candidate) => candidate.key === key);
  const fired = signal?.state === "fired";
  const [next] =
    fired && signal.severity === "warning"
      ? resolve(doc, { key, producer: "storm", signature: "local", origin: "self" }, now)
      : fire(doc, report(key, fired ? "warning" : "info"), now);
  return [next, (signal?.generation ?? 0) + 1];
}

export function report(
  key: string,
  severity: Severity = "info",
  hints: FireReport["hints"] = {},
): FireReport {
  const envelope = card({ provider: "storm", summary: `The condition ${key} holds`, dedupe_key: key });
  return { key, severity, envelope, producer: "storm", signature: "local", origin: "self", hints };
}

/** What `run` returns, or the message of the `SignalsError` that it throws. Any other error ends the process. */
async function attempt<T>(run: () => Promise<T>): Promise<T | { refused: string }> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof SignalsError)) throw error;
    return { refused: error.message };
  }
}

// ---------------------------------------------------------------- one transaction, perhaps interrupted

export interface OneJob {
  dir: string;
  key: string;
  interrupt?: {
    signal: "SIGSTOP" | "SIGKILL";
    /** While the change is made (after the read, before the commit), or before the nth operation on a file. */
    at: "change" | number;
    /** A file that says, as the last thing before the signal, that it comes. */
    marker: string;
  };
}

/** What the worker knows of its change in the end. */
export type Outcome = { fired: string } | { refused: string };

/** Fires one key, and on the way sends itself a signal, once. */
async function one({ dir, key, interrupt }: OneJob): Promise<Outcome> {
  let due = interrupt !== undefined;
  const strike = () => {
    if (interrupt === undefined || !due) return;
    due = false;
    writeFileSync(interrupt.marker, "");
    process.kill(process.pid, interrupt.signal);
    // Another thread may be the one that takes the signal.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  };
  if (typeof interrupt?.at === "number") {
    const { at } = interrupt;
    beforeEachOperation((nth) => nth === at && strike());
  }
  const change = (doc: Document, now: Time) => {
    if (interrupt?.at === "change") strike();
    return [fire(doc, report(key), now)[0], undefined] as const;
  };
  return attempt(async () => {
    await transact(dir, { change }, { onConfigFault: "throw" });
    return { fired: key };
  });
}

/** How many operations on files one transaction has. */
async function count(job: OneJob): Promise<{ operations: number }> {
  let operations = 0;
  beforeEachOperation((nth) => (operations = nth));
  await one(job);
  return { operations };
}

/** Calls `spy` before each call of a function that touches files, with how many there were. Works in a CommonJS bundle. */
function beforeEachOperation(spy: (nth: number) => void): void {
  const module = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  let calls = 0;
  let inside = false;
  for (const name of Object.keys(module)) {
    const real = module[name];
    if (typeof real !== "function" || !/(Sync|^open|^close|^unlink)$/.test(name)) continue;
    module[name] = (...args) => {
      if (inside) return real(...args);
      inside = true;
      spy(++calls);
      inside = false;
      return real(...args);
    };
  }
}

// ---------------------------------------------------------------- a full disk

export interface FullReport {
  during: Outcome;
  untouched: boolean;
  left: string[];
  after: Outcome;
  keys: string[];
}

/** One transaction before the small file system that holds `dir` is full of bytes or files, one during, one after. */
async function full({ dir, of }: { dir: string; of: "bytes" | "files" }): Promise<FullReport> {
  await one({ dir, key: "before" });
  const path = join(dir, "inbox.json");
  const before = readFileSync(path, "utf8");
  const filling = join(dir, "filling");
  fs.mkdirSync(filling);
  fillWith(of === "bytes" ? Buffer.alloc(4096) : "", filling);

  const during = await one({ dir, key: "during" });
  const untouched = readFileSync(path, "utf8") === before;
  const left = [
    ...readdirSync(join(dir, "staging")),
    ...readdirSync(dir).filter((name) => /lock/.test(name)),
  ];

  rmSync(filling, { recursive: true });
  const after = await one({ dir, key: "after" });
  const { signals } = JSON.parse(readFileSync(path, "utf8")) as Document;
  return { during, untouched, left, after, keys: signals.map(({ key }) => key) };
}

function fillWith(content: Buffer | string, dir: string): void {
  for (let i = 0; i < 10_000; i++) {
    try {
      writeFileSync(join(dir, String(i)), content);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOSPC") return;
      throw error;
    }
  }
  throw new Error(`${dir} does not fill up`);
}
