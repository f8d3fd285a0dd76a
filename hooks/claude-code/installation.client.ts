import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { timesShown } from "../../lib/testing/messages-api.ts";
import { run, runFile } from "../../lib/testing/process.ts";
import {
  added,
  bash,
  bundles,
  PARALLEL,
  RED,
  RED_TOLD,
  until,
  Workshop,
} from "../../lib/testing/workshop.ts";

/** From nothing to a signal in the real client and back again, as a person would do it. */

let claude = "";
before(
  async () => {
    [claude] = await Promise.all([claudeBinary(), bundles()]);
  },
  { timeout: 300_000 },
);

/** The command as it was installed, in a shell that finds it and the client. */
async function signals({ home, project }: Workshop, ...args: string[]): Promise<string> {
  const folder = join(home, ".local", "bin");
  const PATH = [folder, dirname(claude), process.env["PATH"]].join(delimiter);
  const result = await run(join(folder, "signals"), args, { cwd: project, env: { HOME: home, PATH } });
  assert.equal(result.code, 0, `${result.stdout}\n${result.stderr}`);
  return result.stdout;
}

describe("an installation", PARALLEL, () => {
  test("in an empty home directory works at once, is found healthy, and goes without a trace", async () => {
    const shop = new Workshop();
    const env = { HOME: shop.home, PATH: [dirname(claude), process.env["PATH"]].join(delimiter) };
    const installed = await runFile("scripts/install.mts", ["--yes"], { cwd: shop.project, env });
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(installed.stdout, /^installed: Claude Code runs 5 hooks of ambient-signals/m);

    const checks: { check: string; status: string }[] = JSON.parse(await signals(shop, "doctor", "--json"));
    assert.ok(checks.length > 5);
    assert.deepEqual(
      checks.filter(({ status }) => status !== "ok" && status !== "note"),
      [],
    );
    assert.equal(checks.find(({ check }) => check === "hooks")?.status, "ok");

    await signals(shop, "fire", "--key", RED[0], "--summary", RED[1]);
    const told = await shop.session([bash("true"), "Done."]);
    assert.deepEqual(timesShown(told.requests, RED_TOLD), [1, 0]);
    assert.deepEqual(added("SessionStart", told.requests), [1, 0]);
    assert.match(await signals(shop, "list"), /ci:main/);
    await signals(shop, "doctor");

    await signals(shop, "uninstall", "--yes");
    assert.ok(!existsSync(shop.settings));
    assert.ok(!readdirSync(shop.home).includes(".local"), "the folders that were made for it are gone too");
    await shop.fire("ci:next", "CI is failing again");
    const after = await shop.session(["Hello."]);
    assert.deepEqual(timesShown(after.requests, "mbient"), [0]);
  });

  test("beside a person's own settings keeps their hooks running, and gives the file back byte for byte", async () => {
    const shop = new Workshop();
    const log = join(shop.home, "own.log");
    const start = { hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: "OWN HOOK" } };
    const own = [
      "{",
      '\t"cleanupPeriodDays": 30,   "env": {"OWN":"1"},',
      '\t"hooks": {',
      `\t\t"SessionStart": [ {"hooks":[{ "type":"command", "command": ${JSON.stringify(`echo '${JSON.stringify(start)}'`)} }]} ],`,
      `\t\t"Stop": [{"hooks": [{"command": ${JSON.stringify(`echo "$OWN" >> '${log}'`)}, "type": "command"}]}]`,
      "\t}",
      "}",
    ].join("\r\n");
    mkdirSync(dirname(shop.settings));
    writeFileSync(shop.settings, own);

    await shop.install(claude);
    assert.notEqual(readFileSync(shop.settings, "utf8"), own);
    await shop.fire(...RED);
    const told = await shop.session(["Done."]);
    assert.deepEqual(timesShown(told.requests, RED_TOLD), [1]);
    assert.deepEqual(timesShown(told.requests, "OWN HOOK"), [1]);
    assert.equal(readFileSync(log, "utf8"), "1\n");

    await shop.script("uninstall", "--yes");
    assert.equal(readFileSync(shop.settings, "utf8"), own);
    const after = await shop.session(["Done."]);
    assert.deepEqual(timesShown(after.requests, "OWN HOOK"), [1]);
    assert.equal(readFileSync(log, "utf8"), "1\n1\n");
  });

  test("goes from a file that the client has rewritten meanwhile, and leaves all else in it", async () => {
    const shop = new Workshop();
    // The client moves this into the settings file, and writes that in its own way.
    const answers = { hasCompletedOnboarding: true, bypassPermissionsModeAccepted: true };
    writeFileSync(join(shop.home, ".claude.json"), JSON.stringify(answers));
    const own = { hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } };
    mkdirSync(dirname(shop.settings));
    writeFileSync(shop.settings, JSON.stringify(own));
    const content = () => JSON.parse(readFileSync(shop.settings, "utf8"));

    await shop.install(claude);
    await shop.session(["Done."]);
    assert.equal(content().skipDangerousModePermissionPrompt, true, "it was rewritten");
    assert.equal(content().hooks.Stop.length, 2);
    await shop.script("uninstall", "--yes");
    assert.deepEqual(content(), { ...own, skipDangerousModePermissionPrompt: true });
  });

  test("reaches a session that runs already", async () => {
    const shop = new Workshop();
    const { requests } = await shop.session([
      async () => {
        await shop.install(claude);
        await shop.fire(...RED);
        return bash("true");
      },
      // The client looks at its settings when it sees fit.
      ...until(RED_TOLD),
    ]);
    assert.equal(timesShown(requests, RED_TOLD).at(-1), 1);
  });
});
