import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readDocument, transact } from "../inbox.ts";
import type { MonitorEntry } from "../policy.ts";
import { tempDirectory } from "../testing/process.ts";
import { timeOf } from "../time.ts";
import { Wanted } from "./wanted.ts";

/** An inbox directory whose config.toml changes, and somebody who follows it. */
class Place {
  readonly dir = join(tempDirectory("wanted"), "signals");
  said: string[] = [];
  #wanted = new Wanted(this.dir, (text) => this.said.push(text));
  #version = 0;

  constructor() {
    mkdirSync(this.dir, { mode: 0o700 });
  }

  /** Two versions of one length may be written within a tick of the clock. */
  config(text: string): void {
    this.#version++;
    writeFileSync(join(this.dir, "config.toml"), `${text}\n${"#".repeat(this.#version)}\n`);
  }

  /** What runs, by name; undefined when nothing has changed. */
  async changed(): Promise<string[] | undefined> {
    return (await this.#wanted.changed())?.map(({ run }: MonitorEntry) => run);
  }

  /** Somebody who starts now. */
  begin(): void {
    this.said = [];
    this.#wanted = new Wanted(this.dir, (text) => this.said.push(text));
  }

  /** Somebody else's change of the inbox, which stores the policy with it. */
  async store(change: Record<string, unknown> = { evicted: 1 }): Promise<void> {
    await transact(this.dir, { change: (doc) => [{ ...doc, ...change }, 0] }, { onConfigFault: "keep" });
  }
}

const monitor = (name: string) => `[[monitor]]\nrun = "${name}"`;

test("the entries are told the first time, and then when the file has changed", async () => {
  const place = new Place();
  assert.deepEqual(await place.changed(), [], "also where there is no file");
  assert.equal(await place.changed(), undefined);
  place.config(monitor("a"));
  assert.deepEqual(await place.changed(), ["a"]);
  assert.equal(await place.changed(), undefined);
  rmSync(join(place.dir, "config.toml"));
  assert.deepEqual(await place.changed(), []);
  assert.deepEqual(place.said, []);
});

test("a file that is not valid changes nothing, and is told of once; a mended one counts", async () => {
  const place = new Place();
  place.config(monitor("stored"));
  await place.store();
  place.config(monitor("read"));
  assert.deepEqual(await place.changed(), ["read"]);
  place.config(`${monitor("c")}\nevry = 1`);
  assert.equal(await place.changed(), undefined, "what the inbox holds is older than what was read");
  assert.equal(await place.changed(), undefined);
  assert.equal(place.said.length, 1);
  assert.match(
    place.said[0] ?? "",
    /^config\.toml: goes on with the last valid settings: \/.*:3: monitor\[0\]\.evry/,
  );
  place.config(monitor("d"));
  assert.deepEqual(await place.changed(), ["d"]);
  assert.deepEqual(place.said.slice(1), ["config.toml: is valid again"]);
  place.config(monitor("e"));
  await place.changed();
  assert.equal(place.said.length, 2);
});

test("who begins with a file that is not valid takes the last valid one that the inbox has, or refuses", async () => {
  const place = new Place();
  place.config("evry = 1");
  await assert.rejects(place.changed(), /^SignalsError: \/.*config\.toml:1: evry: unknown key/);
  place.config(monitor("a"));
  await place.store();
  place.config("evry = 1");
  place.begin();
  assert.deepEqual(await place.changed(), ["a"]);
  assert.equal(place.said.length, 1);

  // As a version that knew no monitors has stored it.
  const { policy } = readDocument(place.dir, timeOf(Date.now()));
  assert.ok(policy);
  const { monitor: _, ...config } = policy.config;
  await place.store({ policy: { ...policy, config }, evicted: 2 });
  place.begin();
  assert.deepEqual(await place.changed(), []);
});

test("while the inbox cannot be read nothing changes, which is told once, and the file counts when it is back", async () => {
  const place = new Place();
  await place.changed();
  mkdirSync(join(place.dir, "inbox.json"));
  place.config(monitor("a"));
  assert.equal(await place.changed(), undefined);
  assert.equal(await place.changed(), undefined);
  assert.equal(place.said.length, 1);
  assert.match(place.said[0] ?? "", /^error: inbox: cannot read /);
  rmSync(join(place.dir, "inbox.json"), { recursive: true });
  assert.deepEqual(await place.changed(), ["a"]);
  place.begin();
  mkdirSync(join(place.dir, "inbox.json"));
  await assert.rejects(place.changed(), /inbox: cannot read/, "but nobody begins like that");
});
