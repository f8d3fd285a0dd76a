import { chmodSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { lockSync, unlockSync } from "lockfile";
import { cannotWrite, codeOf, SignalsError } from "./errors.ts";
import { type Time, timeOf } from "./time.ts";

/** How long a transaction tries before it gives up: well inside a hook's timeout. */
export const GIVE_UP_MS = 2_000;

/** A lock that one waiter saw unchanged for this long is taken over; its holder is dead, suspended, or very slow. */
const TAKE_OVER_MS = 400;

/** Thrown by the work inside a lock when its staging directory is gone: somebody took over, start again. */
export class Fenced extends Error {}

/**
 * Runs `work` with the directory's lock and a private staging directory, one at a time per process.
 *
 * The lock file alone cannot be safe: without a stale time one killed holder blocks everybody for ever, with one a
 * suspended holder wakes up and overwrites what others have committed since. So the lock only saves retries, and
 * safety lies in the staging directory: whoever gets the lock removes all others before it reads, and commits by
 * renaming out of its own. A holder that was overtaken finds its own gone, and its commit fails. This needs no clock,
 * no process id and no trust in the lock, so a waiter may break a silent lock early.
 *
 * `work` is synchronous and throws `Fenced` when its commit failed so; then it runs again while there is time.
 * Throws `SignalsError`, naming the holder, after two seconds.
 */
export function withLock<T>(dir: string, work: (stage: string) => T): Promise<T> {
  const before = queues.get(dir) ?? Promise.resolve();
  const mine = before.then(() => lockAndRun(dir, work));
  const settled = mine.then(
    () => {},
    () => {},
  );
  queues.set(dir, settled);
  return mine;
}

/** Transactions of one process wait here, not at the lock file: it cannot tell two of them apart. */
const queues = new Map<string, Promise<void>>();

async function lockAndRun<T>(dir: string, work: (stage: string) => T): Promise<T> {
  const deadline = performance.now() + GIVE_UP_MS;
  const lockPath = join(dir, "inbox.lock");
  for (;;) {
    const held = await acquire(dir, lockPath, deadline);
    let stage: string | undefined;
    try {
      stage = enterStaging(dir);
      return work(stage);
    } catch (error) {
      if (!(error instanceof Fenced)) throw error;
      if (performance.now() > deadline) throw busy(dir);
    } finally {
      if (stage) evict(stage);
      // Whoever took over has another lock there. To free that one would let a third in, which fences the second,
      // which frees the lock of the third: with many waiters nobody gets to commit any more. (The package may still
      // free it when this process exits; that is one more to be fenced, and nothing lost.)
      if (identity(lockPath) === held) unlockSync(lockPath);
    }
  }
}

/**
 * Takes the lock file, breaking one that does not change for `TAKE_OVER_MS` of our own monotonic time. Returns which
 * lock it is.
 */
async function acquire(dir: string, lockPath: string, deadline: number): Promise<string> {
  const start = performance.now();
  let known = "";
  let since = start;
  try {
    for (let polls = 0; ; polls++) {
      // To look first costs a fraction of an attempt that fails.
      const seen = identity(lockPath);
      if (seen === "" && tryLock(lockPath)) return identity(lockPath);
      const now = performance.now();
      if (seen !== known) {
        known = seen;
        since = now;
      } else if (seen !== "" && now - since >= TAKE_OVER_MS) {
        // Perhaps another waiter did so a moment ago and this is a live lock: then two go on, and one is fenced.
        rmSync(lockPath, { force: true });
        continue;
      }
      if (now >= deadline) throw busy(dir);
      await pause(polls, now - start);
    }
  } catch (error) {
    throw error instanceof SignalsError ? error : cannotLock(error, lockPath);
  }
}

/**
 * Waits until the next look: at first a short while, since mostly there is one holder and soon none. Many that look
 * often keep the holder from the processor, so then it is longer, and shorter again for those who waited long.
 */
function pause(polls: number, waitedMs: number): Promise<void> {
  const ms = polls < 2 ? 6 : Math.max(10, 24 - waitedMs / 100);
  // The spread keeps them from looking in step.
  return new Promise((done) => setTimeout(done, ms * (0.5 + Math.random())));
}

/** True when the lock was free. Our own wait: the package's goes by the wall clock. */
function tryLock(lockPath: string): boolean {
  try {
    lockSync(lockPath);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
  makePrivate(lockPath);
  return true;
}

/** The package opens its file under the umask of whoever runs us. */
function makePrivate(lockPath: string): void {
  try {
    chmodSync(lockPath, 0o600);
  } catch (error) {
    // Already taken over: the fence will tell.
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Which lock file this is: another one at the same path has another inode or another time. */
function identity(lockPath: string): string {
  const stat = statSync(lockPath, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}:${stat.ctimeNs}` : "";
}

/** Makes our staging directory, whose name tells waiters who holds the lock, and fences everybody else. */
function enterStaging(dir: string): string {
  const root = join(dir, "staging");
  const name = `${process.pid}.${Date.now()}.${Math.random().toString(36).slice(2)}`;
  try {
    mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
    for (const other of readdirSync(root)) {
      if (other !== name) evict(join(root, other));
    }
  } catch (error) {
    throw cannotWrite(root, error);
  }
  return join(root, name);
}

/** Removes a staging directory with what is in it, also while its owner is still writing there. */
function evict(stage: string): void {
  for (;;) {
    try {
      for (const name of readdirSync(stage)) rmSync(join(stage, name), { force: true, recursive: true });
      rmdirSync(stage);
      return;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return;
      // No staging directory, but what some other program left there.
      if (codeOf(error) === "ENOTDIR") rmSync(stage, { force: true });
      // Its owner put a file there after we had looked.
      else if (codeOf(error) !== "ENOTEMPTY") throw error;
    }
  }
}

/** Who holds a directory's lock, and since when. */
export interface Holder {
  /** Not known of somebody who has no staging directory yet, or of some other program. */
  pid: number | undefined;
  since: Time;
}

/** The holder of the directory's lock; undefined when it is free. */
export function lockHolder(dir: string): Holder | undefined {
  const stat = statSync(join(dir, "inbox.lock"), { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  const newest = stagingNames(dir).sort((a, b) => startOf(b) - startOf(a))[0] ?? "";
  const pid = Number(newest.split(".")[0]) || undefined;
  return { pid, since: timeOf(pid ? startOf(newest) : stat.mtimeMs) };
}

function busy(dir: string): SignalsError {
  const { pid, since = "just now" }: Partial<Holder> = lockHolder(dir) ?? {};
  const holder = pid ? `process ${pid}` : "an unknown process";
  return new SignalsError(
    `inbox: busy for ${GIVE_UP_MS / 1000} s: held by ${holder} since ${since}; try again`,
  );
}

function stagingNames(dir: string): string[] {
  try {
    return readdirSync(join(dir, "staging"));
  } catch {
    return [];
  }
}

function startOf(stageName: string): number {
  return Number(stageName.split(".")[1]) || 0;
}

function cannotLock(error: unknown, lockPath: string): SignalsError {
  return new SignalsError(`inbox: cannot lock: ${lockPath} (${codeOf(error)}); is the directory writable?`, {
    cause: error,
  });
}
