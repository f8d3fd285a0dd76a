import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { identityKey } from "../envelope.ts";
import {
  branchVerdict,
  type Judged,
  newestJudged,
  type Pipeline,
  PipelineSchema,
  ProjectSchema,
  pipelineIdentity,
  sourceClass,
} from "./pipeline.ts";

const PROJECT = ProjectSchema.parse({
  id: 7,
  path_with_namespace: "acme/tools/api",
  web_url: "https://gitlab.example.test/acme/tools/api",
  default_branch: "main",
});

/** Pipelines as `ID STATUS [FIELD=VALUE…]`: pushes to main, the newer the larger their id. */
function pipelines(rows: readonly string[]): Pipeline[] {
  return rows.map((row) => {
    const [id, status, ...fields] = row.split(" ");
    return PipelineSchema.parse({
      id: Number(id),
      status: status?.replaceAll("-", " "),
      source: "push",
      ref: "main",
      created_at: new Date(Date.UTC(2026, 5, 1) + Number(id) * 60_000).toISOString(),
      web_url: `https://gitlab.example.test/acme/tools/api/-/pipelines/${id}`,
      ...Object.fromEntries(fields.map((field) => field.split("="))),
    });
  });
}

/** What is known of an earlier poll, as `ID STATUS`. */
function judged(row: string): Judged {
  const newest = newestJudged(pipelines([row]), "main");
  assert.ok(newest);
  const { id, status, at } = newest;
  return { id, status, at };
}

const WITHOUT_VERDICT = [
  "created",
  "waiting_for_resource",
  "preparing",
  "waiting_for_callback",
  "pending",
  "running",
  "canceling",
  "canceled",
  "skipped",
  "manual",
  "scheduled",
  "a-status-of-next-year",
];

describe("the newest verdict of a branch", () => {
  const rows: [says: string, pipelines: string[], verdict: string | undefined, known?: string][] = [
    ["is that of the newest pipeline: failed", ["2 failed", "1 success"], "failed 2"],
    ["is that of the newest pipeline: success", ["2 success", "1 failed"], "success 2"],
    ["is there for none", [], undefined],
    ...WITHOUT_VERDICT.map((status): (typeof rows)[number] => [
      `is older than a pipeline that is ${status}`,
      [`3 ${status}`, "2 failed", "1 success"],
      "failed 2",
    ]),
    [
      "is none while nothing has come to one",
      WITHOUT_VERDICT.map((status, i) => `${i} ${status}`),
      undefined,
    ],
    ["goes by the creation, whatever order the list has", ["1 success", "3 failed", "2 success"], "failed 3"],
    [
      "goes by the creation, whatever number and zone it has",
      ["2 success created_at=2026-06-01T10:00:00.000+02:00", "1 failed created_at=2026-06-01T08:30:00.000Z"],
      "failed 1",
    ],
    [
      "goes by the number when both were created at one instant",
      ["2 failed created_at=2026-06-01T08:00:00Z", "3 success created_at=2026-06-01T08:00:00Z"],
      "success 3",
    ],
    [
      "is not that of a merge request, also where it has the branch's name",
      [
        "3 failed source=merge_request_event",
        "2 failed source=merge_request_event ref=refs/merge-requests/4/head",
        "1 success",
      ],
      "success 1",
    ],
    [
      "is not that of a child: its parent tells",
      ["2 failed source=parent_pipeline", "1 success"],
      "success 1",
    ],
    ["is not that of another branch", ["2 failed ref=main-2", "1 success"], "success 1"],
    [
      "is not that of a source that nobody knows",
      ["3 failed source=unknown", "2 failed source=new", "1 success"],
      "success 1",
    ],
    [
      "of one that failed stays while it is retried, though the one before it passed",
      ["2 running", "1 success"],
      "failed 2",
      "2 failed",
    ],
    [
      "of one that passed stays while a job of it runs again, though the one before it failed",
      ["2 pending", "1 failed"],
      "success 2",
      "2 success",
    ],
    [
      "of one that was retried is the one that it has now",
      ["2 success", "1 success"],
      "success 2",
      "2 failed",
    ],
    ["of a newer one counts, whatever was known before", ["2 success", "1 running"], "success 2", "1 failed"],
  ];
  for (const [says, list, verdict, known] of rows)
    test(says, () => {
      const newest = newestJudged(pipelines(list), "main", known ? judged(known) : undefined);
      assert.equal(newest && `${newest.status} ${newest.id}`, verdict);
    });

  test("is of the time when its pipeline was created, and a later one of the same pipeline is later", () => {
    const at = (status: string, known?: Judged) =>
      newestJudged(pipelines([`2 ${status}`]), "main", known)?.at;
    const known = judged("2 failed");
    assert.equal(at("failed"), "2026-06-01T00:02:00.000Z");
    assert.equal(at("failed", known), known.at);
    assert.equal(at("running", known), known.at);
    assert.equal(at("success", known), "2026-06-01T00:02:00.001Z");
    assert.equal(at("success", judged("1 failed")), "2026-06-01T00:02:00.000Z");
  });

  test("depends neither on the order of the list, nor on what says nothing of the branch", () => {
    const some = fc.record({
      id: fc.integer({ min: 1, max: 40 }),
      status: fc.constantFrom("failed", "success", ...WITHOUT_VERDICT),
      source: fc.constantFrom("push", "schedule", "merge_request_event", "parent_pipeline"),
      ref: fc.constantFrom("main", "next"),
    });
    fc.assert(
      fc.property(fc.uniqueArray(some, { selector: ({ id }) => id, maxLength: 20 }), (rows) => {
        const list = pipelines(
          rows.map(({ id, status, source, ref }) => `${id} ${status} source=${source} ref=${ref}`),
        );
        const newest = rows
          .filter(({ ref, source }) => ref === "main" && /push|schedule/.test(source))
          .filter(({ status }) => /^(failed|success)$/.test(status))
          .reduce((newest, { id }) => Math.max(newest, id), 0);
        assert.equal(newestJudged(list, "main")?.id ?? 0, newest);
      }),
    );
  });
});

test("a source is of the branch, of a merge request, or of neither", () => {
  const all = {
    branch: ["push", "web", "schedule", "api", "trigger", "pipeline", "external"],
    merge_request: ["merge_request_event"],
    undefined: ["parent_pipeline", "chat", "webide", "external_pull_request_event", "unknown", "", null],
  };
  for (const [expected, sources] of Object.entries(all))
    for (const source of sources) assert.equal(String(sourceClass(source)), expected, String(source));
});

describe("the verdict on a branch", () => {
  const on = (...rows: string[]) => branchVerdict(PROJECT, "main", newestJudged(pipelines(rows), "main"));
  const red = on("482 failed source=schedule");

  test("is red, with the project, the link and the time of the pipeline", () => {
    assert.deepEqual(red, {
      kind: "pipeline",
      identity: ["gitlab.example.test", "7", "main", "branch"],
      status: "WARNING",
      summary: "acme/tools/api: the pipeline on main failed (schedule, #482)",
      source_url: "https://gitlab.example.test/acme/tools/api/-/pipelines/482",
      at: "2026-06-01T08:02:00.000Z",
      hints: { repository: "gitlab.example.test/acme/tools/api" },
    });
  });

  test("is well for a success, and none without any verdict", () => {
    const well = on("1 success");
    assert.equal(well.status, "OK");
    assert.equal(well.summary, "acme/tools/api: the pipeline on main passed (push, #1)");
    const none = on("1 running");
    assert.deepEqual([none.status, none.at, none.identity], ["UNKNOWN", undefined, red.identity]);
  });

  test("is one signal for all pipelines of the branch, and another for everything else", () => {
    assert.deepEqual(on("3 failed source=push").identity, red.identity);
    const moved = { id: 7, web_url: "https://gitlab.example.test/acme/renamed" };
    assert.deepEqual(pipelineIdentity(moved, "main", "branch"), red.identity);
    const elsewhere = { id: 7, web_url: "https://gitlab.example.test:8443/acme/tools/api" };
    const identities = [
      red.identity,
      pipelineIdentity({ ...PROJECT, id: 8 }, "main", "branch"),
      pipelineIdentity(elsewhere, "main", "branch"),
      pipelineIdentity(PROJECT, "next", "branch"),
      pipelineIdentity(PROJECT, "main", "merge_request"),
    ];
    assert.equal(new Set(identities.map((parts) => identityKey("gitlab", "pipeline", parts))).size, 5);
  });
});
