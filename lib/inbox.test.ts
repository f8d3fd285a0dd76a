import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { buildSync } from "esbuild";
import { type Document, VERSION } from "./document.ts";
import { codeOf, SignalsError } from "./errors.ts";
import { look, type Options, type Result, readDocument, transact } from "./inbox.ts";
import { fire, resolve } from "./lifecycle.ts";
import type { CheckIn } from "./session.ts";
import { structuralFault } from "./shape.ts";
import { privateMounts } from "./testing/mounts.ts";
import { ROOT, runFile } from "./testing/process.ts";
import {
  type FullReport,
  type Job,
  type Logged,
  type Outcome,
  report,
  SHARED_KEY,
  step,
} from "./testing/storm-worker.ts";
import { timeOf } from "./time.ts";
import { deliveryOf } from "./view.ts";

const root = realpathSync.native(mkdtempSync(join(tmpdir(), "inbox-test-")));
const bundle = join(root, "worker.cjs");
const children = new Set<ChildProcess>();

before(() => {
  // Node starts many times faster on one plain file than through tsx.
  buildSync({
    stdin: {
      contents: 'import { work } from "./storm-worker.ts"; work(JSON.parse(process.argv[2] ?? ""));',
      resolveDir: join(import.meta.dirname, "testing"),
      loader: "ts",
    },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    outfile: bundle,
    logLevel: "warning",
  });
  // Workers of another user read it.
  chmodSync(root, 0o755);
});

after(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

// ---------------------------------------------------------------- helpers

const THROW: Options = { onConfigFault: "throw" };
const KEEP: Options = { onConfigFault: "keep" };

let directories = 0;

/** A path for an inbox of its own; nothing is there yet. */
function freshDir(): string {
  directories += 1;
  return join(root, `inbox-${directories}`);
}

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

interface Worker {
  pid: number;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<Ended>;
}

interface Launch {
  uid?: number | undefined;
  /** A shell script that ends in `exec "$@"`. */
  under?: string;
  /** A command that runs the rest of its arguments. */
  inside?: string[];
}

function start(job: Job, { uid, under, inside = [] }: Launch = {}): Worker {
  const shell = under === undefined ? [] : ["sh", "-c", under, "sh"];
  const [command, ...args] = [...inside, ...shell, process.execPath, bundle, JSON.stringify(job)];
  // Node reads the file that this variable names whenever it starts.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const child = spawn(command as string, args, {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  children.add(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const ended = new Promise<Ended>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      children.delete(child);
      done({ code, signal, stdout, stderr });
    });
  });
  // `kill` of a child that has ended does nothing, so that no process of somebody else's can be hit.
  return { pid: child.pid ?? 0, kill: (signal) => child.kill(signal), ended };
}

/** Runs one job to its end and returns what it reports. */
async function runWorker<T = Outcome>(job: Job, launch: Launch = {}): Promise<T> {
  return reportOf<T>(await start(job, launch).ended);
}

function reportOf<T = Outcome>({ code, stdout, stderr }: Ended): T {
  assert.equal(code, 0, `the worker failed: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** Waits until `path` is there, with a bound that only a broken test reaches. */
async function appears(path: string): Promise<void> {
  for (const end = Date.now() + 15_000; !existsSync(path); ) {
    assert.ok(Date.now() < end, `${path} did not appear`);
    await sleep(5);
  }
}

function fireKey(dir: string, key: string, options = THROW, hints = {}): Promise<Result<unknown>> {
  const change = (doc: Document, now: string) => fire(doc, report(key, "info", hints), now);
  return transact(dir, { change }, options);
}

function stored(dir: string): Document {
  return readDocument(dir, timeOf(Date.now()));
}

function keysIn(dir: string): string[] {
  return stored(dir)
    .signals.map(({ key }) => key)
    .sort();
}

function bytesIn(dir: string): string {
  return readFileSync(join(dir, "inbox.json"), "latin1");
}

/** What a transaction must not leave behind: something staged, or a lock file. */
function leftovers(dir: string): string[] {
  const list = (path: string) => (existsSync(path) ? readdirSync(path) : []);
  return [...list(join(dir, "staging")), ...list(dir).filter((name) => name.includes("lock"))];
}

/** The message of the `SignalsError` that `promise` must reject with. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof SignalsError, `not a SignalsError: ${(error as Error).stack}`);
    return error.message;
  }
  return assert.fail("nothing was refused");
}

function refusedIn(outcome: Outcome): string {
  assert.ok("refused" in outcome, `nothing was refused: ${JSON.stringify(outcome)}`);
  return outcome.refused;
}

function checkInOf(id: string, more: Partial<CheckIn> = {}): CheckIn {
  return { id, harness: "claude-code", cwd: root, state: "busy", registers: true, subagent: false, ...more };
}

function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * part)] ?? 0;
}

// ---------------------------------------------------------------- what workers logged

function readLog(path: string): Logged[] {
  if (!existsSync(path)) return [];
  // Behind the last line break is nothing, or what a killed worker did not finish.
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Logged);
}

/**
 * Holds the document against what was acknowledged. A generation made twice, or beyond the last one, is a lost
 * change; one that nobody reported must be of a worker that was killed before it could. Returns how many are lost.
 */
function lostChanges(doc: Document, log: readonly Logged[], killsOf: (key: string) => number): string[] {
  const made = new Map<string, number[]>();
  for (const line of log.filter((line) => line.made)) {
    const { own, shared } = line.made as { own: number; shared: number };
    made.set(line.key, [...(made.get(line.key) ?? []), own]);
    made.set(SHARED_KEY, [...(made.get(SHARED_KEY) ?? []), shared]);
  }
  const lost: string[] = [];
  for (const [key, generations] of made) {
    const last = doc.signals.find((signal) => signal.key === key)?.generation ?? 0;
    const kept = new Set(generations.filter((generation) => generation <= last));
    const missing = generations.length - kept.size;
    if (missing > 0) lost.push(`${missing} of ${generations.length} of ${key}`);
    const unreported = last - kept.size;
    assert.ok(unreported <= killsOf(key), `${unreported} changes of ${key} came from nowhere`);
  }
  return lost;
}

// ---------------------------------------------------------------- many processes

describe("with many processes at once", () => {
  test("a storm of kill -9 and of suspensions loses no acknowledged change", {
    timeout: 40_000,
  }, async (t) => {
    const WORKERS = 64;
    const STAGGER_MS = 25;
    const CALM_MS = 2_000;
    const CHAOS_MS = 10_000;

    const dir = freshDir();
    mkdirSync(dir, { mode: 0o700 });
    const logs = Array.from({ length: WORKERS }, (_, worker) => join(root, `storm-${worker}.log`));
    const kills = new Array<number>(WORKERS).fill(0);
    const pauses: { pid: number; from: number; to: number }[] = [];
    const running: Worker[] = [];
    const endings: Promise<void>[] = [];
    const failures: string[] = [];
    const stop = join(root, "storm-over");

    const launch = (worker: number) => {
      const child = start({ do: "storm", dir, worker, log: logs[worker] as string, stop });
      running[worker] = child;
      endings.push(
        child.ended.then(({ code, signal, stderr }) => {
          if (code !== 0 && signal !== "SIGKILL") failures.push(`${code ?? signal}: ${stderr}`);
        }),
      );
    };

    // A reader looks at the file all the time: it is whole at every moment, and nothing goes back.
    let reads = 0;
    let ended = false;
    const reader = (async () => {
      for (let newest = 0; !ended; await sleep(10)) {
        let text: string;
        try {
          text = readFileSync(join(dir, "inbox.json"), "utf8");
        } catch (error) {
          assert.ok(codeOf(error) === "ENOENT" && reads === 0, "inbox.json went away");
          continue;
        }
        const { signals } = JSON.parse(text) as Document;
        const generation = signals.find(({ key }) => key === SHARED_KEY)?.generation ?? 0;
        assert.ok(generation >= newest, `the inbox went back from ${newest} to ${generation}`);
        newest = generation;
        reads += 1;
      }
    })();
    // It is awaited below; until then its failure is not unhandled.
    reader.catch(() => {});

    for (let worker = 0; worker < WORKERS; worker++) {
      launch(worker);
      await sleep(STAGGER_MS);
    }
    const calmFrom = Date.now();
    await sleep(CALM_MS);
    const chaosFrom = Date.now();

    for (let blow = 1; Date.now() < chaosFrom + CHAOS_MS; blow++) {
      // Now and then the one that has the lock, which its staging directory names; else anybody.
      const holders = blow % 40 === 0 ? leftovers(dir).map((name) => Number(name.split(".")[0])) : [];
      const held = running.findIndex(({ pid }) => holders.includes(pid));
      const worker = held >= 0 ? held : Math.floor(Math.random() * WORKERS);
      const victim = running[worker] as Worker;
      if (Math.random() < 0.25) {
        victim.kill("SIGKILL");
        kills[worker] = (kills[worker] ?? 0) + 1;
        launch(worker);
      } else {
        victim.kill("SIGSTOP");
        const pause = { pid: victim.pid, from: Date.now(), to: Number.POSITIVE_INFINITY };
        pauses.push(pause);
        setTimeout(
          () => {
            victim.kill("SIGCONT");
            pause.to = Date.now();
          },
          100 + Math.random() * 1_400,
        );
      }
      await sleep(20 + Math.random() * 60);
    }

    writeFileSync(stop, "");
    // The last pause ends within 1.5 s, and a transaction gives up after 2 s.
    const slow = setTimeout(() => {
      failures.push("some workers did not end");
      for (const { kill } of running) kill("SIGKILL");
    }, 8_000);
    await Promise.all(endings);
    clearTimeout(slow);
    ended = true;
    await reader;
    assert.deepEqual(failures, []);

    const log = logs.flatMap(readLog);
    const totalKills = kills.reduce((sum, count) => sum + count, 0);
    const killsOf = (key: string) => (key === SHARED_KEY ? totalKills : (kills[Number(key.slice(1))] ?? 0));
    const lost = lostChanges(stored(dir), log, killsOf);

    const wasPaused = ({ pid, from, to }: Logged) =>
      pauses.some((pause) => pause.pid === pid && pause.from < to && pause.to > from);
    const summary = (lines: Logged[]) => {
      const took = lines.map(({ from, to }) => to - from);
      const refused = lines.filter(({ refused }) => refused !== undefined).length;
      return `${lines.length} transactions, ${refused} gave up, p50 ${percentile(took, 0.5)} ms, p99 ${percentile(took, 0.99)} ms, max ${percentile(took, 1)} ms`;
    };
    const live = log.filter((line) => !wasPaused(line));
    t.diagnostic(`calm: ${summary(live.filter(({ from, to }) => from >= calmFrom && to < chaosFrom))}`);
    t.diagnostic(`chaos, never suspended: ${summary(live.filter(({ to }) => to >= chaosFrom))}`);
    t.diagnostic(`chaos, suspended on the way: ${summary(log.filter(wasPaused))}`);
    t.diagnostic(`${totalKills} killed, ${pauses.length} suspended, ${reads} reads; lost: ${lost.length}`);

    assert.deepEqual(lost, []);
    for (const { refused } of log) if (refused) assert.match(refused, /busy for 2 s: held by .*; try again/);
    assert.ok(log.filter(({ made }) => made).length > WORKERS, "the storm came to a standstill");
    await transact(dir, {}, THROW);
    assert.deepEqual(leftovers(dir), []);
  });

  test("a holder killed inside the lock delays the next transaction, and no more", async (t) => {
    const dir = freshDir();
    await fireKey(dir, "before");
    const timed = async (key: string) => {
      const from = performance.now();
      await fireKey(dir, key);
      return performance.now() - from;
    };
    const usual = await timed("usual");
    const waits: number[] = [];
    for (let round = 0; round < 2; round++) {
      const marker = join(root, `killed-${round}`);
      const interrupt = { signal: "SIGKILL", at: "change", marker } as const;
      const { signal } = await start({ do: "one", dir, key: "killed", interrupt }).ended;
      assert.equal(signal, "SIGKILL");
      assert.equal(leftovers(dir).length, 2, "it died with its lock and its staging directory");
      // This succeeds at all within its two seconds: without a takeover it would give up.
      waits.push(await timed(`after-${round}`));
    }
    t.diagnostic(
      `${usual.toFixed(0)} ms alone, ${waits.map((ms) => ms.toFixed(0)).join(", ")} ms after a kill`,
    );
    assert.deepEqual(keysIn(dir), ["after-0", "after-1", "before", "usual"]);
    assert.deepEqual(leftovers(dir), []);
  });

  test("fifty transactions of one process all apply", async () => {
    const dir = freshDir();
    // Two spellings of one directory are two queues that meet at the lock.
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        transact(
          i % 2 ? dir : `${dir}/`,
          { change: (doc, now) => step(fire(doc, report(`k${i}`), now)[0], SHARED_KEY, now) },
          THROW,
        ),
      ),
    );
    assert.equal(new Set(results.map(({ value }) => value)).size, 50);
    assert.equal(stored(dir).signals.length, 51);
    assert.equal(stored(dir).signals.find(({ key }) => key === SHARED_KEY)?.generation, 50);
    assert.deepEqual(leftovers(dir), []);
  });

  test("a change that refuses stores nothing and frees the lock", async () => {
    const dir = await dirWithOne();
    const bytes = bytesIn(dir);
    const change = (): never => {
      throw new SignalsError("refused: for the test");
    };
    assert.equal(await refusal(transact(dir, { change }, THROW)), "refused: for the test");
    assert.equal(bytesIn(dir), bytes);
    assert.deepEqual(leftovers(dir), []);
    await fireKey(dir, "next");
  });

  test("what another program left in staging/ is cleared away", async () => {
    const dir = await dirWithOne();
    writeFileSync(join(dir, "staging", ".DS_Store"), "");
    mkdirSync(join(dir, "staging", "1.2.3", "deep"), { recursive: true });
    await fireKey(dir, "next");
    assert.deepEqual(leftovers(dir), []);
  });

  test("a lock that cannot be taken over is a clear error", async () => {
    const dir = await dirWithOne();
    mkdirSync(join(dir, "inbox.lock"));
    assert.match(await refusal(fireKey(dir, "next")), /^inbox: cannot lock: .*inbox\.lock \(/);
  });
});

// One spends five seconds waiting, so they share the time.
describe("with one process interrupted", { concurrency: true }, () => {
  test("a holder suspended for five seconds stops nobody, and overwrites nothing when it resumes", async (t) => {
    const dir = freshDir();
    const marker = join(root, "suspended");
    const holder = start({
      do: "one",
      dir,
      key: "held",
      interrupt: { signal: "SIGSTOP", at: "change", marker },
    });
    await appears(marker);
    const resumeAt = Date.now() + 5_000;
    const logs = [0, 1, 2, 3].map((worker) => join(root, `beside-${worker}.log`));
    const stop = join(root, "beside-over");
    const others = logs.map((log, worker) => start({ do: "storm", dir, worker, log, stop }));
    await sleep(resumeAt - Date.now());
    holder.kill("SIGCONT");
    const outcome = reportOf(await holder.ended);
    await sleep(300);
    writeFileSync(stop, "");
    for (const { ended } of others) assert.equal((await ended).code, 0);

    const log = logs.flatMap(readLog);
    const meanwhile = log.filter(({ made, to }) => made && to < resumeAt).length;
    const longest = Math.max(...log.map(({ from, to }) => to - from));
    t.diagnostic(`${meanwhile} transactions meanwhile, the longest ${longest} ms`);
    assert.ok(meanwhile >= 3, `${meanwhile} transactions while the holder was suspended`);
    assert.ok(longest < 3_000, `one transaction took ${longest} ms`);
    for (const { refused } of log) if (refused) assert.match(refused, /busy for 2 s/);

    assert.deepEqual(
      lostChanges(stored(dir), log, () => 0),
      [],
    );
    if ("refused" in outcome) assert.match(outcome.refused, /busy for 2 s: held by /);
    assert.equal(keysIn(dir).includes("held"), "fired" in outcome);
    await transact(dir, {}, THROW);
    assert.deepEqual(leftovers(dir), []);
  });

  for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
    const what = signal === "SIGKILL" ? "killed" : "suspended and resumed";
    test(`a writer ${what} before any one of its operations on files loses nothing`, async (t) => {
      const { operations } = await runWorker<{ operations: number }>({
        do: "count",
        dir: await dirWithOne(),
        key: "x",
      });
      assert.ok(operations > 10, `${operations} operations were seen`);
      t.diagnostic(`${operations} operations`);
      await Promise.all(
        Array.from({ length: operations }, async (_, i) => {
          const dir = await dirWithOne();
          const at = i + 1;
          const marker = join(root, `${signal}-${at}`);
          const worker = start({ do: "one", dir, key: "mine", interrupt: { signal, at, marker } });
          await appears(marker);
          if (signal === "SIGKILL") await worker.ended;
          await fireKey(dir, "other");
          worker.kill("SIGCONT");
          const ended = await worker.ended;
          const keys = keysIn(dir);
          const where = `at operation ${at}`;
          assert.ok(keys.includes("first") && keys.includes("other"), `${where} only ${keys} are left`);
          if (signal === "SIGSTOP") {
            assert.equal(keys.includes("mine"), "fired" in reportOf(ended), where);
          } else {
            assert.equal(ended.signal, "SIGKILL", where);
          }
          await transact(dir, {}, THROW);
          assert.deepEqual(leftovers(dir), [], where);
        }),
      );
    });
  }
});

async function dirWithOne(): Promise<string> {
  const dir = freshDir();
  await fireKey(dir, "first");
  return dir;
}

// ---------------------------------------------------------------- a disk that is full

describe("a full disk", () => {
  test("refuses what would not fit into the file, and keeps the old one", async () => {
    const dir = freshDir();
    for (let i = 0; i < 30; i++) await fireKey(dir, `k${i}`);
    const bytes = bytesIn(dir);
    assert.ok(bytes.length > 16 * 1024);
    // The kernel lets no file grow beyond 8 blocks of 512 or 1,024 bytes: part of it is written, then no more.
    const outcome = await runWorker({ do: "one", dir, key: "more" }, { under: 'ulimit -f 8; exec "$@"' });
    assert.equal(refusedIn(outcome), `inbox: cannot write in ${dir} (EFBIG); nothing was changed`);
    assert.equal(bytesIn(dir), bytes);
    assert.deepEqual(leftovers(dir), []);
    await fireKey(dir, "more");
    assert.equal(stored(dir).signals.length, 31);
  });

  for (const of of ["bytes", "files"] as const) {
    test(`that has no ${of} left is an error that says so, and over when there is room`, async (t: TestContext) => {
      const inside = privateMounts();
      if (inside === undefined) {
        // The file size limit above stands for it where nobody lets us mount.
        assert.notEqual(process.getuid?.(), 0, "root cannot mount a small tmpfs with unshare");
        t.diagnostic("no mount namespaces here: only the file size limit was tested");
        return;
      }
      const dir = freshDir();
      mkdirSync(dir, { mode: 0o700 });
      const under = `mount -t tmpfs -o size=256k,nr_inodes=100,mode=700 tmpfs '${dir}' && exec "$@"`;
      const result = await runWorker<FullReport>({ do: "full", dir, of }, { inside, under });
      assert.match(refusedIn(result.during), /^inbox: cannot (write|lock).* \(ENOSPC\); /);
      assert.deepEqual(
        { ...result, during: undefined },
        {
          during: undefined,
          untouched: true,
          left: [],
          after: { fired: "after" },
          keys: ["before", "after"],
        },
      );
    });
  }
});

// ---------------------------------------------------------------- whose directory

describe("the directory", () => {
  // Permissions do not bind root: its workers become nobody.
  const uid = process.getuid?.() === 0 ? 65_534 : undefined;

  async function dirOfWorker(): Promise<string> {
    const dir = freshDir();
    mkdirSync(dir, { mode: 0o700 });
    if (uid !== undefined) chownSync(dir, uid, uid);
    assert.deepEqual(await runWorker({ do: "one", dir, key: "first" }, { uid }), { fired: "first" });
    return dir;
  }

  for (const mode of [0o500, 0o555]) {
    test(`that is read-only (${mode.toString(8)}) is refused and stays as it is`, async (t) => {
      const dir = await dirOfWorker();
      t.after(() => chmodSync(dir, 0o700));
      const bytes = bytesIn(dir);
      chmodSync(dir, mode);
      const outcome = await runWorker({ do: "one", dir, key: "second" }, { uid });
      assert.equal(
        refusedIn(outcome),
        `inbox: cannot lock: ${join(dir, "inbox.lock")} (EACCES); is the directory writable?`,
      );
      assert.equal(statSync(dir).mode & 0o200, 0);
      assert.equal(bytesIn(dir), bytes);
      assert.deepEqual(leftovers(dir), []);
      assert.deepEqual(await runWorker({ do: "look", dir }, { uid }), ["first"]);
    });
  }

  for (const mode of [0o777, 0o1777, 0o770, 0o702]) {
    test(`that others can write into (${mode.toString(8)}) is refused`, async () => {
      const dir = freshDir();
      mkdirSync(dir);
      chmodSync(dir, mode);
      const message = `inbox: other users can write in ${dir}; run: chmod 700 ${dir}`;
      assert.equal(await refusal(fireKey(dir, "k")), message);
      assert.equal(await refusal(look(dir)), message);
      assert.deepEqual(readdirSync(dir), []);
      chmodSync(dir, 0o700);
      await fireKey(dir, "k");
    });
  }

  test("of another user is refused", async () => {
    // Not being root, any directory of root's will do.
    const dir = uid === undefined ? "/" : freshDir();
    if (uid !== undefined) {
      mkdirSync(dir, { mode: 0o700 });
      chownSync(dir, uid, uid);
    }
    const message = `inbox: ${dir} belongs to another user; use a directory of your own`;
    assert.equal(await refusal(fireKey(dir, "k")), message);
    assert.equal(await refusal(look(dir)), message);
    if (uid !== undefined) assert.deepEqual(readdirSync(dir), []);
  });

  for (const named of ["rel", "./rel", "~/x"]) {
    test(`that the environment names as ${named} is refused in one line, and nothing is made`, async () => {
      const home = freshDir();
      mkdirSync(home);
      const options = { cwd: home, env: { HOME: home, HARN_EXT_SIGNALS_DIR: named } };
      const event = { session_id: "s1", transcript_path: "/t.jsonl", cwd: home };
      const stdin = JSON.stringify({ ...event, hook_event_name: "SessionStart", source: "startup" });
      const [fired, listed, hook] = await Promise.all([
        runFile("scripts/fire.mts", ["--summary", "x"], options),
        runFile("scripts/list.mts", [], options),
        runFile("hooks/claude-code/session-start.mts", [], { ...options, stdin }),
      ]);
      const says = `HARN_EXT_SIGNALS_DIR: ${named}: is no absolute path; write it whole, without ~`;
      for (const { code, stdout, stderr } of [fired, listed])
        assert.deepEqual([code, stdout, stderr], [1, "", `error: ${says}\n`]);
      // A hook never ends badly; the person is told, and the model is not.
      assert.equal(hook.code, 0);
      assert.deepEqual(JSON.parse(hook.stdout), { systemMessage: `ambient-signals: ${says}` });
      assert.deepEqual(readdirSync(home), []);
    });
  }

  test("that is a file is refused", async () => {
    const path = freshDir();
    writeFileSync(path, "");
    assert.match(await refusal(fireKey(path, "k")), /^inbox: cannot use .* \(EEXIST\); choose another/);
  });

  test("is private under any umask, with all that is in it", async () => {
    const parent = freshDir();
    const dir = join(parent, "signals");
    const mask = process.umask(0);
    try {
      const checkIn = checkInOf("s1");
      await transact(dir, { checkIn }, THROW);
      await transact(dir, { checkIn: { ...checkIn, subagent: true } }, THROW);
      const held: string[] = [];
      const change = (doc: Document, now: string) => {
        held.push(...loose(parent));
        return [fire(doc, report("k"), now)[0], readdirSync(dir).sort()] as const;
      };
      const { value } = await transact(dir, { change }, THROW);
      assert.deepEqual(value, ["hook", "inbox.json", "inbox.lock", "seen", "staging", "told"]);
      assert.deepEqual(held, []);
      assert.deepEqual(loose(parent), []);
    } finally {
      process.umask(mask);
    }
  });

  test("that others could read is made private", async () => {
    const dir = freshDir();
    mkdirSync(dir);
    chmodSync(dir, 0o755);
    await fireKey(dir, "k");
    assert.equal(statSync(dir).mode & 0o777, 0o700);
  });

  /** What is there, from `path` on, with other rights than 0700 for directories and 0600 for files. */
  function loose(path: string): string[] {
    const stat = statSync(path);
    const mode = stat.mode & 0o777;
    const own = mode === (stat.isDirectory() ? 0o700 : 0o600) ? [] : [`${path} ${mode.toString(8)}`];
    return stat.isDirectory()
      ? own.concat(readdirSync(path).flatMap((name) => loose(join(path, name))))
      : own;
  }
});

// ---------------------------------------------------------------- what is in the file

describe("an inbox.json", () => {
  const signal = (change: object) => (doc: Document) => ({
    ...doc,
    signals: doc.signals.map((signal) => ({ ...signal, ...change })),
  });
  const session = (change: object) => (doc: Document) => ({
    ...doc,
    sessions: doc.sessions.map((session) => ({ ...session, ...change })),
  });
  const broken: [what: string, make: (doc: Document) => unknown, says: RegExp][] = [
    ["that is empty", () => "", /is not JSON/],
    ["that was cut off", (doc) => JSON.stringify(doc).slice(0, -20), /is not JSON/],
    ["that is null", () => null, /is not valid/],
    ["that is a list", () => [], /is not valid/],
    ["that is a string", () => '"signals"', /is not valid/],
    ["of another program", () => ({ signals: [] }), /is not valid: schema/],
    ["without a version", (doc) => ({ ...doc, version: undefined }), /is not valid: version/],
    ["of no version", (doc) => ({ ...doc, version: 0 }), /is not valid: version/],
    ["without signals", (doc) => ({ ...doc, signals: undefined }), /is not valid: signals/],
    ["whose sessions are no list", (doc) => ({ ...doc, sessions: {} }), /is not valid: sessions/],
    ["with a null for a session", (doc) => ({ ...doc, sessions: [null] }), /is not valid: sessions\[0\]/],
    ["without a signal's key", signal({ key: undefined }), /is not valid: signals\[0\]\.key/],
    ["without a generation", signal({ generation: "1" }), /is not valid: signals\[0\]\.generation/],
    ["without an envelope", signal({ envelope: null }), /is not valid: signals\[0\]\.envelope/],
    ["with a time that is none", signal({ expires_at: "soon" }), /is not valid: signals\[0\]\.expires_at/],
    ["with a session never seen", session({ last_seen: "" }), /is not valid: sessions\[0\]\.last_seen/],
    ["stamped with no time", (doc) => ({ ...doc, stamped_at: "now" }), /is not valid: stamped_at/],
    ["of a newer version", (doc) => ({ ...doc, version: 3 }), /is of version 3 and .* update this copy/],
    [
      "of an older version, and broken",
      (doc) => ({ ...doc, version: 1, sessions: 7 }),
      /is not valid: sessions/,
    ],
  ];
  for (const [what, make, says] of broken) {
    test(`${what} is refused with the way out, and not touched`, async () => {
      const dir = freshDir();
      await fireKey(dir, "k");
      await transact(dir, { checkIn: checkInOf("s1") }, THROW);
      const path = join(dir, "inbox.json");
      const made = make(stored(dir));
      writeFileSync(path, typeof made === "string" ? made : JSON.stringify(made));
      const bytes = bytesIn(dir);

      const attempts = [
        () => look(dir),
        () => fireKey(dir, "more"),
        () => transact(dir, { checkIn: checkInOf("s2") }, { ...KEEP, optimistic: true }),
      ];
      for (const attempt of attempts) {
        const message = await refusal(attempt());
        assert.match(message, says);
        assert.ok(message.startsWith(`inbox: ${path} is `), message);
        assert.ok(message.includes("it was left as it is; to start afresh"), message);
        assert.ok(message.endsWith(`: signals doctor --repair --dir ${dir}`), message);
      }
      assert.equal(bytesIn(dir), bytes);
      assert.deepEqual(leftovers(dir), []);
    });
  }

  describe("of an older version", () => {
    const VERSIONS = Array.from({ length: VERSION - 1 }, (_, i) => i + 1);

    function dirWith(text: string): string {
      const dir = freshDir();
      mkdirSync(dir, { mode: 0o700 });
      writeFileSync(join(dir, "inbox.json"), text);
      return dir;
    }
    const fixture = (version: number) =>
      readFileSync(join(ROOT, "fixtures", "inbox", `v${version}.json`), "utf8");

    for (const version of VERSIONS) {
      test(`${version} is brought up by the first transaction, and kept as it was`, async () => {
        const text = fixture(version);
        assert.equal(JSON.parse(text).version, version);
        const dir = dirWith(text);

        const { doc } = await look(dir);
        assert.deepEqual([doc.version, bytesIn(dir)], [VERSION, text], "who only looks writes nothing");

        await transact(dir, {}, THROW);
        assert.equal(readFileSync(join(dir, `inbox.v${version}.json`), "utf8"), text);
        assert.equal(statSync(join(dir, `inbox.v${version}.json`)).mode & 0o777, 0o600);
        const after = stored(dir);
        assert.equal(after.version, VERSION);
        assert.equal(structuralFault(after), undefined);

        // Once, not at every start.
        writeFileSync(join(dir, `inbox.v${version}.json`), "");
        await fireKey(dir, "k");
        assert.equal(readFileSync(join(dir, `inbox.v${version}.json`), "utf8"), "");
      });
    }
  });

  test("keeps fields that this version does not know", async () => {
    const dir = freshDir();
    await fireKey(dir, "k");
    await transact(dir, { checkIn: checkInOf("s1") }, THROW);
    const doc = stored(dir);
    const future = { deep: [1, { er: null }] };
    const mark = <T extends object>(items: readonly T[]) => items.map((item) => ({ ...item, future }));
    const newer = { ...doc, future, signals: mark(doc.signals), sessions: mark(doc.sessions) };
    writeFileSync(join(dir, "inbox.json"), JSON.stringify(newer));

    const change = (doc: Document, now: string) => fire(doc, report("k", "warning"), now);
    await transact(dir, { checkIn: checkInOf("s1", { state: "idle" }), change }, THROW);
    const over = { key: "k", producer: "test", signature: "local", origin: "self" } as const;
    await transact(dir, { change: (doc, now) => [resolve(doc, over, now)[0], undefined] }, THROW);

    const after = stored(dir);
    assert.deepEqual([after.signals[0]?.generation, after.signals[0]?.state], [3, "resolved"]);
    assert.equal(after.sessions[0]?.state, "idle");
    for (const part of [after, after.signals[0], after.sessions[0]]) {
      assert.deepEqual((part as { future?: unknown }).future, future);
    }
  });
});

// ---------------------------------------------------------------- signs of life

describe("a sign of life", () => {
  for (const optimistic of [true, false]) {
    const how = optimistic ? "without the lock" : "under the lock";
    test(`alone does not rewrite the inbox, seen ${how}`, async () => {
      const dir = freshDir();
      await transact(dir, { checkIn: checkInOf("s1") }, THROW);
      const path = join(dir, "inbox.json");
      const before = { bytes: bytesIn(dir), stat: statSync(path, { bigint: true }) };
      const first = (await look(dir)).doc.sessions[0];

      await sleep(5);
      const checkIn = checkInOf("s1", { registers: false });
      const result = await transact(dir, { checkIn, lease: "any" }, { ...KEEP, optimistic });
      assert.equal(result.changed, false);

      const after = statSync(path, { bigint: true });
      assert.equal(bytesIn(dir), before.bytes);
      assert.deepEqual([after.ino, after.mtimeNs], [before.stat.ino, before.stat.mtimeNs]);
      const seen = (await look(dir)).doc.sessions[0];
      assert.ok(first && seen && seen.last_hook > first.last_hook && seen.last_seen > first.last_seen);
      assert.equal(seen.last_hook, result.now);

      // The next transaction that has a reason to write takes it along.
      await fireKey(dir, "k");
      assert.equal(stored(dir).sessions[0]?.last_hook, result.now);
    });
  }

  test("of a subagent moves when the session was seen, not when its own hook last ran", async () => {
    const dir = freshDir();
    await transact(dir, { checkIn: checkInOf("s1") }, THROW);
    const first = (await look(dir)).doc.sessions[0];
    await sleep(5);
    await transact(dir, { checkIn: checkInOf("s1", { subagent: true }) }, { ...KEEP, optimistic: true });
    const seen = (await look(dir)).doc.sessions[0];
    assert.ok(first && seen && seen.last_seen > first.last_seen);
    assert.equal(seen.last_hook, first.last_hook);
  });

  test("that cannot be left is an error only when it was all there was to store", async () => {
    const dir = freshDir();
    mkdirSync(join(dir, "hook"), { recursive: true, mode: 0o700 });
    symlinkSync(join(dir, "nowhere", "s1"), join(dir, "hook", "s1"));
    const checkIn = checkInOf("s1");
    assert.equal((await transact(dir, { checkIn }, KEEP)).changed, true);
    const message = `inbox: cannot write in ${dir} (ENOENT); nothing was changed`;
    assert.equal(await refusal(transact(dir, { checkIn }, KEEP)), message);
  });

  test("that cannot be read is a clear error", async () => {
    const dir = await dirWithOne();
    writeFileSync(join(dir, "hook"), "");
    const message = `inbox: cannot read ${join(dir, "hook")} (ENOTDIR); check its permissions`;
    assert.equal(await refusal(fireKey(dir, "more")), message);
    assert.equal(await refusal(look(dir)), message);
    assert.deepEqual(leftovers(dir), []);
  });
});

// ---------------------------------------------------------------- config.toml

describe("a config.toml", () => {
  const MUTING = '[[mute]]\nkey = "ci:*"\n';
  const BROKEN = `${MUTING}\nmin_severty = "info"\n`;

  async function checkInWith(dir: string, id: string, options = KEEP) {
    const checkIn = checkInOf(id, { registers: false });
    return transact(dir, { checkIn, lease: "any" }, { ...options, optimistic: true });
  }

  async function mutedInbox(): Promise<{ dir: string; path: string }> {
    const dir = freshDir();
    mkdirSync(dir, { mode: 0o700 });
    const path = join(dir, "config.toml");
    writeFileSync(path, MUTING);
    for (const id of ["s1", "s2"]) await transact(dir, { checkIn: checkInOf(id) }, KEEP);
    await fireKey(dir, "ci:main", THROW, { session: "s1" });
    return { dir, path };
  }

  test("that breaks mutes on, and who keeps running is told what is wrong in which version of the file", async () => {
    const { dir, path } = await mutedInbox();
    assert.deepEqual((await checkInWith(dir, "s1")).reminders, []);

    writeFileSync(path, BROKEN);
    const fault = `${path}:4: mute[0].min_severty: unknown key`;
    const told = await checkInWith(dir, "s1");
    assert.ok(told.configFault?.message.startsWith(fault), told.configFault?.message);
    assert.deepEqual(told.reminders, []);
    assert.deepEqual((await checkInWith(dir, "s2")).configFault, told.configFault);
    assert.deepEqual((await fireKey(dir, "ci:main", KEEP)).configFault, told.configFault);

    writeFileSync(path, `${BROKEN}# still broken\n`);
    const { configFault, reminders } = await checkInWith(dir, "s1");
    assert.equal(configFault?.message, told.configFault?.message);
    assert.notEqual(configFault?.stamp, told.configFault?.stamp);
    assert.deepEqual(reminders, []);

    writeFileSync(path, 'min_severity = "info"\n');
    const mended = await checkInWith(dir, "s1");
    assert.equal(mended.configFault, undefined);
    assert.deepEqual(
      mended.reminders.map(({ signal }) => signal.key),
      ["ci:main"],
    );
  });

  test("that is a link which leads nowhere any more is broken, and no wish to have none", async () => {
    const { dir, path } = await mutedInbox();
    rmSync(path);
    symlinkSync(join(dir, "gone.toml"), path);
    const { configFault, reminders } = await checkInWith(dir, "s1");
    assert.match(configFault?.message ?? "", /config\.toml: cannot be read \(ENOENT\)/);
    assert.deepEqual(reminders, []);
    rmSync(path);
    assert.equal((await checkInWith(dir, "s1")).reminders.length, 1, "removing it is the wish to have none");
  });

  test("is read anew by a version that knows other settings", async () => {
    const { dir } = await mutedInbox();
    const file = join(dir, "inbox.json");
    const stored = JSON.parse(readFileSync(file, "utf8"));
    const { stamp } = stored.policy;
    stored.policy = { stamp: `0${stamp}`, config: { ...stored.policy.config, mute: [] } };
    writeFileSync(file, JSON.stringify(stored));
    const { doc, reminders } = await checkInWith(dir, "s1");
    assert.deepEqual([doc.policy?.stamp, doc.policy?.config.mute.length, reminders.length], [stamp, 1, 0]);
  });

  test("that breaks stops a script with file, line and key, and nothing is stored", async () => {
    const { dir, path } = await mutedInbox();
    writeFileSync(path, BROKEN);
    const bytes = bytesIn(dir);
    for (const attempt of [() => fireKey(dir, "more"), () => look(dir)]) {
      const message = await refusal(attempt());
      assert.ok(message.startsWith(`${path}:4: mute[0].min_severty: unknown key`), message);
    }
    assert.equal(bytesIn(dir), bytes);
    // Nor once a hook has put the fault into the document.
    await checkInWith(dir, "s1");
    assert.match(await refusal(fireKey(dir, "more")), /:4: mute\[0\]\.min_severty/);
    writeFileSync(path, MUTING);
    await fireKey(dir, "more");
  });

  test("that was never valid holds everything until it is", async () => {
    const dir = freshDir();
    mkdirSync(dir, { mode: 0o700 });
    const path = join(dir, "config.toml");
    writeFileSync(path, "lease = nonsense\n");
    await transact(dir, { checkIn: checkInOf("s1") }, KEEP);
    const { doc, now } = await fireKey(dir, "k", KEEP, { session: "s1" });
    assert.deepEqual(
      doc.signals.map((signal) => deliveryOf(doc, signal, now)),
      [
        {
          status: "held",
          attempt: 0,
          reason: "config.toml has never been valid",
          release: "mend it: signals config shows where",
        },
      ],
    );
    assert.deepEqual((await checkInWith(dir, "s1")).reminders, []);

    writeFileSync(path, 'lease = "5m"\n');
    assert.equal((await checkInWith(dir, "s1")).reminders.length, 1);
  });
});
