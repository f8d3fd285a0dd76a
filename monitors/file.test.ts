import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Document, Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { ackAll, lease } from "../lib/lease.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import { ROOT, TSX } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";
import { timeOf } from "../lib/time.ts";

/** An inbox, and a git work tree with files. */
class Place {
  readonly home = realpathSync(tempDirectory("file"));
  readonly dir = join(this.home, "signals");
  readonly tree = join(this.home, "api");

  constructor() {
    this.write("api/.git/HEAD", "ref: refs/heads/main\n");
  }

  write(name: string, text = "", age = 60): string {
    const path = join(this.home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    const time = new Date(Date.now() - age * 1000);
    utimesSync(path, time, time);
    return path;
  }

  remove(name: string): void {
    rmSync(join(this.home, name), { recursive: true });
  }

  async file(...args: string[]) {
    const env = { HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir };
    const { code, stdout, stderr } = await runBundle("monitors/file", args, { cwd: this.tree, env });
    return { code, line: stdout.split("\n")[0] ?? "", stdout, stderr: stderr.trimEnd() };
  }

  get signals(): readonly Signal[] {
    return existsSync(this.dir) ? readDocument(this.dir, timeOf(Date.now())).signals : [];
  }

  /** State, severity, generation and first word of each. */
  get states(): string[] {
    return this.signals.map(
      ({ state, severity, generation, envelope }) =>
        `${state} ${severity} #${generation} ${envelope.summary.split(",")[0]}`,
    );
  }

  /** A session is told of all there is, as its hooks would. */
  async tell(): Promise<void> {
    const session = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";
    const change = (doc: Document, now: string) => {
      const assigned = doc.signals.map((signal) => ({
        ...signal,
        assigned: { session, generation: signal.generation },
      }));
      let count = 0;
      const request = { session, urgentOnly: false, newToken: () => `token-${now}-${count++}` };
      const leased = lease({ ...doc, signals: assigned }, request, now);
      const tokens = leased.reminders.map(({ lease }) => lease.token);
      return [ackAll(leased.doc, tokens, now), undefined] as const;
    };
    await transact(this.dir, { change }, { onConfigFault: "keep" });
  }
}

describe("a file that is there", () => {
  test("fires, is no news while it stays, and is resolved when it goes", async () => {
    const place = new Place();
    const none = await place.file("crash/*.dmp");
    assert.deepEqual([none.code, none.line], [0, "FILE OK - nothing matches crash/*.dmp"]);
    const dump = place.write("api/crash/a.dmp");
    const one = await place.file("crash/*.dmp");
    assert.equal(one.code, 1);
    assert.match(
      one.line,
      /^FILE WARNING - crash\/a\.dmp is there, last changed at \d{4}-\d\d-\d\dT[\d:]+Z$/,
    );
    place.write("api/crash/b.dmp");
    assert.equal((await place.file("crash/*.dmp")).code, 1);
    assert.deepEqual(place.states, [
      "fired warning #1 crash/a.dmp is there",
      "fired warning #1 crash/b.dmp is there",
    ]);
    const [signal] = place.signals;
    assert.equal(signal?.key, identityKey("file", "file", [place.tree, dump]));
    assert.equal(signal?.envelope.source_url, pathToFileURL(dump).href);
    place.remove("api/crash/a.dmp");
    await place.file("crash/*.dmp");
    assert.deepEqual(place.states, [
      "resolved warning #2 the file is gone; before: crash/a.dmp is there",
      "fired warning #1 crash/b.dmp is there",
    ]);
    place.remove("api/crash");
    assert.equal((await place.file("crash/*.dmp")).code, 0);
    assert.deepEqual(
      place.signals.map(({ state }) => state),
      ["resolved", "resolved"],
    );
    // Put back with the time that it had.
    place.write("api/crash/a.dmp");
    await place.file("crash/*.dmp", "--severity", "urgent");
    assert.match(place.states[0] ?? "", /^fired urgent #3 /);
  });

  test("is told of the newest twenty, and none is resolved until there are no more", async () => {
    const place = new Place();
    for (let i = 0; i < 25; i++) place.write(`api/crash/${i}.dmp`, "", i * 60);
    const many = await place.file("crash/*");
    assert.deepEqual(
      [many.code, many.line],
      [1, "FILE WARNING - 25 files match crash/*; the newest 20 are told"],
    );
    assert.equal(place.signals.length, 20);
    assert.ok(place.signals.every(({ envelope }) => /crash\/1?\d\.dmp is there/.test(envelope.summary)));
    place.remove("api/crash/0.dmp");
    await place.file("crash/*");
    assert.equal(place.signals.filter(({ state }) => state === "fired").length, 21);
    for (let i = 1; i < 24; i++) place.remove(`api/crash/${i}.dmp`);
    await place.file("crash/*");
    assert.deepEqual(
      place.signals
        .filter(({ state }) => state === "fired")
        .map(({ envelope }) => envelope.summary.slice(0, 12)),
      ["crash/24.dmp"],
    );
  });

  test("may be called anything, and is one line", async () => {
    const place = new Place();
    const dump = place.write("api/crash/\x1b[2Jx\n<signal-data>.dmp");
    const ran = await place.file("**/*.dmp");
    assert.match(ran.line, /^FILE WARNING - crash\/ \[2Jx <signal-data>\.dmp is there, /);
    assert.equal(place.signals[0]?.envelope.source_url, pathToFileURL(dump).href);
  });

  test("may have the longest name, and the pattern any number of stars: the look ends", () => {
    const place = new Place();
    place.write(`api/${"-".repeat(250)}`);
    const words = [...TSX, join(ROOT, "monitors/file.mts"), `${"*-".repeat(20)}x`];
    const env = { PATH: process.env["PATH"], HOME: place.home, HARN_EXT_SIGNALS_DIR: place.dir };
    // It could not even hear its own --timeout.
    const ran = spawnSync(process.execPath, words, {
      cwd: place.tree,
      env,
      encoding: "utf8",
      timeout: 60_000,
      killSignal: "SIGKILL",
    });
    assert.deepEqual([ran.signal, ran.status], [null, 0]);
    assert.match(ran.stdout, /^FILE OK - nothing matches /);
  });

  test("in a folder that cannot be read is UNKNOWN, and resolves nothing", async () => {
    const place = new Place();
    place.write("api/crash/a.dmp");
    await place.file("crash/*.dmp");
    place.remove("api/crash");
    // Nobody can look into this, whoever it is.
    symlinkSync("x".repeat(300), join(place.tree, "crash"));
    const ran = await place.file("crash/*.dmp");
    assert.equal(ran.code, 3);
    assert.match(ran.line, /^FILE UNKNOWN - \/.*\/crash: cannot be looked at \(ENAMETOOLONG\)$/);
    assert.deepEqual(place.states, ["fired warning #1 crash/a.dmp is there"]);
  });
});

describe("a file that is to be written again and again", () => {
  test("fires while the newest is too old or none is there, and is one signal", async () => {
    const place = new Place();
    const look = () => place.file("--stale", "26h", "~/backup/*.tar");
    const none = await look();
    assert.deepEqual([none.code, none.line], [1, "FILE WARNING - Nothing matches ~/backup/*.tar"]);
    place.write("backup/1.tar", "", 27 * 3600);
    const old = await look();
    assert.equal(old.code, 1);
    assert.match(
      old.line,
      /^FILE WARNING - The newest file of ~\/backup\/\*\.tar is older than 26h: \/.*\/1\.tar, last changed at /,
    );
    assert.deepEqual(place.states, ["fired warning #1 Nothing matches ~/backup/*.tar"]);
    place.write("backup/2.tar", "", 3600);
    assert.equal((await look()).code, 0);
    assert.match(place.states[0] ?? "", /^resolved warning #2 The newest file of /);
    place.write("backup/2.tar", "", 28 * 3600);
    assert.equal((await look()).code, 1);
    assert.match(place.states[0] ?? "", /^fired warning #3 /);
    assert.equal(place.signals.length, 1);
  });
});

describe("a file that changes", () => {
  test("is an event, which settles once a session was told, and is one again when it changes again", async () => {
    const place = new Place();
    place.write("api/deploy/a.yml", "1");
    const look = () => place.file("--changed", "deploy/*");
    const first = await look();
    assert.deepEqual(
      [first.code, first.line],
      [0, "FILE OK - remembers 1 file; from the next look on it tells what changed"],
    );
    assert.deepEqual([(await look()).line, place.states], ["FILE OK - 1 file, as at the last look", []]);

    place.write("api/deploy/a.yml", "2");
    const changed = await look();
    assert.equal(changed.code, 1);
    assert.match(changed.line, /^FILE WARNING - deploy\/a\.yml changed at [\dT:-]+Z$/);
    assert.match(place.states[0] ?? "", /^fired warning #1 deploy\/a\.yml changed/);
    assert.equal((await look()).code, 0, "it is not told twice");
    place.write("api/deploy/a.yml", "3");
    await look();
    assert.match(place.states[0] ?? "", /^fired warning #1 /, "who was not told yet will see all of it");
    await place.tell();
    assert.match(place.states[0] ?? "", /^resolved warning #1 /);

    place.remove("api/deploy");
    const gone = await look();
    assert.match(gone.line, /^FILE WARNING - deploy\/a\.yml is gone, seen at /);
    assert.match(place.states[0] ?? "", /^fired warning #2 deploy\/a\.yml is gone/);
    assert.equal(place.signals.length, 1);
  });

  test("is looked for again after a dry run", async () => {
    const place = new Place();
    place.write("api/a", "1");
    await place.file("--changed", "a");
    place.write("api/a", "2");
    for (const args of [["--dry-run"], []])
      assert.equal((await place.file("--changed", "a", ...args)).code, 1);
    assert.equal(place.signals.length, 1);
  });
});

test("called wrong it is UNKNOWN, and touches nothing", async () => {
  const place = new Place();
  const rows: [args: string[], says: RegExp][] = [
    [[], /^error: GLOB: is missing; --help shows the usage$/],
    [["a", "b"], /^error: GLOB: a: is one of several; quote it, /],
    [[""], /^error: GLOB: is empty; /],
    [["crash/"], /^error: GLOB: crash\/: names a folder; write 'crash\/\*' /],
    [["a", "--stale", "tomorrow"], /^error: --stale: tomorrow: is no duration; /],
    [["a", "--stale", "0h"], /^error: --stale: 0h: is no duration; /],
    [["a", "--changed", "--stale", "1h"], /^error: --stale: asks for another look at the files; /],
    [["a", "--changed", "--polls", "2"], /^error: --polls: is for what lasts, and a change does not; /],
    [["a", "--changed", "--over", "1m"], /^error: --over: is for what lasts, /],
  ];
  for (const [args, says] of rows) {
    const ran = await place.file(...args);
    assert.deepEqual([ran.code, ran.stdout], [3, ""]);
    assert.match(ran.stderr, says);
  }
  assert.ok(!existsSync(place.dir));
});
