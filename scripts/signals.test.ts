import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { writeBundles } from "../lib/bundle.ts";
import { fireReport } from "../lib/by-hand.ts";
import type { Document } from "../lib/document.ts";
import { entries } from "../lib/entries.ts";
import { transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { ROOT, type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";

/** `signals` as it is typed: from source, and as npm puts it on the PATH. */

const PARALLEL = { concurrency: 2 };
const root = tempDirectory("signals");
const bundles = join(root, "package", "dist");
const command = join(root, "node_modules", ".bin", "signals");

before(async () => {
  await writeBundles(bundles);
  mkdirSync(join(root, "node_modules", ".bin"), { recursive: true });
  symlinkSync("../../package/dist/scripts/signals.mjs", command);
});

const signals = (args: readonly string[], options = {}): Promise<Run> =>
  run(command, args, { cwd: root, ...options });

/** The first sentence of each script's help, and of each monitor's, under the name that is typed. */
const LISTED = entries().flatMap(({ name, file }) => {
  const [, does] = /^ \* (.*)$/m.exec(readFileSync(file, "utf8")) ?? [];
  const typed = name
    .replace(/^scripts\//, "")
    .replace(/^monitors\//, "monitor ")
    .replaceAll("/", " ");
  return name.startsWith("hooks/") || typed === "signals" ? [] : [{ name: typed, does }];
});

describe("signals alone", PARALLEL, () => {
  test("lists what can be typed behind it, each with its sentence, and nothing else", async () => {
    assert.ok(LISTED.length > 10);
    const lines = LISTED.map(({ name, does }) => `${name}: ${does}\n`).join("");
    for (const { code, stdout, stderr } of await Promise.all([signals([]), runFile("scripts/signals.mts")])) {
      assert.deepEqual([code, stdout, stderr], [0, lines, ""]);
    }
  });

  test("is what help alone is too, and help VERB is the help of that script", async () => {
    const words = ["help", "help fire", "fire --help", "help frie"].map((text) => text.split(" "));
    const [list, alone, fire, own, wrong] = await Promise.all([[], ...words].map((args) => signals(args)));
    assert.deepEqual(alone, list);
    assert.match(own?.stdout ?? "", /^Fires a signal: /);
    assert.deepEqual(fire, own);
    const says = "error: VERB: frie: there is no such command; did you mean fire?\n";
    assert.deepEqual([wrong?.code, wrong?.stdout, wrong?.stderr], [2, "", says]);
  });

  test("prints them as one array with --json", async () => {
    const { code, stdout, stderr } = await signals(["--json"]);
    assert.deepEqual([code, JSON.parse(stdout), stderr], [0, LISTED, ""]);
  });

  test("has a help of its own", async () => {
    const { code, stdout } = await signals(["--help"]);
    assert.equal(code, 0);
    assert.match(stdout, /^The one command: [\s\S]*\n {2}usage {4}signals VERB \[flags\]\n/);
  });
});

describe("signals VERB", PARALLEL, () => {
  test("is the script itself: arguments, stdin, exit status and output", async () => {
    const dir = join(root, "a b");
    const envelope = JSON.stringify({
      schema: "harn.triage_event.v1",
      provider: "ci",
      source_kind: "run",
      source_url: "https://ci.example/1",
      summary: "From stdin",
      proposed_action: "Look",
    });
    const fired = await signals(["fire", "--dir", dir, "--event", "-", "--key", "k", "--json"], {
      stdin: envelope,
    });
    assert.deepEqual([fired.code, JSON.parse(fired.stdout).outcome, fired.stderr], [0, "fired", ""]);

    const env = { HARN_EXT_SIGNALS_DIR: dir };
    const [listed, source, missing, resolved] = await Promise.all([
      signals(["list"], { env }),
      runFile("scripts/signals.mts", ["show", "k"], { env }),
      signals(["show", "nothing", "--dir", dir]),
      signals(["resolve", "--dir", join(root, "none"), "--", "--key"]),
    ]);
    assert.match(listed.stdout, /^fired info k#1, .*\n {4}From stdin\n$/);
    assert.match(source.stdout, /^key: k\nstate: fired\n/);
    assert.deepEqual([missing.code, missing.stdout], [1, ""]);
    assert.match(missing.stderr, /^error: KEY: nothing: [^\n]+\n$/);
    assert.deepEqual([resolved.code, resolved.stderr], [0, "--key: no such signal; nothing to resolve\n"]);
  });

  for (const { name } of LISTED) {
    test(`${name} --help is the help of that script`, async () => {
      const { code, stdout, stderr } = await signals([...name.split(" "), "--help"]);
      const isMonitor = name.startsWith("monitor ");
      const file = isMonitor ? name.replace("monitor ", "monitors/") : `scripts/${name}`;
      const { stdout: own } = await run(process.execPath, [join(bundles, `${file}.mjs`), "--help"]);
      // One that is called wrong never reads as well, as with any Nagios plugin.
      assert.deepEqual([code, stdout, stderr], [isMonitor ? 3 : 0, own, ""]);
    });
  }

  test("that closes early or is cut off by its reader leaves no trace", async () => {
    const dir = join(root, "many");
    const change = (doc: Document, now: string) => {
      const reports = Array.from({ length: 200 }, (_, i) =>
        fireReport({ key: `k:${i}`, summary: "x".repeat(1_500), "no-hint": true }, now),
      );
      return [reports.reduce((acc, report) => fire(acc, report, now)[0], doc), undefined] as const;
    };
    await transact(dir, { change }, { onConfigFault: "throw" });
    const env = { HARN_EXT_SIGNALS_DIR: dir };
    const [cut, unread] = await Promise.all(
      ["head -1", "true"].map((reader) =>
        run("sh", ["-c", `{ "$0" list; echo "exit $?" >&2; } | ${reader}`, command], { env }),
      ),
    );
    assert.match(cut?.stdout ?? "", /^fired warning k:0#1, [^\n]+\n$/);
    assert.equal(cut?.stderr, "exit 0\n");
    assert.equal(unread?.stderr, "exit 0\n");
  });
});

test("the monitors have a list of their own", async () => {
  const { code, stdout } = await run(command, ["monitor"], {});
  const names = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(":")[0]);
  assert.equal(code, 0);
  assert.ok(
    names.includes("monitor github-ci") && names.every((name) => name?.startsWith("monitor ")),
    stdout,
  );
});

describe("a VERB that is none", PARALLEL, () => {
  const cases: [args: string[], said: string][] = [
    [["lst"], "VERB: lst: there is no such command; did you mean list?"],
    [["lst", "--all", "--nonsense", "--", "x"], "VERB: lst: there is no such command; did you mean list?"],
    [["resolv", "k", "--summary", "x"], "VERB: resolv: there is no such command; did you mean resolve?"],
    [["quite-another"], "VERB: quite-another: there is no such command; signals, alone, lists them"],
    [["signals"], "VERB: signals: there is no such command; signals, alone, lists them"],
    [
      ["monitor", "nothing", "--json"],
      "VERB: monitor nothing: there is no such command; signals, alone, lists them",
    ],
    [["../scripts/list"], "VERB: ../scripts/list: there is no such command; signals, alone, lists them"],
    [
      ["hooks/claude-code/stop"],
      "VERB: hooks/claude-code/stop: there is no such command; signals, alone, lists them",
    ],
    [["li\x1b[31mst\u202e"], "VERB: li [31mst : there is no such command; signals, alone, lists them"],
    [["--jsn"], "--jsn: unknown flag; did you mean --json?"],
    [["--json", "list"], "VERB: list: comes first; put the flags behind it"],
    [["--dir", "/nowhere", "show", "k"], "VERB: show: comes first; put the flags behind it"],
    [["--", "list"], "VERB: list: comes first; put the flags behind it"],
  ];
  for (const [args, said] of cases) {
    test(JSON.stringify(args.join(" ")), async () => {
      const { code, stdout, stderr } = await signals(args);
      assert.deepEqual([code, stdout, stderr], [2, "", `error: ${said}\n`]);
    });
  }

  test("is refused from source too", async () => {
    const { code, stderr } = await runFile("scripts/signals.mts", ["lst", "--all"]);
    assert.deepEqual([code, stderr], [2, `error: ${cases[0]?.[1]}\n`]);
  });
});

test("npm puts signals on the PATH from where the build writes it", () => {
  const { bin, scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const [, folder] = /copy\.mts --all (\S+)$/.exec(scripts.build) ?? [];
  assert.deepEqual(bin, { signals: `${folder}/scripts/signals.mjs` });
  assert.ok(existsSync(join(bundles, "scripts/signals.mjs")));
});
