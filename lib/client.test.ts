import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { CLIENTS, hookPoints, isAtLeast, pointsOf } from "./client.ts";
import { ROOT } from "./testing/process.ts";

const { "claude-code": CLAUDE_CODE, codex: CODEX } = CLIENTS;

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
      const points = hookPoints(CLAUDE_CODE, version);
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
    const at = (version: string) => hookPoints(CLAUDE_CODE, version).map(({ event }) => event);
    for (const { event, since, insteadOf = [] } of hookPoints(CLAUDE_CODE, "2.1.332").concat(
      hookPoints(CLAUDE_CODE, "2.1.117"),
    )) {
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

test("Codex passes over events that it does not know, so all are registered with every version", () => {
  for (const version of [undefined, "0.100.0", "0.171.0"]) {
    assert.deepEqual(
      hookPoints(CODEX, version).map(({ event }) => event),
      ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "Interrupt", "SessionEnd"],
    );
  }
  assert.deepEqual(
    CODEX.points.filter(({ event, timeout }) => /SessionEnd|Interrupt/.test(event) && timeout > 3),
    [],
    "it warns of more than three seconds there",
  );
});

for (const { harness, points } of Object.values(CLIENTS)) {
  test(`of ${harness}, a hook is there for each point, and a point for each hook`, () => {
    const hooks = readdirSync(join(ROOT, "hooks", harness)).flatMap(
      (file) => /^(.*)\.mts$/.exec(file)?.[1] ?? [],
    );
    assert.deepEqual([...new Set(points.map(({ hook }) => hook))].sort(), hooks.sort());
    for (const { event, hook } of points) {
      assert.ok(pointsOf(`hooks/${harness}/${hook}`).some((point) => point.event === event));
      assert.ok(existsSync(join(ROOT, "fixtures", harness, `${event}.json`)), `a real payload of ${event}`);
    }
  });
}

test("a hook is for the events of its own client", () => {
  const events = (entry: string) => pointsOf(entry).map(({ event }) => event);
  assert.deepEqual(events("hooks/claude-code/post-tool-use"), ["PostToolUse", "PostToolUseFailure"]);
  assert.deepEqual(events("hooks/codex/post-tool-use"), ["PostToolUse"]);
  for (const other of ["post-tool-use", "hooks/codex/nothing", "scripts/codex/stop", "hooks/other/stop"]) {
    assert.deepEqual(events(other), []);
  }
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
