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
  command: readonly string[],
  keep: "first" | "last",
  stop: AbortSignal,
): Promise<Ran> {
  stop.throwIfAborted();
  const { stopped, forget } = listen(stop);
  try {
    return await run(command, keep, stopped);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new SignalsError(`cannot be started (${code})`, { cause: error });
  } finally {
    await forget();
  }
}

async function run(
  [program = "", ...args]: readonly string[],
  keep: "first" | "last",
  stopped: Promise<"stopped">,
): Promise<Ran> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  // Whatever ends us, ends it.
  const onExit = () => sendTo(child.pid, "SIGKILL");
  process.once("exit", onExit);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<Pick<Ran, "status" | "signal">>((resolve, reject) => {
    child.once("exit", (status, signal) => resolve({ status, signal }));
    child.once("error", reject);
  });
  const stdout = collect(child.stdout, keep);
  const stderr = collect(child.stderr, keep);
  try {
    const ended = await Promise.race([exited, stopped]);
    if (ended === "stopped") {
      await endGroup(child.pid);
      throw new SignalsError("was stopped");
    }
    await Promise.race([closed, sleep(LAST_WORDS_MS, undefined, { ref: false })]);
    return { ...ended, stdout: stdout(), stderr: stderr() };
  } finally {
    // What it left running does not keep this process alive.
    child.stdout?.destroy();
    child.stderr?.destroy();
    process.off("exit", onExit);
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
function listen(stop: AbortSignal): { stopped: Promise<"stopped">; forget(): Promise<void> } {
  let told: NodeJS.Signals | undefined;
  let end = () => {};
  const stopped = new Promise<"stopped">((resolve) => {
    end = () => resolve("stopped");
  });
  const hear = (signal: NodeJS.Signals) => {
    told = signal;
    end();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, hear);
  stop.addEventListener("abort", end, { once: true });
  const forget = async () => {
    stop.removeEventListener("abort", end);
    for (const signal of signals) process.off(signal, hear);
    // Who runs on aborts `stop` as well, and ends by itself. Others listen only to tidy up, and wait for us.
    if (!told || stop.aborted) return;
    process.kill(process.pid, told);
    // They may need a turn, and this look must not count as one that failed.
    await sleep(LAST_WORDS_MS);
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
