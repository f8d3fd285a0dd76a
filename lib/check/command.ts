import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt, codeOf, SignalsError } from "../errors.ts";

/** How a command ended, and what is kept of what it said. */
export interface Ran {
  /** Its exit status, or null when a signal ended it. */
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** Of each stream so much is kept, in bytes. The rest is read too, or the command would wait for a reader. */
const KEPT = 64 * 1024;
/** How long the pipes may stay open behind a command that ended: what it left running may hold them for ever. */
const LAST_WORDS_MS = 1_000;
/** How long a group has to end by itself before it is killed. */
const GRACE_MS = 2_000;

/**
 * Runs a command to its end: without a shell, with nothing on stdin, in a process group of its own. Of its output the
 * first or the last part is kept. When `stop` is aborted, or this process is told to end, the whole group is ended.
 * Throws `SignalsError` when it cannot be started or was stopped.
 */
export async function runCommand(
  [program = "", ...args]: readonly string[],
  keep: "first" | "last",
  stop: AbortSignal,
): Promise<Ran> {
  stop.throwIfAborted();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<Pick<Ran, "status" | "signal">>((resolve, reject) => {
    child.once("exit", (status, signal) => resolve({ status, signal }));
    child.once("error", reject);
  });
  const stdout = collect(child.stdout, keep);
  const stderr = collect(child.stderr, keep);
  const asked = listen(stop);
  // Whatever ends us, ends it.
  const onExit = () => sendTo(child.pid, "SIGKILL");
  process.once("exit", onExit);
  try {
    const ended = await Promise.race([exited, asked.stopped]);
    if (ended === "stopped") {
      await endGroup(child.pid);
      throw new SignalsError("was stopped");
    }
    await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    return { ...ended, stdout: stdout(), stderr: stderr() };
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new SignalsError(`cannot be started (${code})`, { cause: error });
  } finally {
    // What it left running does not keep this process alive.
    child.stdout?.destroy();
    child.stderr?.destroy();
    process.off("exit", onExit);
    asked.forget();
  }
}

/** Reads a stream to its end. There is none when the system had no room for the command. */
function collect(stream: Readable | null, keep: "first" | "last"): () => string {
  let kept = Buffer.alloc(0);
  stream?.on("error", () => {});
  stream?.on("data", (chunk: Buffer) => {
    const all = Buffer.concat([kept, chunk]);
    kept = keep === "first" ? all.subarray(0, KEPT) : all.subarray(-KEPT);
  });
  return () => kept.toString("utf8");
}

/** Whether to stop. A terminal's Ctrl-C reaches only its own group, so it has to be passed on; then it is obeyed. */
function listen(stop: AbortSignal): { stopped: Promise<"stopped">; forget(): void } {
  let told: NodeJS.Signals | undefined;
  let end = () => {};
  const stopped = new Promise<"stopped">((resolve) => {
    end = () => resolve("stopped");
  });
  const hear = (signal: NodeJS.Signals) => {
    told = signal;
    end();
  };
  // Whoever listens already aborts `stop`.
  const signals = (["SIGINT", "SIGTERM", "SIGHUP"] as const).filter((name) => !process.listenerCount(name));
  for (const signal of signals) process.on(signal, hear);
  stop.addEventListener("abort", end, { once: true });
  const forget = () => {
    stop.removeEventListener("abort", end);
    for (const signal of signals) process.off(signal, hear);
    if (told) process.kill(process.pid, told);
  };
  return { stopped, forget };
}

/** Ends a process group: first it may put away what it has, then it is killed. */
async function endGroup(id: number | undefined): Promise<void> {
  sendTo(id, "SIGTERM");
  for (let waited = 0; waited < GRACE_MS && sendTo(id, 0); waited += 50) await sleep(50);
  sendTo(id, "SIGKILL");
}

/** False when nobody is left in the group. */
function sendTo(id: number | undefined, signal: NodeJS.Signals | 0): boolean {
  return id !== undefined && attempt(() => process.kill(-id, signal)) === true;
}
