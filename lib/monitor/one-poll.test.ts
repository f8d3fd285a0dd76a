import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fireReport } from "../by-hand.ts";
import type { Document, Signal } from "../document.ts";
import { look, transact } from "../inbox.ts";
import { fire } from "../lifecycle.ts";
import type { MonitorEntry } from "../policy.ts";
import { tempDirectory } from "../testing/process.ts";
import { type Configured, configuredIn } from "./configured.ts";
import { fatesOf, pollConfigured } from "./one-poll.ts";
import type { PollReport } from "./poll-report.ts";
import { monitorsOf, readState } from "./state.ts";
import { retire } from "./tell.ts";

/** An inbox, and one monitor of its config.toml: a plugin that a test writes, or does not. */
class Place {
  readonly dir = join(tempDirectory("one-poll"), "signals");
  readonly monitor: Configured;
  last: PollReport | undefined;

  constructor(entry: Partial<MonitorEntry> = {}) {
    mkdirSync(this.dir, { mode: 0o700 });
    const all = configuredIn(this.dir, [{ run: "./plugin", every: 60_000, args: [], ...entry }], process.env);
    assert.ok(all[0]);
    this.monitor = all[0];
  }

  plugin(line: string): void {
    writeFileSync(join(this.dir, "plugin"), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }

  async poll(): Promise<PollReport> {
    this.last = await pollConfigured(this.monitor, this.dir, this.last, new AbortController().signal);
    assert.ok(this.last);
    return this.last;
  }

  async doc(): Promise<Document> {
    return (await look(this.dir)).doc;
  }

  /** What the monitor says of itself. */
  async own(): Promise<Signal | undefined> {
    return (await this.doc()).signals.find(({ envelope }) => envelope.source_kind === "monitor");
  }
}

describe("a poll of an entry of config.toml", () => {
  test("is that of the monitor itself, with its state and at home where the entry says", async () => {
    const place = new Place({ repository: "https://git.example/acme/api.git" });
    place.plugin("echo 'DISK CRITICAL - full'; exit 2");
    const report = await place.poll();
    assert.deepEqual(
      [report.status, report.read, report.label, report.failures],
      ["CRITICAL", true, "./plugin", 0],
    );
    const [signal] = (await place.doc()).signals;
    assert.deepEqual(
      [signal?.state, signal?.producer, signal?.hints],
      ["fired", "monitors/check", { repository: "git.example/acme/api" }],
    );
    const [state] = monitorsOf(place.dir, report.at);
    assert.deepEqual([state?.name, state?.args, state?.every], ["check", ["--", "./plugin"], 60_000]);
    assert.deepEqual(readState(place.dir, place.monitor.watch), state, "it is known by the same name here");
  });

  test("that cannot be run counts, the third in a row says so, and the next that reads resolves it", async () => {
    const place = new Place({ repository: "acme/api" });
    for (const failures of [1, 2]) {
      const { read, status, summary, failures: counted } = await place.poll();
      assert.deepEqual([read, status, counted], [false, "UNKNOWN", failures]);
      assert.match(summary, /^run: \.\/plugin: there is no such file; put it at \//);
      assert.equal(await place.own(), undefined);
    }
    await place.poll();
    const fired = await place.own();
    assert.deepEqual(
      [fired?.state, fired?.severity, fired?.hints],
      ["fired", "warning", { repository: "acme/api" }],
    );
    assert.match(
      fired?.envelope.summary ?? "",
      /^The monitor \.\/plugin has not been able to read its source yet: run: \.\/plugin: there is no such file/,
    );

    place.plugin("echo 'DISK OK'");
    assert.deepEqual([(await place.poll()).status, place.last?.failures], ["OK", 0]);
    const resolved = await place.own();
    assert.deepEqual([resolved?.key, resolved?.state], [fired?.key, "resolved"]);
  });

  test("counts the failures of the monitor and those of its process together", async () => {
    const place = new Place();
    place.plugin("exit 3");
    assert.equal((await place.poll()).failures, 1);
    rmSync(join(place.dir, "plugin"));
    assert.equal((await place.poll()).failures, 2);
    place.plugin("exit 3");
    assert.equal((await place.poll()).failures, 3);
    assert.equal((await place.own())?.state, "fired");
  });

  test("that was called wrong fails with what is wrong", async () => {
    const place = new Place({ run: "http", args: ["--contins", "x"] });
    const { read, summary, failures } = await place.poll();
    assert.deepEqual([read, failures], [false, 1]);
    assert.match(summary, /^--contins: unknown flag; did you mean --contains\?$/);
  });

  test("goes on while config.toml is not valid, and where nothing can be kept counts by itself", async () => {
    const place = new Place();
    place.plugin("echo 'DISK OK'");
    writeFileSync(join(place.dir, "config.toml"), "evry = 1\n");
    assert.deepEqual([(await place.poll()).status, place.last?.read], ["OK", true]);

    rmSync(join(place.dir, "monitors"), { recursive: true });
    writeFileSync(join(place.dir, "monitors"), "");
    for (const failures of [1, 2, 3]) {
      const report = await place.poll();
      assert.deepEqual([report.read, report.status, report.failures], [false, "UNKNOWN", failures]);
      assert.match(report.summary, /^inbox: cannot write in \/.*\/monitors \(EEXIST\)/);
    }
  });

  test("that is stopped is none", async () => {
    const place = new Place();
    place.plugin("exit 0");
    const report = await pollConfigured(place.monitor, place.dir, undefined, AbortSignal.abort());
    assert.equal(report, undefined);
    assert.deepEqual(readdirSync(place.dir), ["plugin"]);
  });
});

test("what became of a signal is told once, when it is news", async () => {
  const place = new Place();
  const fates = async () => {
    const before = place.last;
    return fatesOf(await place.poll(), before, place.dir);
  };
  place.plugin("echo 'DISK WARNING'; exit 1");
  assert.match((await fates())[0] ?? "", /^fired [0-9a-f]{8}#1 held: no session; /);
  assert.deepEqual(await fates(), [], "it still is");
  place.plugin("echo 'DISK OK'");
  assert.match((await fates())[0] ?? "", /^resolved [0-9a-f]{8}#2 /);
  assert.deepEqual(await fates(), []);

  place.plugin("echo 'DISK WARNING'; exit 1");
  writeFileSync(join(place.dir, "config.toml"), "max_signals = 1\n");
  const other = { key: "other", summary: "There is no room for more", "no-hint": true };
  const change = (doc: Document, now: string) => fire(doc, fireReport(other, now), now);
  await transact(place.dir, { change }, { onConfigFault: "throw" });
  assert.match((await fates())[0] ?? "", /^refused: /);
  assert.deepEqual(await fates(), [], "it still is refused, for the same reason");
});

describe("a monitor that is not to run any more", () => {
  test("has no trouble any more: its signal about itself is resolved", async () => {
    const place = new Place();
    place.plugin("exit 0");
    await place.poll();
    rmSync(join(place.dir, "plugin"));
    for (let i = 0; i < 3; i++) await place.poll();
    assert.equal((await place.own())?.state, "fired");
    await retire(place.dir, place.monitor.watch);
    const resolved = await place.own();
    assert.deepEqual(
      [resolved?.state, resolved?.envelope.summary],
      ["resolved", "The monitor ./plugin is not run any more"],
    );
    const state = readState(place.dir, place.monitor.watch);
    assert.deepEqual([state.failures, state.error], [0, undefined]);
  });

  test("is forgotten when it never read its source", async () => {
    const place = new Place();
    await place.poll();
    await retire(place.dir, place.monitor.watch);
    assert.deepEqual(readdirSync(join(place.dir, "monitors")), []);
  });

  test("ends what it fired, since nobody else would, and says why", async () => {
    const place = new Place();
    place.plugin("echo WARNING; exit 1");
    await place.poll();
    await retire(place.dir, place.monitor.watch);
    const [signal, ...others] = (await place.doc()).signals;
    assert.deepEqual(
      [signal?.state, signal?.envelope.summary, signal?.envelope.provider, others.length],
      ["resolved", "./plugin is not run any more; before: ./plugin: WARNING", "check", 0],
    );
    assert.deepEqual(readdirSync(join(place.dir, "monitors")), []);
    await place.poll();
    assert.deepEqual(
      (await place.doc()).signals.map(({ state, generation }) => [state, generation]),
      [["fired", 3]],
    );
  });
});
