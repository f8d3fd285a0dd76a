import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { writeBundles } from "../lib/bundle.ts";
import { readDocument } from "../lib/inbox.ts";
import { hasEnded } from "../lib/testing/ended.ts";
import { type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";
import { screenAfter } from "../lib/testing/screen.ts";
import { shellWord } from "../lib/text.ts";
import { timeOf } from "../lib/time.ts";

const bundles = realpathSync(tempDirectory("poll"));
const children = new Set<ChildProcess>();
before(() => writeBundles(bundles));
after(() => {
  for (const child of children) child.kill("SIGKILL");
});

const LINUX = { skip: process.platform === "linux" ? false : "needs util-linux" };
const POLL = join(bundles, "scripts", "poll.mjs");
const PATIENCE_MS = 30_000;

/** What holds soon, or never. */
async function until(holds: () => boolean, what: () => string): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; !holds(); await sleep(20))
    if (Date.now() > end) assert.fail(what());
}

/** An inbox with a config.toml, and plugins beside it that count their polls. */
class Place {
  readonly home = realpathSync(tempDirectory("poll"));
  readonly dir = join(this.home, "my signals");
  readonly env = { HOME: this.home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };

  constructor() {
    mkdirSync(this.dir, { mode: 0o700 });
  }

  config(text: string): void {
    writeFileSync(join(this.dir, "config.toml"), text);
  }

  plugin(name: string, line: string): void {
    const counts = `echo x >> ${shellWord(join(this.dir, `${name}.polls`))}`;
    writeFileSync(join(this.dir, name), `#!/bin/sh\n${counts}\n${line}\n`, { mode: 0o755 });
  }

  polls(name: string): number {
    const file = join(this.dir, `${name}.polls`);
    return existsSync(file) ? readFileSync(file, "utf8").length / 2 : 0;
  }

  once(...args: string[]): Promise<Run> {
    return run(process.execPath, [POLL, "--once", "--dir", this.dir, ...args], { env: this.env, cwd: "/" });
  }

  start(...args: string[]): Running {
    return new Running(this, [process.execPath, POLL, "--dir", this.dir, ...args]);
  }

  /** Each signal, as `summary: state`. */
  signals(): string[] {
    const { signals } = readDocument(this.dir, timeOf(Date.now()));
    return signals.map(({ envelope, state }) => `${envelope.summary}: ${state}`);
  }
}

/** A poll that goes on. */
class Running {
  readonly child: ChildProcess;
  out = "";
  err = "";
  readonly #ended: Promise<[number | null, NodeJS.Signals | null]>;

  constructor(
    { home, env }: Place,
    [program = "", ...args]: readonly string[],
    more: Record<string, string> = {},
  ) {
    const child = spawn(program, args, { cwd: home, env: { ...env, ...more }, stdio: "pipe" });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
    this.#ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
    this.child = child;
    children.add(child);
  }

  async says(pattern: RegExp): Promise<void> {
    const all = () => `${this.out}\n${this.err}`;
    await until(
      () => pattern.test(all()) || this.child.exitCode !== null,
      () => `no ${pattern} in:\n${all()}`,
    );
    assert.match(all(), pattern);
  }

  async ends(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal) this.child.kill(signal);
    const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => assert.fail("does not end"));
    const [code, by] = await Promise.race([this.#ended, late]);
    assert.equal(by, null);
    return code;
  }
}

const monitor = (name: string, every = "1s") => `[[monitor]]\nrun = "./${name}"\nevery = "${every}"\n`;

describe("signals poll --once", () => {
  test("polls each monitor once, and ends with 0 when each read its source", async () => {
    const place = new Place();
    place.config(monitor("a") + monitor("b", "1h"));
    place.plugin("a", "echo 'A OK - all is well'");
    place.plugin("b", "sleep 2; echo 'B WARNING'; exit 1");
    const { code, stdout, stderr } = await place.once();
    assert.deepEqual([code, stderr], [0, ""]);
    const [a, b, fate, ...more] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^[\d-]+T[\d:]+Z /, ""));
    assert.deepEqual([a, b, more], ["./a OK - A OK - all is well", "./b WARNING - B WARNING", []]);
    assert.match(fate ?? "", /^\.\/b: fired [0-9a-f]{8}#1 held: no session; /);
    assert.deepEqual([place.polls("a"), place.polls("b")], [1, 1]);
    assert.deepEqual(place.signals(), ["./b: B WARNING: fired"]);
  });

  test("ends with 1 when one could not be read or run, and polls the others", async () => {
    const place = new Place();
    place.config(`${monitor("a")}[[monitor]]\nrun = "htpp"\n${monitor("b")}`);
    place.plugin("a", "echo 'A OK'");
    place.plugin("b", "echo 'B UNKNOWN - no route'; exit 3");
    const { code, stdout } = await place.once();
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^\S+ htpp UNKNOWN - run: htpp: is no monitor, and no program on PATH; did you mean http\?$/m,
    );
    assert.match(stdout, /^\S+ \.\/a OK - A OK$/m);
    assert.match(stdout, /^\S+ \.\/b UNKNOWN - B UNKNOWN - no route$/m);
  });

  test("prints with --json one object a poll, each in a line, from source too", async () => {
    const place = new Place();
    place.config(monitor("a") + monitor("gone"));
    place.plugin("a", "echo 'A CRITICAL'; exit 2");
    const { env } = place;
    const results = [
      await place.once("--json"),
      await runFile("scripts/poll.mts", ["--once", "--json", "--dir", place.dir], { env }),
    ];
    for (const { code, stdout, stderr } of results) {
      assert.deepEqual([code, stderr], [1, ""]);
      const reports = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      const shown = reports.map(({ label, read, status }) => `${label} ${read} ${status}`).sort();
      assert.deepEqual(shown, ["./a true CRITICAL", "./gone false UNKNOWN"]);
    }
  });

  test("says so when there is no monitor, and ends with 0", async () => {
    const place = new Place();
    const { code, stdout, stderr } = await place.once();
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(
      stderr,
      /^\/.*\/config\.toml: has no \[\[monitor\]\]; write one, such as:\n {2}\[\[monitor\]\]\n/,
    );
    // What it says to write is a config.toml.
    place.config(stderr.split("\n").slice(1).join("\n"));
    assert.match((await place.once()).stdout, /^\S+ http https:\/\/example\.test\/health /);
  });

  test("polls one that is there twice only once, and says so", async () => {
    const place = new Place();
    place.config(monitor("a") + monitor("a", "5m"));
    place.plugin("a", "echo 'A OK'");
    const { code, stderr } = await place.once();
    assert.deepEqual([code, place.polls("a")], [0, 1]);
    assert.match(stderr, /^\/.*: left out 1 \[\[monitor\]\] that another one says already\n$/);
  });

  test("refuses a config.toml that was never valid, and goes on with the last valid one of the inbox", async () => {
    const place = new Place();
    place.plugin("a", "echo 'A OK'");
    place.config(`${monitor("a")}evry = 1\n`);
    const refused = await place.once();
    assert.deepEqual([refused.code, refused.stdout], [1, ""]);
    assert.match(
      refused.stderr,
      /^error: \/.*\/config\.toml:4: monitor\[0\]\.evry: unknown key; did you mean every\?\n$/,
    );

    place.config(monitor("a"));
    assert.equal((await place.once()).code, 0);
    // The first report of all stores the policy with it.
    place.plugin("a", "echo 'A WARNING'; exit 1");
    assert.equal((await place.once()).code, 0);
    place.config("evry = 1\n");
    const { code, stdout, stderr } = await place.once();
    assert.deepEqual([code, place.polls("a")], [0, 3]);
    assert.match(stdout, /\.\/a WARNING/);
    assert.match(stderr, /^config\.toml: goes on with the last valid settings: \/.*:1: evry: unknown key/);
  });
});

describe("signals poll", () => {
  test("polls again and again, and prints what changed", async () => {
    const place = new Place();
    place.config(monitor("a"));
    // What is only counted or timed is no news while it is well.
    place.plugin("a", 'echo "A OK - polled $(wc -l < a.polls) times"');
    const poll = place.start();
    await until(
      () => place.polls("a") >= 3,
      () => poll.out + poll.err,
    );
    assert.equal(poll.out.split("\n").length, 2, poll.out);
    place.plugin("a", "echo 'A CRITICAL'; exit 2");
    await poll.says(/^\S+ \.\/a: fired /m);
    place.plugin("a", "echo 'A OK'");
    await poll.says(/^\S+ \.\/a: resolved /m);
    assert.equal(await poll.ends("SIGTERM"), 0);
    const lines = poll.out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" ").slice(1, 3).join(" "));
    assert.deepEqual(lines, ["./a OK", "./a CRITICAL", "./a: fired", "./a OK", "./a: resolved"]);
    assert.equal(poll.err, "");
  });

  test("waits for a config.toml, takes each change of it, and begins only anew what changed", async () => {
    const place = new Place();
    for (const name of ["a", "b", "c"]) place.plugin(name, `echo '${name} OK'`);
    const poll = place.start();
    await poll.says(/config\.toml: has no \[\[monitor\]\] yet; write one/);
    place.config(monitor("a", "1h") + monitor("b", "1h"));
    await poll.says(/\.\/a OK[\s\S]*\.\/b OK|\.\/b OK[\s\S]*\.\/a OK/);
    place.config(monitor("a", "1h") + monitor("b", "2h") + monitor("c", "1h"));
    await poll.says(/config\.toml: read again: 1 new, 1 changed, 0 gone/);
    await until(
      () => place.polls("b") === 2 && place.polls("c") === 1,
      () => poll.out + poll.err,
    );
    assert.equal(place.polls("a"), 1);

    place.config(`${monitor("a", "1h")}evry = 1\n`);
    await poll.says(/goes on with the last valid settings: .*:4: monitor\[0\]\.evry: /);
    place.config(monitor("c", "1s"));
    await poll.says(/read again: 0 new, 1 changed, 2 gone/);
    await until(
      () => place.polls("c") >= 4,
      () => poll.out + poll.err,
    );
    rmSync(join(place.dir, "config.toml"));
    await poll.says(/read again: 0 new, 0 changed, 1 gone/);
    assert.equal(await poll.ends("SIGINT"), 0);
    assert.deepEqual([place.polls("a"), place.polls("b")], [1, 2]);
    assert.equal(poll.err.match(/goes on with/g)?.length, 1, "once for each version of the file");
  });

  test("ends, and says why, when its own files are gone, as after signals uninstall", async () => {
    const place = new Place();
    const installed = join(place.home, "installed");
    cpSync(bundles, installed, { recursive: true });
    const poll = new Running(place, [
      process.execPath,
      join(installed, "scripts/poll.mjs"),
      "--dir",
      place.dir,
    ]);
    await poll.says(/write one, such as/);
    rmSync(installed, { recursive: true });
    assert.equal(await poll.ends(), 1);
    assert.match(poll.err, /error: .*poll\.mjs: was removed; install again, and start signals poll again$/m);
  });

  test("goes on while config.toml is not valid, as do its monitors", async () => {
    const place = new Place();
    place.config(monitor("a"));
    place.plugin("a", "echo 'A OK'");
    const poll = place.start();
    await poll.says(/\.\/a OK/);
    place.config("evry = 1\n");
    await poll.says(/goes on with the last valid settings/);
    const before = place.polls("a");
    place.plugin("a", "echo 'A CRITICAL'; exit 2");
    await poll.says(/\.\/a: fired/);
    assert.ok(place.polls("a") > before);
    assert.equal(await poll.ends("SIGHUP"), 0);
  });

  test("survives whatever a monitor does, and says of one that cannot be run what the monitor cannot say", async () => {
    const place = new Place();
    place.config(`${monitor("well")}${monitor("gone")}${monitor("wild")}${monitor("stuck")}`);
    place.plugin("well", "echo 'WELL OK'");
    place.plugin("wild", "kill -9 $PPID");
    place.plugin("stuck", "exec sleep 600");
    const poll = place.start();
    await poll.says(/\.\/wild UNKNOWN - was killed by SIGKILL/);
    await until(
      () => place.signals().length === 2,
      () => `${place.signals()}\n${poll.out}${poll.err}`,
    );
    for (const [name, error] of [
      ["gone", "run: ./gone: there is no such file"],
      ["wild", "was killed by SIGKILL"],
    ]) {
      const says = `The monitor ./${name} has not been able to read its source yet: ${error}`;
      assert.ok(
        place.signals().some((text) => text.startsWith(says) && text.endsWith(": fired")),
        `${place.signals()}`,
      );
    }
    const before = place.polls("well");
    await until(
      () => place.polls("well") > before,
      () => poll.out,
    );
    assert.equal(place.polls("stuck"), 1, "never two at once");

    // What is mended, and what is taken out, has no trouble any more.
    place.plugin("wild", "echo 'WILD OK'");
    place.config(monitor("well") + monitor("wild", "2s"));
    await until(
      () => place.signals().every((text) => text.endsWith(": resolved")),
      () => `${place.signals()}`,
    );
    assert.equal(await poll.ends("SIGTERM"), 0);
  });

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    test(`ends with 0 and with all that it started on ${signal}, and counts no failure`, async () => {
      const place = new Place();
      const pid = join(place.dir, "pid");
      place.config(monitor("a"));
      place.plugin("a", `echo $$ > ${shellWord(pid)}; exec sleep 600`);
      const poll = place.start();
      await until(
        () => existsSync(pid) && readFileSync(pid, "utf8") !== "",
        () => poll.err,
      );
      assert.equal(await poll.ends(signal), 0);
      const left = Number(readFileSync(pid, "utf8"));
      await until(
        () => hasEnded(left),
        () => "the plugin goes on",
      );
      assert.ok(!existsSync(join(place.dir, "monitors")));
      assert.deepEqual([poll.out, poll.err], ["", ""]);
    });
  }

  test("prints with --json one object a poll, in a line, whether it changed or not", async () => {
    const place = new Place();
    place.config(monitor("a"));
    place.plugin("a", "echo 'A OK'");
    const poll = place.start("--json");
    await until(
      () => poll.out.split("\n").length > 3,
      () => poll.err,
    );
    assert.equal(await poll.ends("SIGTERM"), 0);
    for (const line of poll.out.trimEnd().split("\n")) assert.equal(JSON.parse(line).status, "OK");
    assert.equal(poll.err, "");
  });
});

describe("on a terminal, signals poll", LINUX, () => {
  const inTerminal = (place: Place, size: string, env: Record<string, string> = {}) => {
    const words = [process.execPath, POLL, "--dir", place.dir].map(shellWord).join(" ");
    const line = `stty ${size}; exec ${words}`;
    return new Running(place, ["script", "-qec", line, "/dev/null"], {
      TERM: "xterm-256color",
      SHELL: "/bin/sh",
      ...env,
    });
  };
  const shown = ({ out }: Running) => screenAfter(out.replaceAll("\r\n", "\n"));

  test("draws a line a monitor in place, and Ctrl-C ends it with 0", async () => {
    const place = new Place();
    place.config(monitor("a") + monitor("long", "1h"));
    place.plugin("a", "echo 'A OK'");
    place.plugin(
      "long",
      "echo 'LONG CRITICAL - 日本語 and so much more than a line of this terminal can hold'; exit 2",
    );
    const poll = inTerminal(place, "cols 60 rows 10");
    await poll.says(/\.\/long: fired/);
    await until(
      () => place.polls("a") >= 3,
      () => poll.out,
    );
    await until(
      () => /CRITICAL {2}\ds ago/.test(shown(poll).join("\n")),
      () => shown(poll).join("\n"),
    );
    poll.child.stdin?.write("\x03");
    assert.equal(await poll.ends(), 0);
    const screen = shown(poll);
    const frame = screen.slice(-3);
    assert.match(frame[0] ?? "", /^\.\/a {6}OK {8}(just now|\ds ago {2}) {3}A OK$/);
    assert.match(frame[1] ?? "", /^\.\/long {3}CRITICAL {2}\ds ago {5}LONG CRITICAL - 日本.*…$/);
    assert.equal(frame[2], "", "the cursor is below");
    assert.ok(
      screen.slice(0, -3).every((line) => line.includes("./long: fired")),
      screen.join("\n"),
    );
    assert.ok(poll.out.includes("\x1b[31mCRITICAL\x1b[0m"));
  });

  test("has no colours with NO_COLOR, and no cursor to move where the terminal is dumb", async () => {
    const place = new Place();
    place.config(monitor("a", "1h"));
    place.plugin("a", "echo 'A CRITICAL'; exit 2");
    const plain = inTerminal(place, "cols 80 rows 24", { NO_COLOR: "1" });
    await plain.says(/\.\/a {3}CRITICAL/);
    const dumb = inTerminal(place, "cols 80 rows 24", { TERM: "dumb" });
    await dumb.says(/Z \.\/a .*CRITICAL - A CRITICAL/);
    for (const poll of [plain, dumb]) {
      poll.child.stdin?.write("\x03");
      assert.equal(await poll.ends(), 0);
    }
    const colour = `${"\x1b"}\\[\\d+m`;
    assert.doesNotMatch(plain.out, new RegExp(colour));
    assert.ok(!dumb.out.replace(new RegExp(colour, "g"), "").includes("\x1b"));
  });
});
