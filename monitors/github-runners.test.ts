import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import { type GithubApi, startGithubApi } from "../lib/testing/github-api.ts";
import { ROOT } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";

type Rows = Record<string, unknown>[];

const TOKEN = "github_pat_of_a_test";
const REPO = "/repos/acme/api/actions";

let api: GithubApi;
before(async () => {
  api = await startGithubApi();
  api.token = TOKEN;
});
after(() => api.close());

let home: string;
beforeEach(() => {
  home = tempDirectory("github-runners");
  api.heal();
  runners({});
  queue();
});

function fixture(name: string): Record<string, Rows> {
  return JSON.parse(readFileSync(join(ROOT, "fixtures", "github-rest", `${name}.json`), "utf8"));
}

/** The runners of the fixture, some with another status. */
function runners(statuses: Record<string, string>): void {
  const rows = (fixture("runners")["runners"] ?? []).map((row) => ({
    ...row,
    status: statuses[String(row["name"])] ?? row["status"],
  }));
  for (const path of [`${REPO}/runners`, "/orgs/acme/actions/runners"]) api.list(path, "runners", rows);
}

/** A queued run with the jobs of the fixture, queued so many minutes ago; without them, none. */
function queue(minutes?: number): void {
  api.list(`${REPO}/runs`, "workflow_runs", []);
  if (minutes === undefined) return;
  const created_at = new Date(Date.now() - minutes * 60_000).toISOString();
  const at = { created_at, started_at: created_at, updated_at: created_at };
  const [run] = fixture("runners.queued-runs")["workflow_runs"] ?? [];
  const jobs = fixture("runners.queued-jobs")["jobs"] ?? [];
  api.list(`${REPO}/runs`, "workflow_runs", [{ ...run, ...at }]);
  api.list(
    `${REPO}/runs/9101/jobs`,
    "jobs",
    jobs.map((job) => ({ ...job, ...at })),
  );
}

/** One run of the monitor, each in a process of its own. */
async function look(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runBundle("monitors/github-runners", [...args, "--json"], {
    cwd: home,
    env: {
      HOME: home,
      HARN_EXT_SIGNALS_DIR: join(home, "signals"),
      GITHUB_API_URL: api.url,
      GH_TOKEN: TOKEN,
      ...env,
    },
  });
  assert.ok(!`${stdout}${stderr}`.includes(TOKEN), "a token is told to nobody");
  const report = stdout ? JSON.parse(stdout) : {};
  const of = (...parts: string[]): Record<string, unknown> => {
    const kind = args.includes("--labels") ? "runner_labels" : "runner_pool";
    const key = identityKey("github", kind, parts);
    return report.verdicts.find((verdict: { key: string }) => verdict.key === key) ?? {};
  };
  return { code, stderr, report, of };
}

/** As if so much time had passed since the last look: what is kept says since when something lasts. */
function later(ms: number): void {
  const folder = join(home, "signals", "monitors");
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const earlier = (_: string, time: string) => `"since":"${new Date(Date.parse(time) - ms).toISOString()}"`;
    writeFileSync(file, readFileSync(file, "utf8").replace(/"since":"([^"]+)"/g, earlier));
  }
}

function signals(): Signal[] {
  const file = join(home, "signals", "inbox.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).signals : [];
}

const states = () => signals().map(({ state, generation }) => `${state} ${generation}`);

const GPU = ["127.0.0.1/acme/api", "cuda-12", "gpu"];

describe("monitors/github-runners", () => {
  test("fires when a pool was offline for three looks over two minutes, and resolves after two over one", async () => {
    const args = ["--repo", "acme/api", "--labels", "gpu,cuda-12"];
    for (const polls of ["1 of 3 polls", "2 of 3 polls", "for 0s of 120s"]) {
      const { code, of } = await look(args);
      assert.deepEqual([code, String(of(...GPU)["waits"]).replace(/for \d+s/, "for 0s")], [1, polls]);
      assert.deepEqual(states(), []);
    }
    later(120_000);
    assert.equal((await look(args)).of(...GPU)["outcome"], "fired");
    const [signal] = signals();
    assert.deepEqual([signal?.severity, signal?.producer], ["warning", "monitors/github-runners"]);
    assert.deepEqual(signal?.hints, { repository: "acme/api" });
    assert.equal(signal?.envelope.summary, "acme/api: 0 of 2 runners with the labels cuda-12, gpu online");
    assert.equal(signal?.envelope.source_url, "https://127.0.0.1/acme/api/settings/actions/runners");
    await look(args);
    assert.deepEqual(states(), ["fired 1"], "the same again is no news");

    runners({ "gpu-2": "online" });
    for (const polls of ["1 of 2 polls", "for 0s of 60s"]) {
      const { code, of } = await look(args);
      assert.deepEqual([code, String(of(...GPU)["waits"]).replace(/for \d+s/, "for 0s")], [0, polls]);
    }
    assert.deepEqual(states(), ["fired 1"]);
    later(60_000);
    assert.equal((await look(args)).of(...GPU)["outcome"], "resolved");
    assert.deepEqual(states(), ["resolved 2"]);
  });

  test("knows of a job that waits for runners which seem to be online, and of its end", async () => {
    const args = ["--repo", "acme/api", "--polls", "2", "--over", "1ms", "--queued", "30m"];
    const all = { "gpu-1": "online", "gpu-2": "online", "deploy-2": "online", attic: "online" };
    runners(all);
    queue(20);
    await look(args);
    assert.equal((await look(args)).code, 0);
    queue(40);
    await look(args);
    const late = await look(args);
    const patient = late.of(...GPU, "queued for 30m");
    assert.deepEqual([late.code, patient["outcome"]], [1, "fired"]);
    const gpu = signals().find(({ key }) => key === patient["key"]);
    assert.match(
      gpu?.envelope.summary ?? "",
      /^acme\/api: the job render \(cuda\) is queued for a runner with the labels/,
    );
    assert.equal(gpu?.envelope.source_url, "https://github.com/acme/api/actions/runs/9101/job/502");
    assert.deepEqual(states(), ["fired 1", "fired 1"], "and of one that waits for any runner");
    queue();
    await look(args);
    assert.equal((await look(args)).code, 0);
    assert.deepEqual(states(), ["resolved 2", "resolved 2"]);
  });

  test("watches all pools of an organisation, and ends what it said of one that is there no more", async () => {
    const args = ["--org", "acme", "--polls", "2", "--over", "1ms", "--no-hint"];
    await look(args);
    const red = await look(args);
    assert.equal(red.code, 1);
    assert.equal(red.of("127.0.0.1/acme", "cuda-12", "gpu")["outcome"], "fired");
    assert.equal(red.of("127.0.0.1/acme", "deploy")["status"], "OK", "one that is busy is not offline");
    assert.deepEqual([states(), signals()[0]?.hints], [["fired 1", "fired 1"], {}]);
    api.list("/orgs/acme/actions/runners", "runners", []);
    await look(args);
    assert.equal((await look(args)).code, 0);
    assert.deepEqual(states(), ["resolved 2", "resolved 2"]);
    assert.match(
      signals()[0]?.envelope.summary ?? "",
      /^acme: no such runner is registered any more, .*; before: /,
    );
  });

  test("may run more than once, with other labels or another patience: none ends what another said", async () => {
    const plain = ["--repo", "acme/api", "--polls", "1", "--over", "1ms"];
    const all = { "gpu-1": "online", "gpu-2": "online", "deploy-2": "online", attic: "online" };
    runners(all);
    queue(10);
    const red = [
      [...plain, "--queued", "5m"],
      [...plain, "--queued", "5m", "--labels", "gpu"],
    ];
    const well = [plain, [...plain, "--labels", "gpu"]];
    for (let i = 0; i < 2; i++) {
      for (const args of red) assert.equal((await look(args)).code, 1);
      for (const args of well) assert.equal((await look(args)).code, 0);
    }
    assert.deepEqual([...new Set(states())], ["fired 1"]);
    queue(20);
    for (let i = 0; i < 2; i++) for (const args of well) assert.equal((await look(args)).code, 1);
    assert.deepEqual([...new Set(states())], ["fired 1"]);
  });

  test("changes nothing while it cannot be read", async () => {
    const args = ["--repo", "acme/api", "--labels", "gpu", "--polls", "2", "--over", "1ms"];
    await look(args);
    await look(args);
    runners({ "gpu-1": "online" });
    const denied = { message: "Resource not accessible by personal access token" };
    const faults: [match: RegExp, fault: Parameters<GithubApi["fail"]>[1], error: RegExp][] = [
      [
        /runners/,
        { status: 403, body: denied },
        /403, so the token may not read this: Resource not accessible/,
      ],
      [
        /runners/,
        { status: 404, body: { message: "Not Found" } },
        /404, so it is not there, or the token may not/,
      ],
      [/runs/, { status: 403, body: denied }, /403, so the token may not/],
      [/runs/, { status: 500, body: "<html>" }, /answered 500/],
      [/runners/, { body: { message: "Server Error" } }, /another shape.*Server Error/],
      [/runners/, { cut: true }, /cut off/],
    ];
    for (const [match, fault, error] of faults) {
      api.heal();
      api.fail(match, fault);
      const { code, report } = await look(args);
      assert.deepEqual([code, states()[0]], [3, "fired 1"]);
      assert.match(report.error, error);
    }
    api.heal();
    await look(args);
    assert.deepEqual([(await look(args)).code, states()[0]], [0, "resolved 2"]);
  });

  test("says that it may not see the runners, and not that there are none", async () => {
    const { code, report } = await look(["--repo", "acme/api", "--labels", "gpu"], {
      GH_TOKEN: "",
      PATH: "/nowhere",
    });
    assert.equal(code, 3);
    assert.match(report.error, /answered 404, so it is not there, or the token may not see it/);
    assert.deepEqual(states(), []);
  });

  test("takes wrong arguments for no look", async () => {
    for (const [args, error] of [
      [[], /^error: --org: name an organisation with it/],
      [["--org", "acme", "--queued", "1h"], /^error: --queued: an organisation has no list/],
      [["--repo", "acme"], /^error: --repo: acme: is no repository/],
      [["--lables", "gpu"], /did you mean --labels\?/],
    ] as [string[], RegExp][]) {
      const { code, stderr } = await look(args);
      assert.equal(code, 3);
      assert.match(stderr, error);
    }
    assert.deepEqual(signals(), []);
  });
});
