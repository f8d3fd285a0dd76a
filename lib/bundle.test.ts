import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { before, describe, test } from "node:test";
import { bundleOf, writeBundles } from "./bundle.ts";
import { entries } from "./entries.ts";
import { ROOT, run, tempDirectory } from "./testing/process.ts";

/** The bundles as they are written: what is in them, and that each of them is enough. */

const ALL = entries();
const HOOKS = ALL.filter(({ name }) => name.startsWith("hooks/"));
const PARALLEL = { concurrency: 2 };
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

const root = tempDirectory("bundle");
const folder = join(root, "all");
const bundle = (name: string) => join(folder, `${name}.mjs`);
const textOf = (name: string) => readFileSync(bundle(name), "utf8");

/** The modules of packages inside, which the bundler names: `zod/v4/core/index.js`. */
function modulesIn(text: string): string[] {
  return [...text.matchAll(/^\s*\/\/ .*\bnode_modules\/(\S+)$/gm)].map(([, module = ""]) => module);
}

/** Runs a file with nothing in its environment at all. */
const bare = (file: string, ...args: string[]) =>
  run("env", ["-i", process.execPath, file, ...args], { cwd: dirname(file) });

/** A copy of one bundle in a folder of that name, with nothing beside it. */
function alone(name: string, place = "a folder"): string {
  const file = join(mkdtempSync(join(root, "alone-")), place, `${basename(name)}.mjs`);
  mkdirSync(dirname(file));
  copyFileSync(bundle(name), file);
  return file;
}

let written: string[] = [];
before(async () => {
  const umask = process.umask(0o077);
  written = await writeBundles(folder);
  process.umask(umask);
});

test("each entry file becomes one file of its name, which everybody may run", () => {
  assert.deepEqual(
    written.map((file) => relative(folder, file)),
    ALL.map(({ name }) => `${name}.mjs`),
  );
  for (const file of written) assert.equal(statSync(file).mode & 0o777, 0o755, file);
  const event = "fixtures/claude-code/Stop.json";
  assert.deepEqual(readFileSync(join(folder, event)), readFileSync(join(ROOT, event)));
});

describe("the bundle of", PARALLEL, () => {
  for (const { name, file } of ALL) {
    test(`${name} says what it is, holds the licences of what is inside, and is a program`, async () => {
      const text = textOf(name);
      const comment = /\/\*\*\n[\s\S]*?\n \*\//.exec(readFileSync(file, "utf8"))?.[0] ?? "";
      const [, sentence = ""] = comment.split("\n");
      assert.ok(text.startsWith(`#!/usr/bin/env node\n/**\n${sentence}\n`));
      assert.ok(text.includes(`\n */\n// ${name}.mts of ambient-signals ${version} as one file `));
      const opening = text.slice(0, text.indexOf("\n */"));
      assert.doesNotMatch(opening, /\btsx\b|\.mts\b/, "says how the bundle is run, not the source");
      assert.ok(!text.includes(ROOT), "names no place on the machine that made it");

      const modules = modulesIn(text);
      const builders = /^(@?esbuild|tsx)\//;
      assert.deepEqual(
        modules.filter((module) => builders.test(module)),
        [],
        "holds nothing that only the source needs",
      );
      for (const inside of new Set(modules.map((module) => /^(?:@[^/]+\/)?[^/]+/.exec(module)?.[0] ?? ""))) {
        const { version } = JSON.parse(
          readFileSync(join(ROOT, "node_modules", inside, "package.json"), "utf8"),
        );
        const heading = `\n// ${inside} ${version}\n//\n`;
        const notice = text.slice(text.lastIndexOf(heading), -1).split("\n\n")[0];
        assert.match(notice ?? "", new RegExp(`^${heading}[^]*\\b(Copyright|License)\\b`), inside);
      }
      // The first notice of all is our own, whole.
      const licence = readFileSync(join(ROOT, "LICENSE"), "utf8").trim().split("\n");
      const own = [`ambient-signals ${version}`, "", ...licence].map((line) => `// ${line}`.trimEnd());
      const [, first] = /\n\n(\/\/ \S+ \d+\.\d+\.\d+\n\/\/\n[\s\S]*?)\n(?:\n|$)/.exec(text) ?? [];
      assert.equal(first, own.join("\n"));
      const { code, stderr } = await run(process.execPath, ["--check", bundle(name)]);
      assert.deepEqual([code, stderr], [0, ""]);
    });
  }

  for (const entry of HOOKS) {
    test(`${entry.name} is small, needs only node, and is the same whenever it is made`, async () => {
      const text = textOf(entry.name);
      assert.match(text.slice(0, 2_000), /^ \* Needs {4}Node 20 or newer[.;]/m);
      const modules = modulesIn(text);
      assert.ok(
        modules.some((module) => module.startsWith("lockfile/")),
        "the bundler names its modules",
      );
      const slow = /^(zx|yaml|esbuild|tsx)\/|^zod\/v4\/(classic|locales\/(?!index\.js))/;
      assert.deepEqual(
        modules.filter((module) => slow.test(module)),
        [],
      );
      assert.ok(text.length < 300_000, `${text.length} characters are read at every tool call`);
      assert.ok((await bundleOf(entry)) === text, "made twice");

      const { code, stdout, stderr } = await bare(alone(entry.name), "--version");
      assert.deepEqual([code, stdout, stderr], [0, `ambient-signals ${version}\n`, ""]);
    });
  }
});

describe("an entry that needs the others says so when it stands alone:", PARALLEL, () => {
  const args: Record<string, string[]> = { copy: ["claude-code/stop", "."], install: ["--dry-run"] };
  const needing = ALL.filter(({ file }) => /^ \* Needs .*other files/m.test(readFileSync(file, "utf8")));

  for (const { name } of needing) {
    // A person's own folder of scripts may have any name.
    for (const place of ["a folder", "scripts"]) {
      test(`${name} in "${place}"`, async () => {
        const { code, stdout, stderr } = await bare(alone(name, place), ...(args[basename(name)] ?? []));
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, /^error: [a-z]+: \S.*: stands alone, and works only beside [^\n]*; [^\n]+\n$/);
      });
    }
  }

  test("that is said of those that look for others", () => {
    const names = needing.map(({ name }) => basename(name));
    for (const name of ["copy", "demo", "install", "signals"]) assert.ok(names.includes(name), name);
  });
});
