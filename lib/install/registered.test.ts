import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { stringify } from "smol-toml";
import { ROOT, tempDirectory } from "../testing/process.ts";
import { shellWord } from "../text.ts";
import { type Registered, registeredHooks } from "./registered.ts";

/** A home directory and a folder to work in, with files in it. */
class Machine {
  readonly home = realpathSync(tempDirectory("registered"));
  readonly cwd = join(this.home, "api");
  readonly env: Record<string, string> = { HOME: this.home };

  constructor() {
    mkdirSync(this.cwd);
  }

  /** Writes a file, text or JSON, below the home directory. */
  write(path: string, content: unknown): string {
    const file = join(this.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, undefined, 2));
    return file;
  }

  /** Settings with one handler, for an event that does not matter. */
  settings(path: string, handler: object | string): string {
    const whole = typeof handler === "string" ? { type: "command", command: handler } : handler;
    return this.write(path, { hooks: { Stop: [{ hooks: [whole] }] } });
  }

  registered(cwd = this.cwd) {
    return registeredHooks("claude-code", { cwd, env: this.env });
  }

  /** The same of Codex. */
  codex(folder = "api") {
    return registeredHooks("codex", { cwd: join(this.home, folder), env: this.env });
  }

  /** A path below the home directory as it is shown in tests. */
  short(path: string): string {
    return path.replace(`${this.home}/`, "");
  }
}

const DATA = ".local/share/ambient-signals";

/** What a bundle says of itself. */
function bundle(name: string, version = "0.0.1"): string {
  return `#!/usr/bin/env node\n// ${name}.mts of ambient-signals ${version} as one file that needs only node.\n`;
}

describe("a handler is known as ours", () => {
  const machine = new Machine();
  machine.write(`${DATA}/hooks/claude-code/stop.mjs`, bundle("hooks/claude-code/stop", "1.2.3"));
  const copy = machine.write("dot files/renamed.mjs", bundle("hooks/claude-code/post-tool-use"));
  machine.write("api/hooks/own.mjs", bundle("hooks/claude-code/stop"));
  machine.write("signals.mjs", bundle("scripts/signals"));
  machine.write("other.mjs", "// nothing of ours\n");
  machine.write("own.mts", 'import { look } from "ambient-signals";\n');
  const { home } = machine;
  const source = join(ROOT, "hooks/claude-code/stop.mts");
  const launcher = `${home}/${DATA}/launch`;

  type Known = Pick<Registered, "entry" | "hook" | "kind" | "version">;
  const stop = { hook: "stop", entry: "hooks/claude-code/stop" };
  const installed: Known = { kind: "installed", ...stop, version: "1.2.3" };
  const entry = "hooks/claude-code/post-tool-use";
  const renamed: Known = { kind: "copy", hook: "post-tool-use", entry, version: "0.0.1" };
  const cases: [what: string, handler: object | string, known: Known | undefined][] = [
    ["by the launcher", `${launcher} hooks/claude-code/stop`, installed],
    ["by the launcher in quotes, with flags", `'${launcher}' hooks/claude-code/stop --dir x`, installed],
    ["by the launcher behind a variable", `A=1 "${launcher}" hooks/claude-code/stop`, installed],
    ["by the launcher in the home directory", `~/${DATA}/launch hooks/claude-code/stop`, installed],
    ["by the launcher in $HOME", `"$HOME"/${DATA}/launch hooks/claude-code/stop`, installed],
    [
      "by the launcher without a shell",
      { type: "command", command: launcher, args: ["hooks/claude-code/stop"] },
      installed,
    ],
    [
      "by the launcher, though the bundle is gone",
      `${launcher} hooks/claude-code/old`,
      { kind: "installed", hook: "old", entry: "hooks/claude-code/old" },
    ],
    [
      "by a launcher elsewhere",
      "/opt/ambient-signals/launch hooks/claude-code/stop",
      { kind: "launcher", ...stop },
    ],
    ["by a copied bundle, whatever its name", `node "${copy}"`, renamed],
    ["by a copied bundle with spaces escaped", `node ${copy.replaceAll(" ", "\\ ")}`, renamed],
    ["by a copied bundle without a shell", { type: "command", command: "node", args: [copy] }, renamed],
    [
      "by a copied bundle in the project",
      "node $CLAUDE_PROJECT_DIR/hooks/own.mjs",
      { kind: "copy", ...stop, version: "0.0.1" },
    ],
    ["by a source file", `npx tsx ${source}`, { kind: "copy", ...stop }],
    [
      "by a source file of one's own, which does not say whose hook it is",
      `npx tsx ${home}/own.mts`,
      { kind: "copy", hook: "own" },
    ],
    [
      "by the launcher, though the hook is another client's",
      `${launcher} hooks/codex/stop`,
      { kind: "installed", hook: "stop", entry: "hooks/codex/stop" },
    ],
    ["but not a script of ours", `node ${home}/signals.mjs fire`, undefined],
    ["but not a script by the launcher", `${launcher} scripts/fire --summary x`, undefined],
    ["but not a file of others", `node ${home}/other.mjs`, undefined],
    ["but not a file that is not there", `node ${home}/none.mjs`, undefined],
    ["but not another command", "echo 'launch hooks/claude-code/stop", undefined],
    ["but not what is no command", { type: "http", url: launcher }, undefined],
  ];
  for (const [what, handler, known] of cases) {
    test(what, () => {
      const file = machine.settings(".claude/settings.json", handler);
      const { hooks } = machine.registered();
      const said = typeof handler === "string" ? handler : Object.values(handler).slice(1).flat().join(" ");
      assert.deepEqual(
        hooks,
        known
          ? [{ harness: "claude-code", event: "Stop", command: said, line: 6, from: "user", file, ...known }]
          : [],
      );
    });
  }
});

test("a home directory that looks like a variable, or holds quotes, is taken as it is", () => {
  const machine = new Machine();
  const home = join(machine.home, '$HOME\'s "~" `x`');
  const launcher = `${home}/${DATA}/launch`;
  machine.settings(".claude/settings.json", `${shellWord(launcher)} hooks/claude-code/stop`);
  const env = { HOME: home, CLAUDE_CONFIG_DIR: join(machine.home, ".claude") };
  const { hooks } = registeredHooks("claude-code", { cwd: machine.cwd, env });
  assert.deepEqual(
    hooks.map(({ kind, hook }) => [kind, hook]),
    [["installed", "stop"]],
  );
});

describe("settings are those that the client reads:", () => {
  test("the user's, the project's and the local ones", () => {
    const machine = new Machine();
    const launch = `${machine.home}/${DATA}/launch hooks/claude-code/stop`;
    const files = [".claude/settings.json", "api/.claude/settings.json", "api/.claude/settings.local.json"];
    for (const file of files) machine.settings(file, launch);
    const { hooks } = machine.registered();
    assert.deepEqual(
      hooks.map(({ from, file }) => [from, file]),
      ["user", "project", "local"].map((scope, i) => [scope, join(machine.home, files[i] ?? "")]),
    );
  });

  test("none is there", () => {
    const machine = new Machine();
    const { files, hooks, plugins } = machine.registered();
    assert.deepEqual([hooks, plugins], [[], []]);
    assert.deepEqual(
      files.map(({ scope, exists, hooksOff }) => [scope, exists, hooksOff]),
      ["user", "project", "local"].map((scope) => [scope, false, false]),
    );
  });

  test("a home directory that is the project has its file once, by whichever path", () => {
    const machine = new Machine();
    machine.settings(".claude/settings.json", `${machine.home}/${DATA}/launch hooks/claude-code/stop`);
    assert.equal(machine.registered(machine.home).hooks.length, 1);
    symlinkSync(machine.home, join(machine.home, "again"));
    assert.equal(machine.registered(join(machine.home, "again")).hooks.length, 1);
  });

  test("those of CLAUDE_CONFIG_DIR instead of the home directory's", () => {
    const machine = new Machine();
    machine.env["CLAUDE_CONFIG_DIR"] = join(machine.home, "config");
    const file = machine.settings(
      "config/settings.json",
      `${machine.home}/${DATA}/launch hooks/claude-code/stop`,
    );
    machine.settings(".claude/settings.json", `${machine.home}/${DATA}/launch hooks/claude-code/stop`);
    assert.deepEqual(
      machine.registered().hooks.map((hook) => hook.file),
      [file],
    );
  });

  test("the local ones of the repository's root too, from a folder in it and from a second work tree", () => {
    const machine = new Machine();
    const root = machine.settings("api/.claude/settings.local.json", "true");
    machine.settings("api/.claude/settings.json", "true");
    machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("api/.git/worktrees/b/HEAD", "ref: refs/heads/b\n");
    machine.write("api/.git/worktrees/b/commondir", "../..\n");
    machine.write("b/.git", `gitdir: ${machine.cwd}/.git/worktrees/b\n`);
    for (const folder of ["api/lib", "b"]) {
      mkdirSync(join(machine.home, folder), { recursive: true });
      const { files } = machine.registered(join(machine.home, folder));
      assert.deepEqual(
        files.filter(({ exists }) => exists).map(({ path }) => path),
        [root],
        folder,
      );
    }
  });

  test("what is wrong with one is said with the line, and the others hold", () => {
    const machine = new Machine();
    machine.write(".claude/settings.json", '{\n  "a": 1,\n}');
    machine.write("api/.claude/settings.json", '{ "disableAllHooks": true }');
    machine.write("api/.claude/settings.local.json", "[]");
    assert.deepEqual(
      machine.registered().files.map(({ fault, hooksOff }) => [fault, hooksOff]),
      [
        ['line 3: is not JSON: a comma before "}"', false],
        [undefined, true],
        ["line 1: is no object in braces", false],
      ],
    );
  });
});

describe("the package as a plugin", () => {
  const ID = "ambient-signals@acme";

  /** With the plugin installed, and enabled or not by each of the files. */
  function withPlugin(enabled: Record<string, unknown>) {
    const machine = new Machine();
    const path = join(machine.home, "cache");
    const hooks = {
      Stop: [{ hooks: [{ type: "command", command: `node "\${CLAUDE_PLUGIN_ROOT}/dist/stop.mjs"` }] }],
    };
    machine.write("cache/hooks/hooks.json", { hooks });
    machine.write("cache/dist/stop.mjs", bundle("hooks/claude-code/stop"));
    const list = [{ scope: "user", installPath: path, version: "0.0.1" }];
    machine.write(".claude/plugins/installed_plugins.json", { version: 2, plugins: { [ID]: list } });
    for (const [file, value] of Object.entries(enabled))
      machine.write(file, { enabledPlugins: { [ID]: value } });
    return machine;
  }

  test("runs its own hooks where it is enabled", () => {
    const machine = withPlugin({ ".claude/settings.json": true });
    const { hooks, plugins } = machine.registered();
    const path = join(machine.home, "cache");
    const hooksFile = join(path, "hooks/hooks.json");
    assert.deepEqual(plugins, [{ id: ID, scope: "user", path, hooksFile, version: "0.0.1" }]);
    assert.deepEqual(
      hooks.map(({ event, hook, kind, from, file, version }) => [event, hook, kind, from, file, version]),
      [["Stop", "stop", "plugin", "plugin", join(machine.home, "cache/hooks/hooks.json"), "0.0.1"]],
    );
  });

  const cases: [what: string, enabled: Record<string, unknown>, count: number][] = [
    ["is off where nobody enables it", {}, 0],
    ["is off where the user's settings say so", { ".claude/settings.json": false }, 0],
    [
      "is on where the project enables what the user disables",
      { ".claude/settings.json": false, "api/.claude/settings.json": true },
      1,
    ],
    [
      "is off where the local settings say so",
      { ".claude/settings.json": true, "api/.claude/settings.local.json": false },
      0,
    ],
  ];
  for (const [what, enabled, count] of cases) {
    test(what, () => assert.equal(withPlugin(enabled).registered().plugins.length, count));
  }

  test("is the one that was installed for this project, where there are several", () => {
    const machine = withPlugin({ "api/.claude/settings.local.json": true });
    const list = [
      { scope: "local", installPath: "/elsewhere", version: "0.0.2", projectPath: "/elsewhere" },
      { scope: "local", installPath: "/here", version: "0.0.3", projectPath: machine.cwd },
      { scope: "user", installPath: "/all", version: "0.0.4" },
    ];
    machine.write(".claude/plugins/installed_plugins.json", { version: 2, plugins: { [ID]: list } });
    const hooksFile = "/here/hooks/hooks.json";
    assert.deepEqual(machine.registered().plugins, [
      { id: ID, scope: "local", path: "/here", hooksFile, version: "0.0.3" },
    ]);
  });

  test("is off where it is enabled and not installed", () => {
    const machine = withPlugin({ ".claude/settings.json": true });
    machine.write(".claude/plugins/installed_plugins.json", { version: 2, plugins: {} });
    assert.deepEqual(machine.registered().plugins, []);
  });

  test("counts as enabled where the client's own list is of a form that is not known", () => {
    const machine = withPlugin({ ".claude/settings.json": true });
    machine.write(".claude/plugins/installed_plugins.json", { version: 3, all: [] });
    assert.deepEqual(machine.registered().plugins, [{ id: ID, scope: "user" }]);
  });
});

describe("Codex reads hooks from", () => {
  const launch = (machine: Machine) => `${machine.home}/${DATA}/launch hooks/codex/stop`;
  const places = (machine: Machine, folder?: string) =>
    machine.codex(folder).hooks.map(({ harness, from, file, line, entry }) => {
      assert.deepEqual([harness, entry], ["codex", "hooks/codex/stop"]);
      return `${from} ${machine.short(file)}:${line}`;
    });

  test("hooks.json and config.toml, the person's and the project's", () => {
    const machine = new Machine();
    const config = `# mine\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "${launch(machine)}"\n`;
    for (const folder of [".codex", "api/.codex"]) {
      machine.settings(`${folder}/hooks.json`, launch(machine));
      machine.write(`${folder}/config.toml`, config);
    }
    assert.deepEqual(places(machine), [
      "user .codex/hooks.json:6",
      "user .codex/config.toml:5",
      "project api/.codex/hooks.json:6",
      "project api/.codex/config.toml:5",
    ]);
  });

  test("CODEX_HOME instead of the home directory", () => {
    const machine = new Machine();
    machine.env["CODEX_HOME"] = join(machine.home, "codex");
    for (const folder of [".codex", "codex"]) machine.settings(`${folder}/hooks.json`, launch(machine));
    assert.deepEqual(places(machine), ["user codex/hooks.json:6"]);
    assert.deepEqual(places(machine, "."), ["user codex/hooks.json:6", "project .codex/hooks.json:6"]);
  });

  test("the person's own folder once, when that is the project's too", () => {
    const machine = new Machine();
    machine.settings(".codex/hooks.json", launch(machine));
    assert.deepEqual(places(machine, "."), ["user .codex/hooks.json:6"]);
  });

  test("every folder from the root of the repository down, and above it from none", () => {
    const machine = new Machine();
    machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
    for (const folder of ["api", "api/lib", "api/lib/deep", "api/other"])
      machine.settings(`${folder}/.codex/hooks.json`, launch(machine));
    mkdirSync(join(machine.home, "api/lib/deep/none"));
    assert.deepEqual(places(machine, "api/lib/deep/none"), [
      "project api/.codex/hooks.json:6",
      "project api/lib/.codex/hooks.json:6",
      "project api/lib/deep/.codex/hooks.json:6",
    ]);
    assert.deepEqual(places(machine, "api"), ["project api/.codex/hooks.json:6"], "in the root itself, once");
    machine.settings("plain/.codex/hooks.json", launch(machine));
    mkdirSync(join(machine.home, "plain/sub"));
    assert.deepEqual(places(machine, "plain/sub"), []);
    assert.deepEqual(places(machine, "plain"), ["project plain/.codex/hooks.json:6"]);
  });

  test("the first work tree in the place of a second one, where that has such folders", () => {
    const machine = new Machine();
    machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
    machine.write("api/.git/worktrees/b/HEAD", "ref: refs/heads/b\n");
    machine.write("api/.git/worktrees/b/commondir", "../..\n");
    machine.write("b/.git", `gitdir: ${machine.cwd}/.git/worktrees/b\n`);
    for (const folder of ["api", "api/lib", "b/lib"])
      machine.settings(`${folder}/.codex/hooks.json`, launch(machine));
    assert.deepEqual(places(machine, "b/lib"), ["project api/lib/.codex/hooks.json:6"]);
  });
});

/** A config.toml that trusts the project. */
function trusting({ home }: Machine): string {
  return `[projects.${JSON.stringify(join(home, "api"))}]\ntrust_level = "trusted"\n`;
}

describe("a settings file of Codex", () => {
  const hooks = (event: string, handler: object) => ({ hooks: { [event]: [{ hooks: [handler] }] } });
  const command = { type: "command", command: "true" };
  const takes = "where Codex takes only command, mcp_tool, prompt, agent";
  const cases: [what: string, file: string, content: unknown, fault: string | undefined][] = [
    [
      "with a description is fine",
      "hooks.json",
      { description: "mine", ...hooks("Stop", command) },
      undefined,
    ],
    [
      "with kinds of hooks that it passes over is fine",
      "hooks.json",
      hooks("Stop", { type: "prompt" }),
      undefined,
    ],
    [
      "with an event that it does not know is fine",
      "hooks.json",
      hooks("Notification", { type: "http" }),
      undefined,
    ],
    [
      "with another key is run by nobody",
      "hooks.json",
      { hooks: {}, model: "x" },
      'line 3: has the key "model", where Codex takes only "description" and "hooks"',
    ],
    [
      "with a hook of another type is run by nobody",
      "hooks.json",
      hooks("PreToolUse", { type: "http", url: "x" }),
      `line 6: has a hook of the type "http", ${takes}`,
    ],
    [
      "with a hook that has no type is run by nobody",
      "hooks.json",
      hooks("Stop", { command: "true" }),
      `line 6: has a hook without a type, ${takes}`,
    ],
    [
      "with a byte order mark is run by nobody",
      "hooks.json",
      "\ufeff{}",
      "line 1: begins with a byte order mark, which Codex does not read",
    ],
    [
      "that is no JSON says so",
      "hooks.json",
      '{\n"hooks": }',
      'line 2: is not JSON: "}" is not expected there',
    ],
    ["that is no TOML says so", "config.toml", "[a]\nb = = 1\n", "line 2: is not TOML: invalid value"],
    ["with hooks of no shape says nothing", "config.toml", "hooks = [1]\n[features]\nhooks = 1\n", undefined],
  ];
  for (const [what, file, content, fault] of cases) {
    test(what, () => {
      const machine = new Machine();
      const path = machine.write(`.codex/${file}`, content);
      const { files } = machine.codex();
      const found = files.find((one) => one.path === path);
      assert.deepEqual([found?.exists, found?.fault, found?.hooksOff], [true, fault, false]);
    });
  }

  test("says whether it switches hooks off", () => {
    const machine = new Machine();
    machine.write("api/.codex/config.toml", "[features]\nhooks = false\n");
    machine.write(".codex/config.toml", trusting(machine));
    const off = machine.codex().files.filter(({ hooksOff }) => hooksOff);
    assert.deepEqual(
      off.map(({ path }) => machine.short(path)),
      ["api/.codex/config.toml"],
    );
  });

  const unread: [what: string, files: Record<string, string>][] = [
    ["that switches hooks off", { "config.toml": "[features]\nhooks = false\n" }],
    ["that is no TOML", { "config.toml": "a = = 1\n" }],
    ["that is no JSON", { "hooks.json": "{" }],
    ["that has an http hook", { "hooks.json": '{"hooks":{"Stop":[{"hooks":[{"type":"http"}]}]}}' }],
  ];
  for (const [what, files] of unread) {
    test(`of a project ${what} counts only where the person trusts the project, as Codex has it`, () => {
      const machine = new Machine();
      machine.write("api/.git/HEAD", "ref: refs/heads/main\n");
      for (const [name, text] of Object.entries(files)) machine.write(`api/.codex/${name}`, text);
      mkdirSync(join(machine.home, "api/lib"));
      const bad = () =>
        machine.codex("api/lib").files.filter(({ fault, hooksOff }) => fault || hooksOff).length;
      assert.equal(bad(), 0);
      machine.write(".codex/config.toml", '[projects."/elsewhere"]\ntrust_level = "trusted"\n');
      assert.equal(bad(), 0);
      machine.write(".codex/config.toml", trusting(machine).replace('"trusted"', '"untrusted"'));
      assert.equal(bad(), 0);
      machine.write(".codex/config.toml", trusting(machine));
      assert.equal(bad(), 1);
    });
  }
});

describe("the package as a plugin of Codex", () => {
  const ID = "ambient-signals@acme";
  const CACHE = ".codex/plugins/cache/acme/ambient-signals/0.1.0";

  function withPlugin(user: object, project: object = {}) {
    const machine = new Machine();
    const command = `node "\${PLUGIN_ROOT}/dist/hooks/codex/stop.mjs"`;
    machine.settings(`${CACHE}/hooks/codex/hooks.json`, command);
    machine.settings(`${CACHE}/hooks/hooks.json`, "true");
    machine.write(`${CACHE}/.codex-plugin/plugin.json`, { hooks: "./hooks/codex/hooks.json" });
    machine.write(`${CACHE}/dist/hooks/codex/stop.mjs`, bundle("hooks/codex/stop"));
    machine.write(".codex/config.toml", `${stringify(user)}\n${trusting(machine)}`);
    machine.write("api/.codex/config.toml", stringify(project));
    return machine;
  }
  const enabled = (is: boolean) => ({ plugins: { [ID]: { enabled: is } } });

  test("runs the hooks that it names itself", () => {
    const machine = withPlugin(enabled(true));
    const path = join(machine.home, CACHE);
    const hooksFile = join(path, "hooks/codex/hooks.json");
    const { hooks, plugins } = machine.codex();
    assert.deepEqual(plugins, [{ id: ID, scope: "user", path, hooksFile, version: "0.1.0" }]);
    assert.deepEqual(
      hooks.map(({ harness, entry, kind, from, file }) => [harness, entry, kind, from, file]),
      [["codex", "hooks/codex/stop", "plugin", "plugin", hooksFile]],
    );
  });

  const cases: [what: string, user: object, project: object, count: number][] = [
    ["is off where nobody enables it", {}, {}, 0],
    ["is on where it is only named", { plugins: { [ID]: {} } }, {}, 1],
    ["is off where it is disabled", enabled(false), {}, 0],
    ["is on where the project enables what the person disables", enabled(false), enabled(true), 1],
    ["is off where the project disables it", enabled(true), enabled(false), 0],
    ["is off where plugins are", { ...enabled(true), features: { plugins: false } }, {}, 0],
    ["is another's under another name", { plugins: { "signals@acme": { enabled: true } } }, {}, 0],
  ];
  for (const [what, user, project, count] of cases) {
    test(what, () => assert.equal(withPlugin(user, project).codex().plugins.length, count));
  }

  test("is off where it is enabled and not installed", () => {
    const machine = new Machine();
    machine.write(".codex/config.toml", stringify(enabled(true)));
    assert.deepEqual(machine.codex().plugins, []);
  });
});
