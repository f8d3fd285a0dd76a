import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fireReport } from "../lib/by-hand.ts";
import { type Document, findSignal } from "../lib/document.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { fire, resolve } from "../lib/lifecycle.ts";
import { runFile, tempDirectory } from "../lib/testing/process.ts";
import { timeOf } from "../lib/time.ts";

test("a lease is acked by its token, and by nothing else", async () => {
  const dir = join(tempDirectory("ack"), "signals");
  const ack = (...args: string[]) => runFile("scripts/ack.mts", [...args, "--dir", dir]);
  const doc = () => readDocument(dir, timeOf(Date.now()));
  const change = (change: (doc: Document, now: string) => Document) =>
    transact(dir, { change: (doc, now) => [change(doc, now), undefined] }, { onConfigFault: "throw" });
  for (const key of ["ci:main", "ci:old"]) {
    await change((doc, now) => fire(doc, fireReport({ key, summary: "red", session: "ada" }, now), now)[0]);
  }
  const ada = {
    id: "ada",
    harness: "claude-code",
    cwd: dir,
    state: "busy",
    registers: true,
    subagent: false,
  } as const;
  const { reminders } = await transact(dir, { checkIn: ada, lease: "any" }, { onConfigFault: "throw" });
  const tokenOf = (key: string) => reminders.find(({ signal }) => signal.key === key)?.lease.token ?? "";
  const report = { key: "ci:old", producer: "manual", signature: "local", origin: "human" } as const;
  await change((doc, now) => resolve(doc, report, now)[0]);

  const before = JSON.stringify(doc());
  const refusals: [args: string[], code: number, line: RegExp][] = [
    [["not-a-token"], 1, /^TOKEN: not-a-token: unknown, or its lease has lapsed; nothing was changed$/],
    [
      ["ci:main"],
      1,
      /^TOKEN: ci:main: is a signal's key, not a lease's token; .*mute.* signals resolve ci:main$/,
    ],
    [[], 2, /^TOKEN: is missing; --help shows the usage$/],
  ];
  await Promise.all(
    refusals.map(async ([args, code, line]) => {
      const run = await ack(...args);
      assert.deepEqual([run.code, run.stdout], [code, ""]);
      assert.match(run.stderr, /^error: [^\n]+\n$/);
      assert.match(run.stderr.slice("error: ".length, -1), line);
    }),
  );
  assert.equal(JSON.stringify(doc()), before);

  const first = await ack(tokenOf("ci:main"));
  assert.deepEqual([first.code, first.stdout, first.stderr], [0, "acked ci:main#1\n", ""]);
  assert.equal(findSignal(doc(), "ci:main")?.acked?.session, "ada");
  const [again, json, late] = [
    await ack(tokenOf("ci:main")),
    await ack(tokenOf("ci:main"), "--json"),
    await ack(tokenOf("ci:old"), "--json"),
  ];
  assert.equal(again.stdout, "already acked ci:main#1\n", "twice is harmless");
  assert.deepEqual(JSON.parse(json.stdout), { key: "ci:main", generation: 1, acked: true });
  assert.deepEqual(
    JSON.parse(late.stdout),
    { key: "ci:old", generation: 1, acked: false },
    "it was replaced",
  );
  assert.equal(findSignal(doc(), "ci:old")?.acked, undefined);
});
