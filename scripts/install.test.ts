import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { writeBundles } from "../lib/bundle.ts";
import { CLIENTS } from "../lib/client.ts";
import { ROOT, type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";

const BUNDLES = tempDirectory("bundles");
before(() => writeBundles(BUNDLES));

const SETTINGS = ".claude/settings.json";
const DATA = ".local/share/ambient-signals";
const COMMAND = ".local/bin/signals";
const EVENTS = ["SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop", "SessionEnd"];
const CODEX_HOOKS = ".codex/hooks.json";
const CODEX_CONFIG = ".codex/config.toml";
const CODEX_POINTS = CLIENTS.codex.points;
const CODEX_EVENTS = CODEX_POINTS.map(({ event }) => event);

/** A person's home directory, with Claude Code of some version on PATH, or none, and a project in it. */
class Machine {
  readonly home = join(realpathSync(tempDirectory("install")), "ada lovelace");
  readonly project = join(this.home, "api");
  readonly path = tempDirectory("path");
  cwd = this.project;
  env: Record<string, string> = {};

  constructor(version: string | undefined = "2.1.332") {
    mkdirSync(this.project, { recursive: true });
    // Alone: beside the node that runs this, there may be clients.
    symlinkSync(process.execPath, join(this.path, "node"));
    this.client(version);
  }

  /** One with both clients; Codex is asked for nothing, and refuses. */
  static withCodex(version?: string): Machine {
    const machine = new Machine(version);
    writeFileSync(join(machine.path, "codex"), "#!/bin/sh\necho refused >&2\nexit 1\n", { mode: 0o755 });
    return machine;
  }

  client(version: string | undefined) {
    const file = join(this.path, "claude");
    if (version === undefined) rmSync(file, { force: true });
    else writeFileSync(file, `#!/bin/sh\necho '${version} (Claude Code)'\n`, { mode: 0o755 });
  }

  at(path: string): string {
    return join(this.home, path);
  }

  read(path: string): string | undefined {
    return existsSync(this.at(path)) ? readFileSync(this.at(path), "utf8") : undefined;
  }

  write(path: string, content: unknown): string {
    const file = this.at(path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
    return file;
  }

  /** Every file of the home directory, with its text. */
  files(): Record<string, string> {
    const all = readdirSync(this.home, { recursive: true, encoding: "utf8" });
    const files = all.filter((file) => statSync(this.at(file)).isFile()).sort();
    return Object.fromEntries(files.map((file) => [file, readFileSync(this.at(file), "utf8")]));
  }

  get #options() {
    const folders = [this.path, this.at(".local/bin"), "/usr/bin", "/bin"];
    const PATH = folders.join(delimiter);
    return { cwd: this.cwd, env: { HOME: this.home, PATH, ...this.env } };
  }

  /** Runs a script's bundle: from the package, or from where it was installed. */
  run(name: string, args: readonly string[], stdin?: string, from = BUNDLES): Promise<Run> {
    return run(process.execPath, [join(from, "scripts", `${name}.mjs`), ...args], {
      ...this.#options,
      stdin,
    });
  }

  /** Runs a command as a person types it. */
  sh(command: string): Promise<Run> {
    return run("/bin/sh", ["-c", command], this.#options);
  }

  runFromSource(name: string, args: readonly string[]): Promise<Run> {
    return runFile(`scripts/${name}.mts`, args, this.#options);
  }

  /** Starts it, and leaves stdin open. */
  start(name: string) {
    return spawn(process.execPath, [join(BUNDLES, "scripts", `${name}.mjs`)], {
      ...this.#options,
      stdio: "pipe",
    });
  }

  async install(...args: string[]): Promise<Run> {
    const result = await this.run("install", ["--yes", ...args]);
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  async uninstall(...args: string[]): Promise<Run> {
    const result = await this.run("uninstall", ["--yes", ...args]);
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  /** The commands of a settings file, by event. */
  commands(path = SETTINGS): Record<string, string[]> {
    const { hooks = {} } = JSON.parse(this.read(path) ?? "{}") as {
      hooks?: Record<string, { hooks: { command: string }[] }[]>;
    };
    const commands = Object.entries(hooks).map(([event, groups]) => [
      event,
      groups.flatMap((group) => group.hooks.map(({ command }) => command)),
    ]);
    return Object.fromEntries(commands);
  }

  get manifest() {
    return JSON.parse(this.read(`${DATA}/installed.json`) ?? "");
  }

  launch(entry: string): string {
    return `'${this.at(DATA)}/launch' ${entry}`;
  }
}

describe("installing and uninstalling", { concurrency: 4 }, () => {
  const cases: [what: string, text: string | undefined][] = [
    ["no settings at all", undefined],
    ["an empty file", ""],
    ["an empty object", "{}"],
    ["settings as the client writes them", '{\n  "model": "opus"\n}\n'],
    [
      "hooks of one's own",
      '{\r\n\t"hooks": { "Stop": [ {"hooks":[{"type":"command","command":"true"}]} ], "SessionEnd": [] }\r\n}',
    ],
  ];
  for (const [what, text] of cases) {
    test(`leaves ${what} byte for byte as before, and no file behind`, async () => {
      const machine = new Machine();
      if (text !== undefined) machine.write(SETTINGS, text);
      const start = machine.files();
      const had = existsSync(machine.at(".local"));
      const installed = await machine.install();
      assert.match(installed.stdout, /^installed: Claude Code runs 5 hooks/m);
      const own = text?.includes("true") ? ["true"] : [];
      assert.deepEqual(machine.commands()["Stop"], [...own, machine.launch("hooks/claude-code/stop")]);

      const after = machine.files();
      const again = await machine.install();
      assert.match(again.stdout, /^nothing to do: /m);
      assert.deepEqual(machine.files(), after, "a second time changes nothing");

      await machine.uninstall();
      assert.deepEqual(machine.files(), start);
      assert.equal(existsSync(machine.at(".local")), had);
      assert.equal(existsSync(machine.at(".claude")), text !== undefined, "a folder that was made goes too");
      const gone = await machine.uninstall();
      assert.match(gone.stdout, /^nothing to do: /m);
    });
  }

  test("what is installed runs by itself, and is what a session is told by", async () => {
    const machine = new Machine();
    await machine.install();
    const { home, project: cwd } = machine;
    const options = { cwd, env: { HOME: home } };
    const fired = await run(
      machine.at(COMMAND),
      ["fire", "--key", "k", "--summary", "CI is failing"],
      options,
    );
    assert.match(fired.stdout, /^fired k#1/, fired.stderr);
    const payload = readFileSync(join(ROOT, "fixtures/claude-code/SessionStart.json"), "utf8");
    const event = JSON.stringify({ ...JSON.parse(payload), cwd });
    // As the client does it.
    const [command = ""] = machine.commands()["SessionStart"] ?? [];
    const told = await run("/bin/sh", ["-c", command], { ...options, stdin: event });
    assert.match(
      JSON.parse(told.stdout).hookSpecificOutput.additionalContext,
      /what happened: CI is failing/,
    );
    await machine.uninstall();
    assert.ok(existsSync(machine.at(".harn/signals/inbox.json")), "the inbox is the person's own");
  });

  test("works from what is installed itself, which is its own source then", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, "{}\n");
    await machine.install();
    const after = machine.files();
    const data = machine.at(DATA);
    const again = await machine.run("install", ["--yes"], "", data);
    assert.match(again.stdout, /^nothing to do: /m, again.stderr);
    const update = `node ${BUNDLES}/scripts/install.mjs --yes`;
    assert.equal(
      again.stderr,
      `note: this is the installed copy, whose files stay as they are; to update it, run: ${update}\n`,
    );
    assert.deepEqual(machine.files(), after);
    const gone = await machine.run("uninstall", ["--yes"], "", data);
    assert.equal(gone.code, 0, gone.stderr);
    assert.deepEqual(machine.files(), { [SETTINGS]: "{}\n" });
  });

  test("works from source, without a build", async () => {
    const machine = new Machine();
    const shown = await machine.runFromSource("install", ["--yes"]);
    assert.equal(shown.code, 0, shown.stderr);
    const installed = machine.files();
    for (const file of ["hooks/claude-code/stop.mjs", "scripts/uninstall.mjs", "scripts/signals.mjs"])
      assert.equal(installed[`${DATA}/${file}`], readFileSync(join(BUNDLES, file), "utf8"), file);
    const gone = await machine.runFromSource("uninstall", ["--yes"]);
    assert.equal(gone.code, 0, gone.stderr);
    assert.deepEqual(machine.files(), {});
  });
});

describe("nothing is written", { concurrency: 4 }, () => {
  const TEXT = '{\n  "model": "opus"\n}\n';

  test("before the change was shown and the answer is yes", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, TEXT);
    const start = machine.files();
    for (const answer of ["", "n\n", "\n", "yesterday\n"]) {
      const { code, stdout, stderr } = await machine.run("install", [], answer);
      assert.equal(code, 1);
      assert.match(stdout, /^\+ {2}"hooks": \{$/m);
      assert.match(stdout, /^also write \d+ files in .*\/ambient-signals$/m);
      assert.match(stderr, /^Write this\? \[y\/N\] $/m);
      assert.match(stderr, /^nothing was changed; --yes writes without asking$/m);
      assert.deepEqual(machine.files(), start);
    }
    const { code, stdout } = await machine.run("install", [], "y\n");
    assert.equal(code, 0);
    assert.match(stdout, /^installed: /m);
    const end = machine.files();
    assert.equal((await machine.run("uninstall", [], "no\n")).code, 1);
    assert.deepEqual(machine.files(), end);
    assert.equal((await machine.run("uninstall", [], "Yes\n")).code, 0);
    assert.deepEqual(machine.files(), start);
  });

  test("by --dry-run, which shows all of it", async () => {
    const machine = new Machine();
    const { code, stdout, stderr } = await machine.run("install", ["--dry-run"]);
    assert.equal(code, 0);
    assert.match(stdout, /^--- \/dev\/null\n\+\+\+ .*settings.json\n@@ -0,0 \+1,\d+ @@\n\+\{$/m);
    assert.match(stderr, /^nothing was written: this was a dry run$/m);
    assert.deepEqual(machine.files(), {});
  });

  test("to a terminal that could harm it", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, '{\n  "model": "\u009b2J\u202eopus"\n}\n');
    const { stdout } = await machine.run("install", ["--dry-run"]);
    assert.match(stdout, /^- {2}"model": " 2J opus"\n\+ {2}"model": " 2J opus",$/m);
  });

  test("when somebody edited the settings while we asked", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, TEXT);
    const child = machine.start("install");
    let stderr = "";
    for await (const text of child.stderr.setEncoding("utf8")) {
      stderr += text;
      if (!stderr.endsWith("[y/N] ")) continue;
      machine.write(SETTINGS, "{}");
      // Stdin stays open, as a terminal does.
      child.stdin.write("y\n");
    }
    if (child.exitCode === null) await once(child, "close");
    assert.equal(child.exitCode, 1);
    assert.match(
      stderr,
      /^error: .*settings\.json: was changed meanwhile, and is left as it is; run this again$/m,
    );
    assert.deepEqual(machine.files(), { [SETTINGS]: "{}" });
  });

  const broken: [what: string, text: string, says: string][] = [
    [
      "a comment",
      '{\n  // mine\n  "a": 1\n}\n',
      "line 2: is not JSON: a comment, which the client does not read either",
    ],
    ["a list", "[]", "line 1: is no object in braces"],
    ["hooks that are none", '{\n  "hooks": [] }', 'line 2: "hooks" is not an object in braces'],
    ["hooks twice", '{\n  "hooks": {},\n  "hooks": {} }', 'line 3: has "hooks" a second time'],
  ];
  for (const [what, text, says] of broken) {
    test(`into settings with ${what}, and the line is said`, async () => {
      const machine = new Machine();
      const file = machine.write(SETTINGS, text);
      const { code, stdout, stderr } = await machine.run("install", ["--yes"]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(stderr, `error: settings: ${file}: ${says}; nothing was changed, mend that first\n`);
      assert.deepEqual(machine.files(), { [SETTINGS]: text });
    });
  }

  test("into settings that are not to be written", async () => {
    const machine = new Machine();
    chmodSync(machine.write(SETTINGS, TEXT), 0o444);
    const { code, stderr } = await machine.run("install", ["--yes"]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: settings: .*: cannot be written \(EACCES\); make it writable, or choose another --scope$/m,
    );
    assert.deepEqual(machine.files(), { [SETTINGS]: TEXT });
  });

  test("into the settings when the files that they would name cannot be", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, TEXT);
    machine.write(".local/bin", "in the way");
    const { code, stderr } = await machine.run("install", ["--yes"]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: .*\/bin\/signals: cannot be written \(E[A-Z]+\); mend that, and run this again$/m,
    );
    assert.equal(machine.read(SETTINGS), TEXT);
  });

  test("where a file is in the way of the folder", async () => {
    const machine = new Machine();
    machine.write(".claude", "in the way");
    const { code, stderr } = await machine.run("install", ["--yes"]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: settings: .*: cannot be written \(ENOTDIR\); /m);
    assert.deepEqual(machine.files(), { ".claude": "in the way" });
  });

  test("where the plugin runs every hook already", async () => {
    const machine = new Machine();
    const id = "ambient-signals@acme";
    machine.write(SETTINGS, { enabledPlugins: { [id]: true } });
    const start = machine.files();
    const { code, stderr } = await machine.run("install", ["--yes"]);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `error: plugin: ${id}: is enabled, and every hook would run twice; first run: claude plugin uninstall ${id}\n`,
    );
    assert.deepEqual(machine.files(), start);
  });

  const wrong: [args: string[], says: RegExp][] = [
    [["--json"], /--json: cannot ask; add --yes, or --dry-run/],
    [["--yes", "--dry-run"], /--yes: not with --dry-run/],
    [["--scope", "projct"], /--scope: projct: is not one of user, project, local; did you mean project\?/],
    [
      ["--harness", "claude"],
      /--harness: claude: is not one of claude-code, codex; did you mean claude-code\?/,
    ],
    [["user"], /user: unexpected argument/],
  ];
  for (const [args, says] of wrong) {
    test(`with wrong arguments: ${args.join(" ")}`, async () => {
      const machine = new Machine();
      for (const script of ["install", "uninstall"]) {
        const { code, stderr } = await machine.run(script, args);
        assert.equal(code, 2);
        assert.match(stderr, says);
      }
      assert.deepEqual(machine.files(), {});
    });
  }
});

describe("the settings file", { concurrency: 4 }, () => {
  test("is written through a symbolic link, with its mode, also where the link leads nowhere yet", async () => {
    const machine = new Machine();
    machine.write("dotfiles/claude.json", "{}\n");
    chmodSync(machine.at("dotfiles/claude.json"), 0o640);
    mkdirSync(machine.at(".claude"));
    symlinkSync("../dotfiles/claude.json", machine.at(SETTINGS));
    mkdirSync(machine.at("api/.claude"));
    symlinkSync("../../dotfiles/api.json", machine.at("api/.claude/settings.json"));
    await machine.install();
    await machine.install("--scope", "project");
    for (const [file, link] of [
      ["claude", SETTINGS],
      ["api", "api/.claude/settings.json"],
    ] as const) {
      assert.ok(lstatSync(machine.at(link)).isSymbolicLink());
      assert.deepEqual(Object.keys(machine.commands(`dotfiles/${file}.json`)), EVENTS);
    }
    assert.equal(statSync(machine.at("dotfiles/claude.json")).mode & 0o777, 0o640);
    await machine.uninstall();
    assert.equal(machine.read("dotfiles/claude.json"), "{}\n");
    assert.equal(existsSync(machine.at("dotfiles/api.json")), false);
  });

  test("is the one of the scope, and the files stay as long as one of them names the hooks", async () => {
    const machine = new Machine();
    const local = "api/.claude/settings.local.json";
    await machine.install("--scope", "local");
    assert.deepEqual(Object.keys(machine.commands(local)), EVENTS);
    assert.equal(machine.read(SETTINGS), undefined);

    const { stderr } = await machine.install();
    assert.equal(stderr, "", "the client runs the same command once, wherever it is named");

    const first = await machine.uninstall("--scope", "user");
    assert.match(first.stderr, /^note: .*settings\.local\.json still has entries, so the files stay; .*$/m);
    assert.equal(machine.read(SETTINGS), undefined);
    assert.ok(existsSync(machine.at(`${DATA}/launch`)));
    assert.deepEqual(Object.keys(machine.commands(local)), EVENTS);

    await machine.uninstall("--scope", "local");
    assert.deepEqual(machine.files(), {});
    assert.equal(existsSync(machine.at("api/.claude")), false);
  });

  test("is given back wherever it is, from any other folder", async () => {
    const machine = new Machine();
    await machine.install("--scope", "project");
    await machine.install();
    mkdirSync(machine.at("elsewhere"));
    const file = join(BUNDLES, "scripts", "uninstall.mjs");
    const gone = await run(process.execPath, [file, "--yes"], {
      cwd: machine.at("elsewhere"),
      env: { HOME: machine.home },
    });
    assert.equal(gone.code, 0, gone.stderr);
    assert.deepEqual(machine.files(), {});
  });

  test("loses only our handlers, when the client and the person have written into it since", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, { hooks: { Stop: [] } });
    await machine.install();
    const { hooks } = JSON.parse(machine.read(SETTINGS) ?? "");
    hooks.SessionStart[0].hooks.push({ type: "command", command: "true" });
    hooks.SessionEnd[0].matcher = "clear";
    machine.write(SETTINGS, {
      permissions: { allow: [] },
      hooks: { ...hooks, PreToolUse: [] },
      model: "opus",
    });
    await machine.uninstall();
    assert.deepEqual(JSON.parse(machine.read(SETTINGS) ?? ""), {
      permissions: { allow: [] },
      hooks: { SessionStart: [{ hooks: [{ type: "command", command: "true" }] }], Stop: [], PreToolUse: [] },
      model: "opus",
    });
  });

  test("is cleaned by the launcher's path, when nobody knows any more what was written", async () => {
    const machine = new Machine();
    machine.write(SETTINGS, '{\n  "model": "opus"\n}\n');
    await machine.install();
    rmSync(machine.at(`${DATA}/installed.json`));
    const alone = join(tempDirectory("alone"), "uninstall.mjs");
    copyFileSync(join(BUNDLES, "scripts/uninstall.mjs"), alone);
    const gone = await machine.sh(`node ${alone} --yes`);
    assert.deepEqual([gone.code, gone.stderr], [0, ""]);
    assert.deepEqual(machine.files(), { [SETTINGS]: '{\n  "model": "opus"\n}\n' });
  });
});

describe("installing again", { concurrency: 4 }, () => {
  test("with another version of the client moves to the events that it knows, and back", async () => {
    const machine = new Machine("2.0.1");
    const own = '{\n  "hooks": {\n    "PostToolUse": []\n  }\n}\n';
    machine.write(SETTINGS, own);
    const events = () =>
      Object.entries(machine.commands()).flatMap(([event, { length }]) => (length ? [event] : []));
    await machine.install();
    assert.deepEqual(events().sort(), [
      "PostToolUse",
      "SessionEnd",
      "SessionStart",
      "Stop",
      "UserPromptSubmit",
    ]);
    machine.client("2.0.60");
    await machine.install();
    assert.ok(events().includes("PostToolUseFailure"));
    machine.client("2.1.332");
    await machine.install();
    assert.deepEqual(events().sort(), [...EVENTS].sort());
    machine.client(undefined);
    const again = await machine.install();
    assert.match(again.stdout, /^nothing to do: /m, "a client that is not found now is still the one it was");
    machine.client("2.0.1");
    await machine.install();
    assert.ok(events().includes("PostToolUse") && !events().includes("PostToolBatch"));
    await machine.uninstall();
    assert.deepEqual(machine.files(), { [SETTINGS]: own });
  });

  test("takes the events that every version knows while none is found", async () => {
    const machine = new Machine();
    machine.client(undefined);
    const { stderr } = await machine.install();
    assert.match(
      stderr,
      /^note: claude is not on PATH: only events that every version of it knows are used/m,
    );
    assert.deepEqual(
      Object.keys(machine.commands()),
      EVENTS.map((event) => (event === "PostToolBatch" ? "PostToolUse" : event)),
    );
  });

  test("keeps what a person added to an entry, and puts back one that is missing", async () => {
    const machine = new Machine();
    await machine.install();
    const { hooks } = JSON.parse(machine.read(SETTINGS) ?? "");
    const stop = hooks.Stop[0].hooks[0];
    stop.command += " --dir /tmp/inbox";
    stop.timeout = 60;
    machine.write(SETTINGS, { hooks: { ...hooks, SessionEnd: [] } });
    await machine.install();
    assert.deepEqual(machine.commands()["Stop"], [stop.command]);
    assert.equal(machine.commands()["SessionEnd"]?.length, 1);
  });

  test("with --dir names the inbox in every command", async () => {
    const machine = new Machine();
    await machine.install();
    await machine.install("--dir", "an inbox");
    for (const [event, commands] of Object.entries(machine.commands())) {
      assert.equal(commands.length, 1, event);
      assert.ok(commands[0]?.endsWith(` --dir '${machine.project}/an inbox'`), commands[0]);
    }
  });

  test("with --dir changes the commands where they stand, and nothing else", async () => {
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const { hooks } = JSON.parse(machine.read(CODEX_HOOKS) ?? "");
    hooks.Stop[0].hooks[0].timeout = 60;
    hooks.Stop.push({ hooks: [{ type: "command", command: "true" }] });
    machine.write(CODEX_HOOKS, { hooks });
    const before = machine.read(CODEX_HOOKS);
    await machine.install("--dir", "box");
    const said = ` --dir '${machine.project}/box'`;
    assert.equal(machine.read(CODEX_HOOKS)?.split(said).length, CODEX_EVENTS.length + 1);
    assert.equal(machine.read(CODEX_HOOKS)?.replaceAll(said, ""), before);
  });

  test("with --dir leaves one of two entries for the same hook", async () => {
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const { hooks } = JSON.parse(machine.read(CODEX_HOOKS) ?? "");
    for (const inbox of ["a", "b"]) {
      const command = machine.launch(`hooks/codex/stop --dir /${inbox}`);
      hooks.Stop.push({ hooks: [{ type: "command", command }] });
    }
    machine.write(CODEX_HOOKS, { hooks });
    await machine.install("--dir", "/b");
    assert.deepEqual(machine.commands(CODEX_HOOKS)["Stop"], [machine.launch("hooks/codex/stop --dir /b")]);
  });

  test("without --dir stays with the inbox that it was told of, at events that are new to it too", async () => {
    const machine = new Machine("2.0.1");
    await machine.install("--dir", "an inbox");
    machine.client("2.1.332");
    await machine.install();
    const all = Object.entries(machine.commands()).filter(([, { length }]) => length > 0);
    assert.deepEqual(all.map(([event]) => event).sort(), [...EVENTS].sort());
    for (const [event, commands] of all) {
      assert.equal(commands.length, 1, event);
      assert.ok(commands[0]?.endsWith(` --dir '${machine.project}/an inbox'`), commands[0]);
    }
  });

  test("replaces an older version's files and removes those that are no more", async () => {
    const machine = new Machine();
    await machine.install();
    const manifest = JSON.parse(machine.read(`${DATA}/installed.json`) ?? "");
    machine.write(`${DATA}/scripts/stop-gap.mjs`, "// of an older version\n");
    machine.write(`${DATA}/scripts/own.mjs`, "// the person's own\n");
    machine.write(`${DATA}/scripts/list.mjs`, "// of an older version\n");
    machine.write(`${DATA}/installed.json`, {
      ...manifest,
      version: "0.0.1",
      files: { ...manifest.files, "scripts/stop-gap.mjs": "" },
    });
    const before = machine.read(SETTINGS);
    await machine.install();
    assert.equal(machine.read(SETTINGS), before, "the settings do not depend on the version");
    assert.equal(machine.read(`${DATA}/scripts/stop-gap.mjs`), undefined);
    assert.equal(
      machine.read(`${DATA}/scripts/list.mjs`),
      readFileSync(join(BUNDLES, "scripts/list.mjs"), "utf8"),
    );
    assert.deepEqual(JSON.parse(machine.read(`${DATA}/installed.json`) ?? ""), manifest);
    await machine.uninstall();
    assert.deepEqual(Object.keys(machine.files()), [`${DATA}/scripts/own.mjs`]);
  });
});

describe("broken off anywhere", { concurrency: 4 }, () => {
  /** What is loaded before a script so that it is killed at its so many-th change of a file. */
  const killedAt = (count: number) => `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { renameSync, rmSync } = fs;
let left = ${count};
const change = (work) => (...args) => --left === 0 ? process.kill(process.pid, "SIGKILL") : work(...args);
Object.assign(fs, { renameSync: change(renameSync), rmSync: change(rmSync) });
syncBuiltinESMExports();
`;

  /** Every hook that the settings name runs. */
  async function works(machine: Machine) {
    for (const command of Object.values(machine.commands()).flat()) {
      const options = { cwd: machine.project, env: { HOME: machine.home }, stdin: "" };
      const { code, stderr } = await run("/bin/sh", ["-c", command], options);
      assert.deepEqual([code, stderr], [0, ""], command);
    }
  }

  for (const back of [0, 1, 3, 60]) {
    test(`${back} steps before its end, the client works, and the next run finishes it`, async () => {
      const machine = new Machine();
      machine.write(SETTINGS, "{}\n");
      const { stdout } = await machine.run("install", ["--dry-run", "--json"]);
      const steps = JSON.parse(stdout).files.length + 1;
      const preload = join(tempDirectory("killed"), "preload.mjs");
      for (const [verb, end] of [
        ["install", EVENTS],
        ["uninstall", []],
      ] as const) {
        writeFileSync(preload, killedAt(steps - back));
        machine.env = { NODE_OPTIONS: `--import=${preload}` };
        const killed = await machine.run(verb, ["--yes"]);
        assert.equal(killed.signal, "SIGKILL", killed.stderr);
        machine.env = {};
        await works(machine);
        const { code, stderr } = await machine.run(verb, ["--yes"]);
        assert.equal(code, 0, stderr);
        assert.deepEqual(Object.keys(machine.commands()), end);
      }
      assert.deepEqual(machine.files(), { [SETTINGS]: "{}\n" });
    });
  }
});

test("what a dead process left half-written is swept up, and what a living one is writing is not", async () => {
  const machine = new Machine();
  machine.write("dotfiles/claude.json", "{}\n");
  mkdirSync(machine.at(".claude"));
  symlinkSync("../dotfiles/claude.json", machine.at(SETTINGS));
  const start = machine.files();
  const halves = (pid: number | undefined) =>
    [`${DATA}/scripts/list.mjs`, `${DATA}/installed.json`, COMMAND, "dotfiles/claude.json"].map((path) => {
      machine.write(`${path}.${pid}.x1y2z3.tmp`, "half");
      return `${path}.${pid}.x1y2z3.tmp`;
    });
  const living = halves(process.pid);
  for (const verb of ["install", "install", "uninstall"] as const) {
    const dead = halves(spawnSync("true").pid);
    await machine[verb]();
    const files = Object.keys(machine.files());
    for (const path of dead) assert.ok(!files.includes(path), `${verb}: ${path}`);
    for (const path of living) assert.ok(files.includes(path), `${verb}: ${path}`);
  }
  for (const path of living) rmSync(machine.at(path));
  assert.deepEqual(machine.files(), start);
});

describe("an installation that is not whole", { concurrency: 2 }, () => {
  const damage: [what: string, hurt: (file: string) => void][] = [
    ["lost a file", (file) => rmSync(file)],
    ["has a changed file", (file) => writeFileSync(file, "// changed\n")],
  ];
  for (const [what, hurt] of damage) {
    test(`since it ${what} does not install itself again, and the command that it names mends it`, async () => {
      const machine = new Machine();
      await machine.install();
      const whole = machine.files();
      const file = machine.at(`${DATA}/scripts/list.mjs`);
      hurt(file);
      const hurtFiles = machine.files();
      const { again } = machine.manifest;
      assert.equal((await machine.sh("signals doctor")).code, 1);
      const { code, stderr } = await machine.sh(`${machine.launch("scripts/install")} --yes`);
      const says = `installation: ${file}: is gone, or not as it was written; run: ${again}`;
      assert.deepEqual([code, stderr], [1, `error: ${says}\n`]);
      assert.deepEqual(machine.files(), hurtFiles);

      const mended = await machine.sh(again);
      assert.equal(mended.code, 0, mended.stderr);
      assert.deepEqual(machine.files(), whole);
      const doctor = await machine.sh("signals doctor");
      assert.equal(doctor.code, 0, doctor.stdout);
    });
  }

  test("without its launcher says so in one line where signals is typed", async () => {
    const machine = new Machine();
    await machine.install();
    rmSync(machine.at(`${DATA}/launch`));
    const { code, stdout, stderr } = await machine.sh("signals list");
    assert.deepEqual([code, stdout], [127, ""]);
    assert.match(stderr, /^error: signals: \/[^\n]*\/launch is gone; install again: [^\n]+\n$/);
  });
});

describe("at once", () => {
  const cases: [what: string, scopes: string[]][] = [
    ["three scopes", ["user", "project", "local"]],
    ["the same six times", Array(6).fill("user")],
  ];
  for (const [what, scopes] of cases) {
    test(`${what}: each is done or says that something was changed meanwhile, and one uninstall takes all back`, async () => {
      const machine = new Machine();
      machine.write(SETTINGS, '{\n  "model": "opus"\n}\n');
      machine.write("api/.claude/settings.local.json", "");
      const start = machine.files();
      const runs = await Promise.all(
        scopes.map((scope) => machine.run("install", ["--yes", "--scope", scope])),
      );
      for (const [i, { code, stderr }] of runs.entries()) {
        if (code === 0) continue;
        assert.match(stderr, /^error: [^\n]*: was changed meanwhile, and is left as it is; run this again$/m);
        await machine.install("--scope", scopes[i] ?? "");
      }
      assert.equal((await machine.sh("signals doctor")).code, 0);
      await machine.uninstall();
      assert.deepEqual(machine.files(), start);
    });
  }
});

test("one that was planned before another was done does not forget the other", async () => {
  const machine = new Machine();
  const [asked, go] = [machine.at("asked"), machine.at("go")];
  const slow = `#!/bin/sh\n: > '${asked}'\nwhile [ ! -e '${go}' ]; do sleep 0.02; done\necho 2.1.332\n`;
  const folder = tempDirectory("slow");
  writeFileSync(join(folder, "claude"), slow, { mode: 0o755 });
  machine.env = { PATH: [folder, "/usr/bin", "/bin"].join(delimiter) };
  const late = machine.run("install", ["--yes", "--scope", "project"]);
  while (!existsSync(asked)) await sleep(10);
  machine.env = {};
  await machine.install();
  const { manifest } = machine;
  writeFileSync(go, "");
  const { code, stderr } = await late;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: .*\/installed\.json: was changed meanwhile, and is left as it is; run this again$/m,
  );
  assert.deepEqual(machine.manifest, manifest);
  assert.equal(machine.read("api/.claude/settings.json"), undefined);
});

describe("wherever it is run", { concurrency: 4 }, () => {
  test("the project's settings in the home directory are the user's", async () => {
    const machine = new Machine();
    machine.cwd = machine.home;
    const { stdout, stderr } = await machine.install("--scope", "project", "--json");
    assert.equal(JSON.parse(stdout).scope, "user", stderr);
    assert.deepEqual(JSON.parse(stdout).notes, []);
    assert.deepEqual(
      Object.values(machine.manifest.settings).map((one) => Object(one).scope),
      ["user"],
    );
    await machine.uninstall("--scope", "user");
    assert.deepEqual(machine.files(), {});
  });

  test("a home directory by another path has the same command and the same hooks", async () => {
    const machine = new Machine();
    await machine.install();
    const settings = machine.read(SETTINGS);
    const link = join(tempDirectory("link"), "ada");
    symlinkSync(machine.home, link);
    machine.env = { HOME: link, PATH: [machine.path, join(link, ".local/bin")].join(delimiter) };
    const { stderr } = await machine.install();
    assert.equal(stderr, "", "the command is ours");
    assert.equal(machine.read(SETTINGS), settings);
    await machine.uninstall();
    assert.deepEqual(machine.files(), {});
  });

  test("hooks of an installation elsewhere are named with the command that takes them back", async () => {
    const machine = new Machine();
    machine.env = { XDG_DATA_HOME: machine.at("my data") };
    await machine.install();
    machine.env = {};
    const { stderr } = await machine.install();
    const notes = [...stderr.matchAll(/^note: \S.* runs (.*) as well; run: (.*)$/gm)];
    const back = notes.map(([, , command = ""]) => command);
    const data = machine.at("my data");
    assert.deepEqual(back, [`XDG_DATA_HOME='${data}' '${data}/ambient-signals/launch' scripts/uninstall`]);
    assert.equal(notes[0]?.[1]?.split(", ").length, EVENTS.length);
    const gone = await machine.sh(`${back[0]} --yes`);
    assert.equal(gone.code, 0, gone.stderr);
    assert.equal(existsSync(data), false);
    for (const [event, commands] of Object.entries(machine.commands()))
      assert.equal(commands.length, 1, event);
    assert.equal((await machine.install()).stderr, "");
    await machine.uninstall();
    assert.deepEqual(Object.keys(machine.files()), [SETTINGS], "with lists that others had been in");
    assert.deepEqual(Object.values(machine.commands()).flat(), []);
  });

  test("a directory that was removed keeps nobody from looking", async () => {
    const machine = new Machine();
    await machine.install();
    for (const command of ["install --dry-run", "uninstall --dry-run", "doctor"]) {
      const { code, stdout, stderr } = await machine.sh(
        `mkdir ../gone && cd ../gone && rmdir ../gone && signals ${command}`,
      );
      assert.equal(code, 0, `${command}: ${stdout}${stderr}`);
      assert.doesNotMatch(`${stdout}${stderr}`, /error|did not work/, command);
    }
  });
});

test("a list of files that leads elsewhere is not believed", async () => {
  const machine = new Machine();
  machine.write(SETTINGS, "{}\n");
  await machine.install();
  const manifest = JSON.parse(machine.read(`${DATA}/installed.json`) ?? "");
  machine.write(`${DATA}/installed.json`, { ...manifest, files: { launch: "", "../../../mine": "" } });
  machine.write("mine", "");
  await machine.uninstall();
  assert.deepEqual(machine.files(), { mine: "", [SETTINGS]: "{}\n" });
});

describe("what a person should know", { concurrency: 4 }, () => {
  test("a copy that is registered already runs as well, and is named with its place", async () => {
    const machine = new Machine();
    const copy = join(BUNDLES, "hooks/claude-code/stop.mjs");
    const file = machine.write(SETTINGS, {
      hooks: { Stop: [{ hooks: [{ type: "command", command: `node ${copy}` }] }] },
    });
    const { stderr } = await machine.install();
    assert.ok(stderr.includes(`note: ${file} runs stop (line 6) as well; take out line 6\n`), stderr);
    assert.equal(machine.commands()["Stop"]?.length, 2);
    const gone = await machine.uninstall();
    assert.ok(gone.stderr.includes(`note: ${file}:6: goes on to run stop (node ${copy})\n`), gone.stderr);
  });

  test("so does what is installed in another scope with another inbox", async () => {
    const machine = new Machine();
    await machine.install("--scope", "local", "--dir", "/tmp/inbox");
    const { stderr } = await machine.install();
    const file = machine.at("api/.claude/settings.local.json");
    const note =
      "runs session-start (line \\d+), .*, stop (line \\d+), .* as well; run: signals uninstall --scope local";
    assert.match(stderr, new RegExp(`^note: ${file} ${note.replace(/[()]/g, "\\$&")}$`, "m"));
  });

  test("hooks that are switched off stay so", async () => {
    const machine = new Machine();
    const file = machine.write("api/.claude/settings.json", '{"disableAllHooks":true}');
    const { stderr } = await machine.install();
    assert.match(stderr, /says disableAllHooks: no hook runs until that line is taken out/);
    assert.ok(stderr.includes(file));
  });

  test("a command of that name that is not ours stays, in uninstalling too", async () => {
    const machine = new Machine();
    machine.write(COMMAND, "#!/bin/sh\necho mine\n");
    const { stderr } = await machine.install();
    assert.ok(
      stderr.includes(
        `${machine.at(COMMAND)} is none of ours and stays; for signals type ${machine.launch("scripts/signals")}`,
      ),
    );
    await machine.uninstall();
    assert.deepEqual(machine.files(), { [COMMAND]: "#!/bin/sh\necho mine\n" });
  });

  test("a folder of commands that is not on PATH is said", async () => {
    const machine = new Machine();
    machine.env = { PATH: "/usr/bin:/bin" };
    const { stderr } = await machine.install();
    assert.match(
      stderr,
      /^note: .*\/\.local\/bin is not on your PATH; add it, or for signals type '.*\/signals'$/m,
    );
  });

  test("project settings are for others too", async () => {
    const { stderr } = await new Machine().install("--scope", "project");
    assert.match(
      stderr,
      /^note: whoever gets these settings with the project gets none of the files in your home/m,
    );
  });
});

test("--json is one document that says what changed", async () => {
  const machine = new Machine();
  const report = async (name: string, ...args: string[]) => {
    const { code, stdout, stderr } = await machine.run(name, ["--json", ...args]);
    assert.deepEqual([code, stderr], [0, ""]);
    return JSON.parse(stdout);
  };
  const clients = [{ harness: "claude-code", scope: "user", events: EVENTS }];
  const { files, ...planned } = await report("install", "--dry-run");
  assert.deepEqual(planned, {
    scope: "user",
    settings: [machine.at(SETTINGS)],
    changed: true,
    events: EVENTS,
    clients,
    trust: [],
    service: null,
    notes: [],
  });
  assert.ok(files.includes(machine.at(`${DATA}/launch`)) && files.includes(machine.at(COMMAND)));
  assert.deepEqual(await report("install", "--yes"), { files, ...planned });
  const nothing = { ...planned, settings: [], changed: false, files: [] };
  assert.deepEqual(await report("install", "--yes"), nothing);
  const { files: removed, ...gone } = await report("uninstall", "--yes");
  assert.deepEqual(gone, { ...planned, scope: null, clients: [{ ...clients[0], scope: null }] });
  assert.deepEqual(removed.sort(), files.sort());
});

describe("Codex beside Claude Code", { concurrency: 4 }, () => {
  const both = [SETTINGS, CODEX_HOOKS];
  const codexOnly = (machine: Machine) => rmSync(join(machine.path, "claude"));
  const folder = (path: string) => (machine: Machine) => mkdirSync(machine.at(path), { recursive: true });
  const variable = (name: string) => (machine: Machine) => {
    machine.env[name] = machine.at(name);
  };
  const clients: [what: string, machine: Machine, prepare: (machine: Machine) => void, settings: string[]][] =
    [
      ["Claude Code, when that is on PATH alone", new Machine(), () => {}, [SETTINGS]],
      ["Codex, when that is on PATH alone", Machine.withCodex(), codexOnly, [CODEX_HOOKS]],
      ["both, when both are", Machine.withCodex(), () => {}, both],
      ["both, when neither is there", new Machine(), codexOnly, both],
      ["one that is not on PATH and has settings, too", new Machine(), folder(".codex"), both],
      [
        "one that a variable names, too",
        new Machine(),
        variable("CODEX_HOME"),
        [SETTINGS, "CODEX_HOME/hooks.json"],
      ],
    ];
  for (const [what, machine, prepare, settings] of clients) {
    test(`is installed for each that a person has: ${what}`, async () => {
      prepare(machine);
      const { stdout } = await machine.install("--json");
      assert.deepEqual(
        JSON.parse(stdout).settings,
        settings.map((path) => machine.at(path)),
      );
    });
  }

  const flags: [args: string[], settings: string[], note: RegExp | undefined][] = [
    [["--harness", "codex"], [CODEX_HOOKS], undefined],
    [["--harness", "claude-code"], [SETTINGS], undefined],
    [
      ["--scope", "project"],
      ["api/.claude/settings.json", "api/.codex/hooks.json"],
      /only where it trusts the project/,
    ],
    [
      ["--scope", "local"],
      ["api/.claude/settings.local.json"],
      /^note: Codex is left out, since it has no settings of that kind; for it, choose --scope user or --scope project$/m,
    ],
  ];
  for (const [args, settings, note] of flags) {
    test(`${args.join(" ")} is for ${settings.join(" and ")}`, async () => {
      const machine = Machine.withCodex();
      const { stderr } = await machine.install(...args);
      const written = Object.keys(machine.files()).filter((file) => !file.startsWith(".local/"));
      assert.deepEqual(written, settings);
      if (note) assert.match(stderr, note);
      await machine.uninstall();
      assert.deepEqual(machine.files(), {});
    });
  }

  const OWN = '{"type":"command","command":"true"}';
  const files: [what: string, text: string | undefined][] = [
    ["no file at all", undefined],
    ["an empty object", "{}"],
    ["an empty file", ""],
    [
      "hooks of one's own",
      `{\n\t"description": "mine",\n\t"hooks": { "Stop": [ {"hooks":[${OWN}]} ], "PreCompact": [] }\n}\n`,
    ],
  ];
  for (const [what, text] of files) {
    test(`${what} is byte for byte as before in the end, and our hooks come last`, async () => {
      const machine = Machine.withCodex();
      if (text !== undefined) machine.write(CODEX_HOOKS, text);
      const start = machine.files();
      const installed = await machine.install();
      assert.match(
        installed.stdout,
        /^installed: Claude Code runs 5 hooks of ambient-signals, in open sessions too; Codex runs 6 hooks of ambient-signals, as far as you trust them$/m,
      );
      const { hooks } = JSON.parse(machine.read(CODEX_HOOKS) ?? "");
      const own = text?.includes("true") ? [{ hooks: [JSON.parse(OWN)] }] : [];
      for (const { event, hook, timeout } of CODEX_POINTS) {
        const command = machine.launch(`hooks/codex/${hook}`);
        const ours = { hooks: [{ type: "command", command, timeout, statusMessage: "Ambient signals" }] };
        assert.deepEqual(hooks[event], [...(event === "Stop" ? own : []), ours]);
      }
      const after = machine.files();
      const again = await machine.install();
      assert.match(
        again.stdout,
        /^nothing to do: Claude Code runs 5 hooks of ambient-signals already; Codex runs 6 hooks of ambient-signals, as far as you trust them$/m,
      );
      assert.deepEqual(machine.files(), after);
      const gone = await machine.uninstall();
      assert.match(
        gone.stdout,
        /^uninstalled: 5 hooks are out of the settings of Claude Code, 6 hooks are out of the settings of Codex$/m,
      );
      assert.deepEqual(machine.files(), start);
    });
  }

  test("an update, and another node, leave what Codex was told to trust as it is", async () => {
    const machine = Machine.withCodex();
    await machine.install();
    const settings = machine.read(CODEX_HOOKS);
    const { manifest } = machine;
    machine.write(`${DATA}/hooks/codex/stop.mjs`, "// of an older version\n");
    machine.write(`${DATA}/installed.json`, { ...manifest, version: "0.0.1", node: "/opt/node" });
    const { stdout } = await machine.install();
    assert.match(stdout, /^installed: /m);
    assert.doesNotMatch(stdout, /trust-codex-hooks/, "there is nothing new to trust");
    assert.equal(machine.read(CODEX_HOOKS), settings);
    assert.deepEqual(machine.manifest, manifest);
  });

  test("what is installed is what a session of Codex is told by", async () => {
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const { home, project: cwd } = machine;
    const options = { cwd, env: { HOME: home } };
    await run(machine.at(COMMAND), ["fire", "--key", "k", "--summary", "CI is failing"], options);
    const payload = readFileSync(join(ROOT, "fixtures/codex/SessionStart.json"), "utf8");
    const stdin = JSON.stringify({ ...JSON.parse(payload), cwd });
    const [command = ""] = machine.commands(CODEX_HOOKS)["SessionStart"] ?? [];
    const told = await run("/bin/bash", ["-c", command], { ...options, stdin });
    assert.match(
      JSON.parse(told.stdout).hookSpecificOutput.additionalContext,
      /what happened: CI is failing/,
      told.stderr,
    );
  });

  const inboxes: [what: string, env: string | undefined, args: string[], codex: string, claude: string][] = [
    ["the usual inbox, and names none", undefined, [], "", ""],
    ["the usual one, when the environment names just that", "HOME/.harn/signals/", [], "", ""],
    [
      "another that the environment names, whatever shell its hooks run in",
      "HOME/in box",
      [],
      " --dir 'HOME/in box'",
      "",
    ],
    [
      "the one of --dir, as Claude Code is",
      "HOME/other",
      ["--dir", "in"],
      " --dir 'HOME/api/in'",
      " --dir 'HOME/api/in'",
    ],
  ];
  for (const [what, named, args, codex, claude] of inboxes) {
    test(`Codex is told of ${what}`, async () => {
      const machine = Machine.withCodex();
      const whole = (text: string) => text.replace("HOME", machine.home);
      if (named !== undefined) machine.env["HARN_EXT_SIGNALS_DIR"] = whole(named);
      await machine.install(...args);
      // Later, the environment says something else.
      machine.env["HARN_EXT_SIGNALS_DIR"] = machine.at("later");
      await machine.install();
      const ends = (path: string, end: string) => {
        const all = Object.values(machine.commands(path)).flat();
        assert.equal(all.length, path === SETTINGS ? EVENTS.length : CODEX_EVENTS.length);
        for (const command of all)
          assert.match(command, /^'[^']*\/launch' hooks\/[\w-]+\/[\w-]+( --dir '.*')?$/);
        for (const command of all)
          assert.ok(command.endsWith(whole(end)) && command.includes("--dir") === (end !== ""));
      };
      ends(CODEX_HOOKS, codex);
      ends(SETTINGS, claude);
    });
  }

  test("of two, one goes and the other stays, and the files go with the last", async () => {
    for (const [first, last] of [
      ["codex", "claude-code"],
      ["claude-code", "codex"],
    ] as const) {
      const machine = Machine.withCodex();
      await machine.install();
      const { stderr } = await machine.uninstall("--harness", first);
      const left = last === "codex" ? CODEX_HOOKS : SETTINGS;
      assert.ok(
        stderr.includes(
          `note: ${machine.at(left)} still has entries, so the files stay; without --scope or --harness all of it goes\n`,
        ),
      );
      const installed = Object.keys(machine.files()).filter((file) => !file.startsWith(".local/"));
      assert.deepEqual(installed, [left]);
      assert.deepEqual(
        Object.values(machine.manifest.settings).map((one) => Object(one).harness),
        [last],
      );
      const own = await machine.run("install", ["--yes", "--harness", last], "", machine.at(DATA));
      assert.match(own.stderr, new RegExp(` --yes --harness ${last}$`, "m"), "an update adds no other");
      await machine.uninstall("--harness", last);
      assert.deepEqual(machine.files(), {});
    }
  });

  test("an entry of the other client's hook is replaced, since it would do the wrong thing", async () => {
    const machine = Machine.withCodex();
    await machine.install();
    machine.write(
      CODEX_HOOKS,
      machine.read(CODEX_HOOKS)?.replace("hooks/codex/stop", "hooks/claude-code/stop"),
    );
    await machine.install();
    assert.deepEqual(machine.commands(CODEX_HOOKS)["Stop"], [machine.launch("hooks/codex/stop")]);
  });

  test("the same hook of two scopes runs twice in Codex, which is said with what ends that", async () => {
    const machine = Machine.withCodex();
    await machine.install("--scope", "project");
    mkdirSync(machine.at("api/.git"));
    machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
    machine.cwd = machine.at("api/lib");
    mkdirSync(machine.cwd);
    const { stderr } = await machine.install();
    const file = machine.at("api/.codex/hooks.json");
    const back = `cd '${machine.project}' && signals uninstall --scope project --harness codex`;
    const notes = stderr.split("\n").filter((line) => line.startsWith(`note: ${file} `));
    assert.deepEqual(
      [notes.length, notes[0]?.match(/\(line \d+\)/g)?.length],
      [1, CODEX_EVENTS.length],
      stderr,
    );
    assert.ok(notes[0]?.endsWith(` as well; run: ${back}`), stderr);
    assert.doesNotMatch(stderr, /claude-code/);
  });

  test("the hooks of a second work tree are those of the first, so there is nothing to install", async () => {
    const machine = Machine.withCodex();
    machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("api/.git/worktrees/b/HEAD", "ref: refs/heads/b\n");
    machine.write("api/.git/worktrees/b/commondir", "../..\n");
    machine.write("b/.git", `gitdir: ${machine.project}/.git/worktrees/b\n`);
    machine.cwd = machine.at("b/lib");
    mkdirSync(machine.cwd);
    const why = "reads the hooks of a second work tree from the first one";
    const there = `run this in ${machine.project}/lib`;
    const { stderr } = await machine.install("--scope", "project");
    assert.ok(stderr.includes(`note: Codex is left out, since it ${why}; for it, ${there}\n`), stderr);
    const refused = await machine.run("install", ["--yes", "--scope", "project", "--harness", "codex"]);
    assert.deepEqual(
      [refused.code, refused.stderr],
      [2, `error: --scope: project: Codex ${why}; ${there}\n`],
    );
  });

  const notes: [what: string, file: string, content: string, says: string][] = [
    [
      "a file of which Codex runs nothing",
      CODEX_HOOKS,
      '{\n  "hooks": {},\n  "model": "x"\n}\n',
      'line 3: has the key "model", where Codex takes only "description" and "hooks": it runs nothing of this file until that is mended',
    ],
    [
      "hooks in config.toml, of which Codex warns",
      CODEX_CONFIG,
      '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n',
      "has hooks as well: Codex runs both, and warns of that at every start",
    ],
    [
      "hooks that are switched off",
      CODEX_CONFIG,
      "[features]\nhooks = false\n",
      "says hooks = false under [features]: Codex runs no hook until that line is taken out",
    ],
    [
      "nothing, when config.toml only says whom Codex trusts",
      CODEX_CONFIG,
      '[hooks.state."x"]\ntrusted_hash = "y"\n',
      "",
    ],
  ];
  for (const [what, file, content, says] of notes) {
    test(`what a person should know: ${what}`, async () => {
      const machine = Machine.withCodex();
      const path = machine.write(file, content);
      const { stderr } = await machine.install();
      if (says === "") assert.equal(stderr, "");
      else assert.match(stderr, /^note: /);
      assert.ok(stderr.includes(says) && stderr.includes(says && path), stderr);
      await machine.uninstall();
      assert.deepEqual(machine.files(), { [file]: content });
    });
  }

  test("what stands behind ours moves up when they go, so Codex may ask about it once more", async () => {
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const { hooks } = JSON.parse(machine.read(CODEX_HOOKS) ?? "");
    hooks.Stop.push({ hooks: [{ type: "command", command: "true" }] });
    hooks.SessionEnd.unshift({ hooks: [{ type: "command", command: "true" }] });
    const file = machine.write(CODEX_HOOKS, { hooks });
    const { stderr } = await machine.uninstall();
    assert.equal(stderr, `note: ${file}:52: moves up, so Codex may ask once more to trust it (Stop)\n`);
    assert.deepEqual(machine.commands(CODEX_HOOKS), { Stop: ["true"], SessionEnd: ["true"] });
  });

  test("the plugin is refused for the client that has it", async () => {
    const machine = Machine.withCodex();
    const id = "ambient-signals@acme";
    machine.write(CODEX_CONFIG, `[plugins."${id}"]\nenabled = true\n`);
    mkdirSync(machine.at(".codex/plugins/cache/acme/ambient-signals/0.1.0"), { recursive: true });
    const { code, stderr } = await machine.run("install", ["--yes"]);
    const says = `plugin: ${id}: is enabled, and every hook would run twice; first run: codex plugin remove ${id}`;
    assert.deepEqual([code, stderr], [1, `error: ${says}\n`]);
    await machine.install("--harness", "claude-code");
  });
});

describe("that Codex trusts hooks", { concurrency: 4 }, () => {
  const FLAG = "--trust-codex-hooks";

  test("is for the person to say, and the last lines say how", async () => {
    const machine = Machine.withCodex();
    const { stdout } = await machine.install("--scope", "project");
    assert.deepEqual(stdout.split("\n").slice(-6, -4), [
      "Codex runs only hooks that you trust: it asks about new ones when it starts in a terminal, codex exec does not",
      `to trust exactly these now: signals install --harness codex --scope project ${FLAG}`,
    ]);
    assert.equal(machine.read(CODEX_CONFIG), undefined);
    assert.equal(machine.manifest.trust, undefined);
  });

  const refusals: [
    what: string,
    args: string[],
    prepare: (machine: Machine) => unknown,
    code: number,
    says: RegExp,
  ][] = [
    [
      "without Codex on PATH",
      [],
      (machine) => rmSync(join(machine.path, "codex")),
      1,
      /^error: --trust-codex-hooks: there is no codex on PATH to ask; put it there, or leave the flag out$/m,
    ],
    [
      "for Claude Code",
      ["--harness", "claude-code"],
      () => {},
      2,
      /^error: --trust-codex-hooks: nothing is installed for Codex here; use --harness codex, or leave the flag out$/m,
    ],
    [
      "for a scope that Codex has not",
      ["--scope", "local"],
      () => {},
      2,
      /nothing is installed for Codex here/,
    ],
    [
      "while Codex runs nothing of the file",
      [],
      (machine) => machine.write(CODEX_HOOKS, '{"model":"x"}'),
      1,
      /hooks\.json: line 1: has the key "model", .*; mend that first$/m,
    ],
    [
      "while its settings cannot be read",
      [],
      (machine) => machine.write(CODEX_CONFIG, "a = = 1\n"),
      1,
      /config\.toml: line 1: is not TOML: invalid value; mend that first$/m,
    ],
    [
      "while hooks are switched off",
      [],
      (machine) => machine.write(CODEX_CONFIG, "[features]\nhooks = false\n"),
      1,
      /config\.toml: says hooks = false under \[features\]: .*; do that first$/m,
    ],
    [
      "while its settings cannot be written",
      [],
      (machine) => chmodSync(machine.write(CODEX_CONFIG, ""), 0o444),
      1,
      /config\.toml: cannot be written \(EACCES\); make it writable, or leave out --trust-codex-hooks$/m,
    ],
  ];
  for (const [what, args, prepare, code, says] of refusals) {
    test(`is refused ${what}, before anything is written`, async () => {
      const machine = Machine.withCodex();
      prepare(machine);
      const start = machine.files();
      const refused = await machine.run("install", ["--yes", FLAG, ...args]);
      assert.equal(refused.code, code, refused.stderr);
      assert.match(refused.stderr, says);
      assert.deepEqual(machine.files(), start);
    });
  }

  test("is not refused for what a project's settings say, when it is for the person's own", async () => {
    const machine = Machine.withCodex();
    machine.write(CODEX_CONFIG, `[projects.${JSON.stringify(machine.project)}]\ntrust_level = "trusted"\n`);
    machine.write("api/.codex/config.toml", "[features]\nhooks = false\n");
    const { stderr } = await machine.run("install", ["--yes", FLAG]);
    assert.match(stderr, /the hooks are installed, and Codex was not told to trust them: .*refused/);
  });

  test("is shown before it is asked for, and not done by a dry run or a no", async () => {
    const machine = Machine.withCodex();
    const shown = await machine.run("install", ["--dry-run", FLAG]);
    const line = `also let Codex trust these hooks, in ${machine.at(CODEX_CONFIG)}`;
    assert.ok(shown.stdout.split("\n").includes(line), shown.stdout);
    const json = await machine.run("install", ["--dry-run", "--json", FLAG]);
    assert.deepEqual(JSON.parse(json.stdout).trust, [
      { config: machine.at(CODEX_CONFIG), hooks: CODEX_EVENTS.length },
    ]);
    const { stderr } = await machine.run("install", [FLAG], "n\n");
    assert.match(stderr, /^Write this, and let Codex trust its hooks\? \[y\/N\] $/m);
    assert.deepEqual(machine.files(), {});
  });

  test("fails by itself: the hooks are installed, and that is said", async () => {
    const machine = Machine.withCodex();
    const { code, stderr } = await machine.run("install", ["--yes", FLAG]);
    const why = "codex app-server: ended early (1): refused; try it: codex doctor";
    const says = `trust: the hooks are installed, and Codex was not told to trust them: ${why}`;
    assert.deepEqual([code, stderr], [1, `error: ${says}\n`]);
    assert.deepEqual(Object.keys(machine.commands(CODEX_HOOKS)), CODEX_EVENTS);
    await machine.uninstall();
    assert.deepEqual(machine.files(), {});
  });

  /** Installed, and noted as if Codex had been told to trust one hook. */
  async function trusting(config: string | undefined): Promise<{ machine: Machine; key: string }> {
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const settings = machine.at(CODEX_HOOKS);
    const key = `${settings}:stop:0:0`;
    const trust = {
      [machine.at(CODEX_CONFIG)]: { before: null, hooks: { [key]: { settings, hash: "sha256:1" } } },
    };
    machine.write(`${DATA}/installed.json`, { ...machine.manifest, trust });
    if (config !== undefined) machine.write(CODEX_CONFIG, config.replace("KEY", key));
    return { machine, key };
  }

  const TRUSTED = '[hooks.state."KEY"]\ntrusted_hash = "sha256:1"\n';
  const left: [what: string, prepare: (machine: Machine) => void, says: RegExp][] = [
    [
      "no codex is on PATH",
      (machine) => rmSync(join(machine.path, "codex")),
      /^note: no codex is on PATH, so /,
    ],
    [
      "Codex refuses",
      () => {},
      /^note: .* \(codex app-server: ended early \(1\): refused; try it: codex doctor\)$/m,
    ],
  ];
  for (const [what, prepare, says] of left) {
    test(`stays where ${what}, which is said, and the rest goes`, async () => {
      const { machine, key } = await trusting(TRUSTED);
      prepare(machine);
      const config = machine.read(CODEX_CONFIG);
      const { stderr } = await machine.uninstall();
      assert.match(stderr, says);
      const table = `${machine.at(CODEX_CONFIG)} goes on to trust hooks that are gone; take out [hooks.state."${key}"]`;
      assert.ok(stderr.includes(table), stderr);
      assert.deepEqual(machine.files(), { [CODEX_CONFIG]: config });
    });
  }

  test("by the person's own word stays when nothing is left in the file, which is said", async () => {
    const says = (hooks: number) =>
      `keeps the trust that you gave ${hooks} hooks by hand; it does no harm, and holds again if you install again\n`;
    const byHand = (place: string) => `[hooks.state."KEY${place}"]\ntrusted_hash = "sha256:2"\n`;
    const config = (machine: Machine) =>
      `${byHand("")}${byHand("0")}`.replaceAll("KEY", `${machine.at(CODEX_HOOKS)}:stop:0:`);
    const machine = Machine.withCodex();
    await machine.install("--harness", "codex");
    const other = '[hooks.state."/other/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:2"\n';
    const file = machine.write(CODEX_CONFIG, config(machine) + other);
    const { stderr } = await machine.uninstall();
    assert.equal(stderr, `note: ${file} ${says(2)}`);

    const beside = Machine.withCodex();
    beside.write(CODEX_HOOKS, { hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } });
    beside.write(CODEX_CONFIG, config(beside));
    await beside.install("--harness", "codex");
    assert.equal((await beside.uninstall()).stderr, "", "there is one of theirs that it may be about");

    const { machine: ours } = await trusting(TRUSTED);
    assert.doesNotMatch((await ours.uninstall()).stderr, /by hand/);
  });

  test("is kept on record, with all else, while config.toml cannot be read", async () => {
    const { machine } = await trusting("a = = 1\n");
    const before = machine.files();
    const { code, stderr } = await machine.run("uninstall", ["--yes"]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: settings: .*config\.toml: line 1: is not TOML: .*; nothing was changed, mend that first\n$/,
    );
    assert.deepEqual(machine.files(), before);
  });

  const own: [what: string, config: string | undefined][] = [
    ["was said by the person since", '[hooks.state."KEY"]\ntrusted_hash = "sha256:2"\n'],
    ["is not said any more", "# mine\n"],
    ["was said in a file that is gone", undefined],
  ];
  for (const [what, config] of own) {
    test(`is not taken back where it ${what}`, async () => {
      const { machine } = await trusting(config);
      const before = machine.read(CODEX_CONFIG);
      const { stderr } = await machine.uninstall();
      assert.doesNotMatch(stderr, /refused/, "Codex is not even asked");
      assert.deepEqual(machine.files(), before === undefined ? {} : { [CODEX_CONFIG]: before });
    });
  }

  test("is remembered by an update, and forgotten with the settings that it was about", async () => {
    const { machine } = await trusting(TRUSTED);
    const { trust } = machine.manifest;
    machine.write(`${DATA}/scripts/list.mjs`, "// of an older version\n");
    await machine.install();
    assert.deepEqual(machine.manifest.trust, trust);
    await machine.uninstall("--harness", "claude-code");
    assert.deepEqual(machine.manifest.trust, trust);
    await machine.install();
    await machine.uninstall("--harness", "codex");
    assert.equal(machine.manifest.trust, undefined);
  });
});
