import assert from "node:assert/strict";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { writeBundles } from "../lib/bundle.ts";
import { fireReport } from "../lib/by-hand.ts";
import { pointsOf } from "../lib/client.ts";
import type { Document } from "../lib/document.ts";
import { entries } from "../lib/entries.ts";
import { transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import { ROOT, type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";

const PARALLEL = { concurrency: 2 };
const root = realpathSync(tempDirectory("copy"));
const bundles = join(root, "bundles");

const HOOKS = entries()
  .map(({ name }) => name)
  .filter((name) => name.startsWith("hooks/"));
const STOP = "hooks/claude-code/stop";
const clientOf = (name: string) => name.split("/")[1];
/** Where nothing is said to a model, whatever is due. */
const SILENT = ["claude-code SessionEnd", "codex Stop", "codex Interrupt", "codex SessionEnd"];
const textOf = (name: string) => readFileSync(join(bundles, `${name}.mjs`), "utf8");

before(() => writeBundles(bundles));

const copy = (
  args: readonly string[],
  cwd = root,
  env: Readonly<Record<string, string>> = {},
): Promise<Run> =>
  run(process.execPath, [join(bundles, "scripts/copy.mjs"), ...args], { cwd, env: { HOME: root, ...env } });

const freshFolder = (name = "folder"): string => {
  const folder = join(mkdtempSync(join(root, "f-")), name);
  mkdirSync(folder);
  return folder;
};

/** Held for a copy that was refused: one line, and the folder is as it was. */
async function isRefused(args: readonly string[], said: RegExp | string, status = 1): Promise<void> {
  const { code, stdout, stderr } = await copy(args);
  assert.deepEqual([code, stdout], [status, ""], stderr);
  if (typeof said === "string") assert.equal(stderr, `error: ${said}\n`);
  else assert.match(stderr, said);
}

describe("copy NAME FOLDER", PARALLEL, () => {
  for (const name of [
    "claude-code/stop",
    "claude-code/stop.mts",
    "claude-code/stop.mjs",
    STOP,
    `${STOP}.mts`,
    `./${STOP}.mts`,
  ]) {
    test(`takes ${name} for the hook, writes one program and prints its path`, async () => {
      const folder = freshFolder();
      const { code, stdout } = await copy([name, basename(folder)], dirname(folder));
      assert.deepEqual([code, stdout], [0, `${join(folder, "stop.mjs")}\n`]);
      assert.deepEqual(readdirSync(folder), ["stop.mjs"]);
      assert.equal(readFileSync(join(folder, "stop.mjs"), "utf8"), textOf(STOP));
      assert.equal(statSync(join(folder, "stop.mjs")).mode & 0o777, 0o755);
    });
  }

  test("does the same from source, and prints the path as JSON and nothing else with --json", async () => {
    const folder = freshFolder();
    const { code, stdout, stderr } = await runFile("scripts/copy.mts", [STOP, folder, "--json"]);
    assert.deepEqual([code, JSON.parse(stdout), stderr], [0, join(folder, "stop.mjs"), ""]);
    assert.equal(readFileSync(join(folder, "stop.mjs"), "utf8"), textOf(STOP));
  });

  test("has nothing to add on a script, which works where it was copied to", async () => {
    const folder = freshFolder("a b");
    const { code, stdout, stderr } = await copy(["list", folder]);
    assert.deepEqual([code, stdout, stderr], [0, `${join(folder, "list.mjs")}\n`, ""]);
    const listed = await run(join(folder, "list.mjs"), ["--dir", join(folder, "none"), "--json"]);
    assert.deepEqual([listed.code, listed.stdout], [0, "[]\n"]);
  });

  const refused: [args: string[], said: string, status: 1 | 2][] = [
    [[], "NAME: is missing; --help shows the usage", 2],
    [["stop"], "FOLDER: is missing; --help shows the usage", 2],
    [["", "."], "NAME: is missing; --help shows the usage", 2],
    [["stop", ".", "more"], "more: unexpected argument; --help shows the usage", 2],
    [["lsit", "."], "NAME: lsit: there is no such file in the package; did you mean list?", 2],
    [
      ["codex/stopp", "."],
      "NAME: codex/stopp: there is no such file in the package; did you mean claude-code/stop or codex/stop?",
      2,
    ],
    [[STOP, "no such"], "FOLDER: no such: is no folder; run: mkdir -p 'no such'", 1],
    [
      [STOP, process.execPath],
      `FOLDER: ${process.execPath}: is no folder; run: mkdir -p ${process.execPath}`,
      1,
    ],
    [
      [STOP, `${process.execPath}/x`],
      `FOLDER: ${process.execPath}/x: is no folder; run: mkdir -p ${process.execPath}/x`,
      1,
    ],
    [
      ["signals", "."],
      "NAME: scripts/signals: works only beside the package's other files; copy them together: signals copy --all .",
      1,
    ],
    [["--all"], "--all: takes one FOLDER and no NAME", 2],
    [["--all", "stop", "."], "--all: takes one FOLDER and no NAME", 2],
  ];
  for (const [args, said, status] of refused) {
    test(`refuses ${JSON.stringify(args)}, and says why`, () => isRefused(args, said, status));
  }

  test("has nothing to add on a monitor either, which works where it was copied to", async () => {
    const folder = freshFolder();
    const { code, stdout, stderr } = await copy(["check", folder]);
    assert.deepEqual([code, stdout, stderr], [0, `${join(folder, "check.mjs")}\n`, ""]);
    const env = { HOME: folder };
    const words = ["--name", "truth", "--any-failure", "--", "false"];
    const ran = await run(join(folder, "check.mjs"), words, { cwd: folder, env });
    assert.deepEqual([ran.code, ran.stderr], [1, ""]);
    assert.match(ran.stdout, /^CHECK WARNING - truth failed with status 1\n {4}fired /);
  });

  test("asks which one is meant when two clients have a hook of that name, and takes neither for the other", async () => {
    const folder = freshFolder();
    const both = "NAME: stop: names several files; write claude-code/stop or codex/stop";
    await isRefused(["stop", folder], both, 2);
    assert.deepEqual(readdirSync(folder), []);

    const file = join(folder, "stop.mjs");
    const pair = ["claude-code/stop", "codex/stop"];
    for (const [first = "", second] of [pair, pair.toReversed()]) {
      const copied = await copy([first, folder]);
      assert.equal(copied.code, 0, copied.stderr);
      const taken = `FOLDER: ${file}: is there already and is no copy of hooks/${second}; move it away first`;
      await isRefused([`${second}`, folder], taken);
      assert.equal(readFileSync(file, "utf8"), textOf(`hooks/${first}`));
      rmSync(file);
    }
  });

  test("writes over an earlier copy, also one that a person's link leads to", async () => {
    const [folder, kept] = [freshFolder(), freshFolder("kept")];
    const older = textOf(STOP).replace(/ of ambient-signals \S+ as one/, " of ambient-signals 0.0.1 as one");
    for (const place of [folder, kept]) writeFileSync(join(place, "stop.mjs"), older, { mode: 0o600 });
    const linked = freshFolder("linked");
    symlinkSync(join(kept, "stop.mjs"), join(linked, "stop.mjs"));

    for (const place of [folder, linked]) assert.equal((await copy([STOP, place])).code, 0);
    for (const place of [folder, kept]) {
      assert.equal(readFileSync(join(place, "stop.mjs"), "utf8"), textOf(STOP));
      assert.equal(statSync(join(place, "stop.mjs")).mode & 0o777, 0o755);
      assert.deepEqual(readdirSync(place), ["stop.mjs"]);
    }
    assert.ok(lstatSync(join(linked, "stop.mjs")).isSymbolicLink());
  });

  const foreign: [what: string, make: (file: string) => void][] = [
    ["a file of somebody's own", (file) => writeFileSync(file, "#!/usr/bin/env node\n// my own\n")],
    ["a copy of another entry", (file) => copyFileSync(join(bundles, "scripts/list.mjs"), file)],
    ["an empty file", (file) => writeFileSync(file, "")],
    ["a folder", (file) => mkdirSync(file)],
    ["a link that leads nowhere", (file) => symlinkSync("nowhere", file)],
    ["a link to itself", (file) => symlinkSync(basename(file), file)],
  ];
  for (const [what, make] of foreign) {
    test(`leaves ${what} alone, alone and with all the others`, async () => {
      for (const [args, folder] of [
        [[STOP], ""],
        [["--all"], dirname(STOP)],
      ] as const) {
        const place = freshFolder();
        const file = join(place, folder, "stop.mjs");
        mkdirSync(dirname(file), { recursive: true });
        make(file);
        const before = lstatSync(file);
        const text = before.isFile() ? readFileSync(file, "utf8") : undefined;
        const said = `FOLDER: ${file}: is there already and is no copy of ${STOP}; move it away first`;
        await isRefused([...args, place], said);
        assert.equal(lstatSync(file).ino, before.ino);
        if (text !== undefined) assert.equal(readFileSync(file, "utf8"), text);
        assert.deepEqual(readdirSync(dirname(file)), ["stop.mjs"], "nor is anything else written");
        assert.ok(!existsSync(join(place, "scripts")));
      }
    });
  }

  test("says what the system says when it cannot write", { skip: !existsSync("/proc/self") }, async () => {
    const cannot = /^error: FOLDER: \/\S+: cannot be written \([A-Z]+\); [^\n]+\n$/;
    await isRefused([STOP, "/proc/self"], cannot);
    await isRefused(["--all", process.execPath], cannot);
  });
});

describe("copy --all FOLDER", PARALLEL, () => {
  test("writes every file in the package's layout, twice as well as once, and they work together there", async () => {
    const folder = join(freshFolder(), "new", "one");
    const [, { code, stdout, stderr }] = [
      await copy(["--all", folder]),
      await copy(["--all", "--json", folder]),
    ];
    assert.deepEqual([code, stderr], [0, ""]);
    const files = entries().map(({ name }) => `${name}.mjs`);
    assert.deepEqual(
      JSON.parse(stdout),
      files.map((file) => join(folder, file)),
    );
    for (const file of files)
      assert.deepEqual(readFileSync(join(folder, file)), readFileSync(join(bundles, file)));

    const shown = await run(join(folder, "scripts/signals.mjs"), ["copy", STOP, folder]);
    assert.equal(shown.stdout, `${join(folder, "stop.mjs")}\n`, shown.stderr);
  });

  test("does not write the package over itself, from a bundle or from source", async () => {
    const own = "is where they are already; choose another";
    await isRefused(["--all", bundles], `FOLDER: ${bundles}: ${own}`);
    const { code, stderr } = await runFile("scripts/copy.mts", ["--all", "."], { cwd: ROOT });
    assert.deepEqual([code, stderr], [1, `error: FOLDER: .: ${own}\n`]);
    assert.ok(!existsSync(join(ROOT, "scripts/list.mjs")));
  });
});

describe("what is said of a copied hook", PARALLEL, () => {
  /** As people name folders, with what a shell would take apart. */
  const NAME = `ada's  "dot $HOME" \`files\``;

  /** What is printed for people: the line above the settings, the settings, and the notes below. */
  async function told(name: string, folder: string, env: Record<string, string> = {}) {
    const { code, stderr } = await copy([name, folder], root, env);
    assert.equal(code, 0, stderr);
    const [first, ...lines] = stderr.trimEnd().split("\n");
    const end = lines.indexOf("}") + 1;
    return { first, settings: JSON.parse(lines.slice(0, end).join("\n")), notes: lines.slice(end) };
  }

  for (const name of HOOKS) {
    test(`${name}: its settings run it as they are, for every event that it is for`, async () => {
      const folder = freshFolder(NAME);
      const { hooks, ...others } = (await told(name, folder)).settings;
      assert.deepEqual(others, {});
      const points = pointsOf(name);
      assert.deepEqual(
        Object.keys(hooks),
        points.map(({ event }) => event),
      );

      const dir = join(folder, "inbox");
      await fireUrgent(dir);
      for (const { event, timeout: given } of points) {
        const [{ hooks: handlers }] = hooks[event];
        assert.equal(handlers.length, 1);
        const [{ type, command, timeout, ...label }] = handlers;
        assert.deepEqual([type, timeout], ["command", given]);
        const names = clientOf(name) === "codex" ? { statusMessage: "Ambient signals" } : {};
        assert.deepEqual(label, names, "else Codex asks about an unnamed hook");
        const fixture = readFileSync(join(ROOT, `fixtures/${clientOf(name)}/${event}.json`), "utf8");
        const stdin = JSON.stringify({ ...JSON.parse(fixture), session_id: event, cwd: folder });
        const env = {
          PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
          HOME: root,
          HARN_EXT_SIGNALS_DIR: dir,
        };
        const ran = await run("sh", ["-c", command], { stdin, env, cwd: "/" });
        assert.deepEqual([ran.code, ran.stderr], [0, ""]);
        if (SILENT.includes(`${clientOf(name)} ${event}`)) assert.equal(ran.stdout, "");
        else assert.equal(JSON.parse(ran.stdout).hookSpecificOutput.hookEventName, event);
      }
    });
  }

  const trust =
    "Codex runs it once you trust it: start codex, which asks, or type /hooks; till then codex exec skips it in silence";
  const [BATCH, USE] = ["hooks/claude-code/post-tool-batch", "hooks/claude-code/post-tool-use"];
  const older = "leave out PostToolUseFailure if your claude --version is older than 2.0.56";
  const enough = "one hook alone is enough; what the others would add:";
  const silent = "it tells nothing by itself; what the others would add:";
  const batch =
    "post-tool-batch takes the place of post-tool-use from Claude Code 2.1.118 on; an older one does not know it";
  const cases: [name: string, first: string[], same?: string][] = [
    [USE, [older, enough], BATCH],
    [BATCH, [enough], USE],
    [STOP, [enough], BATCH],
    ["hooks/claude-code/session-end", [silent], BATCH],
    ["hooks/codex/stop", [trust, silent]],
    ["hooks/codex/interrupt", [trust, silent]],
    ["hooks/codex/session-end", [trust, silent]],
    ["hooks/codex/post-tool-use", [trust, enough]],
  ];
  for (const [name, first, same] of cases) {
    test(`${name}: where its settings go, what its client asks for, and what each of the others there would add`, async () => {
      const into = clientOf(name) === "codex" ? "~/.codex/hooks.json" : "~/.claude/settings.json";
      const said = await told(name, freshFolder());
      assert.equal(said.first, `to run it, put this into ${into}:`);
      const sentence = (name: string) => /^ \* (.*)$/m.exec(textOf(name))?.[1];
      const others = HOOKS.filter(
        (other) => clientOf(other) === clientOf(name) && other !== name && other !== same,
      );
      assert.deepEqual(said.notes, [
        ...first,
        ...others.map((name) => `  ${basename(name)}: ${sentence(name)}`),
        ...(same ? [batch] : []),
      ]);
    });
  }

  test("without a home directory it is copied all the same", async () => {
    const { first } = await told("hooks/codex/stop", freshFolder(), { HOME: "" });
    assert.equal(first, "to run it, put this into the settings of Codex:");
  });

  test("where the client's folder is another one, that is where its settings go", async () => {
    const env = { CLAUDE_CONFIG_DIR: join(root, ".other"), CODEX_HOME: "/srv/codex" };
    assert.deepEqual(
      [
        (await told(STOP, freshFolder(), env)).first,
        (await told("hooks/codex/stop", freshFolder(), env)).first,
      ],
      ["~/.other/settings.json", "/srv/codex/hooks.json"].map((into) => `to run it, put this into ${into}:`),
    );
  });
});

/** An urgent signal for each session that is named like an event. */
async function fireUrgent(dir: string): Promise<void> {
  const events = [...new Set(HOOKS.flatMap((name) => pointsOf(name).map(({ event }) => event)))];
  const change = (doc: Document, now: string) => {
    const reports = events.map((session) =>
      fireReport({ key: session, summary: "down", session, severity: "urgent" }, now),
    );
    return [reports.reduce((acc, report) => fire(acc, report, now)[0], doc), undefined] as const;
  };
  await transact(dir, { change }, { onConfigFault: "throw" });
}
