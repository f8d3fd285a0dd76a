import assert from "node:assert/strict";
import { mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempDirectory } from "./testing/temp.ts";
import { meetsFirst, sweepTold } from "./told.ts";

const NOW = Date.parse("2026-11-30T12:00:00Z");

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
