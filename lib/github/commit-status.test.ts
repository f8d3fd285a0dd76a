import assert from "node:assert/strict";
import { test } from "node:test";
import { identityKey } from "../envelope.ts";
import { keyOf } from "../monitor/verdict.ts";
import { status as row } from "../testing/github-rows.ts";
import { CommitStatusSchema, statusVerdicts } from "./commit-status.ts";

const status = (id: number, more: Record<string, unknown> = {}) => CommitStatusSchema.parse(row(id, more));
const subject = {
  repository: { id: 4217, full_name: "acme/api", html_url: "https://github.com/acme/api" },
  branch: "main",
};
const says = (...rows: ReturnType<typeof status>[]) =>
  statusVerdicts(rows, subject).map(({ status, name }) => `${status} ${name}`);

test("a status is known by the repository, its context and the branch, and not by the name of a check", () => {
  const [verdict] = statusVerdicts([status(1)], subject);
  assert.equal(
    verdict && keyOf("github", verdict),
    identityKey("github", "status", ["4217", "status", "build", "main"]),
  );
});

test("the newest status of each context counts, in whatever order they are listed", () => {
  const later = { updated_at: "2026-03-09T13:00:00Z" };
  const red = { state: "failure" };
  for (const rows of [
    [status(1, later), status(2, red)],
    [status(2, red), status(1, later)],
    [status(1, red), status(2)],
    [status(2), status(1, red)],
  ])
    assert.deepEqual(says(...rows), ["OK build"]);
  assert.deepEqual(says(status(3, { ...later, state: "pending" }), status(2, red)), ["UNKNOWN build"]);
  assert.deepEqual(says(status(1, { state: "error" }), status(2, { context: "lint" })), [
    "WARNING build",
    "OK lint",
  ]);
  assert.deepEqual(says(status(1, { state: "bewildered" })), ["UNKNOWN build"]);
});

test("a link that somebody else wrote is one of the web, or is left out", () => {
  const rows: [target: unknown, link: string | undefined][] = [
    ["https://build.example.test/1", "https://build.example.test/1"],
    [null, "https://github.com/acme/api"],
    ["", "https://github.com/acme/api"],
    [undefined, "https://github.com/acme/api"],
    ["file:///etc/passwd", undefined],
    ["javascript:alert(1)", undefined],
  ];
  for (const [target_url, link] of rows)
    assert.equal(
      statusVerdicts([status(1, { target_url })], subject, subject.repository.html_url)[0]?.source_url,
      link,
    );
});
