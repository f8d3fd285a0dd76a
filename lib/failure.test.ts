import assert from "node:assert/strict";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { meetsFirst, readFailures, recordFailure, sweepTold } from "./failure.ts";
import { tempDirectory } from "./testing/temp.ts";

const NOW = Date.parse("2026-11-30T12:00:00Z");
const failure = (message: string) => ({
  at: "2026-11-30T12:00:00.000Z",
  hook: "claude-code stop.mjs",
  message,
});

describe("the log of failures", () => {
  test("keeps what went wrong, oldest first, for this person only", () => {
    const dir = tempDirectory();
    assert.deepEqual(readFailures(dir), [], "none is no failure");
    recordFailure(dir, { ...failure("one"), event: "Stop", session: "s1" });
    recordFailure(dir, failure("two"));
    assert.deepEqual(readFailures(dir), [
      { ...failure("one"), event: "Stop", session: "s1" },
      failure("two"),
    ]);
    assert.equal(statSync(join(dir, "failures.jsonl")).mode & 0o777, 0o600);
  });

  test("stays short, whatever fails how often, and keeps the newest", () => {
    const dir = tempDirectory();
    for (let i = 0; i < 300; i++) recordFailure(dir, failure(`${i} ${"x".repeat(5_000)}`));
    assert.ok(statSync(join(dir, "failures.jsonl")).size <= 32 * 1024);
    const kept = readFailures(dir);
    assert.ok(kept.length >= 20, `${kept.length}`);
    assert.deepEqual(
      kept.map(({ message }) => Number.parseInt(message, 10)),
      kept.map((_, i) => 300 - kept.length + i),
    );
    assert.deepEqual(readdirSync(dir), ["failures.jsonl"], "and leaves nothing beside it");
  });

  test("is read around lines that are none", () => {
    const dir = tempDirectory();
    recordFailure(dir, failure("one"));
    writeFileSync(join(dir, "failures.jsonl"), 'x\nnull\n{"at":7}\n\n', { flag: "a" });
    recordFailure(dir, failure("two"));
    assert.deepEqual(readFailures(dir), [failure("one"), failure("two")]);
  });

  test("is never written through a link, and never a reason to fail", () => {
    const dir = tempDirectory();
    const elsewhere = join(dir, "elsewhere");
    writeFileSync(elsewhere, "mine");
    symlinkSync(elsewhere, join(dir, "failures.jsonl"));
    recordFailure(dir, failure("one"));
    assert.equal(readFileSync(elsewhere, "utf8"), "mine");
    recordFailure(join(dir, "nowhere"), failure("one"));
  });
});

describe("what a person was told", () => {
  function inbox(): string {
    const dir = tempDirectory();
    mkdirSync(join(dir, "told"));
    return dir;
  }

  test("is told once per session and trouble", () => {
    const dir = inbox();
    const rows: [session: string, trouble: string, first: boolean][] = [
      ["a", "x", true],
      ["a", "x", false],
      ["a", "y", true],
      ["b", "x", true],
      ["b", "x", false],
      ["", "x", true],
      ["/../é".repeat(60), "x", true],
      ["/../é".repeat(60), "x", false],
    ];
    for (const [session, trouble, first] of rows) {
      assert.equal(meetsFirst(dir, session, trouble, NOW), first, `${session} ${trouble}`);
    }
  });

  test("is forgotten a day after it was last met, and not before", () => {
    const dir = inbox();
    const ago = (hours: number) => new Date(NOW - hours * 3_600_000);
    meetsFirst(dir, "a", "x", NOW);
    const [name = ""] = readdirSync(join(dir, "told"));
    const path = join(dir, "told", name);

    utimesSync(path, ago(23), ago(23));
    sweepTold(dir, NOW);
    assert.equal(meetsFirst(dir, "a", "x", NOW), false);
    sweepTold(dir, NOW + 23 * 3_600_000);
    assert.equal(meetsFirst(dir, "a", "x", NOW), false, "met again, so remembered from then on");
    utimesSync(path, ago(25), ago(25));
    sweepTold(dir, NOW);
    assert.equal(meetsFirst(dir, "a", "x", NOW), true);
  });

  test("is unknown where nothing can be remembered", () => {
    assert.equal(meetsFirst(join(tempDirectory(), "nowhere"), "a", "x", NOW), undefined);
  });
});
