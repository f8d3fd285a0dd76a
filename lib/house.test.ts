import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { CLIENTS, hookPoints, pointsOf } from "./client.ts";
import { ROOT } from "./testing/process.ts";

/** The rules of the house that no compiler knows, held against every file of the repository. */

const FILES = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .split("\0")
  .filter((file) => file !== "" && existsSync(join(ROOT, file)));

const SOURCES = FILES.filter((file) => /\.m?ts$/.test(file));

/** Sources that do the work: no tests, and nothing that only they use. */
const WORKING = SOURCES.filter((file) => !/\.(test|client)\.ts$|^lib\/testing\//.test(file));

const ENTRIES = FILES.filter(
  (file) =>
    /^(hooks|monitors|scripts)\//.test(file) &&
    !/\.(test|client)\.ts$|^hooks\/(codex\/)?hooks\.json$/.test(file),
);

const RULES = ["lifecycle", "policy", "router", "lease", "recall", "session", "garbage", "transaction"];

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<![:"'`\\])\/\/[^\n]*/g, "");
}

/** What a file loads when it is loaded itself; types alone load nothing, and `import()` loads later. */
function importsOf(file: string): string[] {
  const statement = /^(?:import|export)\b(?!\s+type\b)(?:[^"';]*?\bfrom)?\s*"([^"]+)"/gm;
  return [...withoutComments(read(file)).matchAll(statement)].map(([, name]) => name ?? "");
}

/** All that loading `file` loads: files of ours, and packages by their names. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const name of importsOf(file)) {
    if (name.startsWith(".")) loadedBy(join(dirname(file), name), loaded);
    else loaded.add(name);
  }
  return loaded;
}

/** `file:line: text` for each line in `files` that matches. */
function linesThat(match: RegExp, files: readonly string[], edit = (text: string) => text): string[] {
  return files.flatMap((file) =>
    edit(read(file))
      .split("\n")
      .flatMap((line, i) => (match.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
  );
}

test("there are files of every kind to hold the rules against", () => {
  assert.ok(SOURCES.length > 50 && WORKING.length > 30 && ENTRIES.length > 14);
});

describe("an entry file", () => {
  for (const file of ENTRIES) {
    test(`${file} runs, explains itself and can be copied alone`, () => {
      assert.match(file, /\.mts$/, "what runs ends in .mts, whatever package it is copied into");
      assert.ok(statSync(join(ROOT, file)).mode & 0o100, "has no execute bit");

      const source = read(file);
      const [, first = "", rest = ""] =
        /^#!\/usr\/bin\/env tsx\n\/\*\*\n \* ([^\n]+)\n \*\n([\s\S]+?)\n \*\/\nimport /.exec(source) ?? [];
      assert.match(first, /^[A-Z].*\.$/, "begins with a doc comment, whose first line is a sentence");
      assert.doesNotMatch(first, /[.!?] [A-Z]/, "one sentence");
      const labels = [...rest.matchAll(/^ \* (Reads|Prints|Exits|Needs) {2,}\S/gm)].map(([, label]) => label);
      assert.deepEqual(labels, ["Reads", "Prints", "Exits", "Needs"]);

      const relative = importsOf(file).filter((name) => name.startsWith("."));
      assert.deepEqual(relative, [], "a copy elsewhere finds the package by its name only");
      const guide = file.startsWith("hooks/") ? 40 : 80;
      const lines = source.trimEnd().split("\n").length;
      assert.ok(lines <= guide, `${lines} lines; ${guide} can be read at a glance`);
    });
  }

  test("of a hook loads nothing but the core, and the core nothing that starts slowly", () => {
    const hooks = ENTRIES.filter((file) => file.startsWith("hooks/"));
    assert.deepEqual([...new Set(hooks.flatMap(importsOf))], ["ambient-signals"]);

    const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, string> };
    const loaded = [...loadedBy(join(exports["."] ?? ""))];
    for (const expected of ["lib/hook.ts", "lib/inbox.ts", "lib/lock.ts", "lib/router.ts", "lockfile"]) {
      assert.ok(loaded.includes(expected), `the graph is not followed: ${loaded}`);
    }
    const slow =
      /^(zx|yaml|zod|smol-toml|esbuild|diff|@humanwhocodes)\b|^lib\/(cli|script|by-hand|config|envelope|registry)\.ts$|^lib\/testing\//;
    assert.deepEqual(
      loaded.filter((name) => slow.test(name)),
      [],
    );
  });
});

describe("a file of rules", () => {
  for (const name of RULES) {
    test(`lib/${name}.ts is pure: no system, no clock, no chance`, () => {
      const file = `lib/${name}.ts`;
      assert.deepEqual(
        [...loadedBy(file)].filter((name) => !name.startsWith("lib/")),
        [],
        "nor is anything that it builds on",
      );
      const impure =
        /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bprocess[.[]|\bperformance\b|\bcrypto\b/;
      assert.deepEqual(linesThat(impure, [file], withoutComments), []);
    });
  }
});

test("only lib/inbox.ts and lib/lock.ts open the inbox", () => {
  const opened = linesThat(/["'`/]inbox\.(json|lock)["'`]/, WORKING, withoutComments);
  const files = [...new Set(opened.map((line) => line.split(":")[0]))];
  assert.deepEqual(files.sort(), ["lib/inbox.ts", "lib/lock.ts"]);
});

describe("the plugin runs bundles of hooks that exist, and none of another client's:", () => {
  // Of Claude Code, for events that it has known since there are plugins; Codex passes over what it does not know.
  const plugins = [
    ["claude-code", "hooks/hooks.json", "CLAUDE_PLUGIN_ROOT", "2.0.56"],
    ["codex", "hooks/codex/hooks.json", "PLUGIN_ROOT", undefined],
  ] as const;
  for (const [harness, file, root, version] of plugins) {
    test(file, () => {
      type Handler = { type: string; command: string; timeout: number; statusMessage?: string };
      const { hooks, description, ...others } = JSON.parse(read(file)) as {
        description: string;
        hooks: Record<string, { hooks: Handler[] }[]>;
      };
      assert.deepEqual([typeof description, others], ["string", {}], "any other key would void it for Codex");
      const registered = Object.entries(hooks).map(([event, groups]) => {
        const [handler, ...more] = groups.flatMap((group) => group.hooks);
        assert.deepEqual([handler?.type, more], ["command", []], event);
        const [, variable, bundle = ""] =
          /^node "\$\{(\w+)\}\/dist\/(.+)\.mjs"$/.exec(handler?.command ?? "") ?? [];
        assert.equal(variable, root, handler?.command);
        assert.ok(existsSync(join(ROOT, `${bundle}.mts`)), handler?.command);
        assert.equal(handler?.statusMessage, CLIENTS[harness].label?.statusMessage);
        return [event, bundle, handler?.timeout];
      });
      const points = hookPoints(CLIENTS[harness], version);
      assert.deepEqual(
        registered,
        points.map(({ event, hook, timeout }) => [event, `hooks/${harness}/${hook}`, timeout]),
      );
    });
  }

  test("and Codex is told which file is its own", () => {
    assert.equal(JSON.parse(read(".codex-plugin/plugin.json")).hooks, "./hooks/codex/hooks.json");
    assert.ok(
      !("hooks" in JSON.parse(read(".claude-plugin/plugin.json"))),
      "that of Claude Code is the usual one",
    );
  });
});

test("a hook is named for its event, and its help names it", () => {
  for (const file of ENTRIES.filter((file) => file.startsWith("hooks/"))) {
    const points = pointsOf(file.replace(/\.mts$/, ""));
    assert.ok(points.length > 0, `${file} is registered nowhere`);
    for (const { event } of points) {
      // A failed call has an event of its own, and is the end of a tool call all the same.
      const named = event.replace(/Failure$/, "").replace(/(?!^)[A-Z]/g, "-$&");
      assert.equal(named.toLowerCase(), basename(file, ".mts"));
      assert.match(read(file), new RegExp(` \\* {3}event {4}.*\\b${event}\\b`));
    }
  }
});

test("the package and the plugins are of one name and version", () => {
  const [packed, ...manifests] = [
    "package.json",
    ".claude-plugin/plugin.json",
    ".codex-plugin/plugin.json",
  ].map((file) => JSON.parse(read(file)));
  const same = ({ name, version, description, license }: Record<string, string>) => [
    name,
    version,
    description,
    license,
  ];
  for (const manifest of manifests) assert.deepEqual(same(manifest), same(packed));
  const { name, plugins } = JSON.parse(read(".claude-plugin/marketplace.json"));
  assert.equal(name, packed.name);
  const source = { source: "npm", package: packed.name };
  assert.deepEqual(
    plugins.map(({ name, source, description }: Record<string, unknown>) => [name, source, description]),
    [[packed.name, source, packed.description]],
  );
  assert.ok(
    !FILES.some((file) => /(^|\/)monitors\.json$/.test(file)),
    "the client would run it as a part of its own",
  );
});

test("nothing is left for later, switched off or singled out", () => {
  // Put together, so that this file does not hold what it looks for.
  const later = new RegExp(`\\bTO${"DO"}\\b|\\bFIX${"ME"}\\b|\\.(?:only|skip|todo)\\(|\\bonly: true`);
  assert.deepEqual(linesThat(later, SOURCES), []);
});

test("nothing names a place on the machine that it was written on", () => {
  const folder = `sha${"red"}`;
  const places = new RegExp(`/${folder}\\b|\\b${folder}/|(?<![\\w.:~-])/(?:wo${"rk"}|fa${"rm"})\\b`);
  assert.deepEqual(linesThat(places, FILES), []);
  const root = ROOT.replace(/\/$/, "");
  assert.deepEqual(
    FILES.filter((file) => read(file).includes(root)),
    [],
  );
});
