import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt } from "../errors.ts";
import { hasEnded } from "../testing/ended.ts";
import { tempDirectory } from "../testing/process.ts";
import { limitOf, runChild } from "./children.ts";
import type { PollReport } from "./poll-report.ts";

const dir = tempDirectory("children");
const REPORT: PollReport = {
  monitor: "http",
  label: "http x",
  at: "2026-11-30T12:00:00.000Z",
  read: true,
  status: "OK",
  summary: "well",
  verdicts: [],
  failures: 0,
  read_at: "2026-11-30T12:00:00.000Z",
  not_before: null,
};
const LONG = 60_000;
const never = new AbortController().signal;

/** A poll that is this line of shell instead. */
function shell(line: string, limitMs = LONG, stop: AbortSignal = never, cwd = dir) {
  const code = 'require("child_process").spawnSync("sh", ["-c", process.argv[1]], { stdio: "inherit" })';
  return runChild({ args: ["-e", code, line], cwd, env: process.env }, limitMs, stop);
}

/** A poll that is this code instead. */
function node(code: string, limitMs = LONG, stop: AbortSignal = never) {
  return runChild({ args: ["-e", code], cwd: dir, env: process.env }, limitMs, stop);
}

const started: number[] = [];
after(() => {
  for (const pid of started) attempt(() => process.kill(pid, "SIGKILL"));
});

/** The process that wrote its id there, once it has. */
async function pidIn(file: string): Promise<number> {
  while (!existsSync(file) || readFileSync(file, "utf8") === "") await sleep(20);
  const pid = Number(readFileSync(file, "utf8"));
  started.push(pid);
  return pid;
}

async function isOver(pid: number): Promise<void> {
  const end = Date.now() + LONG;
  while (!hasEnded(pid) && Date.now() < end) await sleep(20);
  assert.ok(hasEnded(pid), `process ${pid} goes on`);
}

describe("a poll in a process of its own", () => {
  test("is what it reports, whatever its status and whatever else it says on stderr", async () => {
    const text = JSON.stringify(JSON.stringify(REPORT, undefined, 2));
    const ended = await node(`console.error("note"); console.log(${text}); process.exitCode = 2`);
    assert.deepEqual(ended, { report: REPORT });
  });

  const cases: [name: string, code: string, failure: string | RegExp][] = [
    [
      "says what it was called wrong with",
      'console.error("error: --x: unknown flag; leave it out"); process.exitCode = 3',
      "--x: unknown flag; leave it out",
    ],
    ["crashes", 'throw new Error("oops")', /^ended with status 1 and without a report: Node\.js v/],
    ["ends without a word", "process.exitCode = 3", "ended with status 3 and without a report"],
    [
      "says what could harm a terminal",
      'console.error("a\\x1b[2J\\u202eb\\nlast \\x07words")',
      "ended with status 0 and without a report: last words",
    ],
    ["is killed", 'process.kill(process.pid, "SIGKILL")', "was killed by SIGKILL"],
    ["prints no JSON", 'console.log("OK")', "ended with status 0 and without a report"],
    [
      "prints another document",
      "console.log(JSON.stringify({ status: 'OK' }))",
      "ended with status 0 and without a report",
    ],
    [
      "prints several documents",
      `console.log(${JSON.stringify(JSON.stringify(REPORT).repeat(2))})`,
      "ended with status 0 and without a report",
    ],
    [
      "never ends its output",
      'const more = () => process.stdout.write("x".repeat(1e6), more); more()',
      "printed too much, and was ended",
    ],
  ];
  for (const [name, code, failure] of cases) {
    test(`that ${name} has failed, and why is told in a line`, async () => {
      const ended = await node(code);
      assert.ok("failure" in ended, JSON.stringify(ended));
      if (typeof failure === "string") assert.equal(ended.failure, failure);
      else assert.match(ended.failure, failure);
    });
  }

  test("that cannot be started has failed as well", async () => {
    const ended = await shell("true", LONG, never, join(dir, "gone"));
    assert.deepEqual(ended, { failure: "cannot be started (ENOENT)" });
  });

  test("that hangs is ended with all that it started, be it deaf", async () => {
    const file = join(dir, "deaf");
    const ended = shell(`trap "" TERM; echo $$ > ${file}; while :; do sleep 0.1; done`, 2_000);
    const pid = await pidIn(file);
    assert.deepEqual(await ended, { failure: "ran for more than 2s, and was ended" });
    await isOver(pid);
  });

  test("is ended when it is to stop, and never begun after that", async () => {
    const file = join(dir, "stopped");
    const stop = new AbortController();
    const ended = shell(`echo $$ > ${file}; sleep 600`, LONG, stop.signal);
    const pid = await pidIn(file);
    stop.abort();
    assert.deepEqual(await ended, { failure: "was stopped" });
    await isOver(pid);
    assert.deepEqual(await shell(`echo > ${join(dir, "begun")}`, LONG, stop.signal), {
      failure: "was stopped",
    });
    assert.ok(!existsSync(join(dir, "begun")));
  });
});

test("a poll may take twice as long as its monitor gives itself, and two minutes at least", () => {
  const cases: [args: string[], seconds: number][] = [
    [[], 120],
    [["acme/api", "--timeout", "5m"], 600],
    [["--timeout=90s"], 180],
    [["--timeout", "10s"], 120],
    [["--timeout", "soon"], 120],
    [["--timeout"], 120],
    [["--", "npm", "test", "--timeout", "1h"], 120],
  ];
  for (const [args, seconds] of cases) assert.equal(limitOf(args), seconds * 1000, args.join(" "));
});
