import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Source, Unreadable } from "../monitor/source.ts";
import { addPipeline, GITLAB_TOKEN, type GitLabApi, startGitLabApi } from "../testing/gitlab-api.ts";
import { lookAtPipelines } from "./ci.ts";

let api: GitLabApi;
before(async () => {
  api = await startGitLabApi();
});
after(() => api.close());

/** What is kept from poll to poll. */
let memory: Record<string, unknown>;
beforeEach(() => {
  Object.assign(api.project, { id: 7, path_with_namespace: "acme/tools/api", default_branch: "main" });
  Object.assign(api, { pipelines: [], fault: undefined, requests: [] });
  memory = {};
});

async function look(asked: { project?: string; branch?: string } = {}) {
  const source = new Source(memory, AbortSignal.timeout(10_000));
  const env = { CI_SERVER_URL: api.url, GITLAB_TOKEN };
  const { verdicts, gone } = await lookAtPipelines(
    { source, memory },
    { project: "acme/tools/api", ...asked },
    env,
  );
  source.forgetOthers();
  // As it is kept on disk.
  memory = JSON.parse(JSON.stringify(memory));
  const [verdict, ...more] = verdicts;
  assert.ok(verdict && more.length === 0 && gone);
  return verdict;
}

describe("a look at the pipelines of a project", () => {
  test("is at its default branch, or at the one that is named", async () => {
    addPipeline(api, { ref: "main", status: "success" });
    addPipeline(api, { ref: "feature/a&b #1", status: "failed" });
    for (const project of ["acme/tools/api", "7"]) assert.equal((await look({ project })).status, "OK");
    const other = await look({ branch: "feature/a&b #1" });
    assert.deepEqual([other.status, other.identity[2]], ["WARNING", "feature/a&b #1"]);
    assert.equal((await look({ branch: "nowhere" })).status, "UNKNOWN");
  });

  test("follows the default branch when it is another one", async () => {
    addPipeline(api, { ref: "main", status: "failed" });
    addPipeline(api, { ref: "trunk", status: "success" });
    const before = await look();
    api.project.default_branch = "trunk";
    const after = await look();
    assert.deepEqual(
      [before, after].map(({ status, identity }) => `${status} ${identity[2]}`),
      ["WARNING main", "OK trunk"],
    );
  });

  test("costs nothing while nothing changes, also in a new process", async () => {
    addPipeline(api, { status: "failed" });
    const first = await look();
    api.requests = [];
    assert.deepEqual(await look(), first);
    assert.deepEqual(
      api.requests.map((request) => request.slice(0, 3)),
      ["304", "304"],
    );
  });

  test("goes on to older pages until there is a verdict, or no more", async () => {
    const pages = () => api.requests.splice(0).flatMap((request) => /[?&]page=(\d)/.exec(request)?.[1] ?? []);
    addPipeline(api, { status: "success" });
    for (let i = 0; i < 60; i++) addPipeline(api, { status: "skipped" });
    addPipeline(api, { status: "failed" });
    for (let i = 0; i < 60; i++) addPipeline(api, { status: "canceled" });
    assert.equal((await look()).status, "WARNING");
    assert.deepEqual(pages(), ["1", "2"]);
    api.pipelines = api.pipelines.filter(({ status }) => status === "skipped");
    assert.equal((await look()).status, "UNKNOWN");
    assert.deepEqual(pages(), ["1", "2"]);
  });

  test("does not go on for ever, and then knows of no verdict", async () => {
    addPipeline(api, { status: "success" });
    for (let i = 0; i < 300; i++) addPipeline(api, { status: "skipped" });
    assert.equal((await look()).status, "UNKNOWN");
    assert.equal(api.requests.length, 6);
  });

  test("that cannot read an older page tells nothing", async () => {
    addPipeline(api, { status: "success" });
    for (let i = 0; i < 60; i++) addPipeline(api, { status: "canceled" });
    api.fault = { match: "page=2", status: 502, body: "<html>Bad gateway</html>" };
    await assert.rejects(look(), Unreadable);
  });

  test("keeps the verdict of a pipeline that runs again until it has a new one", async () => {
    addPipeline(api, { status: "success" });
    const retried = addPipeline(api, { status: "failed" });
    const statuses: string[] = [];
    for (const status of ["failed", "running", "canceled", "running", "success", "running"]) {
      retried.status = status;
      statuses.push((await look()).status);
    }
    assert.deepEqual(statuses, ["WARNING", "WARNING", "WARNING", "WARNING", "OK", "OK"]);
  });

  test("needs a branch", async () => {
    api.project.default_branch = null;
    await assert.rejects(look(), {
      name: "SignalsError",
      message: /^acme\/tools\/api: shows no default branch; /,
    });
    addPipeline(api, { ref: "main", status: "success" });
    assert.equal((await look({ branch: "main" })).status, "OK");
  });
});
