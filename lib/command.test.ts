import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { takeCommand, unknownCommand } from "./command.ts";

/** What a command line becomes; that it then runs is a test of `signals` itself. */

describe("the words of a command are taken off its command line:", () => {
  const cases: [words: string[], entry: string | undefined, left: string[]][] = [
    [["list"], "scripts/list", []],
    [["list", "--all"], "scripts/list", ["--all"]],
    [["show", "k", "-v"], "scripts/show", ["k", "-v"]],
    [["show", "list"], "scripts/show", ["list"]],
    [["show", "--", "--key"], "scripts/show", ["--", "--key"]],
    [["fire", "--summary", "list"], "scripts/fire", ["--summary", "list"]],
    [["show", ""], "scripts/show", [""]],
    [[], undefined, []],
    [["--json"], undefined, ["--json"]],
    [["--json", "list"], undefined, ["--json", "list"]],
    [["lst", "--all", "x"], undefined, ["lst"]],
    [["monitor", "nothing", "--all"], undefined, ["monitor", "nothing"]],
    [["signals", "list"], undefined, ["signals", "list"]],
    [["stop"], undefined, ["stop"]],
    [["constructor"], undefined, ["constructor"]],
  ];
  for (const [words, name, left] of cases) {
    test(`signals ${words.join(" ")}`, () => {
      const argv = ["node", "signals.mts", ...words];
      const entry = takeCommand(argv);
      assert.equal(entry?.name, name);
      assert.deepEqual(argv, ["node", entry?.file ?? "signals.mts", ...left]);
    });
  }
});

test("words that name nothing are an error that names what was meant", () => {
  const cases: [words: string[], said: string][] = [
    [["lst"], "lst: there is no such command; did you mean list?"],
    [["unknown", "list"], "unknown: there is no such command; signals, alone, lists them"],
    [
      ["monitor", "quite-another"],
      "monitor quite-another: there is no such command; signals, alone, lists them",
    ],
    [["list", "x"], "list: comes first; put the flags behind it"],
  ];
  for (const [words, said] of cases) assert.equal(unknownCommand(words).message, `VERB: ${said}`);
});
