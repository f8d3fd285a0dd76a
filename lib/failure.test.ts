import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { readFailures, recordFailure } from "./failure.ts";
import { run } from "./testing/process.ts";
import { tempDirectory } from "./testing/temp.ts";

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
    writeFileSync(
      join(dir, "failures.jsonl"),
      'x\nnull\n{"at":7}\n{"at":"zzz","hook":"x","message":"x"}\n\n',
      { flag: "a" },
    );
    recordFailure(dir, failure("two"));
    assert.deepEqual(readFailures(dir), [failure("one"), failure("two")]);
  });

  test("keeps what it has when one failure is as large as can be", () => {
    const dir = tempDirectory();
    recordFailure(dir, failure("one"));
    recordFailure(dir, { ...failure("x".repeat(1e6)), event: "é".repeat(1e6), session: "x".repeat(1e6) });
    recordFailure(dir, failure("three"));
    assert.deepEqual(
      readFailures(dir).map(({ message }) => message.slice(0, 5)),
      ["one", "xxxxx", "three"],
    );
  });

  test("waits for nobody where a pipe is in its place", async () => {
    const dir = tempDirectory();
    assert.equal((await run("mkfifo", [join(dir, "failures.jsonl")])).code, 0);
    recordFailure(dir, failure("one"));
    assert.deepEqual(readFailures(dir), []);
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
