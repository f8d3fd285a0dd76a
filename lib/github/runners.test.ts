import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { decide, type Track } from "../monitor/steady.ts";
import type { Verdict } from "../monitor/verdict.ts";
import { ROOT } from "../testing/process.ts";
import { plus } from "../time.ts";
import {
  type Job,
  JobSchema,
  type Owner,
  type Runner,
  RunnerSchema,
  runnerVerdicts,
  type Seen,
} from "./runners.ts";

const ACME: Owner = {
  name: "acme/api",
  scope: "github.com/acme/api",
  url: "https://github.com/acme/api/settings/actions/runners",
};

function fixture(name: string): Record<string, unknown[]> {
  return JSON.parse(readFileSync(join(ROOT, "fixtures", "github-rest", `${name}.json`), "utf8"));
}

/** `NAME STATE LABELS…`: busy is offline for the list, gone an ephemeral one that is still in it. */
function runners(...rows: string[]): Runner[] {
  return rows.map((row, i) => {
    const [name = "", state, ...labels] = row.split(" ");
    const given = labels.map((label) => ({ name: label, type: "custom" }));
    return RunnerSchema.parse({
      id: i + 1,
      name,
      status: state === "busy" || state === "gone" ? "offline" : state === "spot" ? "online" : state,
      busy: state === "busy",
      ephemeral: state === "gone" || state === "spot",
      labels: ["self-hosted", "Linux", "X64"]
        .map((label): object => ({ name: label, type: "read-only" }))
        .concat(given),
    });
  });
}

/** A job that has been queued for too long, by what it asks for. */
function job(labels: string, fields: Partial<Job> = {}): Job {
  return {
    id: 1,
    name: "build",
    status: "queued",
    labels: labels.split(" "),
    created_at: "2026-06-01T08:00:00Z",
    ...fields,
  };
}

/** As `labels: STATUS`, or `#id: STATUS` for a runner that stands for itself. */
function short({ kind, identity: [, ...parts], status }: Verdict): string {
  return `${kind === "runner" ? "#" : ""}${parts.join(" ")}: ${status}`;
}

function look(seen: Partial<Seen>, watched?: string[]): string[] {
  return runnerVerdicts(ACME, { runners: [], late: [], ...seen }, watched).map(short);
}

describe("a pool of runners", () => {
  const rows: [promise: string, runners: string[], verdicts: string[]][] = [
    ["is well while one of it is online", ["a online gpu", "b offline gpu"], ["gpu: OK"]],
    ["is red when none of it is", ["a offline gpu", "b offline gpu"], ["gpu: WARNING"]],
    ["is well while one of it works, though the list says that it is offline", ["a busy gpu"], ["gpu: OK"]],
    [
      "is the same whatever the order and case of its labels",
      ["a offline GPU cuda", "b online cuda gpu"],
      ["cuda gpu: OK"],
    ],
    [
      "is served by runners that have more than its labels",
      ["a offline gpu", "b online gpu cuda"],
      ["gpu: OK", "cuda gpu: OK"],
    ],
    [
      "is not served by runners that lack one of its labels",
      ["a offline gpu cuda", "b online gpu"],
      ["cuda gpu: WARNING", "gpu: OK"],
    ],
    ["tells nothing for a status that nobody knows", ["a sleeping gpu", "b offline gpu"], ["gpu: UNKNOWN"]],
    ["is none of ephemeral runners, whether they are there or gone", ["a gone gpu", "b spot gpu"], []],
    [
      "does not count its ephemeral runners",
      ["a gone gpu", "b online gpu", "c spot deploy", "d offline deploy"],
      ["gpu: OK", "deploy: WARNING"],
    ],
    [
      "is a runner by itself where it has no labels of its own",
      ["a offline", "b online"],
      ["#1: WARNING", "#2: OK"],
    ],
    [
      "is not red for a runner that is there under another number too",
      ["a offline", "a online"],
      ["#1: OK", "#2: OK"],
    ],
  ];
  for (const [promise, list, verdicts] of rows)
    test(promise, () => assert.deepEqual(look({ runners: runners(...list) }), verdicts));

  test("needs no more of a runner than old servers tell", () => {
    const old = [
      { id: 23, name: "mac-1", os: "macos", status: "online" },
      { id: 24, name: "mac-2", os: "macos", status: "offline" },
    ];
    assert.deepEqual(look({ runners: old.map((one) => RunnerSchema.parse(one)) }), [
      "#23: OK",
      "#24: WARNING",
    ]);
    const untyped = {
      id: 25,
      name: "mac-3",
      status: "offline",
      labels: [{ name: "self-hosted" }, { name: "macOS" }, { name: "xcode" }],
    };
    assert.deepEqual(look({ runners: [RunnerSchema.parse(untyped)] }), ["xcode: WARNING"]);
  });

  test("is another one for another owner", () => {
    const of = (scope: string) =>
      runnerVerdicts({ ...ACME, scope }, { runners: runners("a offline gpu", "b offline"), late: [] }).map(
        ({ kind, identity }) => [kind, identity],
      );
    assert.deepEqual(of("github.com/acme"), [
      ["runner_pool", ["github.com/acme", "gpu"]],
      ["runner", ["github.com/acme", "2"]],
    ]);
    assert.notDeepEqual(of("github.com/acme"), of("github.com/other"));
  });
});

describe("a job that was queued for too long", () => {
  const rows: [promise: string, runners: string[], jobs: string[], verdicts: string[]][] = [
    [
      "is red for the pool that it asks for, though its runners are online",
      ["a online gpu", "b online deploy"],
      ["self-hosted linux gpu"],
      ["gpu: WARNING", "deploy: OK"],
    ],
    ["asks without self-hosted too", ["a online gpu"], ["GPU"], ["gpu: WARNING"]],
    [
      "is red for a pool that has no runner at all, as of ephemeral ones",
      [],
      ["self-hosted gpu"],
      ["gpu: WARNING"],
    ],
    ["is red for ephemeral runners that do not take it", ["a spot gpu"], ["gpu"], ["gpu: WARNING"]],
    [
      "is red for all runners together when it asks for any",
      ["a online gpu", "b online"],
      ["self-hosted linux"],
      ["gpu: OK", ": WARNING", "#2: OK"],
    ],
    [
      "is nothing of ours when it waits for a machine of the server",
      ["a online gpu"],
      ["ubuntu-latest", "windows-2025"],
      ["gpu: OK"],
    ],
  ];
  for (const [promise, list, jobs, verdicts] of rows)
    test(promise, () =>
      assert.deepEqual(
        look({ runners: runners(...list), late: jobs.map((labels) => job(labels)) }),
        verdicts,
      ),
    );

  test("is nothing of ours when it asks for no runner, as one that calls another workflow", () => {
    assert.deepEqual(look({ runners: runners("a online gpu"), late: [job("", { labels: [] })] }), [
      "gpu: OK",
    ]);
  });

  test("is named, with its link, and the longest one of several", () => {
    const late = [
      job("gpu", {
        id: 2,
        name: "second",
        created_at: "2026-06-01T08:05:00Z",
        html_url: "https://github.com/acme/api/2",
      }),
      job("gpu", { id: 1, name: "first", html_url: "https://github.com/acme/api/1" }),
    ];
    const [online] = runnerVerdicts(ACME, { runners: runners("a online gpu"), late });
    const says =
      "the job first is queued for a runner with the label gpu since 2026-06-01T08:00:00Z, and 1 more";
    assert.deepEqual(
      [online?.summary, online?.source_url],
      [`acme/api: ${says}`, "https://github.com/acme/api/1"],
    );
    const [offline] = runnerVerdicts(ACME, { runners: runners("a offline gpu", "b offline gpu"), late });
    assert.deepEqual(
      [offline?.summary, offline?.source_url],
      [`acme/api: 0 of 2 runners with the label gpu online; ${says}`, ACME.url],
    );
  });

  test("may be among those that were not read: then no pool is well, and what is red stays so", () => {
    const list = runners("a online gpu", "b offline deploy", "c online");
    assert.deepEqual(look({ runners: list, isPart: true }), ["gpu: UNKNOWN", "deploy: WARNING", "#3: OK"]);
    assert.deepEqual(look({ runners: list, late: [job("gpu")], isPart: true })[0], "gpu: WARNING");
  });
});

test("who asks for other labels, or has another patience, has a signal of their own", () => {
  const seen = { runners: runners("a offline gpu", "b offline"), late: [] };
  const of = (patience?: string, watched?: string[]) =>
    runnerVerdicts(ACME, { ...seen, patience }, watched).map(({ kind, identity: [, ...parts] }) => [
      kind,
      ...parts,
    ]);
  assert.deepEqual(of(), [
    ["runner_pool", "gpu"],
    ["runner", "2"],
  ]);
  assert.deepEqual(of("5m"), [
    ["runner_pool", "gpu", "queued for 5m"],
    ["runner", "2"],
  ]);
  assert.deepEqual(of(undefined, ["GPU"]), [["runner_labels", "gpu"]]);
  assert.deepEqual(of("5m", ["GPU"]), [["runner_labels", "gpu", "queued for 5m"]]);
});

describe("with --labels", () => {
  const rows: [promise: string, runners: string[], jobs: string[], verdict: string][] = [
    ["only that pool is watched", ["a online gpu", "b offline deploy"], ["deploy"], "gpu: OK"],
    ["whoever has these labels is of it", ["a offline gpu", "b online gpu cuda"], [], "gpu: OK"],
    ["none that is online is red", ["a offline gpu cuda", "b online deploy"], [], "gpu: WARNING"],
    ["no runner at all is red too", ["b online deploy"], [], "gpu: WARNING"],
    ["an ephemeral runner that is there will do", ["a spot gpu", "b gone gpu"], [], "gpu: OK"],
    ["ephemeral runners that are gone tell nothing", ["a gone gpu"], [], "gpu: UNKNOWN"],
    [
      "a job that asks for them and more is late as well",
      ["a online gpu"],
      ["self-hosted gpu cuda"],
      "gpu: WARNING",
    ],
  ];
  for (const [promise, list, jobs, verdict] of rows)
    test(promise, () =>
      assert.deepEqual(
        look({ runners: runners(...list), late: jobs.map((labels) => job(labels)) }, ["GPU"]),
        [verdict],
      ),
    );

  test("labels that every runner has count as they are asked for", () => {
    const list = runners("a online gpu");
    assert.deepEqual(look({ runners: list }, ["linux", "gpu"]), ["gpu linux: OK"]);
    assert.deepEqual(look({ runners: list }, ["windows", "gpu"]), ["gpu windows: WARNING"]);
    const [verdict] = runnerVerdicts(ACME, { runners: list, late: [] }, ["windows", "gpu"]);
    assert.equal(verdict?.summary, "acme/api: no runner with the labels gpu, windows is registered");
  });

  test("ephemeral runners count when there are no others", () => {
    const says = (...rows: string[]) =>
      runnerVerdicts(ACME, { runners: runners(...rows), late: [] }, ["gpu"])[0]?.summary;
    assert.equal(says("a spot gpu", "b gone gpu"), "acme/api: 1 of 2 runners with the label gpu online");
    assert.equal(
      says("a spot gpu", "b offline gpu"),
      "acme/api: 0 of 1 runners with the label gpu online",
      "as the verdict",
    );
  });
});

describe("what runners do in the field", () => {
  const STEADY = { fire: { polls: 3, over: 120_000 }, resolve: { polls: 2, over: 60_000 } };
  const START = "2026-06-01T08:00:00.000Z";

  /** What comes of one look a minute at these lists, each the state of the runners of one pool. */
  function over(...lists: string[][]): string[] {
    let track: Track | undefined;
    return lists.map((list, i) => {
      const [verdict] = runnerVerdicts(ACME, { runners: runners(...list), late: [] });
      assert.ok(verdict);
      const decision = decide(verdict, track, STEADY, plus(START, i * 60_000));
      track = { ...decision.track, ...(decision.do === "fire" && { fired: verdict }) };
      return decision.do;
    });
  }

  test("a runner that seems offline for a moment, or while it takes jobs, is no news", () => {
    const [on, off, busy] = [["a online gpu"], ["a offline gpu"], ["a busy gpu"]];
    assert.deepEqual(over(off, off, off), ["nothing", "nothing", "fire"]);
    assert.deepEqual(over(off, off, busy, off, off), ["nothing", "nothing", "nothing", "nothing", "nothing"]);
    assert.deepEqual(over(off, off, off, on, off), ["nothing", "nothing", "fire", "nothing", "fire"]);
    assert.deepEqual(over(off, off, off, on, on), ["nothing", "nothing", "fire", "nothing", "resolve"]);
    const stale = ["a offline gpu", "a-2 online gpu"];
    assert.deepEqual(over(stale, stale, stale), ["nothing", "resolve", "resolve"]);
  });

  test("ephemeral runners that died stay in the list for weeks, and are no news", () => {
    const dead = Array.from({ length: 31 }, (_, i) => `spot-${i} gone gpu`);
    assert.deepEqual(look({ runners: runners(...dead, "a online gpu") }), ["gpu: OK"]);
    assert.deepEqual(look({ runners: runners(...dead) }), []);
    assert.deepEqual(look({ runners: runners(...dead), late: [job("self-hosted gpu")] }), ["gpu: WARNING"]);
  });

  test("a runner that is online and takes no job is known by the job that waits", () => {
    assert.deepEqual(look({ runners: runners("a online gpu"), late: [job("self-hosted gpu")] }), [
      "gpu: WARNING",
    ]);
  });

  test("the lists of the server are read as they are", () => {
    const list = fixture("runners")["runners"]?.map((row) => RunnerSchema.parse(row)) ?? [];
    const jobs = fixture("runners.queued-jobs")["jobs"]?.map((row) => JobSchema.parse(row)) ?? [];
    assert.deepEqual(look({ runners: list }), [
      "cuda-12 gpu: WARNING",
      "deploy: OK",
      "#15: OK",
      "#16: WARNING",
    ]);
    const late = jobs.filter(({ status }) => status === "queued");
    assert.deepEqual(look({ runners: list, late }), [
      "cuda-12 gpu: WARNING",
      "deploy: OK",
      ": WARNING",
      "#15: OK",
      "#16: WARNING",
    ]);
  });
});

test("no two verdicts are on one condition, and the order of the lists changes none of them", () => {
  const labels = fc.uniqueArray(fc.constantFrom("gpu", "cuda", "deploy"));
  const state = fc.constantFrom("online", "offline", "busy", "gone", "spot");
  const row = fc.tuple(state, labels).map(([state, labels]) => ["r", state, ...labels].join(" "));
  fc.assert(
    fc.property(fc.array(row, { maxLength: 8 }), fc.array(labels, { maxLength: 3 }), (rows, wanted) => {
      const list = runners(...rows);
      const late = wanted.map((labels, id) => job(["self-hosted", ...labels].join(" "), { id }));
      const verdicts = look({ runners: list, late });
      const keys = verdicts.map((verdict) => verdict.split(":")[0]);
      assert.equal(new Set(keys).size, keys.length);
      const turned = look({ runners: [...list].reverse(), late: [...late].reverse() });
      assert.deepEqual([...turned].sort(), [...verdicts].sort());
    }),
  );
});
