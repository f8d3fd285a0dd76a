import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { bundleOf } from "../../lib/bundle.ts";
import { type Document, SCHEMA, VERSION } from "../../lib/document.ts";
import { entryNamed } from "../../lib/entries.ts";
import { ROOT, type Run, run, tempDirectory } from "../../lib/testing/process.ts";

/** Copies are not updated with the rest, so an old one and a new one meet over the same inbox. */

const ADA = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";
const copies = tempDirectory("copies");

/** Copies an entry as one file, with `edit` made in its text. */
async function copy(name: string, edit = (text: string) => text): Promise<string> {
  const entry = entryNamed(name);
  const file = join(copies, `${entry.name.replaceAll("/", "-")}-${edit.name || "now"}.mjs`);
  writeFileSync(file, edit(await bundleOf(entry)));
  return file;
}

function hook(file: string, event: string, dir: string): Promise<Run> {
  const payload = JSON.parse(readFileSync(join(ROOT, "fixtures", "claude-code", `${event}.json`), "utf8"));
  return run(process.execPath, [file, "--dir", dir], { stdin: JSON.stringify({ ...payload, cwd: dir }) });
}

const inbox = (dir: string) => readFileSync(join(dir, "inbox.json"), "utf8");

describe("a copy that is older than the document", () => {
  function older(text: string): string {
    const known = new RegExp(`\\bVERSION = ${VERSION};`);
    assert.match(text, known);
    return text.replace(known, `VERSION = ${VERSION - 1};`);
  }
  let fire = "";
  let list = "";
  before(async () => {
    fire = await copy("scripts/fire");
    list = await copy("scripts/list", older);
  });

  for (const [name, event] of [
    ["session-start", "SessionStart"],
    ["post-tool-use", "PostToolUse"],
    ["session-end", "SessionEnd"],
  ] as const) {
    test(`as ${name} leaves it as it is, and its session alone`, async () => {
      const dir = join(tempDirectory(), "signals");
      const { code } = await run(process.execPath, [
        fire,
        "--dir",
        dir,
        "--summary",
        "red",
        "--session",
        ADA,
      ]);
      assert.equal(code, 0);
      const text = inbox(dir);

      const file = await copy(`claude-code/${name}`, older);
      const first = await hook(file, event, dir);
      const again = await hook(file, event, dir);
      assert.deepEqual([first.code, again.code, again.stdout], [0, 0, ""]);
      const known = `is of version ${VERSION} and this copy knows ${VERSION - 1}; update this copy`;
      assert.ok(first.stderr.includes(known), first.stderr);
      if (event !== "SessionEnd")
        assert.ok(JSON.parse(first.stdout).systemMessage.includes(known), "told once");
      assert.equal(inbox(dir), text);
    });
  }

  test("as a script refuses, and says how to go on", async () => {
    const dir = tempDirectory();
    writeFileSync(join(dir, "inbox.json"), JSON.stringify({ schema: SCHEMA, version: VERSION }));
    const { code, stderr } = await run(process.execPath, [list, "--dir", dir]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: inbox: \S+ is of version .*; update this copy of ambient-signals; .*--repair/,
    );
  });
});

test("a copy keeps what newer ones have added to a document of its version, wherever it is", async () => {
  const dir = join(tempDirectory(), "signals");
  const scripts = { fire: await copy("scripts/fire"), resolve: await copy("scripts/resolve") };
  const script = async (name: keyof typeof scripts, ...args: string[]) => {
    const { code, stderr } = await run(process.execPath, [scripts[name], "--dir", dir, ...args]);
    assert.equal(code, 0, stderr);
  };
  const start = await copy("claude-code/session-start");
  const tool = await copy("claude-code/post-tool-use");
  await script("fire", "--key", "told", "--summary", "was told", "--session", ADA);
  await hook(start, "SessionStart", dir);
  await script("fire", "--key", "owed", "--summary", "is owed", "--session", ADA);

  const future = { deep: [1, { er: null }] };
  const marked = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(marked);
    if (typeof value !== "object" || value === null) return value;
    return { ...Object.fromEntries(Object.entries(value).map(([key, item]) => [key, marked(item)])), future };
  };
  writeFileSync(join(dir, "inbox.json"), JSON.stringify(marked(JSON.parse(inbox(dir)))));

  // Every kind of change: a lease and its ack, a resolve, an extension, a state.
  assert.match((await hook(tool, "PostToolUse", dir)).stdout, /is owed/);
  await script("resolve", "told");
  await script("fire", "--key", "owed", "--summary", "is owed", "--session", ADA);

  const after = JSON.parse(inbox(dir)) as Document;
  const [told, owed] = after.signals;
  assert.deepEqual([told?.generation, owed?.acked?.session], [2, ADA], "it was rewritten");
  const parts = {
    document: after,
    policy: after.policy,
    config: after.policy?.config,
    session: after.sessions[0],
    told,
    owed,
    "its envelope": owed?.envelope,
    "its privacy": owed?.envelope.privacy,
    "its hints": owed?.hints,
    "who was told": told?.told[0],
    "an earlier lease": told?.past[0],
    "the ack's envelope": told?.envelope,
  };
  for (const [name, part] of Object.entries(parts)) {
    assert.deepEqual((part as { future?: unknown } | undefined)?.future, future, name);
  }
});
