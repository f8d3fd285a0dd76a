import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { hookPoints, isAtLeast, pointsOf } from "./claude-code.ts";
import { ROOT } from "./testing/process.ts";

/** What every client has, in the order of a session; between the ends stands what differs. */
const around = (...middle: string[]) => ["SessionStart", "UserPromptSubmit", ...middle, "Stop", "SessionEnd"];

describe("the events to register with a client are those that it knows:", () => {
  const cases: [version: string | undefined, middle: string[]][] = [
    [undefined, ["PostToolUse"]],
    ["", ["PostToolUse"]],
    ["not a version", ["PostToolUse"]],
    ["1.0.90", ["PostToolUse"]],
    ["2.0.55", ["PostToolUse"]],
    ["2.0.56", ["PostToolUse", "PostToolUseFailure"]],
    ["2.0.100", ["PostToolUse", "PostToolUseFailure"]],
    ["2.1", ["PostToolUse", "PostToolUseFailure"]],
    ["2.1.117", ["PostToolUse", "PostToolUseFailure"]],
    ["2.1.118", ["PostToolBatch"]],
    ["2.1.332", ["PostToolBatch"]],
    ["2.2.0", ["PostToolBatch"]],
    ["10.0.0", ["PostToolBatch"]],
  ];
  for (const [version, middle] of cases) {
    test(`${version} has ${middle.join(" and ")}`, () => {
      const points = hookPoints(version);
      assert.deepEqual(
        points.map(({ event }) => event),
        around(...middle),
      );
      for (const { event, hook } of points) {
        const named = event.replace(/Failure$/, "").replace(/(?!^)[A-Z]/g, "-$&");
        assert.equal(hook, named.toLowerCase(), "a hook is named for its event");
      }
    });
  }

  test("an event comes in with the very version that knows it, and goes only for one that says more", () => {
    const at = (version: string) => hookPoints(version).map(({ event }) => event);
    for (const { event, since, insteadOf = [] } of hookPoints("2.1.332").concat(hookPoints("2.1.117"))) {
      if (since === undefined) continue;
      const before = since.replace(/\d+$/, (last) => String(Number(last) - 1));
      assert.deepEqual([at(since).includes(event), at(before).includes(event)], [true, false]);
      assert.deepEqual(
        insteadOf.filter((replaced) => at(since).includes(replaced)),
        [],
      );
    }
  });
});

test("a hook is there for each point, and a point for each hook", () => {
  const hooks = readdirSync(join(ROOT, "hooks/claude-code")).flatMap(
    (file) => /^(.*)\.mts$/.exec(file)?.[1] ?? [],
  );
  assert.deepEqual(
    hooks.filter((hook) => pointsOf(hook).length === 0),
    [],
  );
  for (const { event, hook } of hooks.flatMap(pointsOf)) {
    assert.ok(existsSync(join(ROOT, `hooks/claude-code/${hook}.mts`)), hook);
    assert.ok(existsSync(join(ROOT, `fixtures/claude-code/${event}.json`)), `a real payload of ${event}`);
  }
  assert.deepEqual(
    pointsOf("post-tool-use").map(({ event }) => event),
    ["PostToolUse", "PostToolUseFailure"],
  );
  assert.deepEqual(pointsOf("nothing"), []);
});

test("versions are compared by their numbers, part by part, and one that is unknown is not new enough", () => {
  const cases: [version: string | undefined, least: string, is: boolean][] = [
    ["2.1.118", "2.1.118", true],
    ["2.1.9", "2.1.118", false],
    ["2.1.1000", "2.1.118", true],
    ["2.10.0", "2.9.9", true],
    ["10.0.0", "9.9.9", true],
    ["3", "2.1.118", true],
    ["2", "2.0.0", true],
    ["2", "2.0.1", false],
    ["1.9.999", "2.0.0", false],
    [undefined, "0.0.0", false],
    ["", "0.0.1", false],
    ["x.y.z", "0.0.0", false],
  ];
  for (const [version, least, is] of cases) {
    assert.equal(isAtLeast(version, least), is, `${version} at least ${least}`);
  }
});
