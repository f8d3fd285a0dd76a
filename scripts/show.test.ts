import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fireReport } from "../lib/by-hand.ts";
import type { Document } from "../lib/document.ts";
import { transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { runFile, tempDirectory } from "../lib/testing/process.ts";
import { formatDuration } from "../lib/time.ts";

test("a signal is shown in full, with the very reminder that a session is shown", async () => {
  const dir = join(tempDirectory("show"), "signals");
  const env = { HARN_EXT_SIGNALS_DIR: dir };
  const show = (...args: string[]) => runFile("scripts/show.mts", args, { env });
  const flags = {
    summary: "Disk & memory <full>",
    session: "ada",
    "source-url": "https://ci.example/1",
    why: "W",
    action: "A",
  };
  const change = (doc: Document, now: string) => fire(doc, fireReport({ ...flags, expires: "2h" }, now), now);
  const { doc } = await transact(dir, { change }, { onConfigFault: "throw" });
  const key = doc.signals[0]?.key ?? "";
  const digits = key.split(":")[2]?.slice(0, 8) ?? "";

  const [json, people, none, missing] = await Promise.all([
    show(key, "--json"),
    show(digits),
    show("0000", "--json"),
    show("--json"),
  ]);
  assert.deepEqual([json.code, json.stderr, people.code, people.stderr], [0, "", 0, ""]);
  const view = JSON.parse(json.stdout);
  const { fired_at, changed_at, expires_at, delivery, reminder, ...rest } = view;
  assert.deepEqual(rest, {
    key,
    state: "fired",
    severity: "warning",
    generation: 1,
    one_shot: false,
    origin: "human",
    summary: "Disk & memory <full>",
    why_it_matters: "W",
    proposed_action: "A",
    source_url: "https://ci.example/1",
    provider: "manual",
    producer: "manual",
    signature: "local",
    hints: { session: "ada" },
  });
  assert.equal(changed_at, fired_at);
  assert.equal(formatDuration(Date.parse(expires_at) - Date.parse(fired_at)), "2h");
  assert.deepEqual([delivery.status, delivery.reason], ["held", "no session"]);

  // Every field on a line of its own, then the reminder.
  for (const line of [`key: ${key}`, "wants to go to session: ada"]) {
    assert.ok(people.stdout.split("\n").includes(line), line);
  }
  assert.match(people.stdout, /^delivery: held: no session; [^\n]+\n\nAmbient signals: 1 signal /m);
  assert.ok(people.stdout.endsWith(`\n\n${reminder}\n`));

  const unknown = "KEY: 0000: no such signal; signals list --all shows them";
  assert.deepEqual([none.code, none.stdout, none.stderr], [1, "", `error: ${unknown}\n`]);
  assert.deepEqual([missing.code, missing.stderr], [2, "error: KEY: is missing; --help shows the usage\n"]);

  const payload = { hook_event_name: "PostToolUse", session_id: "ada", cwd: dir };
  const hook = await runFile("hooks/claude-code/post-tool-use.mts", [], {
    env,
    stdin: JSON.stringify(payload),
  });
  assert.equal(JSON.parse(hook.stdout).hookSpecificOutput.additionalContext, reminder);
});
