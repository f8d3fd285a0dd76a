import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SCHEMA, VERSION } from "./document.ts";
import { migrate } from "./migration.ts";
import { structuralFault } from "./shape.ts";
import { ROOT } from "./testing/process.ts";

/** What each version's documents hold that the next one does not, by hand: the fixture must show it. */
const fixture = (version: number) =>
  JSON.parse(readFileSync(join(ROOT, "fixtures", "inbox", `v${version}.json`), "utf8"));

describe("a document", () => {
  for (let version = 1; version < VERSION; version++) {
    test(`of version ${version}, written by the code of its time, becomes one of ours`, () => {
      const old = fixture(version);
      assert.equal(old.version, version);
      const now = migrate(old) as { version: number };
      assert.equal(now.version, VERSION);
      assert.equal(structuralFault(now), undefined);
    });
  }

  test("of version 1 loses what its sessions were told, and nothing else, known here or not", () => {
    const old = fixture(1);
    assert.ok(old.sessions[0].warned, "the fixture shows it");
    const future = { deep: [1, { er: null }] };
    old.future = old.sessions[0].future = old.signals[0].future = future;
    const expected = structuredClone({ ...old, version: 2 });
    delete expected.sessions[0].warned;
    assert.deepEqual(migrate(old), expected);
    assert.ok(old.sessions[0].warned, "in a copy");
  });

  test("of this version, of a later one, or of another program is left as it is", () => {
    const others = [VERSION, VERSION + 1, 0, "1", undefined].map((version) => ({ schema: SCHEMA, version }));
    for (const other of [...others, { schema: "others", version: 1 }, null, 7, "x", []]) {
      assert.equal(migrate(other), other);
    }
  });

  test("of an older version and no shape is left for the check to refuse", () => {
    for (const sessions of [undefined, 7, [null], [7], {}]) {
      assert.ok(structuralFault(migrate({ ...fixture(1), sessions })), JSON.stringify(sessions));
    }
  });
});
