import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempDirectory } from "../testing/temp.ts";
import { labelOf, watchOf } from "./state.ts";

describe("a monitor", () => {
  const rows: [argv: string[], args: string[], label: string][] = [
    [["acme/api"], ["acme/api"], "ci acme/api"],
    [["acme/api", "--every", "60s", "--json"], ["acme/api"], "ci acme/api"],
    [["--every=60s", "--dry-run", "-v", "acme/api", "--dir", "/a"], ["acme/api"], "ci acme/api"],
    [
      ["--timeout", "5s", "--branch", "next", "acme/api"],
      ["--branch", "next", "acme/api"],
      "ci --branch next acme/api",
    ],
    [["--branch=next"], ["--branch=next"], "ci --branch=next"],
    [
      ["acme/api", "--severity", "urgent", "--polls=3", "--over", "2m", "--no-hint", "--session", "ada"],
      ["acme/api"],
      "ci acme/api",
    ],
    [["--repo", "acme/api"], ["--repo", "acme/api"], "ci --repo acme/api"],
    [
      ["--name", "x", "--", "cmd", "--every", "1"],
      ["--name", "x", "--", "cmd", "--every", "1"],
      "ci --name x -- cmd --every 1",
    ],
    [["a b", "$HOME"], ["a b", "$HOME"], "ci 'a b' '$HOME'"],
    [
      ["https://ada:pw@ci.example.test/x"],
      ["https://ada:pw@ci.example.test/x"],
      "ci https://ci.example.test/x",
    ],
    [
      ["https://api.example.test/up?token=abc"],
      ["https://api.example.test/up?token=abc"],
      "ci 'https://api.example.test/up?…'",
    ],
    [
      ["--header", "Authorization: Bearer abc", "--header=X-Key: abc"],
      ["--header", "Authorization: Bearer abc", "--header=X-Key: abc"],
      "ci --header 'Authorization: …' '--header=X-Key: …'",
    ],
    [["a\nb\u202e"], ["a\nb\u202e"], "ci 'a b '"],
  ];
  for (const [argv, args, label] of rows)
    test(`is known by what it watches: ${JSON.stringify(argv)}`, () => {
      const watch = watchOf("ci", argv, "/");
      assert.deepEqual(watch.args, args);
      assert.equal(labelOf(watch), label);
    });

  test("is the same from wherever its directory is reached", () => {
    const folder = realpathSync(mkdtempSync(join(tempDirectory(), "a")));
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    assert.equal(watchOf("ci", [], join(folder, "link")).cwd, join(folder, "real"));
    assert.equal(watchOf("ci", [], "/no/such").cwd, "/no/such");
  });

  test("that is a check has the name that a person gave it, else its command", () => {
    const rows: [args: string[], label: string][] = [
      [["--name", "the disk", "--", "check_disk", "-w", "5%"], "check 'the disk'"],
      [["--any-failure", "--name=tests", "--", "npm", "test"], "check tests"],
      [["--any-failure", "--", "npm", "test", "--name", "x"], "check --any-failure -- npm test --name x"],
      [["--", "check_disk", "-w", "5%"], "check_disk -w 5%"],
    ];
    for (const [args, label] of rows) assert.equal(labelOf({ name: "check", args }), label);
  });

  test("has a label of a readable length", () => {
    assert.equal(Array.from(labelOf({ name: "check", args: ["x".repeat(500)] })).length, 80);
  });
});
