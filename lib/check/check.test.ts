import assert from "node:assert/strict";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import type { Ran } from "../process-group.ts";
import { tempDirectory } from "../testing/temp.ts";
import { hasForbidden } from "../text.ts";
import { checkCommand, commandFrom, judgeCommand, judgePlugin } from "./check.ts";

const ended = (status: number, stdout = "", stderr = ""): Ran => ({ status, signal: null, stdout, stderr });
const killed = (signal: NodeJS.Signals, stdout = ""): Ran => ({ status: null, signal, stdout, stderr: "" });

/** What is judged, in one word and a line; `throws` when it tells nothing. */
function judged(judge: () => { status: string; summary: string }): [status: string, summary: string] {
  try {
    const { status, summary } = judge();
    return [status, summary];
  } catch (error) {
    return ["throws", (error as Error).message];
  }
}

describe("the status of a plugin decides, and its first line is what it says:", () => {
  const rows: [name: string, ran: Ran, status: string, summary: string][] = [
    ["0", ended(0, "DISK OK - free space: / 9 MiB | /=9MiB\n"), "OK", "disk: DISK OK - free space: / 9 MiB"],
    ["1", ended(1, "DISK WARNING\n"), "WARNING", "disk: DISK WARNING"],
    ["2", ended(2, "DISK CRITICAL"), "CRITICAL", "disk: DISK CRITICAL"],
    ["3", ended(3, "DISK UNKNOWN - no such mount\n"), "throws", "DISK UNKNOWN - no such mount"],
    ["words that say otherwise", ended(2, "OK: all is well\n"), "CRITICAL", "disk: OK: all is well"],
    ["more lines", ended(1, "first\r\nsecond\nthird | x=1\n"), "WARNING", "disk: first"],
    ["nothing but performance data", ended(1, " | x=1\n"), "WARNING", "disk: says nothing"],
    ["nothing", ended(0), "OK", "disk: says nothing"],
    [
      "words for stderr",
      ended(1, "\n", "\n boo\nhoo\n"),
      "WARNING",
      "disk: says nothing, but on stderr: boo",
    ],
    ["colours", ended(2, "\x1b[1;31mred\x1b[0m \x1b]0;title\x07alert\n"), "CRITICAL", "disk: red alert"],
    ["what moves a cursor", ended(1, "a\x00b\x08c\u202ed\u200be\n"), "WARNING", "disk: a b c d e"],
    [
      "status 4",
      ended(4, "what"),
      "throws",
      "ended with status 4, as no plugin does (--any-failure is for other commands): what",
    ],
    [
      "status 127",
      ended(127),
      "throws",
      "ended with status 127, as no plugin does (--any-failure is for other commands): says nothing",
    ],
    [
      "status 255",
      ended(255, "x"),
      "throws",
      "ended with status 255, as no plugin does (--any-failure is for other commands): x",
    ],
    ["a signal", killed("SIGSEGV", "half a li"), "throws", "was ended by SIGSEGV: half a li"],
  ];
  for (const [name, ran, ...expected] of rows)
    test(name, () =>
      assert.deepEqual(
        judged(() => judgePlugin("disk", ran)),
        expected,
      ),
    );
});

describe("of any command whatever is not 0 is a failure, and the last lines say how it went:", () => {
  const rows: [name: string, ran: Ran, status: string, summary: string][] = [
    ["success", ended(0, "one\ntwo\n\n"), "OK", "npm test succeeded: two"],
    ["success in silence", ended(0), "OK", "npm test succeeded"],
    ["status 1", ended(1, "not ok 1\n# fail 1\n"), "WARNING", "npm test failed with status 1: # fail 1"],
    ["status 2 is no worse", ended(2), "WARNING", "npm test failed with status 2"],
    ["status 3 is known too", ended(3), "WARNING", "npm test failed with status 3"],
    ["status 255", ended(255, "", "lost\n"), "WARNING", "npm test failed with status 255: on stderr: lost"],
    [
      "words on both",
      ended(2, "cc main.c\n", "main.c:1: error\nmake: *** [all] Error 1\n"),
      "WARNING",
      "npm test failed with status 2: cc main.c; on stderr: make: *** [all] Error 1",
    ],
    ["a progress bar", ended(1, "10%\r20%\rbroken\r"), "WARNING", "npm test failed with status 1: broken"],
    ["a signal", killed("SIGKILL", "building\n"), "WARNING", "npm test was ended by SIGKILL: building"],
    [
      "status 126",
      ended(126, "", "sh: x: Permission denied"),
      "throws",
      "cannot be started, it seems (status 126): on stderr: sh: x: Permission denied",
    ],
    ["status 127", ended(127), "throws", "cannot be started, it seems (status 127)"],
  ];
  for (const [name, ran, ...expected] of rows)
    test(name, () =>
      assert.deepEqual(
        judged(() => judgeCommand("npm test", ran)),
        expected,
      ),
    );
});

test("whatever a command prints comes out as one line of a readable length", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 2_000 }),
    fc.constant("x\u202e\n".repeat(900)),
  );
  fc.assert(
    fc.property(text, text, fc.boolean(), (stdout, stderr, any) => {
      const { summary } = (any ? judgeCommand : judgePlugin)("it", ended(1, stdout, stderr));
      assert.ok(!hasForbidden(summary));
      assert.ok(Array.from(summary).length < 600);
    }),
  );
});

describe("the command is what stands behind --", () => {
  const rows: [argv: string[], args: string[], command: string[] | RegExp][] = [
    [["--", "true"], ["true"], ["true"]],
    [
      ["--name", "n", "--", "a", "--json", "--", "b"],
      ["a", "--json", "--", "b"],
      ["a", "--json", "--", "b"],
    ],
    [["true"], ["true"], /^COMMAND: true: has to stand behind --; write -- before it$/],
    [["a", "--", "b"], ["a", "b"], /^COMMAND: a: has to stand behind --/],
    [["--", "", "x"], ["", "x"], /^COMMAND: is empty/],
  ];
  for (const [argv, args, command] of rows)
    test(argv.join(" "), () => {
      if (!(command instanceof RegExp)) assert.deepEqual(commandFrom(argv, args), command);
      else assert.throws(() => commandFrom(argv, args), { name: "UsageError", message: command });
    });
});

describe("the signal of a check", () => {
  const { argv } = process;
  const cwd = process.cwd();
  after(() => {
    process.argv = argv;
    process.chdir(cwd);
  });
  const check = (command: readonly string[], name?: string) => {
    process.argv = [...argv.slice(0, 2), "--", ...command];
    return checkCommand({ flags: { name }, args: command, signal: new AbortController().signal });
  };

  test("is that of its name and its work tree, or directory where there is none", async () => {
    const home = realpathSync(tempDirectory("check"));
    const tree = join(home, "api");
    mkdirSync(join(tree, ".git"), { recursive: true });
    mkdirSync(join(tree, "sub"));
    writeFileSync(join(tree, ".git", "HEAD"), "ref: refs/heads/main\n");
    for (const [place, work_tree] of [
      [tree, tree],
      [join(tree, "sub"), tree],
      [home, home],
    ] as const) {
      process.chdir(place);
      assert.deepEqual((await check(["true"], "it")).identity, ["it", work_tree]);
      assert.deepEqual((await check(["printf", "a b"])).identity, ["printf 'a b'", work_tree]);
    }
  });

  test("is one line of a readable length, however long the command and what it says are", async () => {
    const long = `${"x".repeat(40_000)}\n`;
    const { summary } = await check(["sh", "-c", 'echo "$0" "$0"; exit 1', long]);
    assert.match(summary, /^sh -c .{70,}…: x+…$/);
    assert.ok(summary.length < 400);
    await assert.rejects(check(["sh", "-c", 'echo "$0"; exit 3', long]), ({ message }: Error) => {
      assert.ok(message.length < 400);
      return true;
    });
    assert.match((await check(["true", long])).summary, /^true 'x+…: says nothing$/);
  });

  test("has a name that can be read", async () => {
    for (const name of ["", " ", "\u200b\n"])
      await assert.rejects(check(["true"], name), { name: "UsageError", message: /^--name: is empty/ });
  });
});
