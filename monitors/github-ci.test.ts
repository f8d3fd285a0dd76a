import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import type { Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import { type GithubApi, startGithubApi } from "../lib/testing/github-api.ts";
import { check, Repository, run, status } from "../lib/testing/github-rows.ts";
import { runFile } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";

const TOKEN = "ghp_7h1s1s4t0k3n";

let github: GithubApi;
before(async () => {
  github = await startGithubApi();
});
after(() => github.close());

let home: string;
let acme: Repository;
beforeEach(() => {
  home = realpathSync.native(tempDirectory("github-ci"));
  github.heal();
  acme = new Repository(github);
  github.counted();
});

interface Options {
  env?: Record<string, string>;
  cwd?: string;
}

function environment(env: Record<string, string> = {}): Record<string, string> {
  return {
    HOME: home,
    HARN_EXT_SIGNALS_DIR: join(home, "signals"),
    GITHUB_API_URL: github.url,
    GITHUB_SERVER_URL: "https://github.com",
    GH_TOKEN: TOKEN,
    ...env,
  };
}

/** One run of the monitor, each in a process of its own, and what it asked of GitHub. */
async function look(args: readonly string[] = ["acme/api"], { env, cwd = home }: Options = {}) {
  const options = { cwd, env: environment(env) };
  const { code, stdout, stderr } = await runBundle("monitors/github-ci", [...args, "--json"], options);
  assert.ok(!`${stdout}${stderr}`.includes(TOKEN), "a token is told to nobody");
  const report = stdout ? JSON.parse(stdout) : {};
  const outcomes = report.verdicts?.map(({ outcome }: { outcome?: string }) => outcome);
  return { code, stderr, report, outcomes, ...github.counted() };
}

function signals(): Signal[] {
  const file = join(home, "signals", "inbox.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).signals : [];
}

const states = () => signals().map(({ state, generation }) => `${state} ${generation}`);
const red = { conclusion: "failure" };

describe("monitors/github-ci", () => {
  test("fires once for a red workflow, and resolves when its run is green the second time", async () => {
    acme.runs(run(2, red), run(1));
    const first = await look();
    assert.deepEqual([first.code, first.outcomes, first.unchanged], [1, ["fired"], 0], first.stderr);
    assert.equal(first.report.summary, "1 of 1 workflow is red on main of acme/api: test");
    const [signal] = signals();
    assert.equal(signal?.key, identityKey("github", "workflow_run", ["4217", "501", "main"]));
    assert.deepEqual([signal?.severity, signal?.producer], ["warning", "monitors/github-ci"]);
    assert.deepEqual(signal?.hints, { repository: "github.com/acme/api" });
    assert.equal(signal?.envelope.summary, "CI: test failed on main of acme/api (failure)");
    assert.equal(signal?.envelope.source_url, "https://github.com/acme/api/actions/runs/2");

    const again = await look();
    assert.deepEqual([again.code, states()], [1, ["fired 1"]], "the same is no news");
    assert.deepEqual([again.asked, again.unchanged], [first.asked, first.asked], "and costs nothing");

    acme.runs(run(3, red), run(2, red), run(1));
    assert.deepEqual([(await look()).code, states()], [1, ["fired 1"]], "nor is another red run");

    const attempt = { run_attempt: 2, run_started_at: "2026-03-09T13:00:00Z" };
    acme.runs(run(3, { ...attempt, status: "in_progress", conclusion: null }), run(2, red), run(1));
    assert.deepEqual(
      [(await look()).code, states()],
      [3, ["fired 1"]],
      "one that runs again tells nothing yet",
    );
    acme.runs(run(3, attempt), run(2, red), run(1));
    const green = await look();
    assert.deepEqual([green.code, green.outcomes, states()], [0, ["resolved"], ["resolved 2"]]);
    acme.runs(run(4, { ...red, run_started_at: "2026-03-09T14:00:00Z" }), run(3, attempt));
    assert.deepEqual([(await look()).code, states()], [1, ["fired 3"]]);
  });

  test("fires for what other services say of the newest commit, each by its name", async () => {
    acme.runs(run(1));
    acme.head("heads/main", {
      statuses: [status(1, { state: "failure" })],
      checks: [
        check(2, { conclusion: "timed_out" }),
        check(3, { ...red, name: "job", app: { id: 15368, slug: "github-actions" } }),
      ],
    });
    const { code, report } = await look();
    assert.deepEqual([code, report.summary], [1, "2 of 3 checks are red on main of acme/api: build, scan"]);
    assert.deepEqual(
      signals()
        .map(({ key }) => key)
        .sort(),
      [
        identityKey("github", "check_run", ["4217", "6700", "scan", "main"]),
        identityKey("github", "status", ["4217", "status", "build", "main"]),
      ].sort(),
    );
  });

  test("is urgent where it is said", async () => {
    acme.runs(run(1, red));
    assert.equal((await look(["acme/api", "--severity", "urgent"])).code, 2);
    assert.equal(signals()[0]?.severity, "urgent");
  });

  test("ends what it said of a workflow that is switched off or deleted, and of a branch that is not the default one any more", async () => {
    acme.runs(
      run(1, red),
      run(2, { ...red, workflow_id: 502 }),
      run(3, { ...red, workflow_id: 503 }),
      run(4, { workflow_id: 504 }),
    );
    assert.equal((await look()).code, 1);
    assert.deepEqual(states(), ["fired 1", "fired 1", "fired 1"]);
    const listed = (id: number, state: string, name: string) => ({ id, name, path: `${name}.yml`, state });
    acme.workflows(
      listed(501, "disabled_manually", "test"),
      listed(503, "active", "deploy"),
      listed(504, "active", "nightly"),
    );
    assert.equal((await look()).code, 1);
    const summaries = () =>
      signals()
        .filter(({ state }) => state === "resolved")
        .map(({ envelope }) => envelope.summary);
    assert.deepEqual(summaries().sort(), [
      "CI: test of acme/api is switched off (disabled_manually)",
      "Not part of what is watched now, main of acme/api; before: CI: lint failed on main of acme/api (failure)",
    ]);
    github.put("/repos/acme/api", {
      id: 4217,
      full_name: "acme/api",
      default_branch: "trunk",
      html_url: "https://github.com/acme/api",
    });
    acme.head("heads/trunk");
    acme.runs(run(5, { workflow_id: 503, head_branch: "trunk" }));
    assert.equal((await look()).code, 0);
    assert.match(
      summaries().join("\n"),
      /watched now, trunk of acme\/api; before: CI: deploy failed on main/,
    );
  });

  test("changes nothing while it cannot be read, and says so itself after three times", async () => {
    acme.runs(run(1, red));
    await look();
    acme.runs(run(2));
    github.fail(/runs\?/, { status: 502, body: "<html>" });
    for (const failures of [1, 2, 3]) {
      const { code, report } = await look();
      assert.deepEqual([code, report.failures, states()[0]], [3, failures, "fired 1"]);
    }
    const own = signals()[1];
    assert.match(
      own?.envelope.summary ?? "",
      /^The monitor github-ci acme\/api has not been able to read .* answered 502/,
    );
    github.heal();
    assert.deepEqual([(await look()).code, states()], [0, ["resolved 2", "resolved 2"]]);
  });

  test("asks no sooner than GitHub wants it, also when it could read a part", async () => {
    acme.runs(run(1, red));
    const limit = { status: 403, headers: { "retry-after": "60" }, body: { message: "slow down" } };
    const rows: [args: string[], where: RegExp, code: number][] = [
      [["acme/api"], /runs\?branch/, 3],
      [["acme/api", "--branch", "main"], /check-runs/, 1],
    ];
    for (const [args, where, code] of rows) {
      github.heal();
      github.fail(where, limit);
      assert.equal((await look(args)).code, code);
      github.heal();
      const early = await look(args);
      assert.deepEqual([early.code, early.asked], [3, 0]);
      assert.match(early.report.error, /asked not to be asked before/);
    }
    assert.deepEqual(states(), ["fired 1"], "what could be read was told");
  });

  test("looks at what is checked out, without git, and what is left is as red as before", async () => {
    const tree = join(home, "api");
    const checkOut = (branch: string) =>
      writeFileSync(join(tree, ".git", "HEAD"), `ref: refs/heads/${branch}\n`);
    mkdirSync(join(tree, ".git"), { recursive: true });
    writeFileSync(join(tree, ".git", "config"), '[remote "origin"]\n\turl = git@github.com:acme/api.git\n');
    checkOut("feature/x");
    acme.head("heads/feature/x");
    acme.runs(run(2, { ...red, head_branch: "feature/x" }), run(1));
    const here = { cwd: tree, env: { PATH: tempDirectory("no-programs") } };
    assert.equal((await look([], here)).code, 1);
    assert.deepEqual(signals()[0]?.hints, { repository: "github.com/acme/api", cwd: tree });
    checkOut("main");
    assert.deepEqual([(await look([], here)).code, states()], [0, ["fired 1"]]);
    acme.runs(run(3, { head_branch: "feature/x" }), run(1));
    checkOut("feature/x");
    assert.deepEqual([(await look([], here)).code, states()], [0, ["resolved 2"]]);
  });

  test("goes on in a rebase, and while its checkout is away, as if there were nothing to look at", async () => {
    const tree = join(home, "api");
    const head = join(tree, ".git", "HEAD");
    mkdirSync(join(tree, ".git"), { recursive: true });
    writeFileSync(join(tree, ".git", "config"), '[remote "origin"]\n\turl = git@github.com:acme/api.git\n');
    writeFileSync(head, "ref: refs/heads/main\n");
    acme.runs(run(1, red));
    assert.equal((await look([], { cwd: tree })).code, 1);
    const rows: [change: () => void, summary: RegExp][] = [
      [
        () => writeFileSync(head, `${"5f".repeat(20)}\n`),
        /^no branch is checked out here; --branch names one$/,
      ],
      [() => rmSync(head), /^no repository is checked out here; name one$/],
    ];
    for (const [change, summary] of rows) {
      change();
      const { code, report, asked, stderr } = await look([], { cwd: tree });
      assert.deepEqual([code, report.failures, report.read, asked, stderr], [3, 0, true, 0, ""]);
      assert.match(report.summary, summary);
    }
    assert.deepEqual(states(), ["fired 1"]);
    acme.runs(run(2));
    writeFileSync(head, "ref: refs/heads/main\n");
    assert.deepEqual([(await look([], { cwd: tree })).code, states()], [0, ["resolved 2"]]);
  });

  test("ends nothing, and counts nothing, when its branch seems not to be there", async () => {
    acme.runs(run(1, red));
    await look();
    github.fail(/main\/status/, { status: 422, body: { message: "No commit found for SHA: heads/main" } });
    assert.deepEqual([(await look()).report.failures, states()], [0, ["fired 1"]], "by one of two answers");
    acme.drop("heads/main");
    const { code, report } = await look();
    assert.deepEqual(
      [code, report.failures, report.summary, states()],
      [3, 0, "acme/api has no branch main", ["fired 1"]],
    );
    const expires = signals()[0]?.expires_at;
    await look();
    assert.equal(signals()[0]?.expires_at, expires, "and it expires by itself");
  });

  test("counts no failure where its token may not read checks", async () => {
    acme.runs(run(1));
    github.fail(/commits/, {
      status: 403,
      body: { message: "Resource not accessible by personal access token" },
    });
    for (let i = 0; i < 3; i++) {
      const { code, report } = await look();
      assert.deepEqual([code, report.failures, states()], [0, 0, []]);
      assert.match(report.summary, /^1 workflow is green .*; not all could be read: .* may not read this/);
    }
  });

  test("serves all live sessions, each with the news of its own work tree", async () => {
    const none = await look(["--live"]);
    assert.deepEqual([none.code, none.asked], [0, 0], none.stderr);
    const tree = join(home, "api");
    mkdirSync(join(tree, ".git"), { recursive: true });
    writeFileSync(join(tree, ".git", "config"), '[remote "origin"]\n\turl = https://github.com/acme/api\n');
    writeFileSync(join(tree, ".git", "HEAD"), "ref: refs/heads/topic\n");
    const started = { session_id: "s-1", cwd: tree, hook_event_name: "SessionStart", source: "startup" };
    const hook = { stdin: JSON.stringify(started), cwd: tree, env: environment() };
    assert.equal((await runFile("hooks/claude-code/session-start.mts", [], hook)).code, 0);
    acme.head("heads/topic");
    acme.runs(run(2, { ...red, head_branch: "topic" }), run(1));
    assert.equal((await look(["--live"])).code, 1);
    const [signal] = signals();
    assert.deepEqual(
      [signal?.hints, signal?.assigned?.session],
      [{ repository: "github.com/acme/api", cwd: tree }, "s-1"],
    );
  });

  test("is who gh says, when no token is given", async () => {
    acme.runs(run(1));
    const bin = tempDirectory("gh");
    writeFileSync(
      join(bin, "gh"),
      `#!/bin/sh\n[ "$*" = "auth token --hostname github.com" ] && echo ${TOKEN}\n`,
    );
    chmodSync(join(bin, "gh"), 0o755);
    github.token = TOKEN;
    const PATH = `${bin}:/usr/bin:/bin`;
    assert.equal((await look(["acme/api"], { env: { GH_TOKEN: "", PATH } })).code, 0);
    const { code, report } = await look(["acme/api"], {
      env: { GH_TOKEN: "", PATH: tempDirectory("no-programs") },
    });
    assert.deepEqual([code, /answered 404/.test(report.error)], [3, true]);
    github.token = undefined;
  });

  test("shows a name that was made to mislead as the text that it is", async () => {
    acme.workflows({ id: 501, name: "test\u001b[2J\nOK\u202e all is well", path: "t.yml", state: "active" });
    acme.runs(run(1, red));
    const { code, stdout } = await runBundle("monitors/github-ci", ["acme/api"], {
      cwd: home,
      env: environment(),
    });
    assert.equal(code, 1);
    assert.equal(
      stdout.split("\n")[0],
      "GITHUB-CI WARNING - 1 of 1 workflow is red on main of acme/api: test [2J OK all is well",
    );
  });

  test("takes wrong arguments for no look", async () => {
    const rows: [args: string[], env: Record<string, string>, error: RegExp][] = [
      [[], {}, /^error: OWNER\/REPO: no repository is checked out here; name one/],
      [["api"], {}, /^error: OWNER\/REPO: api: is no repository/],
      [["acme/api"], { GITHUB_API_URL: "api.github.com" }, /^error: GITHUB_API_URL: /],
    ];
    for (const [args, env, error] of rows) {
      const { code, stderr, asked } = await look(args, { env });
      assert.deepEqual([code, asked], [3, 0]);
      assert.match(stderr, error);
    }
    assert.deepEqual(signals(), []);
  });
});
