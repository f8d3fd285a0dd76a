import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { parseArgs } from "node:util";
import { attempt, codeOf } from "../errors.ts";
import { clean } from "../text.ts";
import { parseDuration } from "../time.ts";
import type { Command } from "./configured.ts";
import type { PollReport } from "./poll-report.ts";
import { STATUSES } from "./verdict.ts";

/** What one poll, as a process, came to: the report that it printed, or why there is none. */
export type Ended = { report: PollReport } | { failure: string };

/** From the request to end to the end that nobody can refuse. */
const GRACE_MS = 3_000;
/** Longer than this is no report. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Runs one poll to its end, or ends it with all that it started: after so many milliseconds, or when `stop` says so. */
export async function runChild(
  { args, cwd, env }: Command,
  limitMs: number,
  stop: AbortSignal,
): Promise<Ended> {
  if (stop.aborted) return { failure: "was stopped" };
  let child: ChildProcessByStdio<null, Readable, Readable>;
  try {
    // In a group of its own: Ctrl-C is for us to hear, and what it starts ends with it.
    child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  } catch (error) {
    return { failure: `cannot be started (${codeOf(error)})` };
  }
  let stopped: string | undefined;
  let killer: NodeJS.Timeout | undefined;
  const end = (why: string) => {
    stopped ??= why;
    killGroup(child.pid, "SIGTERM");
    killer ??= setTimeout(() => killGroup(child.pid, "SIGKILL"), GRACE_MS);
  };
  const onStop = () => end("was stopped");
  // Whatever ends us, ends it.
  const onExit = () => killGroup(child.pid, "SIGKILL");
  const timer = setTimeout(() => end(`ran for more than ${limitMs / 1000}s, and was ended`), limitMs);
  stop.addEventListener("abort", onStop, { once: true });
  process.once("exit", onExit);
  try {
    const stdout = collect(child.stdout, () => end("printed too much, and was ended"));
    const stderr = collect(child.stderr, () => {});
    const { error, code = null, signal = null } = await ending(child);
    if (stopped !== undefined) killGroup(child.pid, "SIGKILL");
    if (error !== undefined) return { failure: `cannot be started (${codeOf(error)})` };
    const report = attempt(() => JSON.parse(stdout())) as unknown;
    if (isReport(report)) return { report };
    return { failure: stopped ?? failureOf(code, signal, stderr()) };
  } finally {
    clearTimeout(timer);
    clearTimeout(killer);
    stop.removeEventListener("abort", onStop);
    process.off("exit", onExit);
  }
}

/** How long the poll of a monitor with these arguments may take before it hangs: twice as long as it gives itself. */
export function limitOf(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: { timeout: { type: "string" } }, strict: false });
  const { timeout } = values;
  return Math.max(2 * ((typeof timeout === "string" && parseDuration(timeout)) || 0), 120_000);
}

/** What a stream brought until now; more than a lot of it is left out, and calls `onMuch`. */
function collect(stream: Readable, onMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MOST_BYTES) chunks.push(chunk);
    else onMuch();
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

interface Ending {
  error?: Error;
  code?: number | null;
  signal?: NodeJS.Signals | null;
}

/** The end of a process, and of what it printed; something that it left behind may hold that open. */
function ending(child: ChildProcessByStdio<null, Readable, Readable>): Promise<Ending> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ error }));
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("exit", (code, signal) => {
      const leave = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve({ code, signal });
      }, 1_000);
      child.once("close", () => clearTimeout(leave));
    });
  });
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  // It may have ended by itself.
  if (pid !== undefined) attempt(() => process.kill(-pid, signal));
}

/** The last thing that it said says most. */
function failureOf(code: number | null, signal: NodeJS.Signals | null, stderr: string): string {
  const lines = stderr.split("\n").map(clean).filter(Boolean);
  const error = lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1);
  const how = signal ? `was killed by ${signal}` : `ended with status ${code} and without a report`;
  if (error?.startsWith("error: ")) return error.slice("error: ".length);
  return error === undefined ? how : `${how}: ${error}`;
}

function isReport(value: unknown): value is PollReport {
  const report = (value ?? {}) as Partial<PollReport>;
  return (
    STATUSES.some((status) => status === report.status) &&
    typeof report.summary === "string" &&
    typeof report.at === "string" &&
    Number.isInteger(report.failures) &&
    Array.isArray(report.verdicts)
  );
}
