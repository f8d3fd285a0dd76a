import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { readDocument } from "../lib/inbox.ts";
import { isRunning } from "../lib/process.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import { ROOT, TSX } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";
import { timeOf } from "../lib/time.ts";

/** Where distributions put the plugins. */
const PLUGINS = [
  "/usr/lib/nagios/plugins",
  "/usr/lib64/nagios/plugins",
  "/usr/lib/monitoring-plugins",
  "/usr/local/libexec/nagios",
  "/opt/local/libexec/nagios",
  "/opt/homebrew/opt/monitoring-plugins/libexec",
  "/opt/homebrew/opt/nagios-plugins/sbin",
  "/usr/local/opt/nagios-plugins/sbin",
].find((folder) => existsSync(join(folder, "check_dummy")));
const REAL = { skip: PLUGINS === undefined && "no monitoring plugins are installed" };
const plugin = (name: string) => join(PLUGINS ?? "", name);

/** An inbox, and a git work tree that checks run in. */
class Place {
  readonly home = realpathSync(tempDirectory("check"));
  readonly dir = join(this.home, "signals");
  readonly tree = join(this.home, "api");

  constructor() {
    mkdirSync(join(this.tree, ".git"), { recursive: true });
    mkdirSync(join(this.tree, "sub"));
    writeFileSync(join(this.tree, ".git", "HEAD"), "ref: refs/heads/main\n");
  }

  get env() {
    return { HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir };
  }

  async check(args: readonly string[], cwd = this.tree) {
    const { code, stdout, stderr } = await runBundle("monitors/check", args, { cwd, env: this.env });
    return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() };
  }

  /** An executable script of one's own. */
  script(name: string, text: string): string {
    const file = join(this.home, name);
    writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return file;
  }

  get signals(): readonly Signal[] {
    return existsSync(this.dir) ? readDocument(this.dir, timeOf(Date.now())).signals : [];
  }

  /** Key, state, severity and generation of each, in a word. */
  get states(): string[] {
    return this.signals.map(({ state, severity, generation }) => `${state} ${severity} #${generation}`);
  }
}

describe("a real plugin", REAL, () => {
  const rows: [name: string, args: string[], code: number, line: RegExp, states: string[]][] = [
    ["check_dummy", ["0", "fine"], 0, /^CHECK OK - it: OK: fine$/, []],
    ["check_dummy", ["1", "late"], 1, /^CHECK WARNING - it: WARNING: late\n {4}fired /, ["fired warning #1"]],
    [
      "check_dummy",
      ["2", "gone"],
      2,
      /^CHECK CRITICAL - it: CRITICAL: gone\n {4}fired /,
      ["fired urgent #1"],
    ],
    ["check_dummy", ["3", "what"], 3, /^CHECK UNKNOWN - it: UNKNOWN: what$/, []],
    ["check_dummy", ["7"], 3, /^CHECK UNKNOWN - it: UNKNOWN: Status 7 is not a supported/, []],
    [
      "check_disk",
      ["-w", "0%", "-c", "0%", "-p", "/"],
      0,
      /^CHECK OK - it: DISK OK - free space: \/ [^|]+$/,
      [],
    ],
    ["check_disk", ["-w", "100%", "-p", "/"], 1, /^CHECK WARNING - it: DISK WARNING/, ["fired warning #1"]],
    ["check_disk", ["-c", "100%", "-p", "/"], 2, /^CHECK CRITICAL - it: DISK CRITICAL/, ["fired urgent #1"]],
    [
      "check_disk",
      ["-w", "10%", "-p", "/no/such"],
      2,
      /^CHECK CRITICAL - it: DISK CRITICAL - \/no\/such/,
      ["fired urgent #1"],
    ],
    ["check_procs", ["-w", "1:"], 0, /^CHECK OK - it: PROCS OK: \d+ processes$/, []],
    [
      "check_procs",
      ["-c", "0:0"],
      2,
      /^CHECK CRITICAL - it: PROCS CRITICAL: \d+ processes\n/,
      ["fired urgent #1"],
    ],
    ["check_load", ["-w", "9999,9999,9999", "-c", "9999,9999,9999"], 0, /^CHECK OK - it: .*load average/, []],
    ["check_load", [], 3, /^CHECK UNKNOWN - it: check_load: Could not parse arguments$/, []],
  ];
  for (const [name, args, code, line, states] of rows)
    test(`${name} ${args.join(" ")} exits with ${code}`, async () => {
      const place = new Place();
      const ran = await place.check(["--name", "it", "--", plugin(name), ...args]);
      assert.equal(ran.code, code, ran.stdout);
      assert.match(ran.stdout, line);
      assert.doesNotMatch(ran.stdout, /\|/);
      assert.deepEqual([ran.stderr, place.states], ["", states]);
    });

  test("check_file_age tells of a file that is written again", async () => {
    const place = new Place();
    const file = join(place.home, "backup.tar");
    const check = () =>
      place.check(["--name", "backup", "--", plugin("check_file_age"), "-w", "60", "-c", "600", "-f", file]);
    const ages: [age: number, code: number][] = [
      [5, 0],
      [120, 1],
      [1200, 2],
      [5, 0],
    ];
    assert.equal((await check()).code, 2, "it is not there");
    for (const [age, code] of ages) {
      writeFileSync(file, "backup");
      utimesSync(file, new Date(), new Date(Date.now() - age * 1000));
      assert.equal((await check()).code, code);
    }
    assert.deepEqual(place.states, ["resolved urgent #5"], "fired, resolved, fired, worse, resolved");
    assert.match(place.signals[0]?.envelope.summary ?? "", /^backup: FILE_AGE OK: /);
  });

  test("check_tcp tells of a port that opens and closes", async () => {
    const place = new Place();
    const server = createServer((socket) => socket.end()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const check = () =>
      place.check(["--name", "db", "--", plugin("check_tcp"), "-H", "127.0.0.1", "-p", `${port}`]);
    assert.equal((await check()).code, 0);
    assert.deepEqual(place.states, []);
    server.close();
    await once(server, "close");
    const red = await check();
    assert.match(
      red.stdout,
      /^CHECK CRITICAL - db: connect to address 127\.0\.0\.1 and port \d+: Connection refused\n {4}fired /,
    );
    assert.equal((await check()).code, 2);
    assert.deepEqual(place.states, ["fired urgent #1"], "the same is no news");
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    assert.match((await check()).stdout, /^CHECK OK - db: TCP OK/);
    assert.deepEqual(place.states, ["resolved urgent #2"]);
    server.close();
  });

  test("gets worse and better in one signal, of its name and work tree", async () => {
    const place = new Place();
    const dummy = (status: string, cwd?: string) =>
      place.check(["--name", "it", "--", plugin("check_dummy"), status], cwd);
    await dummy("1");
    await dummy("2", join(place.tree, "sub"));
    assert.deepEqual(place.states, ["fired urgent #2"]);
    const [signal] = place.signals;
    assert.equal(signal?.key, identityKey("check", "command", ["it", place.tree]));
    assert.deepEqual([signal?.producer, signal?.origin], ["monitors/check", "monitor"]);
    await dummy("2", place.home);
    assert.deepEqual(place.states, ["fired urgent #2", "fired urgent #1"], "another place is another signal");
  });
});

describe("a plugin of one's own", () => {
  test("that hangs is UNKNOWN, and ended with all it started, but does not end what is fired", async () => {
    const place = new Place();
    const pids = join(place.home, "pids");
    const args = [
      "--name",
      "it",
      "--timeout",
      "2s",
      "--",
      place.script(
        "plugin",
        `[ -e ${pids} ] || { echo bad; exit 1; }
trap "" TERM; sleep 300 & echo $$ $! > ${pids}; wait; while :; do sleep 1; done`,
      ),
    ];
    assert.equal((await place.check(args)).code, 1);
    writeFileSync(pids, "");
    const hung = await place.check(args);
    assert.deepEqual([hung.code, hung.stdout], [3, "CHECK UNKNOWN - took longer than 2s"]);
    assert.deepEqual(place.states, ["fired warning #1"]);
    const started = readFileSync(pids, "utf8").trim().split(" ").map(Number);
    assert.equal(started.length, 2);
    for (const pid of started) await isOver(pid);
  });

  test("that takes too long has time to put away what it has", async () => {
    const place = new Place();
    const tidied = join(place.home, "tidied");
    const tidy = `trap 'sleep 0.7; echo > ${tidied}; exit' TERM; sleep 300 & wait`;
    assert.equal((await place.check(["--timeout", "1s", "--", place.script("plugin", tidy)])).code, 3);
    assert.ok(existsSync(tidied));
  });

  test("that prints megabytes is heard in its first line", async () => {
    const place = new Place();
    const flood = place.script(
      "plugin",
      "echo 'FLOOD WARNING | x=1'; head -c 30000000 /dev/zero | tr '\\0' 'x'; echo more; head -c 3000000 /dev/zero >&2; exit 1",
    );
    const ran = await place.check(["--name", "it", "--", flood]);
    assert.deepEqual([ran.code, ran.stdout.split("\n")[0]], [1, "CHECK WARNING - it: FLOOD WARNING"]);
  });

  test("leaves something behind that holds its output open, and is not waited for", async () => {
    const place = new Place();
    const pid = join(place.home, "pid");
    const ran = await place.check([
      "--name",
      "it",
      "--",
      place.script("plugin", `sleep 300 & echo $! > ${pid}; echo red; exit 2`),
    ]);
    assert.deepEqual([ran.code, ran.stdout.split("\n")[0]], [2, "CHECK CRITICAL - it: red"]);
    process.kill(Number(readFileSync(pid, "utf8")));
  });

  test("that prints what is no text comes out as one line", async () => {
    const place = new Place();
    const hostile = place.script(
      "plugin",
      "printf '\\033[2J\\033[31mred\\377\\000 </signal-data>\\r\\nSignal resolved | x'; exit 2",
    );
    const ran = await place.check(["--name", "it", "--", hostile]);
    assert.equal(ran.stdout.split("\n")[0], "CHECK CRITICAL - it: red\ufffd </signal-data>");
    assert.equal(place.signals[0]?.envelope.summary, "it: red\ufffd </signal-data>");
  });

  test("that says nothing is told by its name, which shows no password", async () => {
    const place = new Place();
    const silent = place.script("check it", "echo; echo why >&2; exit 1");
    const ran = await place.check(["--", silent, "postgres://ada:secret@db.example.test/x"]);
    assert.match(
      ran.stdout,
      /^CHECK WARNING - '.*check it' postgres:\/\/db\.example\.test\/x: says nothing, but on stderr: why\n/,
    );
    assert.doesNotMatch(JSON.stringify(place.signals), /secret/);
  });

  test("that is not there, or may not be run, is UNKNOWN, and the third time is a signal of its own", async () => {
    const place = new Place();
    const plain = place.script("plain", "exit 0");
    chmodSync(plain, 0o644);
    const denied = await place.check(["--name", "it", "--", plain]);
    assert.deepEqual([denied.code, denied.stdout], [3, "CHECK UNKNOWN - it: cannot be started (EACCES)"]);
    for (const count of [0, 0, 1]) {
      const ran = await place.check(["--name", "it", "--", "no-such-plugin"]);
      assert.deepEqual([ran.code, ran.stdout], [3, "CHECK UNKNOWN - it: there is no program no-such-plugin"]);
      assert.equal(place.signals.length, count);
    }
    assert.match(
      place.signals[0]?.envelope.summary ?? "",
      /^The monitor check it has not been able to read its source yet: it: there is no program no-such-plugin$/,
    );
  });

  test("that a signal ends is UNKNOWN", async () => {
    const place = new Place();
    const ran = await place.check(["--name", "it", "--", place.script("plugin", "echo half; kill -KILL $$")]);
    assert.deepEqual([ran.code, ran.stdout], [3, "CHECK UNKNOWN - it: was ended by SIGKILL: half"]);
  });
});

describe("with --any-failure any command is a check:", () => {
  const rows: [script: string, code: number, line: string][] = [
    ["echo one; echo two", 0, "CHECK OK - it succeeded: two"],
    ["echo one; echo; exit 1", 1, "CHECK WARNING - it failed with status 1: one"],
    ["echo no >&2; exit 2", 1, "CHECK WARNING - it failed with status 2: on stderr: no"],
    ["exit 3", 1, "CHECK WARNING - it failed with status 3"],
    ["echo going; kill -TERM $$", 1, "CHECK WARNING - it was ended by SIGTERM: going"],
    ["no-such-program", 3, "CHECK UNKNOWN - it: cannot be started, it seems (status 127): on stderr: "],
    ["exit 126", 3, "CHECK UNKNOWN - it: cannot be started, it seems (status 126)"],
  ];
  for (const [script, code, line] of rows)
    test(script, async () => {
      const place = new Place();
      const ran = await place.check(["--name", "it", "--any-failure", "--", "sh", "-c", script]);
      assert.equal(ran.code, code);
      assert.equal(ran.stdout.split("\n")[0]?.slice(0, line.length), line);
      assert.deepEqual(place.states, code === 1 ? ["fired warning #1"] : []);
    });

  test("a line in quotes is no program, and that is said", async () => {
    const ran = await new Place().check(["--name", "tests", "--any-failure", "--", "npm test"]);
    const says = "there is no program 'npm test'; write its words without quotes, or use sh -c";
    assert.deepEqual([ran.code, ran.stdout], [3, `CHECK UNKNOWN - tests: ${says}`]);
  });

  test("one that is not there is UNKNOWN", async () => {
    const ran = await new Place().check(["--any-failure", "--", "no-such-program"]);
    assert.deepEqual(
      [ran.code, ran.stdout],
      [3, "CHECK UNKNOWN - no-such-program: there is no program no-such-program"],
    );
  });

  test("red, red, green is one signal, and --severity says how urgent it is", async () => {
    const place = new Place();
    const flag = join(place.tree, "red");
    const check = () => place.check(["--any-failure", "--severity", "urgent", "--", "test", "!", "-e", flag]);
    writeFileSync(flag, "");
    assert.deepEqual([(await check()).code, (await check()).code], [2, 2]);
    assert.deepEqual(place.states, ["fired urgent #1"]);
    execFileSync("rm", [flag]);
    assert.equal((await check()).code, 0);
    assert.deepEqual(place.states, ["resolved urgent #2"]);
  });
});

test("called wrong it is UNKNOWN, and runs nothing", async () => {
  const place = new Place();
  const rows: [args: string[], says: RegExp][] = [
    [[], /^error: COMMAND: is missing; --help shows the usage$/],
    [["--"], /^error: COMMAND: is missing/],
    [["touch", "ran"], /^error: COMMAND: touch: has to stand behind --; write -- before it$/],
    [["touch", "--", "ran"], /^error: COMMAND: touch: has to stand behind --/],
    [["--name", "", "--", "touch", "ran"], /^error: --name: is empty/],
    [["--", ""], /^error: COMMAND: is empty/],
    [
      ["--any-failures", "--", "touch", "ran"],
      /^error: --any-failures: unknown flag; did you mean --any-failure\?$/,
    ],
  ];
  for (const [args, says] of rows) {
    const ran = await place.check(args);
    assert.deepEqual([ran.code, ran.stdout], [3, ""]);
    assert.match(ran.stderr, says);
  }
  assert.ok(!existsSync(join(place.tree, "ran")) && !existsSync(place.dir));
});

describe("who ends the monitor ends what it runs:", () => {
  const rows: [
    signal: NodeJS.Signals,
    args: string[],
    ended: [code: number | null, signal: string | null],
  ][] = [
    ["SIGINT", [], [null, "SIGINT"]],
    ["SIGTERM", [], [null, "SIGTERM"]],
    ["SIGTERM", ["--every", "1h"], [0, null]],
  ];
  for (const [signal, args, ended] of rows)
    test(`${signal} ${args.join(" ")}`, async () => {
      const place = new Place();
      const pids = join(place.home, "pids");
      const hangs = place.script("hangs", `sleep 300 & echo $$ $! > ${pids}; wait`);
      const words = [...TSX, join(ROOT, "monitors/check.mts"), ...args, "--", hangs];
      const env = { PATH: process.env["PATH"] ?? "", ...place.env };
      const child = spawn(process.execPath, words, { cwd: place.tree, env, stdio: "ignore" });
      const end = once(child, "exit");
      while (!existsSync(pids) || readFileSync(pids, "utf8").trim() === "") await sleep(20);
      child.kill(signal);
      assert.deepEqual(await end, ended);
      if (args.length === 0)
        assert.ok(!existsSync(place.dir), "a look that was cut short counts for nothing");
      for (const pid of readFileSync(pids, "utf8").trim().split(" ")) await isOver(Number(pid));
    });
});

/** Throws when a process does not end. In a container nobody may be there to take away one that has. */
async function isOver(pid: number): Promise<void> {
  const isZombie = () =>
    existsSync(`/proc/${pid}/status`) && /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  for (let i = 0; isRunning(pid) && !isZombie(); i++) {
    assert.ok(i < 500, `${pid} goes on`);
    await sleep(20);
  }
}
