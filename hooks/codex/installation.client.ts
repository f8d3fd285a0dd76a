import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { CLIENTS } from "../../lib/client.ts";
import { type CodexHook, codexHooks } from "../../lib/codex-app-server.ts";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { codexBinary, codexShell } from "../../lib/testing/codex.ts";
import { type Run, run, runFile } from "../../lib/testing/process.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { tempDirectory } from "../../lib/testing/temp.ts";
import { bash, bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

const HOOKS = CLIENTS.codex.points.length;
const FLAG = "--trust-codex-hooks";

/** From nothing to a signal in both real clients and back again, as a person would do it. */

let claude = "";
before(
  async () => {
    [claude] = await Promise.all([claudeBinary(), codexBinary(), bundles()]);
  },
  { timeout: 300_000 },
);

/** The person's shell, which finds both clients, and the command once it is installed. */
async function shellOf({ home }: Workshop): Promise<Record<string, string>> {
  const { PATH = "", ...env } = await codexShell(home);
  return { ...env, PATH: [join(home, ".local", "bin"), dirname(claude), PATH].join(delimiter) };
}

/** The installed command. */
async function signals(shop: Workshop, ...args: string[]): Promise<Run> {
  const options = { cwd: shop.project, env: await shellOf(shop) };
  return run(join(shop.home, ".local", "bin", "signals"), args, options);
}

/** The hooks that Codex knows of. */
async function codexHooksOf(shop: Workshop, env: Record<string, string> = {}): Promise<CodexHook[]> {
  const situation = { cwd: shop.project, env: { ...(await shellOf(shop)), ...env } };
  return (await codexHooks(situation)).hooks;
}

/** Whether Codex trusts those with this in their command, each kind of answer once. */
function statusOf(hooks: readonly CodexHook[], part: string): string {
  const some = hooks.filter(({ command = "" }) => command.includes(part));
  return [...new Set(some.map(({ trustStatus }) => trustStatus))].join();
}

/** A command at the end of an event's in Codex's settings, that the person has trusted. */
async function addTrusted(shop: Workshop, event: string, command: string): Promise<void> {
  const file = join(shop.home, ".codex", "hooks.json");
  const { hooks } = JSON.parse(readFileSync(file, "utf8"));
  hooks[event].push({ hooks: [{ type: "command", command }] });
  writeFileSync(file, JSON.stringify({ hooks }, undefined, 2));
  const hook = (await codexHooksOf(shop)).find((one) => one.command === command);
  const table = `\n[hooks.state."${hook?.key}"]\ntrusted_hash = "${hook?.currentHash}"\n`;
  appendFileSync(join(shop.home, ".codex", "config.toml"), table);
}

/** The person trusts the project, which lets Codex read its hooks. */
function trustProject({ home, project }: Workshop, folder = join(home, ".codex")): string {
  mkdirSync(folder, { recursive: true });
  const text = `# mine\n[projects.${JSON.stringify(project)}]\ntrust_level = "trusted"\n`;
  writeFileSync(join(folder, "config.toml"), text, { mode: 0o640 });
  return text;
}

/** The same for one that has to succeed; returns what it printed. */
async function done(shop: Workshop, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await signals(shop, ...args);
  assert.equal(code, 0, `signals ${args.join(" ")}: ${stdout}\n${stderr}`);
  return stdout;
}

interface Check {
  check: string;
  status: string;
  found: string;
  mend?: string;
}

/** The faults that the doctor finds, and its exit status. */
async function diagnosis(shop: Workshop): Promise<{ code: number | null; checks: Check[]; faults: Check[] }> {
  const { code, stdout } = await signals(shop, "doctor", "--json");
  const checks: Check[] = JSON.parse(stdout);
  return { code, checks, faults: checks.filter(({ status }) => status === "fault") };
}

describe("an installation for both clients", PARALLEL, () => {
  test("in an empty home directory: all well but for Codex's trust, then all well, told in both, and gone", async () => {
    const shop = new Workshop();
    const env = await shellOf(shop);
    const before = readdirSync(shop.home);
    const installed = await runFile("scripts/install.mts", ["--yes"], { cwd: shop.project, env });
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(
      installed.stdout,
      /^installed: Claude Code runs 5 hooks of ambient-signals.*Codex runs 6 hooks/m,
    );
    assert.match(installed.stdout, /^Codex runs only hooks that you trust/m);
    assert.ok(
      !existsSync(join(shop.home, ".codex", "config.toml")),
      "nothing is trusted in the person's name",
    );

    const untrusted = await diagnosis(shop);
    assert.deepEqual(
      [untrusted.code, untrusted.faults.map(({ check }) => check)],
      [1, ["trust"]],
      JSON.stringify(untrusted.faults),
    );
    assert.match(
      untrusted.faults[0]?.found ?? "",
      /^Codex does not run 6 hooks of .*hooks\.json: not trusted/,
    );

    await done(shop, "fire", "--key", RED[0], "--summary", RED[1]);
    const unheard = await shop.codex([exec("true"), "Done."]);
    assert.deepEqual(
      timesShown(unheard.requests, "mbient"),
      [0, 0],
      "untrusted hooks are passed over in silence",
    );

    const [, mend = ""] = /or: signals (.*)$/.exec(untrusted.faults[0]?.mend ?? "") ?? [];
    assert.match(mend, /--trust-codex-hooks$/);
    await done(shop, ...mend.split(" "), "--yes");
    const trusted = await diagnosis(shop);
    assert.deepEqual([trusted.code, trusted.faults], [0, []]);
    assert.equal(trusted.checks.find(({ check }) => check === "trust")?.status, "ok");

    const heard = await shop.codex([exec("true"), "Done."]);
    assert.deepEqual(timesShown(heard.requests, RED_TOLD), [1, 0]);
    await done(shop, "fire", "--key", "pool:linux", "--summary", "All linux runners are offline");
    const other = await shop.session([bash("true"), "Done."]);
    assert.deepEqual(timesShown(other.requests, "what happened: All linux runners are offline"), [1, 0]);
    assert.deepEqual((await diagnosis(shop)).faults, []);

    await done(shop, "uninstall", "--yes");
    assert.ok(!existsSync(shop.settings));
    for (const file of ["hooks.json", "config.toml"])
      assert.ok(!existsSync(join(shop.home, ".codex", file)), file);
    const left = readdirSync(shop.home).filter((name) => !before.includes(name));
    assert.ok(!left.includes(".local"), "the folders that were made for it are gone too");
    await shop.fire("ci:next", "CI is failing again");
    assert.deepEqual(timesShown((await shop.codex(["Hello."])).requests, "mbient"), [0]);
  });

  test("beside a person's own settings gives each file back byte for byte, their trust included", async () => {
    const shop = new Workshop();
    const folder = join(shop.home, ".codex");
    const own = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "hooks.json"), own);
    const [theirs] = await codexHooksOf(shop);
    const files: Record<string, string> = {
      "hooks.json": own,
      "config.toml": [
        '# mine\nmodel = "a-model"   # the good one\n\n[tui]\nshow_tooltips = false\n',
        `[hooks.state."${theirs?.key}"]\ntrusted_hash = "${theirs?.currentHash}" # by hand\n`,
        '[hooks.state."/off/hooks.json:stop:0:0"]\nenabled = false',
      ].join("\n"),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    mkdirSync(dirname(shop.settings), { recursive: true });
    writeFileSync(shop.settings, own);

    const env = await shellOf(shop);
    const flags = ["--yes", FLAG];
    const installed = await runFile("scripts/install.mts", flags, { cwd: shop.project, env });
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(installed.stdout, /^Codex was told to trust 6 of them: /m);
    const trusted = readFileSync(join(folder, "config.toml"), "utf8");
    assert.equal(trusted.match(/trusted_hash/g)?.length, 1 + HOOKS);
    assert.match(trusted, /enabled = false/);
    assert.equal(statusOf(await codexHooksOf(shop), "true"), "trusted");

    await shop.fire(...RED);
    const told = await shop.codex([exec("true"), "Done."]);
    assert.deepEqual(timesShown(told.requests, RED_TOLD), [1, 0]);

    const commands = readFileSync(join(folder, "hooks.json"), "utf8");
    await done(shop, "install", "--yes");
    assert.equal(
      readFileSync(join(folder, "hooks.json"), "utf8"),
      commands,
      "an update asks for no new trust",
    );
    assert.deepEqual((await diagnosis(shop)).faults, []);

    await done(shop, "uninstall", "--yes");
    for (const [name, text] of Object.entries(files)) {
      assert.equal(readFileSync(join(folder, name), "utf8"), text, name);
    }
    assert.equal(readFileSync(shop.settings, "utf8"), own);
  });

  test("takes one client back and leaves the other", async () => {
    const shop = new Workshop();
    const flags = ["--yes", FLAG];
    const options = { cwd: shop.project, env: await shellOf(shop) };
    assert.equal((await runFile("scripts/install.mts", flags, options)).code, 0);
    await done(shop, "uninstall", "--yes", "--harness", "claude-code");
    assert.ok(!existsSync(shop.settings));
    await shop.fire(...RED);
    const told = await shop.codex(["Done."]);
    assert.deepEqual(timesShown(told.requests, RED_TOLD), [1]);
    await done(shop, "uninstall", "--yes", "--harness", "codex");
    assert.ok(!existsSync(join(shop.home, ".codex", "hooks.json")));
    assert.ok(!existsSync(join(shop.home, ".local")));
  });
});

describe("that Codex trusts the hooks", PARALLEL, () => {
  test("follows them to another inbox, leaves what stands behind them trusted, and goes with them", async () => {
    const shop = new Workshop();
    await shop.installForCodex();
    await addTrusted(shop, "Stop", "true");
    const trustOf = async () => {
      const hooks = await codexHooksOf(shop);
      return [statusOf(hooks, "hooks/codex/"), statusOf(hooks, "true")];
    };
    assert.deepEqual(await trustOf(), ["trusted", "trusted"]);

    const installed = await done(shop, "install", "--harness", "codex", "--yes", "--dir", "box");
    assert.match(installed, /--trust-codex-hooks$/m);
    assert.deepEqual(await trustOf(), ["modified", "trusted"]);
    await done(shop, "install", "--harness", "codex", "--yes", FLAG);
    assert.deepEqual(await trustOf(), ["trusted", "trusted"]);

    const file = join(shop.home, ".codex", "hooks.json");
    const changed = readFileSync(file, "utf8").replace(/"('.* hooks\/codex\/interrupt)/, '"A=1 $1');
    writeFileSync(file, changed);
    const { stdout, stderr } = await signals(shop, "install", "--harness", "codex", "--yes", FLAG);
    assert.match(stdout, /^installed: Codex runs 5 of 6 hooks of ambient-signals, in new sessions$/m);
    assert.match(stderr, /^note: interrupt is for you to trust, since the command was changed \(A=1 /m);
    assert.deepEqual(await trustOf(), ["trusted,modified", "trusted"]);

    await done(shop, "uninstall", "--yes");
    const { hooks } = JSON.parse(readFileSync(file, "utf8"));
    assert.deepEqual(Object.keys(hooks), ["Stop"]);
    const config = readFileSync(join(shop.home, ".codex", "config.toml"), "utf8");
    assert.deepEqual(config.match(/^(\[|trusted).*/gm)?.length, 3, "the table of tables, and theirs");
    assert.ok(config.includes(`hooks.json:stop:1:0"]`), config);
  });

  test("of two scopes stays with the one that stays, and a hook that is switched off is not counted", async () => {
    const shop = new Workshop();
    const config = trustProject(shop);
    const file = join(shop.home, ".codex", "config.toml");
    await shop.installForCodex();
    await shop.installForCodex({ flags: ["--scope", "project"] });
    const trusted = async () => {
      const hooks = await codexHooksOf(shop);
      const ofFile = (folder: string) =>
        hooks.filter(({ sourcePath }) => sourcePath === join(folder, ".codex", "hooks.json"));
      return [shop.home, shop.project].map(
        (folder) => ofFile(folder).filter(({ trustStatus }) => trustStatus === "trusted").length,
      );
    };
    assert.deepEqual(await trusted(), [HOOKS, HOOKS]);
    await done(shop, "uninstall", "--yes", "--scope", "user");
    assert.deepEqual(await trusted(), [0, HOOKS]);

    const on = readFileSync(file, "utf8");
    writeFileSync(file, on.replace(/(?<=session_end:0:0"\]\n)/, "enabled = false\n"));
    const again = await signals(shop, "install", "--harness", "codex", "--scope", "project", "--yes", FLAG);
    assert.match(again.stdout, /Codex runs 5 of 6 hooks of ambient-signals/);
    assert.match(again.stderr, /^note: sessionEnd is switched off in Codex/m);
    writeFileSync(file, on);

    await done(shop, "uninstall", "--yes");
    assert.equal(readFileSync(file, "utf8"), config);
  });

  test("is not given to what a project has brought along for an inbox of its own", async () => {
    const shop = new Workshop();
    trustProject(shop);
    const flags = ["--harness", "codex", "--scope", "project", "--yes"];
    await shop.installForCodex({ trusted: false, flags: ["--scope", "project", "--dir", ".box"] });
    const { stdout, stderr } = await signals(shop, "install", ...flags, FLAG);
    assert.match(stdout, /Codex runs 0 of 6 hooks/);
    const note =
      /^note: \w+ is for you to trust, since its command names another inbox \(.*\/\.box'\); --dir DIR/gm;
    assert.equal(stderr.match(note)?.length, HOOKS, stderr);
    assert.equal(statusOf(await codexHooksOf(shop), "hooks/codex/"), "untrusted");

    await done(shop, "install", ...flags, FLAG, "--dir", join(shop.home, "mine"));
    assert.equal(statusOf(await codexHooksOf(shop), "--dir"), "trusted");
  });

  test("is taken back in the folder where it was given, whatever a project says and another environment names", async () => {
    const shop = new Workshop();
    const folder = join(shop.home, "other");
    const another = `\n[hooks.state."${folder}/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:another"\n`;
    const config = trustProject(shop, folder) + another;
    writeFileSync(join(folder, "config.toml"), config);
    mkdirSync(join(shop.project, ".codex"));
    writeFileSync(join(shop.project, ".codex", "config.toml"), "[features]\nhooks = false\n");
    const env = { ...(await codexShell(shop.home)), CODEX_HOME: folder };
    const { code, stdout, stderr } = await shop.run("install", ["--harness", "codex", "--yes", FLAG], env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Codex was told to trust 6 of them: .*\/other\/config\.toml$/m);
    await done(shop, "uninstall", "--yes");
    assert.equal(readFileSync(join(folder, "config.toml"), "utf8"), config);
    assert.ok(!existsSync(join(folder, "hooks.json")));
  });

  test("is taken back at once, and what was broken off before is finished", async () => {
    const shop = new Workshop();
    const config = join(shop.home, ".codex", "config.toml");
    await shop.installForCodex();
    const { PATH = "", ...env } = await shellOf(shop);
    const [folder = "", ...folders] = PATH.split(delimiter).filter((one) => existsSync(join(one, "codex")));
    assert.deepEqual(folders, []);
    const between = tempDirectory("between");
    const script = `#!/bin/sh\ntee -a ${between}/asked | ${join(folder, "codex")} "$@"\n`;
    writeFileSync(join(between, "codex"), script, { mode: 0o755 });
    const asked = { ...env, PATH: [between, PATH].join(delimiter) };
    const uninstall = () => shop.run("uninstall", ["--yes"], asked);
    assert.equal((await uninstall()).code, 0);
    assert.equal(readFileSync(join(between, "asked"), "utf8").match(/batchWrite/g)?.length, 1);
    assert.ok(!existsSync(config));

    await shop.installForCodex();
    writeFileSync(config, "[hooks.state]\n");
    assert.equal((await uninstall()).code, 0);
    assert.ok(!existsSync(config));
  });
});
