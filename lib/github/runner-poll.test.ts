import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { Source, Unreadable } from "../monitor/source.ts";
import { type GithubApi, startGithubApi } from "../testing/github-api.ts";
import { ROOT } from "../testing/process.ts";
import { plus } from "../time.ts";
import { lookAtRunners } from "./runner-poll.ts";

type Rows = Record<string, unknown>[];

function fixture(name: string): Record<string, Rows> {
  return JSON.parse(readFileSync(join(ROOT, "fixtures", "github-rest", `${name}.json`), "utf8"));
}

const REPO = "/repos/acme/api";
/** When the jobs of the fixture were queued. */
const QUEUED = "2026-06-01T08:00:00.000Z";

let api: GithubApi;
before(async () => {
  api = await startGithubApi();
  api.token = "t";
});
after(() => api.close());

let memory: Record<string, unknown>;
beforeEach(() => {
  memory = {};
  api.heal();
  for (const owner of [REPO, "/orgs/acme"]) list(`${owner}/actions/runners`, fixture("runners")["runners"]);
  list(`${REPO}/actions/runs`, fixture("runners.queued-runs")["workflow_runs"]);
  list(`${REPO}/actions/runs/9101/jobs`, fixture("runners.queued-jobs")["jobs"]);
  api.counted();
});

/** A list, under the name that it has in its answer. */
function list(path: string, rows: Rows = []): void {
  const name = path.endsWith("/runs") ? "workflow_runs" : (path.split("/").at(-1) ?? "");
  api.list(path, name, rows);
}

type Asked = Parameters<typeof lookAtRunners>[1];

/** A look, so many minutes after the jobs were queued; a verdict as `labels: STATUS`. */
async function look(asked: Asked = { repo: "acme/api" }, minutes = 10) {
  const signal = AbortSignal.timeout(10_000);
  const source = new Source(memory, signal);
  const now = plus(QUEUED, minutes * 60_000);
  const { verdicts, gone } = await lookAtRunners({ source, signal, now }, asked, {
    GITHUB_API_URL: api.url,
    GH_TOKEN: "t",
  });
  source.forgetOthers();
  memory = JSON.parse(JSON.stringify(memory));
  const short = verdicts.map(({ identity: [, ...parts], status }) => `${parts.join(" ")}: ${status}`);
  return { short, verdicts, isWhole: gone !== undefined };
}

/** Runs and their jobs, each queued at that time. */
function queue(times: string[], labels: string[]): void {
  const [run] = fixture("runners.queued-runs")["workflow_runs"] ?? [];
  const [, job] = fixture("runners.queued-jobs")["jobs"] ?? [];
  const runs = times.map((time, i) => ({ ...run, id: 9200 + i, created_at: time, updated_at: time }));
  // The newest comes first.
  list(`${REPO}/actions/runs`, [...runs].reverse());
  for (const { id, created_at } of runs)
    list(`${REPO}/actions/runs/${id}/jobs`, [{ ...job, id, labels, created_at, started_at: created_at }]);
}

const RUNNERS = ["cuda-12 gpu: WARNING", "deploy: OK", "15: OK", "16: WARNING"];

describe("a look at runners", () => {
  test("is at those of a repository, with the jobs that are queued for too long", async () => {
    assert.deepEqual(await look().then(({ short }) => short), RUNNERS);
    const late = await look({ repo: "acme/api" }, 20);
    assert.deepEqual(late.short, [
      "cuda-12 gpu: WARNING",
      "deploy: OK",
      ": WARNING",
      "15: OK",
      "16: WARNING",
    ]);
    assert.match(
      late.verdicts[2]?.summary ?? "",
      /the job package is queued for a runner since 2026-06-01T08:01:00Z$/,
    );
    for (const queued of ["1h", "60m"])
      assert.deepEqual((await look({ repo: "acme/api", queued }, 20)).short, [
        "cuda-12 gpu queued for 1h: WARNING",
        "deploy queued for 1h: OK",
        ...RUNNERS.slice(2),
      ]);
    assert.deepEqual((await look({ repo: "acme/api", queued: "900s" })).short, RUNNERS, "as without it");
  });

  test("is at those of an organisation, which has no list of its jobs", async () => {
    assert.deepEqual((await look({ org: "acme" }, 60)).short, RUNNERS);
    assert.deepEqual(
      api.requests.slice(-1).map(({ path }) => path),
      ["/orgs/acme/actions/runners?per_page=100"],
    );
  });

  test("keeps the pools of two owners apart, and not those of one owner by two spellings", async () => {
    const scope = async (asked: Asked) => (await look(asked)).verdicts[0]?.identity[0];
    const repository = await scope({ repo: "acme/api" });
    assert.equal(repository, "127.0.0.1/acme/api");
    assert.equal(await scope({ org: "acme" }), "127.0.0.1/acme");
    for (const owner of ["ACME/API", "Acme/Api"])
      list(`/repos/${owner}/actions/runners`, fixture("runners")["runners"]);
    list("/repos/ACME/API/actions/runs");
    list("/repos/Acme/Api/actions/runs");
    for (const repo of ["ACME/API", "127.0.0.1/Acme/Api"]) assert.equal(await scope({ repo }), repository);
    assert.equal(await scope({ repo: "https://127.0.0.1/acme/api.git" }), repository);
  });

  test("costs nothing while nothing changes, also in a new process", async () => {
    await look(undefined, 20);
    assert.deepEqual(api.counted(), { asked: 3, unchanged: 0 });
    await look(undefined, 20);
    assert.deepEqual(api.counted(), { asked: 3, unchanged: 3 });
  });

  test("reads all pages of the runners", async () => {
    const [gpu] = fixture("runners")["runners"] ?? [];
    const many = Array.from({ length: 240 }, (_, i) => ({ ...gpu, id: i, name: `gpu-${i}` }));
    list(`${REPO}/actions/runners`, [...many, { ...gpu, id: 240, status: "online" }]);
    assert.deepEqual((await look()).short, ["cuda-12 gpu: OK"]);
    api.fail(/runners\?.*page=3/, { status: 502, body: "" });
    await assert.rejects(look(), Unreadable, "the one that is online may be on the page that is missing");
  });

  test("without a permission is no look at no runners", async () => {
    for (const status of [403, 404]) {
      api.heal();
      api.fail(/\/actions\/runners/, { status, body: { message: "Must have admin rights to Repository." } });
      await assert.rejects(look(), { name: "Unreadable", message: /\b40[34], so .*admin rights/ });
    }
    api.heal();
    api.fail(/\/actions\/runs/, { status: 403, body: { message: "Resource not accessible" } });
    await assert.rejects(look(), Unreadable, "nor at no jobs");
  });

  test("knows which pools are over only when it has read all", async () => {
    list(`${REPO}/actions/runners`, []);
    assert.deepEqual(await look().then(({ short, isWhole }) => [short, isWhole]), [[], true]);
    queue(Array(21).fill("2026-06-01T07:00:00Z"), ["ubuntu-latest"]);
    assert.deepEqual(await look().then(({ short, isWhole }) => [short, isWhole]), [[], false]);
  });
});

describe("the queue of a repository", () => {
  test("is read for the runs that began long enough ago, the oldest first, and not for more than 20 of them", async () => {
    queue(["2026-06-01T08:00:00Z", "2026-06-01T07:59:00Z", "2026-06-01T07:00:00Z"], ["deploy"]);
    assert.deepEqual((await look(undefined, 14.5)).short[1], "deploy: WARNING");
    assert.deepEqual(api.counted(), { asked: 4, unchanged: 0 });

    queue(Array(25).fill("2026-06-01T07:00:00Z"), ["ubuntu-latest"]);
    const part = await look();
    assert.deepEqual(part.short, ["cuda-12 gpu: WARNING", "deploy: UNKNOWN", "15: OK", "16: WARNING"]);
    assert.equal(api.counted().asked, 22);
  });

  test("holds no run in which nothing moved for more than a day: its jobs are lost", async () => {
    queue(Array(25).fill("2026-05-30T07:00:00Z"), ["deploy"]);
    assert.deepEqual(await look().then(({ short, isWhole }) => [short, isWhole]), [RUNNERS, true]);
    assert.equal(api.counted().asked, 2);
  });

  test("of a run that is listed without jobs makes no pool red", async () => {
    list(`${REPO}/actions/runs/9101/jobs`, []);
    assert.deepEqual((await look(undefined, 60)).short, RUNNERS);
  });

  test("tells only of jobs that wait, and that have waited for so long", async () => {
    const at = { created_at: "2026-06-01T07:00:00Z", started_at: "2026-06-01T07:00:00Z" };
    const jobs: [job: object, status: string][] = [
      [at, "deploy: WARNING"],
      [{ created_at: undefined, started_at: at.started_at }, "deploy: WARNING"],
      [{ ...at, status: "in_progress" }, "deploy: OK"],
      [{ ...at, status: "waiting" }, "deploy: OK"],
      [{ created_at: "2026-06-01T07:56:00Z" }, "deploy: OK"],
      [{ created_at: undefined, started_at: null }, "deploy: OK"],
    ];
    for (const [job, status] of jobs) {
      queue([at.created_at], ["deploy"]);
      list(`${REPO}/actions/runs/9200/jobs`, [
        { id: 1, name: "ship", status: "queued", labels: ["deploy"], ...job },
      ]);
      assert.equal((await look()).short[1], status, JSON.stringify(job));
    }
  });

  test("is not asked for runs that do not wait", async () => {
    const [run] = fixture("runners.queued-runs")["workflow_runs"] ?? [];
    list(`${REPO}/actions/runs`, [{ ...run, status: "in_progress" }]);
    assert.deepEqual((await look(undefined, 60)).short, RUNNERS);
    assert.equal(api.counted().asked, 2);
  });

  test("is read from its oldest run on", async () => {
    queue(Array(25).fill("2026-06-01T07:00:00Z"), ["ubuntu-latest"]);
    const [, job] = fixture("runners.queued-jobs")["jobs"] ?? [];
    list(`${REPO}/actions/runs/9200/jobs`, [
      { ...job, labels: ["deploy"], created_at: "2026-06-01T07:00:00Z" },
    ]);
    assert.equal((await look()).short[1], "deploy: WARNING");
  });

  test("that was read in part makes no pool well", async () => {
    queue(["2026-06-01T07:00:00Z"], ["ubuntu-latest"]);
    const [, job] = fixture("runners.queued-jobs")["jobs"] ?? [];
    list(
      `${REPO}/actions/runs/9200/jobs`,
      Array.from({ length: 150 }, (_, id) => ({ ...job, id, labels: ["ubuntu-latest"] })),
    );
    assert.equal((await look()).short[1], "deploy: OK");
    api.fail(/jobs\?.*page=2/, { status: 502, body: "" });
    const part = await look();
    assert.deepEqual([part.short[1], part.isWhole], ["deploy: UNKNOWN", false]);
  });
});

test("what cannot be asked is said before anything is asked", async () => {
  const rows: [asked: Asked, error: RegExp][] = [
    [{}, /^--org: name an organisation/],
    [{ org: "acme", repo: "acme/api" }, /^--org: .* not both$/],
    [{ org: "acme", queued: "1h" }, /^--queued: an organisation has no list/],
    [{ repo: "acme/api", queued: "soon" }, /^--queued: soon: is no duration/],
    [{ repo: "acme" }, /^--repo: acme: is no repository of 127\.0\.0\.1/],
    [{ repo: "github.com/acme/api" }, /^--repo: github\.com\/acme\/api: is no repository of 127\.0\.0\.1/],
    [{ org: "acme/api" }, /^--org: acme\/api: is no organisation/],
    [{ org: "" }, /^--org: : is no organisation/],
    [{ org: "acme", labels: "gpu," }, /^--labels: gpu,: holds no label somewhere/],
    [{ org: "acme", labels: "" }, /^--labels: : holds no label/],
  ];
  for (const [asked, message] of rows)
    await assert.rejects(look(asked), { name: "UsageError", message }, JSON.stringify(asked));
  assert.equal(api.counted().asked, 0);
});
