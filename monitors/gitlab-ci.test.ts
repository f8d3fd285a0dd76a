import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import {
  addPipeline,
  type Fault,
  GITLAB_TOKEN,
  type GitLabApi,
  startGitLabApi,
} from "../lib/testing/gitlab-api.ts";

import { tempDirectory } from "../lib/testing/temp.ts";

let api: GitLabApi;
before(async () => {
  api = await startGitLabApi();
});
after(() => api.close());

let home: string;
beforeEach(() => {
  home = tempDirectory("gitlab-ci");
  Object.assign(api.project, { default_branch: "main", visibility: "private" });
  Object.assign(api, { pipelines: [], fault: undefined, requests: [] });
});

/** One run of the monitor, each in a process of its own. */
async function look(args: readonly string[] = ["acme/tools/api"], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runBundle("monitors/gitlab-ci", [...args, "--json"], {
    cwd: home,
    env: {
      HOME: home,
      HARN_EXT_SIGNALS_DIR: join(home, "signals"),
      CI_SERVER_URL: api.url,
      GITLAB_TOKEN,
      ...env,
    },
  });
  assert.ok(!`${stdout}${stderr}`.includes(GITLAB_TOKEN), "a token is told to nobody");
  const report = stdout ? JSON.parse(stdout) : {};
  return { code, stderr, report, outcome: report.verdicts?.[0]?.outcome };
}

function signals(): Signal[] {
  const file = join(home, "signals", "inbox.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).signals : [];
}

const states = () => signals().map(({ state, generation }) => `${state} ${generation}`);

describe("monitors/gitlab-ci", () => {
  test("fires once for a red branch, and resolves when it is green again", async () => {
    const failed = addPipeline(api, { status: "failed", source: "schedule" });
    const red = await look();
    assert.deepEqual([red.code, red.outcome], [1, "fired"], red.stderr);
    const [signal] = signals();
    const host = new URL(api.url).host;
    assert.equal(signal?.key, identityKey("gitlab", "pipeline", [host, "7", "main", "branch"]));
    assert.deepEqual([signal?.severity, signal?.producer], ["warning", "monitors/gitlab-ci"]);
    assert.deepEqual(signal?.hints, { repository: "127.0.0.1/acme/tools/api" });
    const { envelope } = signal ?? {};
    assert.equal(envelope?.summary, `acme/tools/api: the pipeline on main failed (schedule, #${failed.id})`);
    assert.deepEqual([envelope?.source_url, envelope?.source_timestamp], [failed.web_url, failed.created_at]);

    // A newer one fails too, another is canceled, a merge request is green: no news.
    addPipeline(api, { status: "failed" });
    addPipeline(api, { status: "canceled" });
    addPipeline(api, { status: "success", source: "merge_request_event" });
    assert.equal((await look()).code, 1);
    assert.deepEqual(states(), ["fired 1"]);

    addPipeline(api, { status: "success" });
    const green = await look();
    assert.deepEqual([green.code, green.outcome, states()], [0, "resolved", ["resolved 2"]]);
  });

  test("says of a retry what it came to, and nothing before that", async () => {
    addPipeline(api, { status: "success" });
    const retried = addPipeline(api, { status: "failed" });
    await look();
    retried.status = "running";
    assert.deepEqual([(await look()).code, states()], [1, ["fired 1"]]);
    retried.status = "success";
    assert.deepEqual([(await look()).code, states()], [0, ["resolved 2"]]);
    retried.status = "failed";
    assert.deepEqual([(await look()).code, states()], [1, ["fired 3"]]);
  });

  test("ends what it said of a branch that is no longer the default one", async () => {
    addPipeline(api, { status: "failed" });
    addPipeline(api, { status: "success", ref: "trunk" });
    await look();
    api.project.default_branch = "trunk";
    assert.equal((await look()).code, 0);
    assert.deepEqual(states(), ["resolved 2"]);
    assert.match(
      signals()[0]?.envelope.summary ?? "",
      /^acme\/tools\/api: another branch is watched now; before: /,
    );
  });

  test("reads a public project without a token, and a private one only with it", async () => {
    addPipeline(api, { status: "success" });
    const without = { GITLAB_TOKEN: "" };
    assert.equal((await look(undefined, without)).code, 3);
    assert.equal((await look(undefined, { ...without, GITLAB_ACCESS_TOKEN: GITLAB_TOKEN })).code, 0);
    api.project.visibility = "public";
    assert.equal((await look(undefined, without)).code, 0);
  });

  test("changes nothing while it cannot be read", async () => {
    addPipeline(api, { status: "failed" });
    await look();
    addPipeline(api, { status: "success" });
    const html = "<html>GitLab is not responding</html>";
    const pipelines = { match: "/pipelines" };
    const faults: [fault: Fault & { match?: string }, error: RegExp][] = [
      [{ status: 401, body: '{"message":"401 Unauthorized"}' }, /401, so the token is missing, wrong or too/],
      [{ status: 404, body: '{"message":"404 Project Not Found"}' }, /404, so it is not there, or/],
      [{ ...pipelines, status: 403, body: '{"message":"403 Forbidden"}' }, /403, so the token may not/],
      [{ status: 502, body: html }, /answered 502/],
      [{ status: 200, body: html }, /answered with something else than JSON/],
      [{ ...pipelines, status: 200, body: '{"message":"busy"}' }, /another shape.*busy/],
      [{ ...pipelines, status: 200, body: "[", cut: true }, /cut off/],
    ];
    for (const [i, [fault, error]] of faults.entries()) {
      api.fault = fault;
      const { code, report } = await look();
      assert.deepEqual([code, report.failures, states()[0]], [3, i + 1, "fired 1"]);
      assert.match(report.error, error);
    }
    api.fault = undefined;
    assert.deepEqual([(await look()).code, states()[0]], [0, "resolved 2"]);
  });

  test("asks no sooner than GitLab wants it", async () => {
    addPipeline(api, { status: "success" });
    api.fault = {
      status: 429,
      headers: { "retry-after": "60", "ratelimit-remaining": "0" },
      body: "Retry later\n",
    };
    const limited = await look();
    assert.deepEqual([limited.code, limited.report.failures], [3, 1]);
    api.fault = undefined;
    const asked = api.requests.length;
    const early = await look();
    assert.deepEqual([early.code, api.requests.length], [3, asked]);
    assert.match(early.report.error, /asked not to be asked before/);
  });

  test("says itself that it cannot read, after three times", async () => {
    api.fault = { status: 500 };
    for (let i = 0; i < 3; i++) assert.equal((await look()).code, 3);
    const [own, ...more] = signals();
    assert.match(own?.envelope.summary ?? "", /gitlab-ci acme\/tools\/api .* answered 500/);
    assert.deepEqual(more, []);
  });

  test("takes wrong arguments for no look", async () => {
    const rows: [args: string[], env: Record<string, string>, error: RegExp][] = [
      [[], {}, /^error: PROJECT: is missing/],
      [["api"], {}, /^error: PROJECT: api: is no project/],
      [["acme/api", "--branch", ""], {}, /^error: --branch: is empty/],
      [["acme/api"], { CI_SERVER_URL: "gitlab" }, /^error: CI_SERVER_URL: gitlab: /],
      [["acme/api", "--branhc", "x"], {}, /did you mean --branch\?/],
    ];
    for (const [args, env, error] of rows) {
      const { code, stderr } = await look(args, env);
      assert.equal(code, 3);
      assert.match(stderr, error);
    }
    assert.deepEqual([api.requests, signals()], [[], []]);
  });
});
