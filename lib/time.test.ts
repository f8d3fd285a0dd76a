import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { between, formatDuration, parseDuration, parseTime, plus, relative, timeOf } from "./time.ts";

describe("a point in time is read", () => {
  const cases: [text: string, time: string | undefined][] = [
    ["2026-01-05T12:00:00Z", "2026-01-05T12:00:00.000Z"],
    ["2026-01-05T12:00:00.5Z", "2026-01-05T12:00:00.500Z"],
    ["2026-01-05T12:00:00.123456789Z", "2026-01-05T12:00:00.123Z"],
    ["2026-01-05T12:00:00+05:30", "2026-01-05T06:30:00.000Z"],
    ["2026-01-05T12:00:00-0800", "2026-01-05T20:00:00.000Z"],
    ["2026-01-05t12:00:00z", "2026-01-05T12:00:00.000Z"],
    ["2026-01-05 12:00:00Z", "2026-01-05T12:00:00.000Z"],
    ["2026-01-05T12:00Z", "2026-01-05T12:00:00.000Z"],
    [" 2026-01-05T12:00:00Z\n", "2026-01-05T12:00:00.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["9999-12-31T23:59:59-10:00", "9999-12-31T23:59:59.999Z"],
    ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["2026-02-29T00:00:00Z", undefined],
    ["2026-13-01T00:00:00Z", undefined],
    ["2026-01-05T25:00:00Z", undefined],
    ["2026-01-05T12:00:00+99:99", undefined],
    ["2026-01-05T12:00:00", undefined],
    ["2026-01-05", undefined],
    ["1767614400", undefined],
    ["Mon, 05 Jan 2026 12:00:00 GMT", undefined],
    ["+002026-01-05T12:00:00Z", undefined],
    ["now", undefined],
    ["", undefined],
  ];
  for (const [text, time] of cases) {
    test(`${JSON.stringify(text)} ${time ? `as ${time}` : "as none"}`, () =>
      assert.equal(parseTime(text), time));
  }
});

test("two times compare as text, whatever milliseconds they were made of", () => {
  const ms = fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.constantFrom(-1e300, 1e300, -8.64e15));
  fc.assert(
    fc.property(ms, ms, (a, b) => {
      const [low, high] = a <= b ? [a, b] : [b, a];
      assert.ok(timeOf(low) <= timeOf(high));
      assert.match(timeOf(a), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(parseTime(timeOf(a)), timeOf(a));
    }),
  );
});

test("adding what lies between leads from one time to the other", () => {
  const ms = fc.integer({ min: 0, max: 4e12 });
  fc.assert(
    fc.property(ms, ms, (a, b) => {
      assert.equal(between(timeOf(a), timeOf(b)), b - a);
      assert.equal(plus(timeOf(a), b - a), timeOf(b));
    }),
  );
  assert.equal(plus("2026-01-05T12:00:00.000Z", Number.MAX_SAFE_INTEGER), "9999-12-31T23:59:59.999Z");
});

describe("a duration is read", () => {
  const cases: [text: string, ms: number | undefined][] = [
    ["1ms", 1],
    ["90s", 90_000],
    ["10m", 600_000],
    ["1h", 3_600_000],
    ["1d", 86_400_000],
    ["2w", 1_209_600_000],
    [" 10m ", 600_000],
    ["0s", 0],
    ["999999999w", 999_999_999 * 604_800_000],
    ["10", undefined],
    ["m", undefined],
    ["1.5h", undefined],
    ["-1h", undefined],
    ["1h30m", undefined],
    ["1 h", undefined],
    ["1H", undefined],
    ["1234567890ms", undefined],
    ["", undefined],
  ];
  for (const [text, ms] of cases) {
    test(`${JSON.stringify(text)} as ${ms}`, () => assert.equal(parseDuration(text), ms));
  }
});

test("a duration is written in the largest unit that divides it, and read back as it was", () => {
  const cases: [number, string][] = [
    [0, "0ms"],
    [1, "1ms"],
    [1_500, "1500ms"],
    [90_000, "90s"],
    [600_000, "10m"],
    [86_400_000, "1d"],
    [7 * 86_400_000, "7d"],
  ];
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(1, 1_000, 60_000, 86_400_000), (count, unit) =>
      assert.equal(parseDuration(formatDuration((count % 1_000) * unit)), (count % 1_000) * unit),
    ),
  );
});

test("how far a time is from now is said in one whole unit", () => {
  const cases: [seconds: number, text: string][] = [
    [0, "just now"],
    [-4.9, "just now"],
    [4.9, "just now"],
    [-5, "5s ago"],
    [-59, "59s ago"],
    [-60, "1m ago"],
    [-3_599, "59m ago"],
    [-86_399, "23h ago"],
    [-86_400 * 30, "30d ago"],
    [7_200, "in 2h"],
  ];
  const now = "2026-01-05T12:00:00.000Z";
  for (const [seconds, text] of cases) assert.equal(relative(plus(now, seconds * 1_000), now), text);
});
