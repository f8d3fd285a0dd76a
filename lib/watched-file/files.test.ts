import assert from "node:assert/strict";
import type { Stats } from "node:fs";
import { describe, test } from "node:test";
import { pathFrom, presence, staleness, type Watched } from "./files.ts";

const NOW = "2026-11-30T12:00:00.000Z";

/** What was found in a work tree: files by their names, with the time of each, the newest first. */
function watched(glob: string, files: Record<string, string> = {}): Watched {
  const found = Object.entries(files).map(([name, time]) => ({
    path: `/acme/api/${name}`,
    stats: { mtimeMs: Date.parse(time) } as Stats,
  }));
  return { place: "/acme", cwd: "/acme/api", glob, files: found };
}

describe("each file that is there is a condition", () => {
  test("with a signal of its own, that says what stays true", () => {
    const { verdicts, gone, summary } = presence(watched("*.dmp", { "a.dmp": "2026-11-30T08:00:00.789Z" }));
    assert.deepEqual(verdicts, [
      {
        status: "WARNING",
        kind: "file",
        identity: ["/acme", "/acme/api/a.dmp"],
        summary: "a.dmp is there, last changed at 2026-11-30T08:00:00Z",
        source_url: "file:///acme/api/a.dmp",
      },
    ]);
    assert.deepEqual([gone, summary], ["the file is gone", undefined]);
  });

  test("and whichever is not there any more is over", () => {
    const { verdicts, gone, summary } = presence(watched("*.dmp"));
    assert.deepEqual([verdicts, gone, summary], [[], "the file is gone", "nothing matches *.dmp"]);
  });

  test("up to twenty; of more the newest are told, and none is over", () => {
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}.dmp`, "2026-11-30T08:00:00Z"]));
    const [whole, part] = [presence(watched("*.dmp", files(20))), presence(watched("*.dmp", files(21)))];
    assert.deepEqual([whole.verdicts.length, whole.gone], [20, "the file is gone"]);
    assert.deepEqual(part.verdicts, whole.verdicts);
    assert.deepEqual([part.gone, part.summary], [undefined, "21 files match *.dmp; the newest 20 are told"]);
  });

  test("whose link holds for any name", () => {
    const { verdicts } = presence(watched("*", { "a b\n#?%\\.dmp": NOW }));
    assert.equal(verdicts[0]?.source_url, "file:///acme/api/a%20b%0A%23%3F%25%5C.dmp");
  });
});

describe("the newest file is to be young enough:", () => {
  const hour = 3_600_000;
  const rows: [name: string, files: Record<string, string>, status: string, summary: string][] = [
    [
      "it is",
      { "b.tar": "2026-11-29T10:00:00Z", "a.tar": "2026-11-01T10:00:00Z" },
      "OK",
      "The newest file of *.tar: b.tar, last changed at 2026-11-29T10:00:00Z",
    ],
    [
      "it is not",
      { "b.tar": "2026-11-29T09:59:59.999Z", "a.tar": "2026-11-01T10:00:00Z" },
      "WARNING",
      "The newest file of *.tar is older than 26h: b.tar, last changed at 2026-11-29T09:59:59Z",
    ],
    ["there is none", {}, "WARNING", "Nothing matches *.tar"],
    [
      "it is a little ahead of our clock",
      { "b.tar": "2026-11-30T13:00:00Z" },
      "OK",
      "The newest file of *.tar: b.tar, last changed at 2026-11-30T13:00:00Z",
    ],
    [
      "it is older than any clock",
      { "b.tar": "1969-12-31T23:59:59Z" },
      "WARNING",
      "The newest file of *.tar is older than 26h: b.tar, last changed at 1969-12-31T23:59:59Z",
    ],
  ];
  for (const [name, files, status, summary] of rows)
    test(name, () => {
      const verdict = staleness(watched("*.tar", files), 26 * hour, NOW);
      assert.deepEqual([verdict.status, verdict.summary], [status, summary]);
      assert.deepEqual([verdict.kind, verdict.identity], ["stale", ["/acme", "/acme/api/*.tar", "26h"]]);
    });

  test("one from the future would seem young for ever, so it tells nothing", () => {
    const ahead = watched("*.tar", { "b.tar": "2026-11-30T13:00:00.001Z" });
    assert.throws(() => staleness(ahead, hour, NOW), {
      name: "SignalsError",
      message:
        "b.tar, last changed at 2026-11-30T13:00:00Z: that is still to come; set its time or this clock right",
    });
  });

  test("one that is written another way is the same condition", () => {
    const identity = (glob: string, ms: number) => staleness(watched(glob), ms, NOW).identity;
    assert.deepEqual(identity("./*.tar", 24 * hour), identity("/acme/api/*.tar", 24 * hour));
    assert.notDeepEqual(identity("*.tar", 24 * hour), identity("*.tar", 48 * hour));
  });
});

test("a path is shown as one would write it here", () => {
  assert.equal(pathFrom("/acme/api", "/acme/api/sub/a.dmp"), "sub/a.dmp");
  assert.equal(pathFrom("/acme/api", "/acme/web/a.dmp"), "/acme/web/a.dmp");
  assert.equal(pathFrom("/", "/a.dmp"), "a.dmp");
});
