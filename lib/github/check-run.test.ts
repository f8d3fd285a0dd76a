import assert from "node:assert/strict";
import { test } from "node:test";
import { identityKey } from "../envelope.ts";
import { keyOf } from "../monitor/verdict.ts";
import { check as row } from "../testing/github-rows.ts";
import { CheckRunSchema, checkRunVerdicts } from "./check-run.ts";

const check = (id: number, more: Record<string, unknown> = {}) => CheckRunSchema.parse(row(id, more));
const subject = { repository: { id: 4217, full_name: "acme/api" }, branch: "main" };
const says = (...runs: ReturnType<typeof check>[]) =>
  checkRunVerdicts(runs, subject).map(({ status, name, identity }) => `${status} ${name} ${identity[1]}`);

test("a check is known by the repository, the app, its name and the branch", () => {
  const [verdict] = checkRunVerdicts([check(1)], subject);
  assert.equal(
    verdict && keyOf("github", verdict),
    identityKey("github", "check_run", ["4217", "6700", "scan", "main"]),
  );
});

test("checks of one name by two apps are two", () => {
  const other = { app: { id: 6800, slug: "other" }, conclusion: "failure" };
  assert.deepEqual(says(check(1), check(2, other)), ["OK scan 6700", "WARNING scan 6800"]);
  assert.deepEqual(says(check(1, { app: null })), ["OK scan 0"]);
});

test("the newest run of a check that ended well or badly counts", () => {
  const later = { started_at: "2026-03-09T13:00:00Z" };
  const red = { conclusion: "failure" };
  for (const runs of [
    [check(1, { ...later }), check(2, red)],
    [check(2, red), check(1, { ...later })],
    [check(1, red), check(2)],
    [check(3, { ...later, status: "in_progress", conclusion: null }), check(2), check(1, red)],
    [check(3, { ...later, conclusion: "neutral" }), check(2), check(1, red)],
    [check(2), check(1, { ...red, started_at: null })],
  ])
    assert.deepEqual(says(...runs), ["OK scan 6700"]);
  assert.deepEqual(says(check(1, { status: "queued", conclusion: null, started_at: null })), [
    "UNKNOWN scan 6700",
  ]);
  assert.deepEqual(
    says(check(1, { status: "in_progress" })),
    ["UNKNOWN scan 6700"],
    "one that is not over yet",
  );
});
