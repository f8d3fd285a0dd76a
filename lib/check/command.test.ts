import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isRunning } from "../process.ts";
import { tempDirectory } from "../testing/temp.ts";
import { runCommand } from "./command.ts";

const never = new AbortController().signal;
const sh = (script: string, keep: "first" | "last" = "first", stop = never) =>
  runCommand(["sh", "-c", script], keep, stop);

/** The process whose id a script wrote into a file, once it has. */
async function written(file: string): Promise<number> {
  for (;;) {
    const pid = Number(readFileSync(file, { encoding: "utf8", flag: "a+" }));
    if (pid > 0) return pid;
    await sleep(20);
  }
}

describe("a command", () => {
  test("is run without a shell, and says how it ended", async () => {
    const ran = await runCommand(["printf", "%s|", "a b", "$HOME", "*;"], "first", never);
    assert.deepEqual(ran, { status: 0, signal: null, stdout: "a b|$HOME|*;|", stderr: "" });
    assert.equal((await sh("exit 42")).status, 42);
    assert.deepEqual(await sh("echo out; echo err >&2; kill -SEGV $$"), {
      status: null,
      signal: "SIGSEGV",
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  test("reads nothing, and leads a group of its own", async () => {
    assert.equal((await runCommand(["cat"], "first", never)).stdout, "");
    const { stdout } = await sh("ps -o pgid= -p $$; echo $$");
    const [group, own] = stdout.split("\n").map((line) => line.trim());
    assert.equal(group, own);
  });

  test("that cannot be started is told from one that fails", async () => {
    const file = join(tempDirectory("check"), "plain");
    writeFileSync(file, "#!/bin/sh\n", { mode: 0o644 });
    const rows = [
      ["/no/such/program", /^cannot be started \(ENOENT\)$/],
      ["no-such-program-anywhere", /^cannot be started \(ENOENT\)$/],
      [file, /^cannot be started \(EACCES\)$/],
    ] as const;
    for (const [program, message] of rows)
      await assert.rejects(runCommand([program], "first", never), { name: "SignalsError", message }, program);
  });

  test("may print megabytes, of which the first or the last are kept", async () => {
    const script = "echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end";
    const first = await sh(script, "first");
    assert.deepEqual([first.stdout.length, first.stdout.split("\n")[0]], [65536, "begin"]);
    const last = await sh(`{ ${script}; } >&2; ${script}`, "last");
    assert.deepEqual([last.stdout.length, last.stderr.length], [65536, 65536]);
    assert.equal(last.stdout.trimEnd().split("\n").at(-1), "end");
  });

  test("may print what is no text", async () => {
    assert.equal((await sh("printf 'a\\377b\\000c'")).stdout, "a\ufffdb\0c");
  });

  test("may leave behind what holds its output open: that is not waited for, and lives on", async () => {
    const file = join(tempDirectory("check"), "pid");
    const ran = await sh(`sleep 300 & echo $! > ${file}; echo done; exit 1`);
    assert.deepEqual([ran.status, ran.stdout], [1, "done\n"]);
    const pid = await written(file);
    assert.ok(isRunning(pid));
    process.kill(pid);
  });
});

describe("a command that is to stop", () => {
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
      const file = join(tempDirectory("check"), "pid");
      const controller = new AbortController();
      const running = runCommand(["sh", "-c", script, file], "first", controller.signal);
      const pid = await written(file);
      controller.abort();
      await assert.rejects(running, { message: "was stopped" });
      // Whoever is its parent now may take a moment to notice.
      for (let i = 0; isRunning(pid) && !/^State:\s+Z/m.test(statusOf(pid)); i++) {
        assert.ok(i < 500, "it goes on");
        await sleep(20);
      }
    });

  test("before it began does not begin", async () => {
    const file = join(tempDirectory("check"), "ran");
    await assert.rejects(sh(`echo > ${file}`, "first", AbortSignal.abort()));
    assert.throws(() => readFileSync(file), { code: "ENOENT" });
  });
});

/** What Linux says of a process: in a container nobody may be there to take it away. */
function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "";
  }
}
