import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt, codeOf, SignalsError } from "./errors.ts";

/** How a process ended, and what is kept of what it said. */
export interface Ran {
  /** Its exit status, or null when a signal ended it. */
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface GroupOptions {
  cwd?: string | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  /** How long the group has to end by itself before it is killed, in milliseconds. */
  grace: number;
  /** Which part of each stream is kept, and how many bytes. The rest is read too, or it would wait for a reader. */
  keep: "first" | "last";
  bytes: number;
  /** There is more on stdout than is kept. */
  onMore?: () => void;
}

/** How long the pipes may stay open behind a process that ended: what it left running may hold them for ever. */
const LAST_WORDS_MS = 1_000;

/**
 * Runs a program to its end: without a shell, with nothing on stdin, in a process group of its own, which Ctrl-C does
 * not reach. When `stop` is aborted, the whole group is ended: first it may put away what it has, then it is killed;
 * when this process exits, it is killed at once. What the program leaves running when it ends by itself lives on.
 * Throws `SignalsError` when it cannot be started, and the reason of a `stop` that was aborted before.
 */
export async function runGroup(
  [program = "", ...args]: readonly string[],
  options: GroupOptions,
  stop: AbortSignal,
): Promise<Ran> {
  stop.throwIfAborted();
  const { cwd, env } = options;
  try {
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    return await follow(child, options, stop);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new SignalsError(`cannot be started (${code})`, { cause: error });
  }
}

async function follow(child: ChildProcess, options: GroupOptions, stop: AbortSignal): Promise<Ran> {
  const { grace, keep, bytes, onMore } = options;
  // Whatever ends us, ends it.
  const onExit = () => sendTo(child.pid, "SIGKILL");
  process.once("exit", onExit);
  let onStop = () => {};
  const stopped = new Promise<undefined>((resolve) => {
    onStop = () => resolve(undefined);
  });
  stop.addEventListener("abort", onStop, { once: true });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<Pick<Ran, "status" | "signal">>((resolve, reject) => {
    child.once("exit", (status, signal) => resolve({ status, signal }));
    child.once("error", reject);
  });
  const stdout = collect(child.stdout, keep, bytes, onMore);
  const stderr = collect(child.stderr, keep, bytes);
  try {
    let ended = await Promise.race([exited, stopped]);
    if (ended === undefined) {
      await endGroup(child.pid, grace);
      // Not even a kill ends what waits for a disk that does not answer.
      ended = (await Promise.race([exited, pause(LAST_WORDS_MS)])) ?? { status: null, signal: "SIGKILL" };
    }
    await Promise.race([closed, pause(LAST_WORDS_MS)]);
    return { ...ended, stdout: stdout(), stderr: stderr() };
  } finally {
    // What it left running does not keep this process alive.
    child.stdout?.destroy();
    child.stderr?.destroy();
    stop.removeEventListener("abort", onStop);
    process.off("exit", onExit);
  }
}

/** Reads a stream to its end. There is none when the system had no room for the process. */
function collect(
  stream: Readable | null,
  keep: GroupOptions["keep"],
  bytes: number,
  onMore?: () => void,
): () => string {
  let kept = Buffer.alloc(0);
  stream?.on("error", () => {});
  stream?.on("data", (chunk: Buffer) => {
    if (kept.length + chunk.length > bytes) onMore?.();
    if (keep === "first" && kept.length === bytes) return;
    const all = Buffer.concat([kept, chunk]);
    kept = keep === "first" ? all.subarray(0, bytes) : all.subarray(-bytes);
  });
  return () => kept.toString("utf8");
}

/** Ends a process group, be it deaf. */
async function endGroup(id: number | undefined, grace: number): Promise<void> {
  sendTo(id, "SIGTERM");
  for (let waited = 0; waited < grace && sendTo(id, 0); waited += 50) await sleep(50);
  sendTo(id, "SIGKILL");
}

/** False when nobody is left in the group. */
function sendTo(id: number | undefined, signal: NodeJS.Signals | 0): boolean {
  return id !== undefined && attempt(() => process.kill(-id, signal)) === true;
}

function pause(ms: number): Promise<undefined> {
  return sleep(ms, undefined, { ref: false });
}
