import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { fireReport } from "../lib/by-hand.ts";
import { pointsOf } from "../lib/client.ts";
import { copyEntry } from "../lib/copy.ts";
import { type Document, findSession } from "../lib/document.ts";
import { type Entry, entries, entryNamed } from "../lib/entries.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { packPackage } from "../lib/testing/npm-registry.ts";
import { ROOT, type Run, run, TSX, tempDirectory } from "../lib/testing/process.ts";
import { timeOf } from "../lib/time.ts";

/** A hook may be copied in several ways, and does the same in all of them. */

/** The session that all are run for. */
const ADA = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";
const HOOKS = entries().filter(({ name }) => name.startsWith("hooks/"));
const PARALLEL = { concurrency: 2 };

const root = tempDirectory("copies");
/** Where somebody keeps copies beside an installed package. */
const dotfiles = join(root, "dotfiles");
const bundled = join(root, "a b");
const links = join(root, "links");
const project = join(root, "api");
const inboxes = { due: join(root, "due"), muted: join(root, "muted") };

/** Two clients have hooks of one name. */
const clientOf = ({ name }: Entry) => basename(dirname(name));
const bundleOf = (entry: Entry) => join(bundled, clientOf(entry), `${basename(entry.name)}.mjs`);
const copyOf = (entry: Entry) => join(dotfiles, clientOf(entry), basename(entry.file));

before(
  async () => {
    for (const folder of [dotfiles, bundled, links, project]) mkdirSync(folder);
    await Promise.all([install(), prepareInboxes(), ...HOOKS.map(bundle)]);
    for (const entry of HOOKS) {
      mkdirSync(dirname(copyOf(entry)), { recursive: true });
      copyFileSync(entry.file, copyOf(entry));
    }
  },
  { timeout: 120_000 },
);

/**
 * Puts the packed package into a folder of node_modules, as npm would. What it depends on comes from our own: npm asks
 * a registry even for what it has. What ends up in a hook is copied, so that it lies where npm would put it.
 */
async function install(): Promise<void> {
  const modules = join(dotfiles, "node_modules");
  const place = join(modules, "ambient-signals");
  mkdirSync(place, { recursive: true });
  execFileSync("tar", ["-xzf", await packPackage(), "-C", place, "--strip-components=1"]);
  const { dependencies } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const inside = ["lockfile", "signal-exit", "smol-toml", "zod"];
  for (const name of new Set([...inside, ...Object.keys(dependencies)])) {
    const [from, to] = [join(ROOT, "node_modules", name), join(modules, name)];
    mkdirSync(dirname(to), { recursive: true });
    if (inside.includes(name)) cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
}

/** Two inboxes with an urgent signal for the session, which one of them mutes. Both have settings to be read. */
async function prepareInboxes(): Promise<void> {
  const flags = { key: "prod:down", summary: "The site is down", session: ADA, severity: "urgent" };
  const change = (doc: Document, now: string) => fire(doc, fireReport(flags, now), now);
  await transact(inboxes.due, { change }, { onConfigFault: "throw" });
  const ada = { id: ADA, harness: "claude-code", cwd: project };
  const checkIn = { ...ada, state: "busy", registers: true, subagent: false } as const;
  await transact(inboxes.due, { checkIn }, { onConfigFault: "throw" });
  cpSync(inboxes.due, inboxes.muted, { recursive: true });
  writeFileSync(join(inboxes.due, "config.toml"), 'lease = "5m"\n');
  writeFileSync(join(inboxes.muted, "config.toml"), '[[mute]]\nkey = "prod:*"\n');
}

/** A run of one form of a hook, and what it left in its inbox. */
interface Ran extends Run {
  doc: Document;
}

/** Runs one form of a hook on the event that it is for, in an inbox in that state. */
async function hook(entry: Entry, form: keyof typeof FORMS, state: keyof typeof inboxes): Promise<Ran> {
  const dir = join(mkdtempSync(join(root, "inbox-")), "in box");
  cpSync(inboxes[state], dir, { recursive: true });
  const [point] = pointsOf(entry.name);
  const fixture = readFileSync(join(ROOT, "fixtures", clientOf(entry), `${point?.event}.json`), "utf8");
  const stdin = JSON.stringify({ ...JSON.parse(fixture), session_id: ADA, cwd: project });
  const [program = "", ...words] = FORMS[form](entry);
  const ran = await run(program, [...words, "--dir", dir], { stdin, cwd: root, env: { HOME: root } });
  return { ...ran, doc: readDocument(dir, timeOf(Date.now())) };
}

function bundle(entry: Entry): Promise<string> {
  mkdirSync(dirname(bundleOf(entry)), { recursive: true });
  return copyEntry(entry, dirname(bundleOf(entry)));
}

function link(file: string): string {
  const place = join(mkdtempSync(join(links, "l-")), basename(file));
  symlinkSync(file, place);
  return place;
}

/** How each form is run. The bundles have nothing in their environment at all. */
const FORMS = {
  "the source": ({ file }: Entry) => [process.execPath, ...TSX, file],
  "a link to it": ({ file }: Entry) => [process.execPath, ...TSX, link(file)],
  "a copy beside an installed package": (entry: Entry) => [process.execPath, ...TSX, copyOf(entry)],
  "a link to that copy": (entry: Entry) => [process.execPath, ...TSX, link(copyOf(entry))],
  "a bundle in a folder with a space": (entry: Entry) => ["env", "-i", process.execPath, bundleOf(entry)],
  "a link to that bundle": (entry: Entry) => ["env", "-i", process.execPath, link(bundleOf(entry))],
};

describe("a hook prints the same bytes", PARALLEL, () => {
  for (const entry of HOOKS) {
    const { name } = entry;
    const isLast = name.endsWith("/session-end");
    const isSilent = isLast || /^hooks\/codex\/(stop|interrupt)$/.test(name);

    test(`${name}, when a reminder is due, in all its forms`, async () => {
      const { stdout, doc } = await hook(entry, "the source", "due");
      if (isSilent) assert.equal(stdout, "");
      else assert.match(JSON.parse(stdout).hookSpecificOutput.additionalContext, /^signal: prod:down#1$/m);
      for (const form of Object.keys(FORMS).slice(1) as (keyof typeof FORMS)[]) {
        const ran = await hook(entry, form, "due");
        assert.deepEqual([ran.code, ran.stdout, ran.stderr], [0, stdout, ""], form);
        assert.deepEqual(outcome(ran.doc), outcome(doc), form);
      }
      assert.deepEqual(outcome(doc), { registered: !isLast, acked: !isSilent });
    });

    test(`${name}, when nothing is due, prints none`, async () => {
      for (const form of [
        "a copy beside an installed package",
        "a bundle in a folder with a space",
      ] as const) {
        const { code, stdout, stderr, doc } = await hook(entry, form, "muted");
        assert.deepEqual([code, stdout, stderr], [0, "", ""], form);
        assert.deepEqual(outcome(doc), { registered: !isLast, acked: false }, form);
      }
    });
  }

  test("also by their own first lines, with what is installed beside them", async () => {
    const entry = entryNamed("claude-code/stop");
    const dir = join(mkdtempSync(join(root, "inbox-")), "in box");
    cpSync(inboxes.due, dir, { recursive: true });
    mkdirSync(join(root, "bin"));
    symlinkSync(process.execPath, join(root, "bin", "node"));
    symlinkSync(join(dotfiles, "node_modules/tsx/dist/cli.mjs"), join(root, "bin", "tsx"));
    const env = { PATH: `${join(root, "bin")}:/usr/bin:/bin`, HOME: root };
    const fixture = JSON.parse(readFileSync(join(ROOT, "fixtures/claude-code/Stop.json"), "utf8"));
    const options = { stdin: JSON.stringify({ ...fixture, cwd: project }), cwd: root, env };
    const { stdout } = await hook(entry, "the source", "due");
    for (const file of [copyOf(entry), bundleOf(entry)]) {
      cpSync(inboxes.due, dir, { recursive: true, force: true });
      const ran = await run(file, ["--dir", dir], options);
      assert.deepEqual([ran.code, ran.stdout, ran.stderr], [0, stdout, ""], file);
    }
  });

  test("also as a bundle that an installed package made, which has the licences too", async () => {
    const entry = entryNamed("claude-code/stop");
    const folder = join(root, "made there");
    mkdirSync(folder);
    const copy = join(dotfiles, "node_modules/ambient-signals/scripts/copy.mts");
    const { code, stdout, stderr } = await run(process.execPath, [...TSX, copy, "claude-code/stop", folder]);
    assert.deepEqual([code, stdout], [0, `${join(folder, "stop.mjs")}\n`], stderr);
    const licences = (file: string) =>
      /\n(\/\/ [\w@/-]+ [\d.]+\n\/\/\n[\s\S]*)/.exec(readFileSync(file, "utf8"))?.[1];
    assert.match(licences(bundleOf(entry)) ?? "", /^\/\/ ambient-signals [\s\S]*\n\/\/ lockfile /);
    assert.equal(licences(join(folder, "stop.mjs")), licences(bundleOf(entry)));
  });
});

/** What a hook did, as far as it does not go by the clock. */
function outcome(doc: Document): { registered: boolean; acked: boolean } {
  return { registered: findSession(doc, ADA) !== undefined, acked: doc.signals[0]?.acked !== undefined };
}
