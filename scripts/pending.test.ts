import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type FireFlags, fireReport } from "../lib/by-hand.ts";
import type { Document } from "../lib/document.ts";
import { transact } from "../lib/inbox.ts";
import { ackAll } from "../lib/lease.ts";
import { fire, resolve } from "../lib/lifecycle.ts";
import { runFile, tempDirectory } from "../lib/testing/process.ts";
import type { SignalView } from "../lib/view.ts";

const THROW = { onConfigFault: "throw" } as const;

test("what is owed is listed in the order of delivery, and what was acked is not", async () => {
  const dir = join(tempDirectory("pending"), "signals");
  const pending = (...args: string[]) => runFile("scripts/pending.mts", ["--dir", dir, ...args]);
  const nothing = await pending();
  assert.deepEqual([nothing.code, nothing.stdout, nothing.stderr], [0, "", "nothing is pending\n"]);

  const fireKey = async (key: string, flags: FireFlags) => {
    const given = { key, summary: `${key} is red`, "no-hint": true, ...flags };
    await transact(dir, { change: (doc: Document, now) => fire(doc, fireReport(given, now), now) }, THROW);
    await new Promise((done) => setTimeout(done, 2));
  };
  const ada = { id: "ada", harness: "claude-code", cwd: "/src/api", repository: "git.example/acme/api" };
  const checkIn = { ...ada, state: "busy", registers: true, subagent: false } as const;

  await fireKey("told", { repo: "acme/api" });
  const { reminders } = await transact(dir, { checkIn, lease: "any" }, THROW);
  const tokens = reminders.map(({ lease }) => lease.token);
  await transact(dir, { change: (doc, now) => [ackAll(doc, tokens, now), undefined] }, THROW);
  await fireKey("first", { repo: "acme/api" });
  await fireKey("second", { repo: "acme/web" });
  await fireKey("down", { repo: "acme/api", severity: "urgent" });
  await fireKey("unheard", { repo: "acme/api" });
  const report = { key: "unheard", producer: "manual", signature: "local", origin: "human" } as const;
  await transact(dir, { change: (doc, now) => [resolve(doc, report, now)[0], undefined] }, THROW);

  const [all, hers, people, stray] = await Promise.all([
    pending("--json"),
    pending("--session", "ada", "--json"),
    pending("--session", "ada"),
    pending("ada"),
  ]);
  const rows = ({ stdout }: { stdout: string }) =>
    (JSON.parse(stdout) as SignalView[]).map(({ key, delivery }) => [key, delivery.status, delivery.session]);
  const [down, first] = [
    ["down", "owed", "ada"],
    ["first", "owed", "ada"],
  ];
  assert.deepEqual(rows(all), [down, first, ["second", "held", undefined]]);
  assert.deepEqual(rows(hers), [down, first]);
  assert.match(
    people.stdout,
    /^fired urgent down#1, .*: -> ada \(claude-code, api\): at its next safe point\n {4}down is red\nfired warning first#1, .*\n {4}first is red\n$/,
  );
  assert.deepEqual(
    [stray.code, stray.stderr],
    [2, "error: ada: unexpected argument; --help shows the usage\n"],
  );
});
