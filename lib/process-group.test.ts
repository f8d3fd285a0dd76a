import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type GroupOptions, runGroup } from "./process-group.ts";
import { hasEnded } from "./testing/ended.ts";
import { run, TSX } from "./testing/process.ts";
import { tempDirectory } from "./testing/temp.ts";

const never = new AbortController().signal;
const OPTIONS = { keep: "first", bytes: 65_536, grace: 2_000 } as const;
const sh = (script: string, more: Partial<GroupOptions> = {}, stop = never) =>
  runGroup(["sh", "-c", script], { ...OPTIONS, ...more }, stop);

/** The process whose id a script wrote into a file, once it has. */
async function written(file: string): Promise<number> {
  for (;;) {
    const pid = Number(readFileSync(file, { encoding: "utf8", flag: "a+" }));
    if (pid > 0) return pid;
    await sleep(20);
  }
}

describe("a process group", () => {
  test("is run without a shell, and says how it ended", async () => {
    const ran = await runGroup(["printf", "%s|", "a b", "$HOME", "*;"], OPTIONS, never);
    assert.deepEqual(ran, { status: 0, signal: null, stdout: "a b|$HOME|*;|", stderr: "" });
    assert.equal((await sh("exit 42")).status, 42);
    assert.deepEqual(await sh("echo out; echo err >&2; kill -SEGV $$"), {
      status: null,
      signal: "SIGSEGV",
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  test("has the folder and the environment that it is given", async () => {
    const ran = await sh('printf "%s %s" "$PWD" "$A"', { cwd: "/", env: { A: "b" } });
    assert.equal(ran.stdout, "/ b");
  });

  test("reads nothing, and leads a group of its own", async () => {
    assert.equal((await runGroup(["cat"], OPTIONS, never)).stdout, "");
    const { stdout } = await sh("ps -o pgid= -p $$; echo $$");
    const [group, own] = stdout.split("\n").map((line) => line.trim());
    assert.equal(group, own);
  });

  test("that cannot be started is told from one that fails", async () => {
    const file = join(tempDirectory("group"), "plain");
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o644 });
    const rows = [
      ["a".repeat(300), /^cannot be started \(ENAMETOOLONG\)$/],
      ["/no/such/program", /^cannot be started \(ENOENT\)$/],
      ["no-such-program-anywhere", /^cannot be started \(ENOENT\)$/],
      [file, /^cannot be started \(EACCES\)$/],
    ] as const;
    for (const [program, message] of rows)
      await assert.rejects(runGroup([program], OPTIONS, never), { name: "SignalsError", message }, program);
  });

  test("may print megabytes, of which the first or the last are kept", async () => {
    const script = "echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end";
    const first = await sh(script);
    assert.deepEqual([first.stdout.length, first.stdout.split("\n")[0]], [65536, "begin"]);
    const last = await sh(`{ ${script}; } >&2; ${script}`, { keep: "last" });
    assert.deepEqual([last.stdout.length, last.stderr.length], [65536, 65536]);
    assert.equal(last.stdout.trimEnd().split("\n").at(-1), "end");
  });

  test("that says more than is kept is known at once", async () => {
    const controller = new AbortController();
    const onMore = () => controller.abort();
    assert.equal((await sh("yes", { onMore }, controller.signal)).stdout.length, 65_536);
    const exact = "head -c 65536 /dev/zero; head -c 99999 /dev/zero >&2";
    assert.equal((await sh(exact, { onMore: assert.fail })).status, 0, "stderr may");
  });

  test("may print what is no text", async () => {
    assert.equal((await sh("printf 'a\\377b\\000c'")).stdout, "a\ufffdb\0c");
  });

  test("may leave behind what holds its output open: that is not waited for, and lives on", async () => {
    const file = join(tempDirectory("group"), "pid");
    const ran = await sh(`sleep 300 & echo $! > ${file}; echo done; exit 1`);
    assert.deepEqual([ran.status, ran.stdout], [1, "done\n"]);
    const pid = await written(file);
    assert.ok(!hasEnded(pid));
    process.kill(pid);
  });
});

describe("a process group that is to stop", () => {
  // Each writes the id of what it started, and then hangs.
  const rows: [name: string, script: string][] = [
    ["ends with what it started", 'sleep 300 & echo $! > "$0"; wait'],
    ["is killed when it does not listen", 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1; done'],
    [
      "is not outlived by what does not listen",
      `sh -c 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1; done' "$0" & wait`,
    ],
    ["is stopped while it is suspended", 'echo $$ > "$0"; kill -STOP $$'],
  ];
  for (const [name, script] of rows)
    test(name, async () => {
      const file = join(tempDirectory("group"), "pid");
      const controller = new AbortController();
      const running = runGroup(["sh", "-c", script, file], OPTIONS, controller.signal);
      const pid = await written(file);
      controller.abort();
      assert.match((await running).signal ?? "", /^SIG(TERM|KILL)$/);
      await isOver(pid);
    });

  test("has time to put away what it has, and keeps what it said", async () => {
    const file = join(tempDirectory("group"), "pid");
    const controller = new AbortController();
    const tidy = `trap 'sleep 0.7; echo bye; exit 4' TERM; echo hello; echo $$ > ${file}; while :; do sleep 0.1; done`;
    const running = sh(tidy, {}, controller.signal);
    await written(file);
    controller.abort();
    const { status, stdout } = await running;
    assert.deepEqual([status, stdout], [4, "hello\nbye\n"]);
  });

  test("before it began does not begin", async () => {
    const file = join(tempDirectory("group"), "ran");
    await assert.rejects(sh(`echo > ${file}`, {}, AbortSignal.abort()), { name: "AbortError" });
    assert.throws(() => readFileSync(file), { code: "ENOENT" });
  });
});

describe("whoever runs a process group", () => {
  /** Runs a script, which writes an id into a file, in a process that then does this. */
  const runner = (script: string, file: string, then: string) => {
    const code = `
      import { existsSync, readFileSync } from "node:fs";
      import { runGroup } from ${JSON.stringify(import.meta.resolve("./process-group.ts"))};
      const [script, file] = process.argv.slice(1);
      const options = ${JSON.stringify(OPTIONS)};
      const running = runGroup(["sh", "-c", script, file], options, new AbortController().signal);
      ${then}
    `;
    return run(process.execPath, [...TSX, "--input-type=module", "-e", code, script, file]);
  };

  test("is not outlived by it", async () => {
    const file = join(tempDirectory("group"), "pid");
    const deaf = 'trap "" TERM; echo $$ > "$0"; while :; do sleep 1; done';
    const exit = 'setInterval(() => existsSync(file) && readFileSync(file, "utf8") && process.exit(5), 20);';
    const ran = await runner(deaf, file, exit);
    assert.deepEqual([ran.code, ran.stderr], [5, ""]);
    await isOver(await written(file));
  });

  test("is not kept alive by what it left behind", async () => {
    const file = join(tempDirectory("group"), "pid");
    const ran = await runner('sleep 60 & echo $! > "$0"', file, "await running;");
    assert.deepEqual([ran.code, ran.stderr], [0, ""]);
    const pid = await written(file);
    assert.ok(!hasEnded(pid));
    process.kill(pid);
  });
});

/** Throws when a process does not end. Whoever is its parent now may take a moment to notice. */
async function isOver(pid: number): Promise<void> {
  for (let i = 0; !hasEnded(pid); i++) {
    assert.ok(i < 500, "it goes on");
    await sleep(20);
  }
}
