import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fireReport } from "../lib/by-hand.ts";
import { type Document, findSignal } from "../lib/document.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { runFile, tempDirectory } from "../lib/testing/process.ts";
import { timeOf } from "../lib/time.ts";

function place() {
  const home = tempDirectory("resolve");
  const dir = join(home, "signals");
  return {
    home,
    resolve: (args: readonly string[], stdin?: string) =>
      runFile("scripts/resolve.mts", [...args, "--dir", dir], { stdin }),
    doc: () => readDocument(dir, timeOf(Date.now())),
    async fire(...keys: string[]) {
      for (const key of keys) {
        const change = (doc: Document, now: string) =>
          fire(doc, fireReport({ key, summary: `${key} is red`, "no-hint": true }, now), now);
        await transact(dir, { change }, { onConfigFault: "throw" });
      }
    },
  };
}

test("a signal is resolved once, with the words of who resolves it", async () => {
  const { fire, resolve, doc } = place();
  await fire("ci:main", "ci:api");

  const first = await resolve(["ci:main", "--summary", "main is green", "--producer", "scripts/ci"]);
  assert.deepEqual([first.code, first.stdout, first.stderr], [0, "resolved ci:main#2\n", ""]);
  const { state, producer, envelope } = findSignal(doc(), "ci:main") ?? {};
  assert.deepEqual([state, producer, envelope?.summary], ["resolved", "scripts/ci", "main is green"]);

  const [again, json, plain] = [
    await resolve(["ci:main"]),
    await resolve(["ci:main", "--json"]),
    await resolve(["ci:api", "--json"]),
  ];
  assert.deepEqual([again.code, again.stdout], [0, "already settled ci:main#2\n"]);
  assert.deepEqual(JSON.parse(json.stdout), { key: "ci:main", outcome: "already_settled", generation: 2 });
  assert.deepEqual(JSON.parse(plain.stdout), { key: "ci:api", outcome: "resolved", generation: 2 });
  const kept = findSignal(doc(), "ci:api");
  assert.deepEqual(
    [kept?.producer, kept?.envelope.summary],
    ["manual", "ci:api is red"],
    "the old text stays",
  );
});

test("an unknown key is said and is no failure: a script's first green run must not fail", async () => {
  const { home, resolve } = place();
  const { code, stdout, stderr } = await resolve(["ci:main", "--json"]);
  assert.deepEqual(JSON.parse(stdout), { key: "ci:main", outcome: "unknown", generation: null });
  assert.deepEqual([code, stderr], [0, "ci:main: no such signal; nothing to resolve\n"]);
  const stored = readdirSync(join(home, "signals")).includes("inbox.json");
  assert.ok(!stored || readDocument(join(home, "signals"), "").signals.length === 0, "and leaves no trace");
});

test("the first digits of a computed key are enough; any other key must be whole", async () => {
  const { fire, resolve, doc } = place();
  const [a, b] = [`triage:ci:abcd${"0".repeat(28)}`, `triage:ci:abce${"1".repeat(28)}`];
  await fire(a, b, "job", "jobs", "team:build-nightly", "deploy-a", "deploy-b", " padded ");

  const both = await resolve(["abc"]);
  assert.deepEqual([both.code, both.stdout], [1, ""]);
  assert.equal(both.stderr, `error: KEY: abc: could be any of ${a}, ${b}; write more of it\n`);
  assert.equal((await resolve(["abce"])).stdout, "resolved abce1111#2\n");
  assert.equal((await resolve(["job"])).stdout, "resolved job#2\n", "the whole key is never ambiguous");
  // A script's own key, not fired yet, where somebody's longer one is.
  for (const key of ["build", "deploy"]) {
    assert.deepEqual((await resolve([key])).code, 0);
  }
  assert.equal((await resolve(["padded"])).stdout, "resolved padded#2\n", "as people are shown it");
  const states = doc().signals.map(({ key, state }) => [key, state]);
  assert.deepEqual(states, [
    [a, "fired"],
    [b, "resolved"],
    ["job", "resolved"],
    ["jobs", "fired"],
    ["team:build-nightly", "fired"],
    ["deploy-a", "fired"],
    ["deploy-b", "fired"],
    [" padded ", "resolved"],
  ]);
});

test("an envelope brings the key and the text; a flag wins, and a refusal changes nothing", async () => {
  const { home, fire, resolve, doc } = place();
  await fire("ci:main");
  const event = {
    schema: "harn.triage_event.v1",
    provider: "ci",
    source_kind: "run",
    source_url: "https://ci.example/8",
    summary: "green by envelope",
    proposed_action: "Go on",
    dedupe_key: "ci:main",
  };
  const file = join(home, "event.json");
  writeFileSync(file, JSON.stringify(event));

  const [none, long, garbage] = await Promise.all([
    resolve([]),
    resolve(["ci:main", "--summary", "x".repeat(2001)]),
    resolve(["--event", "-"], "[]"),
  ]);
  assert.deepEqual([none.code, none.stderr], [2, "error: KEY: is missing; signals list shows the keys\n"]);
  assert.equal(long.code, 1);
  assert.match(long.stderr, /^error: envelope: summary is longer than 2000 characters[^\n]*\n$/);
  assert.equal(garbage.code, 1);
  assert.match(garbage.stderr, /^error: --event: - holds no object; [^\n]*\n$/);
  assert.equal(findSignal(doc(), "ci:main")?.state, "fired");

  const { code, stdout } = await resolve(["--event", file, "--summary", "green by flag", "--json"]);
  assert.deepEqual([code, JSON.parse(stdout)], [0, { key: "ci:main", outcome: "resolved", generation: 2 }]);
  const beginning = await resolve(["--event", "-", "--json"], JSON.stringify({ ...event, dedupe_key: "ci" }));
  assert.deepEqual(JSON.parse(beginning.stdout), { key: "ci", outcome: "unknown", generation: null });
  const { envelope } = findSignal(doc(), "ci:main") ?? {};
  assert.equal(envelope?.dedupe_key, "ci:main");
  assert.deepEqual([envelope?.summary, envelope?.source_url], ["green by flag", "https://ci.example/8"]);
});
