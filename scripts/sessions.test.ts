import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fireReport } from "../lib/by-hand.ts";
import { type Document, findSession, findSignal } from "../lib/document.ts";
import { UsageError } from "../lib/errors.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { registerByHand } from "../lib/registry.ts";
import { runFile, tempDirectory } from "../lib/testing/process.ts";
import { timeOf } from "../lib/time.ts";

test("sessions are added, listed and ended by hand, and what waited for one goes to another", async () => {
  const home = realpathSync(tempDirectory("sessions"));
  const dir = join(home, "signals");
  const sessions = (...args: string[]) =>
    runFile("scripts/sessions.mts", [...args, "--dir", dir], { cwd: home });
  const doc = () => readDocument(dir, timeOf(Date.now()));
  const api = join(home, "api");
  mkdirSync(join(api, ".git"), { recursive: true });
  writeFileSync(join(api, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(api, ".git", "config"), '[remote "origin"]\n\turl = git@github.com:acme/api.git\n');
  symlinkSync("api", join(home, "link"));

  const nobody = await sessions();
  assert.deepEqual([nobody.code, nobody.stdout, nobody.stderr], [0, "", "no sessions\n"]);

  const added = await sessions(
    "--register",
    "ada",
    "--harness",
    "claude-code",
    "--cwd",
    "link",
    "--role",
    "control",
  );
  assert.deepEqual([added.code, added.stderr], [0, ""]);
  assert.equal(
    added.stdout,
    `idle ada (claude-code, api) in ${api} (github.com/acme/api), role control, last seen just now\n`,
  );
  const id = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";
  const { stdout } = await sessions("--register", id, "--harness", "codex", "--cwd", api, "--json");
  const [first, second] = JSON.parse(stdout);
  assert.equal(first.id, "ada");
  const { last_seen, last_hook, ...rest } = second;
  assert.deepEqual(rest, {
    id,
    harness: "codex",
    cwd: api,
    repository: "github.com/acme/api",
    title: null,
    role: null,
    state: "idle",
    attended: null,
    live: true,
    responsive: true,
    watcher: false,
  });
  assert.equal(last_seen, last_hook);
  assert.match(last_seen, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  const report = { key: "ci:main", summary: "red", repo: "acme/api", session: id };
  const change = (doc: Document, now: string) => fire(doc, fireReport(report, now), now);
  await transact(dir, { change }, { onConfigFault: "throw" });
  assert.equal(findSignal(doc(), "ci:main")?.assigned?.session, id);
  // A second one, so that the digits that people are shown are not enough.
  const twin = "5e551014-0000-4c0d-9b1f-2f6c1d0a9e37";
  await sessions("--register", twin, "--harness", "codex", "--cwd", home);
  const unclear = await sessions("--end", "5e551014");
  assert.deepEqual([unclear.code, unclear.stdout], [1, ""]);
  assert.equal(
    unclear.stderr,
    `error: session: 5e551014: could be any of ${id}, ${twin}; write more of it\n`,
  );
  assert.equal((await sessions("--end", "5e551014-0")).code, 0);
  assert.equal(findSession(doc(), twin), undefined);
  const ended = await sessions("--end", "5e551014", "-v");
  assert.match(
    ended.stdout,
    /^idle ada [^\n]*, last seen \d{4}-\d\d-\d\d [\d:]+ \S+\n$/,
    "who is left, with exact times",
  );
  assert.equal(findSession(doc(), id), undefined);
  assert.equal(findSignal(doc(), "ci:main")?.assigned?.session, "ada");

  const before = JSON.stringify(doc());
  const refusals: [args: string[], code: number, line: string][] = [
    [["--end", id], 1, `--end: ${id}: no such session; signals sessions lists them`],
    [["--end", "ada", "--register", "b"], 2, "--end: ada: stands alone; leave out the flags of --register"],
  ];
  await Promise.all(
    refusals.map(async ([args, code, line]) => {
      const run = await sessions(...args);
      assert.deepEqual([run.code, run.stdout, run.stderr], [code, "", `error: ${line}\n`]);
    }),
  );
  assert.equal(JSON.stringify(doc()), before);
});

test("a session by hand needs an id that can be stored, a client and a directory that exists", () => {
  const cases: [flags: Parameters<typeof registerByHand>[0], line: RegExp][] = [
    [{ role: "control" }, /^--register: is missing; it names the session to add$/],
    [{ register: "bob", cwd: "/" }, /^--harness: is missing; name the client, such as claude-code$/],
    [{ register: "bob", harness: "x" }, /^--cwd: is missing; name the directory/],
    [{ register: "bob", harness: "x", cwd: "/nowhere" }, /^--cwd: \/nowhere: is no directory; name the one/],
    [{ register: " ", harness: "x", cwd: "/" }, /^--register: {2}: is no session id; /],
    [{ register: "a\nb", harness: "x", cwd: "/" }, /^--register: a\nb: is no session id; /],
    [{ register: "x".repeat(129), harness: "x", cwd: "/" }, /^--register: x{129}: is no session id; /],
    [{ register: "€".repeat(100), harness: "x", cwd: "/" }, /is no session id; /],
  ];
  for (const [flags, line] of cases) {
    assert.throws(
      () => registerByHand(flags),
      (error) => error instanceof UsageError && line.test(error.message),
      JSON.stringify(flags),
    );
  }
  assert.equal(registerByHand({}), undefined);
});
