import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
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
    return registeredHooks({ cwd, env: this.env });
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
  const { home } = machine;
  const source = join(ROOT, "hooks/claude-code/stop.mts");
  const launcher = `${home}/${DATA}/launch`;

  type Known = Pick<Registered, "hook" | "kind" | "version">;
  const installed: Known = { kind: "installed", hook: "stop", version: "1.2.3" };
  const renamed: Known = { kind: "copy", hook: "post-tool-use", version: "0.0.1" };
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
      { kind: "installed", hook: "old" },
    ],
    [
      "by a launcher elsewhere",
      "/opt/ambient-signals/launch hooks/claude-code/stop",
      { kind: "launcher", hook: "stop" },
    ],
    ["by a copied bundle, whatever its name", `node "${copy}"`, renamed],
    ["by a copied bundle with spaces escaped", `node ${copy.replaceAll(" ", "\\ ")}`, renamed],
    ["by a copied bundle without a shell", { type: "command", command: "node", args: [copy] }, renamed],
    [
      "by a copied bundle in the project",
      "node $CLAUDE_PROJECT_DIR/hooks/own.mjs",
      { kind: "copy", hook: "stop", version: "0.0.1" },
    ],
    ["by a source file", `npx tsx ${source}`, { kind: "copy", hook: "stop" }],
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
        known ? [{ event: "Stop", command: said, line: 6, from: "user", file, ...known }] : [],
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
  const { hooks } = registeredHooks({ cwd: machine.cwd, env });
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
    assert.deepEqual(plugins, [
      { id: ID, scope: "user", path: join(machine.home, "cache"), version: "0.0.1" },
    ]);
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
    assert.deepEqual(machine.registered().plugins, [
      { id: ID, scope: "local", path: "/here", version: "0.0.3" },
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
