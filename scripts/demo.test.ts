import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { runFile, tempDirectory } from "../lib/testing/process.ts";

const NAME = "ci-breaks-and-recovers";

test("the whole story is told with exactly two reminders, and leaves nothing behind", async () => {
  const TMPDIR = tempDirectory("demo-test");
  // Whoever tries it from inside a session must see the same.
  const env = { TMPDIR, HARN_EXT_SIGNALS_OFF: "1", HARN_EXT_SIGNALS_DIR: "/nowhere" };
  const { code, stdout, stderr } = await runFile("scripts/demo.mts", [], { env });
  assert.deepEqual([code, stderr.split("\n").length], [0, 2], stderr);

  const blocks = [...stdout.matchAll(/^ {4}\| Signal (fired|resolved) at /gm)].map(([, state]) => state);
  assert.deepEqual(blocks, ["fired", "resolved"]);
  assert.equal(stdout.match(/^ {4}\| Ambient signals: 1 signal from /gm)?.length, 2);
  const steps = [...stdout.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));
  assert.deepEqual(steps, [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.match(
    stdout,
    /^ {4}\| fired ci:acme\/api:main#1 -> 5e551014 \(claude-code, acme-api\): at its next safe point$/m,
  );
  assert.match(stdout, /^ {4}\| extended ci:acme\/api:main#1 delivered to /m);
  assert.match(stdout, /^ {4}\| resolved ci:acme\/api:main#2$/m);
  // tsx keeps what it compiled.
  assert.deepEqual(
    readdirSync(TMPDIR).filter((name) => !name.startsWith("tsx-")),
    [],
  );
});

test("a scenario is played by its name, an unknown one is no success, and --step needs nobody at the keys", async () => {
  const [played, steps, typo] = await Promise.all([
    runFile("scripts/demo.mts", [NAME]),
    runFile("scripts/demo.mts", [NAME, "--step"], { stdin: "\n" }),
    runFile("scripts/demo.mts", ["ci-braeks-and-recovers"]),
  ]);
  assert.deepEqual([played.code, played.stderr], [0, ""]);
  assert.match(played.stdout, /^A red build is told once[^\n]+\nat 0s: /);
  assert.equal(played.stdout.match(/\| Signal (fired|resolved) at /g)?.length, 2);
  assert.doesNotMatch(played.stdout, /not as expected/);

  assert.deepEqual([steps.code, steps.stdout], [0, played.stdout]);
  assert.match(steps.stderr, /^(Enter for the next step )+$/);

  const meant = `SCENARIO: ci-braeks-and-recovers: there is none of that name; did you mean ${NAME}?`;
  assert.deepEqual([typo.code, typo.stdout, typo.stderr], [1, "", `error: ${meant}\n`]);
});
