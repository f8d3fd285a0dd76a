import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { codexBinary, codexShell } from "../../lib/testing/codex.ts";
import { type Run, run, runFile } from "../../lib/testing/process.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { bash, bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

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
      /^installed: Claude Code runs 5 hooks of ambient-signals.*Codex runs 5 hooks/m,
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
      /^Codex does not run 5 hooks of .*hooks\.json: not trusted/,
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
    const files: Record<string, string> = {
      "hooks.json": own,
      "config.toml": '# mine\nmodel = "a-model"   # the good one\n\n[tui]\nshow_tooltips = false',
    };
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    mkdirSync(dirname(shop.settings), { recursive: true });
    writeFileSync(shop.settings, own);

    const env = await shellOf(shop);
    const flags = ["--yes", "--trust-codex-hooks"];
    const installed = await runFile("scripts/install.mts", flags, { cwd: shop.project, env });
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(installed.stdout, /^Codex was told to trust 5 of them: /m);
    const trusted = readFileSync(join(folder, "config.toml"), "utf8");
    assert.equal(trusted.match(/trusted_hash/g)?.length, 5);
    assert.ok(!trusted.includes("stop:0:0"), "the person's own hook is theirs to trust");

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
    const flags = ["--yes", "--trust-codex-hooks"];
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
