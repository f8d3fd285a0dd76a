import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { identityKey } from "../envelope.ts";
import { keyOf } from "../monitor/verdict.ts";
import { run as row } from "../testing/github-rows.ts";
import {
  branchOf,
  newestConclusive,
  type WorkflowRun,
  WorkflowRunSchema,
  workflowVerdicts,
} from "./workflow-run.ts";

const run = (id: number, more: Record<string, unknown> = {}): WorkflowRun =>
  WorkflowRunSchema.parse(row(id, more));
const subject = { repository: { id: 4217, full_name: "acme/api" }, branch: "main" };

test("a run tells about the branch that it ran on, unless it is of a proposal or of another repository", () => {
  const rows: [more: Record<string, unknown>, branch: string | undefined][] = [
    [{}, "main"],
    [{ head_branch: "feature/x" }, "feature/x"],
    [{ event: "schedule" }, "main"],
    [{ event: "workflow_dispatch" }, "main"],
    [{ event: "repository_dispatch" }, "main"],
    [{ event: "pull_request" }, undefined],
    [{ event: "pull_request_target" }, undefined],
    [{ event: "merge_group" }, undefined],
    [{ event: "something_new" }, undefined],
    [{ head_branch: "gh-readonly-queue/main/pr-7-5f5f" }, undefined],
    [{ head_branch: null }, undefined],
    [{ head_branch: "" }, undefined],
    [{ head_repository: { id: 8850 } }, undefined],
    [{ head_repository: null }, undefined],
    [{ head_repository: undefined }, undefined],
  ];
  for (const [more, branch] of rows) assert.equal(branchOf(run(1, more)), branch, JSON.stringify(more));
});

describe("the newest run that ended", () => {
  const result = (...runs: WorkflowRun[]) =>
    Object.fromEntries([...newestConclusive(runs)].map(([id, found]) => [id, found?.id]));

  test("is one for each workflow", () => {
    assert.deepEqual(result(run(3), run(2, { workflow_id: 502 }), run(1)), { 501: 3, 502: 2 });
    assert.deepEqual(
      result(run(2, { status: "in_progress" }), run(1)),
      { 501: 1 },
      "it is over when it is completed",
    );
  });

  test("is known though an old server says neither when it began nor which attempt it was", () => {
    const old = { run_started_at: undefined, run_attempt: undefined };
    assert.deepEqual(result(run(1, old), run(2, old)), { 501: 2 });
  });

  test("is none where the newest was run again, and is on its way", () => {
    const again = { status: "in_progress", conclusion: null, run_attempt: 2 };
    assert.deepEqual(result(run(2, again), run(1)), { 501: undefined });
    assert.deepEqual(result(run(2, { ...again, run_attempt: 1 }), run(1)), { 501: 1 });
    assert.deepEqual(result(run(2, { ...again, run_attempt: 1 })), {}, "an older one may tell");
  });

  test("is the same in whatever order the runs are listed, and runs without a verdict change nothing", () => {
    const conclusion = fc.constantFrom("success", "failure", "cancelled", "skipped", null);
    const some = fc.uniqueArray(
      fc.record({ id: fc.integer({ min: 1, max: 60 }), workflow_id: fc.constantFrom(501, 502), conclusion }),
      { selector: ({ id }) => id, maxLength: 20 },
    );
    fc.assert(
      fc.property(some, fc.infiniteStream(fc.nat()), (rows, chance) => {
        const runs = rows.map(({ id, ...more }) => run(id, more));
        const shuffled = runs
          .map((one) => ({ one, at: chance.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
        const telling = shuffled.filter(
          ({ conclusion }) => conclusion === "success" || conclusion === "failure",
        );
        assert.deepEqual(sorted(result(...shuffled)), sorted(result(...runs)));
        assert.deepEqual(sorted(result(...telling)), sorted(result(...runs)));
      }),
    );
  });
});

const sorted = (found: object) => Object.entries(found).sort();

describe("the verdict on a workflow", () => {
  test("is known by the repository, the workflow and the branch, and by nothing that differs from run to run", () => {
    const key = identityKey("github", "workflow_run", ["4217", "501", "main"]);
    const other = {
      name: "tests",
      run_attempt: 3,
      conclusion: "failure",
      head_sha: "00",
      path: "elsewhere.yml",
    };
    for (const one of [run(1), run(2, other)]) {
      const [verdict] = workflowVerdicts([one], subject);
      assert.equal(verdict && keyOf("github", verdict), key);
      assert.equal(verdict?.at, one.run_started_at);
    }
  });

  test("names the workflow, else what the run has for a name", () => {
    const rows: [more: Record<string, unknown>, names: Map<number, string>, name: string][] = [
      [{ name: ".github/workflows/test.yml" }, new Map([[501, "test"]]), "test"],
      [{ name: "test" }, new Map(), "test"],
      [{ name: "" }, new Map([[501, ""]]), ".github/workflows/test.yml"],
      [{ name: null, path: undefined }, new Map(), "workflow 501"],
    ];
    for (const [more, names, name] of rows)
      assert.equal(workflowVerdicts([run(1, more)], subject, names)[0]?.name, name);
  });
});
