import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { parse } from "yaml";
import type { Session } from "../document.ts";
import { Source, Unreadable } from "../monitor/source.ts";
import type { Reading } from "../monitor/verdict.ts";
import { type GithubApi, startGithubApi } from "../testing/github-api.ts";
import { ACME, check, Repository, run, status, workflow } from "../testing/github-rows.ts";
import { ROOT } from "../testing/process.ts";
import { tempDirectory } from "../testing/temp.ts";
import type { Time } from "../time.ts";
import { lookAtGithubCi } from "./ci.ts";
import type { CiFlags } from "./watch.ts";

let github: GithubApi;
let acme: Repository;
/** What a monitor remembers from look to look. */
let memory: Record<string, unknown>;
let now: Time;

before(async () => {
  github = await startGithubApi();
});
after(() => github.close());
beforeEach(() => {
  acme = new Repository(github);
  memory = {};
  now = "2026-03-09T12:00:00.000Z";
});
afterEach(() => github.heal());

const signal = new AbortController().signal;

interface Asked {
  args?: readonly string[];
  flags?: CiFlags;
  sessions?: readonly Partial<Session>[];
  token?: string;
}

function look({
  args = ["acme/api"],
  flags = {},
  sessions = [],
  token = "ghp_1",
}: Asked = {}): Promise<Reading> {
  const source = new Source(memory, signal);
  const env = { GITHUB_API_URL: github.url, GITHUB_SERVER_URL: "https://github.com", GH_TOKEN: token };
  const asked = { args: [...args], flags: flags as never, now, source, memory, signal };
  return lookAtGithubCi({ ...asked, sessions: async () => sessions as Session[] }, env);
}

/** What a look says of each thing, shortly: `fire test`. */
function saysOf({ verdicts }: Reading): string[] {
  const words = { OK: "resolve", WARNING: "fire", CRITICAL: "fire", UNKNOWN: "leave" };
  return verdicts.map(({ status, kind, identity, summary }) =>
    [
      words[status],
      kind === "branch"
        ? "nothing"
        : (/^CI: (.*?) (?:failed|passed|of) /.exec(summary)?.[1] ?? identity.join(" ")),
    ].join(" "),
  );
}

const says = async (asked?: Asked) => saysOf(await look(asked));

describe("an answer of GitHub means what is written beside it:", () => {
  const folder = join(ROOT, "fixtures/github-rest");
  const content = (file: string) => JSON.parse(readFileSync(join(folder, file), "utf8"));
  const entries: {
    file: string;
    because: string;
    asked: string;
    means: { do: string; kind: string; identity: string[]; summary: string; url: string; at?: string }[];
    says: string;
  }[] = parse(readFileSync(join(folder, "answers.yaml"), "utf8"));

  for (const { file, because, asked, means, says } of entries) {
    test(`${file}: ${because}`, async () => {
      github.put(`/repos/acme/api/${asked}`, content(file));
      const { verdicts, summary } = await look();
      const told = verdicts.flatMap(({ status, kind, identity, summary, source_url: url, at }) =>
        status === "UNKNOWN"
          ? []
          : [{ do: status === "OK" ? "resolve" : "fire", kind, identity, summary, url, ...(at && { at }) }],
      );
      assert.deepEqual(told, means);
      assert.ok(summary?.includes(says), summary);
    });
  }

  test("and none is without its answer", () => {
    const files = readdirSync(folder).filter((file) => /^(workflow|check|combined).*\.json$/.test(file));
    assert.deepEqual(files.sort(), entries.map(({ file }) => file).sort());
  });
});

describe("what others met with GitHub:", () => {
  test("41: a commit on which nothing was posted is no pending one, and no green one", async () => {
    acme.head("heads/main", { statuses: [] });
    assert.deepEqual(await says(), ["leave nothing"]);
    acme.runs(run(1));
    assert.deepEqual(await says(), ["resolve test"], "it holds nothing up");
  });

  test("42: green statuses hide no failed check, nor the other way round, and nothing at all is no recovery", async () => {
    acme.head("heads/main", { statuses: [status(1)], checks: [check(2, { conclusion: "failure" })] });
    assert.deepEqual(await says(), ["resolve build", "fire scan"]);
    acme.head("heads/main", { statuses: [status(1, { state: "error" })], checks: [check(2)] });
    assert.deepEqual(await says(), ["fire build", "resolve scan"]);
    acme.head("heads/main");
    assert.deepEqual(await says(), ["leave build"], "a new commit on which nothing was posted yet");
  });

  test("43: a failed attempt gives way to the green one of the same run", async () => {
    acme.runs(run(7, { conclusion: "failure" }), run(6, { workflow_id: 502 }));
    assert.deepEqual(await says(), ["fire test", "resolve lint"]);
    acme.runs(
      run(7, { run_attempt: 2, run_started_at: "2026-03-09T13:00:00Z" }),
      run(6, { workflow_id: 502 }),
    );
    assert.deepEqual(await says(), ["resolve test", "resolve lint"]);
    const both = [
      run(7, { conclusion: "failure" }),
      run(7.5, { run_attempt: 2, run_started_at: run(7)["run_started_at"] }),
    ];
    acme.runs(...both);
    assert.deepEqual(await says(), ["resolve test"], "of two that began at once, the higher attempt");
  });

  test("44: what began last is newest, whatever its id", async () => {
    acme.runs(
      run(9, { conclusion: "failure" }),
      run(4, { run_attempt: 2, run_started_at: "2026-03-10T00:00:00Z" }),
    );
    assert.deepEqual(await says(), ["resolve test"]);
  });

  test("45: a cancelled run neither fires nor resolves: the one before it counts", async () => {
    for (const conclusion of ["cancelled", "skipped", "neutral", "stale"]) {
      acme.runs(run(3, { conclusion }), run(2, { conclusion: "failure" }), run(1));
      assert.deepEqual(await says(), ["fire test"], conclusion);
      acme.runs(run(3, { conclusion }), run(2), run(1, { conclusion: "failure" }));
      assert.deepEqual(await says(), ["resolve test"], conclusion);
    }
  });

  test("46: only what is known to be bad fires, and what nobody knows is said once", async () => {
    for (const conclusion of ["failure", "timed_out", "startup_failure"]) {
      acme.runs(run(2, { conclusion }), run(1));
      assert.deepEqual(await says(), ["fire test"], conclusion);
    }
    for (const conclusion of ["action_required", "neutral", "bewildered", "", "toString"]) {
      acme.runs(run(2, { conclusion }));
      memory = {};
      assert.deepEqual(await says(), ["leave nothing"], conclusion);
    }
    acme.runs(run(2, { conclusion: "bewildered" }), run(1));
    memory = {};
    assert.match((await look()).summary ?? "", /the conclusion bewildered is not known here/);
    assert.doesNotMatch((await look()).summary ?? "", /bewildered/);
  });

  test("47: all pages are read, and after a part of them nothing resolves", async () => {
    const checks = Array.from({ length: 230 }, (_, i) => check(i, { name: `scan ${i}` }));
    checks[229] = check(229, { name: "scan 229", conclusion: "failure" });
    acme.head("heads/main", { checks });
    const whole = await look();
    assert.equal(whole.summary, "1 of 230 checks is red on main of acme/api: scan 229");
    assert.ok(whole.gone);
    github.fail(/check-runs.*&page=3/, { status: 502, body: "<html>" });
    const { verdicts, gone, unread, summary } = await look();
    assert.deepEqual([saysOf({ verdicts }), gone], [["leave scan 229"], undefined]);
    assert.match(`${unread?.message} ${summary}`, /answered 502.* not all could be read: /);
  });

  test("48: a fork whose branch is called main too is another branch", async () => {
    const fork = { head_repository: { id: 8850 }, conclusion: "failure" };
    acme.runs(
      run(6, { ...fork, event: "pull_request" }),
      run(5, { ...fork, event: "push" }),
      run(4, { event: "pull_request", conclusion: "failure" }),
      run(3, { event: "pull_request_target", conclusion: "failure" }),
      run(2, { head_repository: null, conclusion: "failure" }),
      run(1),
    );
    assert.deepEqual(await says(), ["resolve test"]);
    for (const event of ["push", "schedule", "workflow_dispatch", "repository_dispatch"]) {
      acme.runs(run(2, { event, conclusion: "failure" }), run(1));
      assert.deepEqual(await says(), ["fire test"], event);
    }
  });

  test("49: a default branch that was renamed is watched under its new name, and the old one is over", async () => {
    acme.runs(run(1, { conclusion: "failure" }));
    assert.deepEqual((await look()).verdicts[0]?.identity, ["4217", "501", "main"]);
    github.put("/repos/acme/api", { ...ACME, default_branch: "trunk" });
    acme.head("heads/trunk");
    acme.runs(run(2, { head_branch: "trunk" }), run(1, { conclusion: "failure" }));
    const { verdicts, gone } = await look();
    assert.deepEqual(
      verdicts.map(({ identity }) => identity),
      [["4217", "501", "trunk"]],
    );
    assert.equal(gone, "Not part of what is watched now, trunk of acme/api");
  });

  test("49: a branch that is there no more is not red for ever, and never well for that", async () => {
    acme.runs(run(1, { conclusion: "failure" }));
    assert.deepEqual(await says(), ["fire test"]);
    acme.drop("heads/main");
    const { verdicts, summary, gone, unread } = await look({ flags: { branch: "main" } });
    assert.deepEqual(saysOf({ verdicts }), ["leave nothing"]);
    assert.deepEqual([summary, gone, unread], ["acme/api has no branch main", undefined, undefined]);
    acme.runs(run(2), run(1, { conclusion: "failure", workflow_id: 502 }));
    assert.deepEqual(await says(), ["resolve test", "leave nothing"], "what was green before is");
    acme.head("heads/main");
    assert.deepEqual(await says(), ["resolve test", "fire lint"]);
  });

  test("49: a branch seems to be gone when no answer knows it, and not by one of them", async () => {
    acme.runs(run(1, { conclusion: "failure" }));
    const [away, denied] = [{ status: 404 }, { status: 403, body: { message: "Resource not accessible" } }];
    const rows: [status: object, checks: object, says: string][] = [
      [{ status: 422, body: { message: "No commit found for SHA: heads/main" } }, {}, "fire test"],
      [{}, away, "fire test"],
      [denied, denied, "fire test"],
      [away, away, "leave nothing"],
      [away, denied, "leave nothing"],
      [{ status: 409 }, { status: 409 }, "leave nothing"],
      [away, { status: 502 }, "leave nothing"],
    ];
    for (const [status, checks, said] of rows) {
      github.heal();
      for (const [where, fault] of [
        [/main\/status/, status],
        [/main\/check-runs/, checks],
      ] as const)
        if (Object.keys(fault).length > 0) github.fail(where, fault);
      memory = {};
      const { verdicts, gone, unread } = await look();
      const row = JSON.stringify([status, checks]);
      assert.deepEqual([saysOf({ verdicts }), gone], [[said], undefined], row);
      assert.equal(unread?.status, "status" in checks && checks.status === 502 ? 502 : undefined, row);
    }
  });

  test("49: a commit of a pull request that is not found yet hides no red", async () => {
    const sha = "a7".repeat(20);
    acme.pull(7, "open", sha);
    acme.runs(run(2, { head_sha: sha, event: "pull_request", conclusion: "failure" }));
    const { verdicts, gone, unread } = await look({ flags: { pr: "7" } });
    assert.deepEqual([saysOf({ verdicts }), gone, unread], [["fire test"], undefined, undefined]);
  });

  test("50: a workflow is known by its id, and what it said last is over when it is off or deleted", async () => {
    acme.runs(run(1, { conclusion: "failure" }));
    assert.deepEqual(await says(), ["fire test"]);
    acme.workflows(workflow(501, { name: "tests", path: ".github/workflows/tests.yml" }));
    const [renamed] = (await look()).verdicts;
    assert.deepEqual(
      [renamed?.identity, renamed?.summary],
      [["4217", "501", "main"], "CI: tests failed on main of acme/api (failure)"],
    );

    for (const state of ["disabled_manually", "disabled_inactivity", "disabled_fork", "deleted"]) {
      acme.workflows(workflow(501, { state }), workflow(502));
      const { verdicts } = await look();
      assert.deepEqual(
        verdicts.map(({ status, summary }) => [status, summary]),
        [
          ["UNKNOWN", "no finished run on main of acme/api"],
          ["OK", `CI: test of acme/api is switched off (${state})`],
        ],
      );
    }
    acme.workflows(workflow(502));
    const deleted = await look();
    assert.deepEqual(saysOf(deleted), ["leave nothing"]);
    assert.equal(deleted.gone, "Not part of what is watched now, main of acme/api");
  });

  test("51: what the merge queue tries out is not on the branch", async () => {
    const queue = "gh-readonly-queue/main/pr-7-5f5f";
    acme.runs(run(2, { event: "merge_group", head_branch: queue, conclusion: "failure" }), run(1));
    assert.deepEqual(await says(), ["resolve test"]);
    acme.head(`heads/${queue}`);
    acme.runs(run(2, { head_branch: queue, conclusion: "failure" }));
    assert.deepEqual(await says({ flags: { branch: queue } }), ["leave nothing"]);
  });

  test("52: a limit is no answer, and the time that it asks for is kept", async () => {
    const soon = String(Math.floor(Date.now() / 1000) + 600);
    const message = "You have exceeded a secondary rate limit. Please wait a few minutes.";
    const rows: [fault: object, wait: [number, number] | undefined, limited: boolean][] = [
      [{ status: 429, headers: { "retry-after": "90" } }, [90, 90], true],
      [{ status: 403, headers: { "retry-after": "90" }, body: { message: "Forbidden" } }, [90, 90], true],
      [
        { status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": soon } },
        [500, 600],
        true,
      ],
      [{ status: 403, body: { message } }, undefined, true],
      [
        { status: 429, body: readFileSync(join(ROOT, "fixtures/github-rest/rate-limited.json"), "utf8") },
        undefined,
        true,
      ],
      [
        { status: 403, body: { message: "Resource not accessible by personal access token" } },
        undefined,
        false,
      ],
      [{ status: 503, headers: { "retry-after": "30" } }, [30, 30], false],
    ];
    acme.runs(run(1));
    for (const [fault, wait, limited] of rows) {
      github.heal();
      github.fail(/runs\?branch/, fault);
      await assert.rejects(look(), (error) => {
        assert.ok(error instanceof Unreadable);
        const [least, most] = wait ?? [];
        const seconds = error.waitMs === undefined ? undefined : error.waitMs / 1000;
        assert.equal(error.limited, limited, error.message);
        assert.ok(
          seconds === undefined ? wait === undefined : seconds >= (least ?? 0) && seconds <= (most ?? -1),
          error.message,
        );
        return true;
      });
    }
  });

  test("53: an error that comes as an answer is an error, and so are half an answer and a page of HTML", async () => {
    acme.runs(run(1, { conclusion: "failure" }));
    const faults = [
      { body: { message: "API rate limit exceeded for user ID 9." } },
      { body: { message: "Server Error" } },
      { body: [] as never },
      { body: "<!DOCTYPE html><title>Unicorn!</title>" },
      { body: "" },
      { cut: true },
      { status: 500, body: {} },
      { status: 502, body: "<html>" },
    ];
    for (const fault of faults) {
      for (const where of [/api$/, /workflows\?/, /runs\?branch/]) {
        github.heal();
        github.fail(where, fault);
        await assert.rejects(look(), Unreadable, JSON.stringify(fault));
      }
    }
    github.heal();
    github.fail(/runs\?branch/, { body: { message: "API rate limit exceeded for user ID 9." } });
    await assert.rejects(look(), { limited: true });
  });
});

describe("what was red", () => {
  const red = { conclusion: "failure" };

  test("and is not listed now is left as it is, for as long as a signal stays", async () => {
    acme.head("heads/main", { checks: [check(1, red)] });
    acme.runs(run(2, red));
    assert.deepEqual(await says(), ["fire test", "fire scan"]);
    acme.head("heads/main", { checks: [check(3, { status: "in_progress", conclusion: null })] });
    acme.runs(run(4, { status: "queued", conclusion: null }));
    const { verdicts, gone } = await look();
    assert.deepEqual(saysOf({ verdicts }), ["leave test", "leave scan"]);
    assert.equal(
      verdicts[0]?.summary,
      "CI: test failed on main of acme/api (failure); nothing newer has ended",
    );
    assert.ok(gone, "the reading is whole, and they are in it");
    now = "2026-03-10T12:00:00.000Z";
    assert.deepEqual(await says(), ["leave nothing"]);
  });

  test("and runs again is neither red nor well until it ends", async () => {
    acme.runs(run(2, red), run(1));
    assert.deepEqual(await says(), ["fire test"]);
    for (const again of [{ status: "in_progress", conclusion: null }, { conclusion: "cancelled" }]) {
      acme.runs(run(2, { ...again, run_attempt: 2, run_started_at: "2026-03-09T13:00:00Z" }), run(1));
      assert.deepEqual(await says(), ["leave test"]);
    }
  });

  test("stays red while the rest cannot be read", async () => {
    acme.runs(run(1), run(2, { ...red, workflow_id: 502 }));
    github.fail(/check-runs/, {
      status: 403,
      body: { message: "Resource not accessible by personal access token" },
    });
    const denied = await look();
    assert.deepEqual([denied.gone, denied.unread], [undefined, undefined], "no permission is no failure");
    assert.match(
      denied.summary ?? "",
      /: lint; not all could be read: .*403, so the token may not read this/,
    );
    github.fail(/status/, { status: 502 });
    const { verdicts, summary, gone, unread } = await look();
    assert.deepEqual(saysOf({ verdicts }), ["fire lint", "resolve test"]);
    assert.equal(unread?.status, 502);
    assert.match(
      summary ?? "",
      /^1 of 2 workflows is red on main of acme\/api: lint; not all could be read: .*/,
    );
    assert.deepEqual([gone, unread instanceof Unreadable], [undefined, true]);
  });
});

test("a list of workflows that was cut off hides no red, and none of it is taken for deleted", async () => {
  acme.runs(run(3, { conclusion: "failure" }), run(2, { workflow_id: 502, conclusion: "failure" }));
  assert.deepEqual(await says(), ["fire test", "fire lint"]);
  const rows = [workflow(502, { state: "disabled_manually" })];
  github.put("/repos/acme/api/actions/workflows", { total_count: 2, workflows: rows });
  const { verdicts, gone } = await look();
  assert.deepEqual([saysOf({ verdicts }), gone], [["fire test", "resolve lint"], undefined]);
  acme.runs(run(2, { workflow_id: 502 }));
  assert.deepEqual(await says(), ["leave test", "resolve lint"]);
});

test("it looks back until each workflow has its verdict, and no further than is worth it", async () => {
  const pages = async () => {
    const before = github.requests.length;
    const said = (await says()).sort();
    return [github.requests.slice(before).filter(({ path }) => path.includes("actions/runs?")).length, said];
  };
  const others = [502, 503, 504, 505].map((id) => run(10_000 + id, { workflow_id: id }));
  const green = ["resolve deploy", "resolve docs", "resolve lint", "resolve nightly"];
  const cancelled = (count: number) =>
    Array.from({ length: count }, (_, i) => run(5_000 - i, { conclusion: "cancelled" }));
  acme.runs(...others, ...cancelled(230), run(10, { conclusion: "failure" }), ...cancelled(900).slice(400));
  assert.deepEqual(await pages(), [3, ["fire test", ...green]]);
  acme.runs(...others, ...cancelled(900));
  assert.deepEqual(await pages(), [5, ["leave test", ...green]]);
});

describe("a pull request", () => {
  const sha = "a7".repeat(20);
  const red = { head_sha: sha, head_branch: "topic", event: "pull_request", conclusion: "failure" };

  test("is looked at by its newest commit, whoever it is from and whatever started its runs", async () => {
    acme.pull(7, "open", sha);
    acme.head(sha, { checks: [check(1)] });
    acme.runs(run(3), run(2, { ...red, head_repository: { id: 8850 } }));
    const { verdicts, summary } = await look({ flags: { pr: "7" } });
    assert.deepEqual(
      verdicts.map(({ status, identity, summary }) => [status, identity, summary]),
      [
        ["WARNING", ["4217", "501", "pull/7"], "CI: test failed on pull/7 of acme/api (failure)"],
        ["OK", ["4217", "6700", "scan", "pull/7"], "CI: scan passed on pull/7 of acme/api"],
      ],
    );
    assert.equal(summary, "1 of 2 checks is red on pull/7 of acme/api: test");
  });

  test("that is closed is over, and all is well with it", async () => {
    acme.pull(7, "open", sha);
    acme.head(sha);
    acme.runs(run(2, red));
    assert.deepEqual(await says({ flags: { pr: "7" } }), ["fire test"]);
    acme.pull(7, "closed", sha);
    const { verdicts, summary, gone } = await look({ flags: { pr: "7" } });
    assert.deepEqual(saysOf({ verdicts }), ["resolve nothing"]);
    assert.deepEqual([summary, gone], ["pull/7 of acme/api is closed", "pull/7 of acme/api is closed"]);
  });
});

describe("one workflow", () => {
  test("is asked for by its name, its file or its id, and nothing else is looked at", async () => {
    acme.runs(run(3), run(2, { workflow_id: 502, conclusion: "failure" }));
    acme.head("heads/main", { checks: [check(1, { conclusion: "failure" })] });
    for (const workflow of ["lint", "lint.yml", ".github/workflows/lint.yml", "502"]) {
      const { verdicts, summary } = await look({ flags: { workflow } });
      assert.deepEqual(saysOf({ verdicts }), ["fire lint"], workflow);
      assert.equal(summary, "1 of 1 workflow is red on main of acme/api: lint");
    }
    assert.ok(github.requests.at(-1)?.path.includes("/actions/workflows/502/runs?branch=main"));
  });

  test("that is not there is said, and is not well", async () => {
    const { verdicts, summary } = await look({ flags: { workflow: "tset" } });
    assert.deepEqual(saysOf({ verdicts }), ["leave nothing"]);
    assert.equal(summary, "acme/api has no workflow tset");
  });
});

test("a branch may have any name", async () => {
  const branch = "feature/größer#1?x&y=%41 z";
  acme.head(`heads/${branch}`, { statuses: [status(1, { state: "failure" })] });
  acme.runs(run(2, { head_branch: branch }), run(1, { conclusion: "failure" }));
  assert.deepEqual(await says({ flags: { branch } }), ["resolve test", "fire build"]);
});

test("a repository that was renamed is the same one", async () => {
  acme.runs(run(1));
  github.put("/repos/acme/old-name", ACME);
  const { verdicts } = await look({ args: ["acme/old-name"] });
  assert.deepEqual(
    verdicts.map(({ identity, hints }) => [identity, hints]),
    [[["4217", "501", "main"], { repository: "github.com/acme/old-name" }]],
    "at home where it is still called that",
  );
});

test("who may not see it, or says wrong who they are, learns nothing", async () => {
  github.token = "ghp_1";
  await assert.rejects(look({ token: "ghp_2" }), {
    message: /answered 401, so the token is missing, wrong or too old/,
  });
  github.token = undefined;
  await assert.rejects(look({ args: ["acme/secret"] }), {
    message: /answered 404, so it is not there, or the token/,
  });
});

describe("the live sessions", () => {
  const home = realpathSync.native(tempDirectory("live"));
  /** A session in a work tree of its own, on this branch. */
  function session(
    id: string,
    repository: string,
    branch: string,
    last_seen = `2026-03-09T11:00:0${id}.000Z`,
  ): Partial<Session> {
    const work_tree = join(home, `${id}-${branch}`);
    mkdirSync(join(work_tree, ".git"), { recursive: true });
    writeFileSync(
      join(work_tree, ".git", "HEAD"),
      branch === "" ? `${"5f".repeat(20)}\n` : `ref: refs/heads/${branch}\n`,
    );
    return { id, repository, work_tree, last_seen };
  }
  const live = (...sessions: readonly Partial<Session>[]) => ({ args: [], flags: { live: true }, sessions });
  const red = { conclusion: "failure" };

  function web(): Repository {
    const about = { ...ACME, id: 4300, full_name: "acme/web" };
    const web = new Repository(github, about);
    web.runs(run(1, { repository: { id: 4300 }, head_repository: { id: 4300 }, ...red }));
    return web;
  }

  test("have one look each at the branches that they are on, and the news is at home with who was heard from last", async () => {
    web();
    acme.runs(run(3, { ...red, head_branch: "topic" }), run(2));
    acme.head("heads/topic");
    const sessions = [
      session("1", "github.com/acme/api", "main", "2026-03-09T11:00:05.000Z"),
      session("2", "github.com/acme/api", "main"),
      session("3", "github.com/acme/api", "topic"),
      session("4", "github.com/acme/web", "main"),
      session("5", "gitlab.com/acme/web", "main"),
      session("6", "github.com/acme/api", ""),
      { id: "7", repository: "github.com/acme/api", last_seen: now },
    ];
    const { verdicts, summary } = await look(live(...sessions));
    assert.deepEqual(
      verdicts.map(({ status, identity, hints }) => [status, identity, hints?.repository, hints?.cwd]),
      [
        ["OK", ["4217", "501", "main"], "github.com/acme/api", join(home, "1-main")],
        ["WARNING", ["4217", "501", "topic"], "github.com/acme/api", join(home, "3-topic")],
        ["WARNING", ["4300", "501", "main"], "github.com/acme/web", join(home, "4-main")],
      ],
    );
    assert.equal(
      summary,
      "1 workflow is green on main of acme/api; 1 of 1 workflow is red on topic of acme/api: test; 1 of 1 workflow is red on main of acme/web: test",
    );
  });

  test("are told what is red in one repository though another cannot be read", async () => {
    web();
    github.fail(/acme\/api/, { status: 403, headers: { "retry-after": "90" } });
    const sessions = live(
      session("1", "github.com/acme/api", "main"),
      session("4", "github.com/acme/web", "main"),
    );
    const { verdicts, summary, gone, unread } = await look(sessions);
    assert.deepEqual(saysOf({ verdicts }), ["fire test", "leave acme api"]);
    assert.match(summary ?? "", /acme\/web: test; not all could be read: .*403, a limit/);
    assert.deepEqual([gone, unread?.waitMs], [undefined, 90_000]);
    github.fail(/acme\/web/, { status: 500 });
    await assert.rejects(look(sessions), { waitMs: 90_000 }, "and nothing at all is no answer");
  });

  test("may leave a branch, which is as red as before", async () => {
    acme.runs(run(3, { head_branch: "topic" }), run(2, red));
    acme.head("heads/topic");
    assert.deepEqual(await says(live(session("1", "github.com/acme/api", "main"))), ["fire test"]);
    const { verdicts, gone } = await look(live(session("1", "github.com/acme/api", "topic")));
    assert.deepEqual([saysOf({ verdicts }), gone], [["resolve test"], undefined]);
  });

  test("that are on a branch nobody pushed have nothing to fear", async () => {
    acme.runs(run(2));
    const there = session("1", "github.com/acme/api", "main");
    const local = session("2", "github.com/acme/api", "local");
    const { verdicts, summary, gone } = await look(live(there, local));
    assert.deepEqual([saysOf({ verdicts }), gone], [["resolve test"], undefined]);
    assert.match(summary ?? "", /acme\/api has no branch local/);
  });

  test("are told nothing when none is in a repository of GitHub", async () => {
    for (const sessions of [
      [],
      [session("5", "gitlab.com/acme/web", "main"), session("6", "github.com/acme/api", "")],
    ]) {
      const { verdicts, gone } = await look(live(...sessions));
      const summary = "no live session works on a branch of a repository of github.com";
      assert.deepEqual(
        verdicts.map(({ status, summary }) => [status, summary]),
        [["OK", summary]],
      );
      assert.equal(gone, undefined, "what is fired stays");
    }
  });
});
