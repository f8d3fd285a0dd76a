import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../testing/process.ts";
import { plus, relative } from "../time.ts";
import { lastReads } from "./last-read.ts";
import { type State, writeState } from "./state.ts";

const NOW = "2026-11-30T12:00:00.000Z";
const MINUTE = 60_000;

/** What is said of monitors that know this. */
function said(...states: Partial<State>[]): string[] {
  return saidOf(false, states);
}

function saidOf(all: boolean, states: Partial<State>[]): string[] {
  const dir = join(tempDirectory("last-read"), "signals");
  for (const [i, fields] of states.entries()) {
    const fresh = { failures: 0, status: "OK", summary: "", tracks: {}, memory: {} } as const;
    writeState(dir, {
      name: "http",
      args: [`${i}`],
      cwd: "/",
      polled_at: NOW,
      read_at: NOW,
      ...fresh,
      ...fields,
    });
  }
  return lastReads(dir, NOW, (time) => relative(time, NOW), all);
}

const ago = (minutes: number) => plus(NOW, -minutes * MINUTE);

test("each monitor has a line on when it last read its source, what is wrong first", () => {
  assert.deepEqual(
    said(
      { polled_at: ago(2), read_at: ago(2) },
      { polled_at: ago(1), read_at: ago(1), every: MINUTE },
      { polled_at: ago(60), read_at: ago(61), every: MINUTE },
      { read_at: ago(120), failures: 3, error: "no route" },
      { read_at: undefined, failures: 1, error: "401" },
      { polled_at: ago(60), read_at: ago(60), every: 30 * MINUTE },
      { polled_at: ago(60 * 24 * 8) },
    ).sort(),
    [
      "monitor http 0: read its source 2m ago",
      "monitor http 1: read its source 1m ago",
      "monitor http 2: read its source 1h ago, and is not polled any more",
      "monitor http 3: last read its source 2h ago; 3 polls have failed since: no route",
      "monitor http 4: never read its source; 1 poll has failed: 401",
      "monitor http 5: read its source 1h ago",
    ],
  );
});

test("what fails comes first, then what is not polled, then the newest; and more than ten are counted", () => {
  const many = Array.from({ length: 12 }, (_, i) => ({ polled_at: ago(i + 1), every: 60 * MINUTE }));
  const lines = said(...many, { polled_at: ago(60), every: MINUTE }, { failures: 2, polled_at: ago(70) });
  const names = ["13", "12", "0", "1", "2", "3", "4", "5", "6", "7"].map((name) => `monitor http ${name}`);
  assert.deepEqual(
    lines.map((line) => line.split(":")[0]),
    [...names, "and 4 more"],
  );
});

test("a look by hand is told for a day; all tells whatever is known of a week, without an end", () => {
  const hand = { polled_at: ago(60 * 25), read_at: ago(60 * 25) };
  assert.deepEqual(said(hand, { ...hand, every: 24 * 60 * MINUTE }).length, 1);
  assert.equal(
    saidOf(
      true,
      Array.from({ length: 14 }, () => hand),
    ).length,
    14,
  );
});
