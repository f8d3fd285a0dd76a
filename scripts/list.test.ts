import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type FireFlags, fireReport } from "../lib/by-hand.ts";
import type { Document } from "../lib/document.ts";
import { transact } from "../lib/inbox.ts";
import { ackAll } from "../lib/lease.ts";
import { fire, resolve } from "../lib/lifecycle.ts";
import { type State, watchOf, writeState } from "../lib/monitor/state.ts";
import { ROOT, run, runFile, TSX, tempDirectory } from "../lib/testing/process.ts";
import { plus, timeOf } from "../lib/time.ts";
import type { SignalView } from "../lib/view.ts";

const THROW = { onConfigFault: "throw" } as const;

async function fireIn(dir: string, key: string, flags: FireFlags = {}): Promise<void> {
  const given = { key, summary: `${key} is red`, "no-hint": true, ...flags };
  const change = (doc: Document, now: string) => fire(doc, fireReport(given, now), now);
  await transact(dir, { change }, THROW);
}

async function resolveIn(dir: string, key: string): Promise<void> {
  const report = { key, producer: "manual", signature: "local", origin: "human" } as const;
  await transact(dir, { change: (doc, now) => [resolve(doc, report, now)[0], undefined] }, THROW);
}

const list = (dir: string, ...args: string[]) => runFile("scripts/list.mts", ["--dir", dir, ...args]);

test("signals are listed with where their news stands, and the flags choose among them", async () => {
  const dir = join(tempDirectory("list"), "signals");
  const checkIn = { id: "ada", harness: "claude-code", cwd: "/src/api", repository: "git.example/acme/api" };
  const busy = { ...checkIn, state: "busy", registers: true, subagent: false } as const;

  await fireIn(dir, "quiet", { repo: "acme/api", severity: "info" });
  await fireIn(dir, "told", { repo: "acme/api" });
  const { reminders } = await transact(dir, { checkIn: busy, lease: "any" }, THROW);
  const told = reminders.filter(({ signal }) => signal.key === "told").map(({ lease }) => lease.token);
  await transact(dir, { change: (doc, now) => [ackAll(doc, told, now), undefined] }, THROW);
  await fireIn(dir, "owed", { repo: "acme/api", severity: "urgent" });
  await fireIn(dir, "held", { repo: "acme/web" });
  await fireIn(dir, "over", { repo: "acme/web" });
  await resolveIn(dir, "over");

  const keysOf = async (...args: string[]) => {
    const { code, stdout, stderr } = await list(dir, "--json", ...args);
    assert.deepEqual([code, stderr], [0, ""]);
    return (JSON.parse(stdout) as SignalView[]).map(({ key }) => key);
  };
  const [people, exact, all, settled, api, ada] = await Promise.all([
    list(dir),
    list(dir, "-v", "--state", "fired", "--repo", "acme/web"),
    keysOf("--all"),
    keysOf("--state", "resolved"),
    keysOf("--repo", "git.example/ACME/api"),
    keysOf("--session", "ada"),
  ]);
  const to = "ada (claude-code, api)";
  const when = "(?:just now|\\d+[sm] ago)";
  const head = (what: string, delivery: string) => `${what}, ${when}: ${delivery}\\n {4}`;
  const escaped = to.replace(/[()]/g, "\\$&");
  assert.match(
    people.stdout,
    new RegExp(
      `^${head("fired info quiet#1", `-> ${escaped}: taken ${when}, not confirmed yet`)}quiet is red\\n` +
        `${head("fired warning told#1", `delivered to ${escaped} ${when}`)}told is red\\n` +
        `${head("fired urgent owed#1", `-> ${escaped}: at its next safe point`)}owed is red\\n` +
        `${head("fired warning held#1", "held: no session; [^\\n]*")}held is red\\n$`,
    ),
  );
  assert.deepEqual([people.code, people.stderr], [0, ""]);
  assert.match(
    exact.stdout,
    /^fired warning held#1, \d{4}-\d\d-\d\d [\d:]+ \S+: held/,
    "-v shows times on the person's own clock",
  );
  assert.deepEqual(all, ["quiet", "told", "owed", "held", "over"], "newest last");
  assert.deepEqual(settled, ["over"]);
  assert.deepEqual(api, ["quiet", "told", "owed"]);
  assert.deepEqual(ada, ["quiet", "told", "owed"]);
});

test("a session is named by the digits that people are shown, for what is pending too", async () => {
  const dir = join(tempDirectory("list"), "signals");
  const ids = ["5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37", "5e55ffff-7a1e-4c0d-9b1f-2f6c1d0a9e37"];
  for (const id of ids) {
    const checkIn = { id, harness: "claude-code", cwd: "/src", registers: true, subagent: false };
    await transact(dir, { checkIn }, THROW);
    await fireIn(dir, `for ${id}`, { "no-hint": true, session: id });
  }
  await Promise.all(
    ["list", "pending"].map(async (name) => {
      const ask = (session: string) =>
        runFile(`scripts/${name}.mts`, ["--dir", dir, "--json", "--session", session]);
      const [named, unclear] = await Promise.all([ask("5e551014"), ask("5e55")]);
      const keys = (JSON.parse(named.stdout) as SignalView[]).map(({ key }) => key);
      assert.deepEqual([named.code, keys, named.stderr], [0, [`for ${ids[0]}`], ""], name);
      const says = `error: session: 5e55: could be any of ${ids.join(", ")}; write more of it\n`;
      assert.deepEqual([unclear.code, unclear.stdout, unclear.stderr], [1, "", says], name);
    }),
  );
});

test("the inbox is the one of --dir, else of the environment, else of the home directory", async () => {
  const home = tempDirectory("list");
  const [given, named, usual] = [join(home, "a"), join(home, "b"), join(home, ".harn", "signals")];
  await Promise.all([fireIn(given, "given"), fireIn(named, "named"), fireIn(usual, "usual")]);
  const cases: [args: string[], env: Record<string, string>, key: string][] = [
    [["--dir", given], { HARN_EXT_SIGNALS_DIR: named }, "given"],
    [[], { HARN_EXT_SIGNALS_DIR: named }, "named"],
    [[], {}, "usual"],
  ];
  await Promise.all(
    cases.map(async ([args, env, key]) => {
      const { stdout } = await runFile("scripts/list.mts", args, { env: { HOME: home, ...env } });
      assert.match(stdout, new RegExp(`^fired warning ${key}#1, .*\n    ${key} is red\n$`));
    }),
  );
});

test("a reader makes nothing, and wrong arguments name what was meant", async () => {
  const dir = join(tempDirectory("list"), "signals");
  const [empty, flag, word, help] = await Promise.all([
    list(dir),
    list(dir, "--jsn"),
    list(dir, "--state", "fird"),
    list(dir, "--help"),
  ]);
  assert.deepEqual([empty.code, empty.stdout, empty.stderr], [0, "", "no signals\n"]);
  assert.ok(!existsSync(dir));
  assert.deepEqual([flag.code, flag.stderr], [2, "error: --jsn: unknown flag; did you mean --json?\n"]);
  const known = "--state: fird: is not one of fired, resolved, expired; did you mean fired?";
  assert.deepEqual([word.code, word.stderr], [2, `error: ${known}\n`]);
  assert.equal(help.code, 0);
  assert.match(
    help.stdout,
    /^Lists the signals [^\n]+\.\n\n {2}usage {4}[\s\S]+\nReads {4}[\s\S]+\nNeeds {4}nothing\.\n$/,
  );
});

test("a reader of the list may close it early, and nobody is told of a crash", async () => {
  const dir = join(tempDirectory("list"), "signals");
  const reports = Array.from({ length: 300 }, (_, i) =>
    fireReport({ key: `k:${i}`, summary: "x".repeat(1_500), "no-hint": true }, "2026-01-05T12:00:00.000Z"),
  );
  const change = (doc: Document, now: string) =>
    [
      reports.reduce((acc, report) => fire(acc, { ...report, expires_at: undefined }, now)[0], doc),
      0,
    ] as const;
  await transact(dir, { change }, THROW);

  // Far more than a pipe holds, so that it is closed while there is more to write.
  const words = [process.execPath, ...TSX, join(ROOT, "scripts/list.mts")]
    .map((word) => `'${word}'`)
    .join(" ");
  const command = `{ ${words}; echo "exit $?" >&2; } | head -1`;
  const piped = await run("sh", ["-c", command], { env: { HARN_EXT_SIGNALS_DIR: dir } });
  assert.match(piped.stdout, /^fired warning k:0#1, [^\n]+\n$/);
  assert.equal(piped.stderr, "exit 0\n");
  assert.deepEqual(readdirSync(dir).sort(), ["inbox.json", "staging", "told"]);
});

test("people are told when each monitor last read its source, and a program is told nothing else than signals", async () => {
  const dir = join(tempDirectory("list"), "signals");
  const hour = plus(timeOf(Date.now()), -3_600_000);
  const well: State = {
    ...watchOf("github-ci", ["acme/api"], "/"),
    polled_at: hour,
    read_at: hour,
    failures: 0,
    status: "OK",
    summary: "",
    tracks: {},
    memory: {},
  };
  writeState(dir, well);
  writeState(dir, { ...well, args: ["acme/web"], failures: 3, error: "answered \x1b[31m503" });
  await fireIn(dir, "red");
  const [people, exact, json] = await Promise.all([list(dir), list(dir, "-v"), list(dir, "--json")]);
  assert.equal(
    people.stderr,
    "monitor github-ci acme/web: last read its source 1h ago; 3 polls have failed since: answered [31m503\n" +
      "monitor github-ci acme/api: read its source 1h ago\n",
  );
  assert.match(exact.stderr, /^monitor github-ci acme\/api: read its source \d{4}-\d\d-\d\d [\d:]+ \S+$/m);
  assert.match(people.stdout, /^fired warning red#1/);
  assert.deepEqual([json.stderr, JSON.parse(json.stdout).length], ["", 1]);
});
