import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ROOT, type RunOptions, run, TSX } from "../testing/process.ts";
import { tempDirectory } from "../testing/temp.ts";
import { MONITOR_FLAGS } from "./flags.ts";
import type { PollReport } from "./poll-report.ts";
import { pauseAfter } from "./run.ts";

/** A monitor of somebody's own, in a folder of theirs beside the installed package: it tells what a file says. */
const own = realpathSync(tempDirectory("own"));
const file = join(own, "says.mts");
mkdirSync(join(own, "node_modules"));
symlinkSync(ROOT, join(own, "node_modules", "ambient-signals"));
writeFileSync(
  file,
  `#!/usr/bin/env tsx
/**
 * Says what a file says.
 *
 *   usage  tsx says.mts FILE
 */
import { readFileSync } from "node:fs";
import { runMonitor, UsageError } from "ambient-signals/monitor";

await runMonitor(import.meta.url, {
  flags: { loud: { type: "boolean" } },
  required: ["FILE"],
  why: "It may be so.",
  action: "Look at it.",
  async check({ args: [file = ""], flags, signal }) {
    const [status, ...words] = readFileSync(file, "utf8").trim().split(" ");
    if (status === "WRONG") throw new UsageError("FILE: is wrong; write another");
    if (status === "HANG") process.stderr.write("hangs\\n");
    if (status === "HANG") await new Promise(() => setInterval(() => {}, 1000));
    const summary = words.join(" ");
    return { status, identity: [file], summary: flags.loud ? summary.toUpperCase() : summary };
  },
});
`,
);

/** A place for one test: an inbox, and the file that the monitor reads. */
class Place {
  readonly home = realpathSync(tempDirectory("place"));
  readonly said = join(this.home, "said");
  readonly dir = join(this.home, "signals");

  says(text: string): this {
    writeFileSync(this.said, text);
    return this;
  }

  run(args: readonly string[] = [], options: RunOptions = {}) {
    const env = { HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir, ...options.env };
    return run(process.execPath, [...TSX, file, ...args], { cwd: this.home, ...options, env });
  }

  inbox() {
    return JSON.parse(readFileSync(join(this.dir, "inbox.json"), "utf8")).signals;
  }
}

describe("a monitor of one's own", () => {
  const rows: [says: string, args: string[], code: number, line: RegExp][] = [
    ["OK all is well", [], 0, /^SAYS OK - all is well$/],
    ["WARNING it is late", [], 1, /^SAYS WARNING - it is late\n {4}fired \w{8}#1 held: no session; .*$/],
    ["CRITICAL it is gone", ["--loud"], 2, /^SAYS CRITICAL - IT IS GONE\n/],
    ["WARNING it is late", ["--severity", "urgent"], 2, /^SAYS CRITICAL - it is late\n/],
    ["UNKNOWN who knows", [], 3, /^SAYS UNKNOWN - who knows$/],
    ["WARNING it is late", ["--polls", "2"], 1, /^SAYS WARNING - it is late\n {4}not fired: 1 of 2 polls$/],
    ["WARNING it is late", ["--dry-run"], 1, /^SAYS WARNING - it is late$/],
  ];
  for (const [says, args, code, line] of rows)
    test(`exits with ${code} for ${says} ${args.join(" ")}`, async () => {
      const place = new Place().says(says);
      const ran = await place.run([...args, place.said]);
      assert.equal(ran.code, code, ran.stderr);
      assert.match(ran.stdout.trimEnd(), line);
      assert.equal(ran.stderr, "");
    });

  const wrong: [args: string[], says: RegExp][] = [
    [["--lout"], /^error: --lout: unknown flag; did you mean --loud\?$/],
    [[], /^error: FILE: is missing; --help shows the usage$/],
    [["a", "b"], /^error: b: unexpected argument/],
    [
      ["a", "--every", "soon"],
      /^error: --every: soon: is no duration; write a whole number and a unit, such as 60s or 5m$/,
    ],
    [["a", "--every", "0s"], /^error: --every: 0s: is no duration/],
    [["a", "--timeout", "90d"], /^error: --timeout: 90d: is too long; write at most 24d$/],
    [["a", "--polls", "0"], /^error: --polls: 0: is no number of polls/],
    [["a", "--severity", "critical"], /^error: --severity: critical: is not one of info, warning, urgent/],
    [["a", "--repo", "x"], /^error: --repo: x: is no repository/],
    [["a", "--cwd", "/no/such"], /^error: --cwd: \/no\/such: is no directory/],
  ];
  for (const [args, says] of wrong)
    test(`called wrong is UNKNOWN, and touches nothing: ${args.join(" ")}`, async () => {
      const place = new Place();
      const ran = await place.run(args);
      assert.deepEqual([ran.code, ran.stdout], [3, ""]);
      assert.match(ran.stderr.trim(), says);
      assert.ok(!existsSync(place.dir));
    });

  test("prints its help and version, which read as UNKNOWN too", async () => {
    const place = new Place();
    const help = await place.run(["--help"]);
    assert.deepEqual([help.code, help.stdout.split("\n")[0]], [3, "Says what a file says."]);
    for (const flag of Object.keys(MONITOR_FLAGS)) assert.match(help.stdout, new RegExp(`--${flag}\\b`));
    assert.equal((await place.run(["--version"])).code, 3);
  });

  test("that cannot read its source says so as a plugin does, and its own signal comes at the third time", async () => {
    const place = new Place();
    for (const count of [0, 0, 1]) {
      const ran = await place.run([place.said]);
      assert.equal(ran.code, 3);
      assert.match(ran.stdout, /^SAYS UNKNOWN - ENOENT: no such file/);
      assert.equal(existsSync(join(place.dir, "inbox.json")) ? place.inbox().length : 0, count);
    }
    place.says("OK fine");
    assert.equal((await place.run([place.said])).code, 0);
    assert.equal(place.inbox()[0].state, "resolved");
  });

  test("whose check calls it wrong is not counted", async () => {
    const place = new Place().says("WRONG");
    const ran = await place.run([place.said]);
    assert.deepEqual([ran.code, ran.stderr], [3, "error: FILE: is wrong; write another\n"]);
    assert.ok(!existsSync(place.dir));
  });

  test("that hangs is ended in time", async () => {
    const place = new Place().says("HANG");
    const ran = await place.run(["--timeout", "100ms", place.said]);
    assert.deepEqual([ran.code, ran.stdout], [3, "SAYS UNKNOWN - took longer than 0.1s\n"]);
  });

  test("prints one JSON document with --json", async () => {
    const place = new Place().says("WARNING \u202e\u001b[31mred");
    const ran = await place.run(["--json", place.said]);
    const report: PollReport = JSON.parse(ran.stdout);
    const { monitor, label, status, summary, read, verdicts } = report;
    assert.deepEqual(
      [monitor, label, status, summary, read],
      ["says", `says ${place.said}`, "WARNING", "[31mred", true],
    );
    assert.deepEqual([verdicts[0]?.outcome, verdicts[0]?.delivery?.status], ["fired", "held"]);
    assert.doesNotMatch(ran.stdout, /(?!\n)[\p{Cc}\p{Cf}]/u);
  });

  const homes: [what: string, args: string[], env: Record<string, string>, hints: object][] = [
    ["is where it runs", [], {}, { repository: "github.com/acme/api", cwd: "CHECKOUT" }],
    ["is what a person says", ["--repo", "acme/web"], {}, { repository: "acme/web" }],
    ["is nowhere with --no-hint", ["--no-hint"], {}, {}],
    ["is what poll says", [], { HARN_EXT_SIGNALS_REPOSITORY: "acme/cli" }, { repository: "acme/cli" }],
    ["is nowhere when poll knows none", [], { HARN_EXT_SIGNALS_REPOSITORY: "" }, {}],
    [
      "is what a person says, whatever poll says",
      ["--session", "ada"],
      { HARN_EXT_SIGNALS_REPOSITORY: "a/b" },
      { session: "ada" },
    ],
  ];
  for (const [what, args, env, hints] of homes)
    test(`is at home: ${what}`, async () => {
      const place = new Place().says("WARNING red");
      const checkout = join(place.home, "api");
      mkdirSync(join(checkout, ".git"), { recursive: true });
      writeFileSync(join(checkout, ".git", "HEAD"), "ref: refs/heads/main\n");
      writeFileSync(
        join(checkout, ".git", "config"),
        '[remote "origin"]\n\turl = git@github.com:acme/api.git\n',
      );
      const ran = await place.run([...args, place.said], { cwd: checkout, env });
      assert.equal(ran.code, 1, ran.stderr);
      const text = JSON.stringify(place.inbox()[0].hints).replace(checkout, "CHECKOUT");
      assert.deepEqual(JSON.parse(text), hints);
    });
});

describe("with --every", () => {
  /** Runs on until what it printed matches, then is told to stop. */
  async function watch(place: Place, args: readonly string[], steps: [until: RegExp, then: () => void][]) {
    const env = { PATH: process.env["PATH"], HOME: place.home, HARN_EXT_SIGNALS_DIR: place.dir };
    const child = spawn(process.execPath, [...TSX, file, ...args, place.said], { cwd: place.home, env });
    const exited = once(child, "close");
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (steps[0]?.[0].test(printed)) steps.shift()?.[1]();
        if (steps.length === 0) child.kill("SIGTERM");
      });
    const [code] = await exited;
    return { code, printed };
  }

  test("it looks again and again, prints what changed, and stops cleanly when it is told to", async () => {
    const place = new Place().says("OK fine");
    const { code, printed } = await watch(
      place,
      ["--every", "50ms"],
      [
        [/SAYS OK - fine\n/, () => place.says("WARNING late")],
        [/SAYS WARNING - late\n.*fired \w+#1/, () => place.says("OK fine again")],
        [/SAYS OK - fine again\n.*resolved \w+#2/, () => {}],
      ],
    );
    assert.equal(code, 0);
    assert.equal(printed.match(/SAYS OK - fine\n/g)?.length, 1, "not once a look");
    assert.match(printed, /^says: looks every 50ms, and prints what changed\n/);
  });

  test("it prints a firing that had to wait, though nothing else changed", async () => {
    const place = new Place().says("WARNING late");
    const { printed } = await watch(
      place,
      ["--every", "50ms", "--polls", "2"],
      [[/\n {4}fired \w+#1/, () => {}]],
    );
    assert.match(printed, /late\n {4}not fired: 1 of 2 polls\nSAYS WARNING - late\n {4}fired /);
  });

  test("it prints a JSON document a line, one for each look", async () => {
    const place = new Place().says("OK fine");
    const { printed } = await watch(place, ["--every", "50ms", "--json"], [[/\n.*\n.*\n/, () => {}]]);
    for (const line of printed.trim().split("\n")) assert.equal(JSON.parse(line).status, "OK");
  });

  test("a broken inbox ends nothing: it says so, and goes on", async () => {
    const place = new Place().says("WARNING late");
    mkdirSync(place.dir, { mode: 0o700 });
    writeFileSync(join(place.dir, "inbox.json"), "{");
    const { code, printed } = await watch(
      place,
      ["--every", "50ms"],
      [
        [/error: inbox: .* is not JSON/, () => writeFileSync(join(place.dir, "inbox.json"), "")],
        [
          /error: inbox: .* is not JSON.*\n(.*\n)*.*not JSON/,
          () => run("rm", [join(place.dir, "inbox.json")]),
        ],
        [/fired \w+#1/, () => {}],
      ],
    );
    assert.equal(code, 0, printed);
  });

  test("a look that hangs does not keep it from stopping", async () => {
    const place = new Place().says("OK fine");
    const { code } = await watch(
      place,
      ["--every", "50ms"],
      [
        [/SAYS OK/, () => place.says("HANG")],
        [/SAYS OK/, () => {}],
      ],
    );
    assert.equal(code, 0);
  });
});

test("the pause is one that a timer of node can keep, and does not grow for what is read in part", () => {
  const at = "2026-01-05T12:00:00.000Z";
  const month = 24 * 24 * 3_600_000;
  assert.equal(pauseAfter({ failures: 0, not_before: null, at }, month, 1), 2 ** 31 - 1);
  assert.equal(pauseAfter({ failures: 9, partial: true, not_before: null, at }, 60_000, 0.5), 60_000);
});

test("the pause grows while the source cannot be read, and is never shorter than it asked for", () => {
  const at = "2026-01-05T12:00:00.000Z";
  const rows: [failures: number, everySeconds: number, notBefore: string | null, seconds: number][] = [
    [0, 60, null, 60],
    [1, 60, null, 60],
    [2, 60, null, 120],
    [4, 60, null, 480],
    [9, 60, null, 900],
    [9, 3600, null, 3600],
    [1, 60, "2026-01-05T12:05:00.000Z", 300],
    [1, 60, "2026-01-05T12:00:10.000Z", 60],
  ];
  for (const [failures, every, not_before, seconds] of rows) {
    const pause = (chance: number) => pauseAfter({ failures, not_before, at }, every * 1000, chance) / 1000;
    if (not_before === null || seconds === every) {
      assert.deepEqual(
        [pause(0), pause(0.5), pause(1)],
        [0.9, 1, 1.1].map((share) => Math.round(share * seconds)),
        `${failures}`,
      );
    } else {
      assert.deepEqual([pause(0), pause(1)], [seconds, Math.round(1.1 * seconds)]);
    }
  }
});
