import assert from "node:assert/strict";
import { mkdirSync, realpathSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Reading } from "../monitor/verdict.ts";
import { tempDirectory } from "../testing/temp.ts";
import { changes, type Digests, digestsOf, isDigests } from "./change.ts";
import { filesOf } from "./glob.ts";

const NOW = "2026-11-30T12:00:00.000Z";
const CHANGED = "2026-11-30T08:00:00Z";
const never = new AbortController().signal;

/** A folder that is looked at again and again. */
class Folder {
  readonly dir = realpathSync(tempDirectory("change"));
  /** As state on disk keeps it. */
  remembered: unknown;

  write(name: string, text: string, time = CHANGED): this {
    writeFileSync(join(this.dir, name), text);
    utimesSync(join(this.dir, name), new Date(time), new Date(time));
    return this;
  }

  async look(glob = "*"): Promise<Reading> {
    const files = await filesOf(glob, this.dir, never);
    const digests = await digestsOf(files, never);
    const before = isDigests(this.remembered) ? this.remembered : undefined;
    this.remembered = JSON.parse(JSON.stringify(digests satisfies Digests));
    return changes({ place: this.dir, cwd: this.dir, glob, files }, before, digests, NOW);
  }

  async told(): Promise<string[]> {
    return (await this.look()).verdicts.map(({ summary }) => summary).sort();
  }
}

describe("what changed since the last look is an event", () => {
  test("of which the first look knows none", async () => {
    const { verdicts, gone, summary } = await new Folder().write("a", "1").look();
    assert.deepEqual([verdicts, gone], [[], ""]);
    assert.equal(summary, "remembers 1 file; from the next look on it tells what changed");
    assert.equal((await new Folder().look()).summary?.slice(0, 17), "remembers 0 files");
  });

  test("whether a file differs, appeared or went", async () => {
    const folder = new Folder().write("a", "1").write("b", "1").write("c", "1");
    await folder.look();
    assert.deepEqual(await folder.told(), []);
    folder.write("a", "2").write("d", "1");
    rmSync(join(folder.dir, "b"));
    assert.deepEqual(await folder.told(), [
      "a changed at 2026-11-30T08:00:00Z",
      "b is gone, seen at 2026-11-30T12:00:00Z",
      "d appeared, last changed at 2026-11-30T08:00:00Z",
    ]);
    assert.deepEqual(await folder.told(), []);
    const quiet = await folder.look();
    assert.equal(quiet.summary, "3 files, as at the last look");
  });

  test("of one signal for each file, however it changed", async () => {
    const folder = new Folder();
    await folder.look();
    const seen = [];
    for (const change of [
      () => folder.write("a", "1"),
      () => folder.write("a", "2"),
      () => rmSync(join(folder.dir, "a")),
    ]) {
      change();
      const { verdicts } = await folder.look();
      seen.push(...verdicts.map(({ kind, identity, once, status }) => ({ kind, identity, once, status })));
    }
    const event = {
      kind: "changed",
      identity: [folder.dir, join(folder.dir, "a")],
      once: true,
      status: "WARNING",
    };
    assert.deepEqual(seen, [event, event, event]);
  });

  test("that goes by the content, and not by the time", async () => {
    const folder = new Folder().write("a", "same").write("b", "1");
    await folder.look();
    folder.write("a", "same", "2026-11-30T09:00:00Z").write("b", "2");
    assert.deepEqual(await folder.told(), ["b changed at 2026-11-30T08:00:00Z"]);
  });

  test("but by size and time where the content is large", async () => {
    const folder = new Folder().write("a", "1");
    const grow = (size: number) => truncateSync(join(folder.dir, "a"), size);
    const touch = (time: string) => utimesSync(join(folder.dir, "a"), new Date(time), new Date(time));
    grow(5_000_000);
    touch(CHANGED);
    await folder.look();
    assert.deepEqual(await folder.told(), []);
    grow(5_000_001);
    touch(CHANGED);
    assert.equal((await folder.told()).length, 1);
    touch("2026-11-30T09:00:00Z");
    assert.deepEqual(await folder.told(), ["a changed at 2026-11-30T09:00:00Z"]);
  });

  test("of which many at once are told as twenty, and one for the rest", async () => {
    const folder = new Folder();
    await folder.look();
    for (let i = 0; i < 21; i++) folder.write(`${i}`, "");
    const many = await folder.look();
    assert.deepEqual([many.verdicts.length, many.summary], [21, "21 files changed, appeared or went"]);
    const last = many.verdicts.at(-1);
    assert.equal(last?.summary, "More than 20 files of * changed, appeared or went at once");
    assert.deepEqual(last?.identity, [folder.dir, join(folder.dir, "*"), "more"]);
    for (let i = 0; i < 20; i++) folder.write(`${i}`, "2");
    assert.equal((await folder.look()).verdicts.length, 20);
  });

  test("whatever the file is called", async () => {
    const names = ["__proto__", "constructor", "a\nb", "\x1b[2J", "…", "a\\b"];
    const folder = new Folder();
    for (const name of names) folder.write(name, "1");
    await folder.look();
    for (const name of names) folder.write(name, "2");
    assert.deepEqual(await folder.told(), names.map((name) => `${name} changed at ${CHANGED}`).sort());
  });

  test("but what was remembered in another shape begins anew", async () => {
    const folder = new Folder().write("a", "1");
    for (const damaged of ["x", { a: 1 }, [1], [["a"]], null]) {
      folder.remembered = damaged;
      assert.match((await folder.look()).summary ?? "", /^remembers 1 file;/);
    }
  });
});

test("a file that went or became a folder since it was found is left out or told, and a look can be stopped", async () => {
  const folder = new Folder().write("a", "1").write("b", "1");
  const files = await filesOf("*", folder.dir, never);
  rmSync(join(folder.dir, "a"));
  assert.deepEqual(
    (await digestsOf(files, never)).map(([path]) => path),
    [join(folder.dir, "b")],
  );
  mkdirSync(join(folder.dir, "a"));
  await assert.rejects(digestsOf(files, never), {
    name: "SignalsError",
    message: /\/a: cannot be looked at \(EISDIR\)$/,
  });
  await assert.rejects(digestsOf(files, AbortSignal.abort()), { name: "AbortError" });
});
