import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { timesShown } from "../../lib/testing/messages-api.ts";
import { packPackage, startNpmRegistry } from "../../lib/testing/npm-registry.ts";
import { tempDirectory } from "../../lib/testing/temp.ts";
import { added, bash, bundles, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** What `npm pack` makes of the repository, as a plugin of the real client, from a stand-in for the npm registry. */

const PLUGIN = "ambient-signals@ambient-signals";

describe("the package as a plugin", PARALLEL, () => {
  let tarball = "";
  const unpacked = join(tempDirectory("unpacked"), "package");

  before(
    async () => {
      [tarball] = await Promise.all([packPackage(), claudeBinary(), bundles()]);
      execFileSync("tar", ["-xzf", tarball, "-C", join(unpacked, "..")]);
    },
    { timeout: 300_000 },
  );

  test("is valid by the client's strictest rules", async () => {
    const { code, stdout, stderr } = await new Workshop().claude([
      "plugin",
      "validate",
      unpacked,
      "--strict",
    ]);
    assert.equal(code, 0, `${stdout}\n${stderr}`);
    assert.match(stdout, /✔ Validation passed\n/);
    assert.match(stdout, /❯ hooks: SessionStart command /);
  });

  test("is installed from its marketplace, tells the model, and goes without a trace", async (t) => {
    const shop = new Workshop();
    const registry = await startNpmRegistry(tarball);
    t.after(() => registry.close());
    const env = { npm_config_registry: registry.url, npm_config_update_notifier: "false" };
    const plugin = async (...args: string[]) => {
      const { code, stdout, stderr } = await shop.claude(["plugin", ...args], env);
      assert.equal(code, 0, `${args.join(" ")}: ${stdout}\n${stderr}`);
    };
    const settings = () => JSON.parse(readFileSync(shop.settings, "utf8"));

    await plugin("marketplace", "add", unpacked);
    await plugin("install", PLUGIN);
    assert.deepEqual(settings().enabledPlugins, { [PLUGIN]: true });

    await shop.fire(...RED);
    const { requests } = await shop.session([
      () => shop.fire("pool:linux", "All linux runners are offline").then(() => bash("true", "exit 3")),
      () => shop.fire("prod", "The checkout answers with errors", "--severity", "urgent").then(() => "Done."),
      "I have looked.",
    ]);
    assert.deepEqual(timesShown(requests, RED_TOLD), [1, 0, 0]);
    assert.deepEqual(timesShown(requests, "what happened: All linux runners are offline"), [0, 1, 0]);
    assert.deepEqual(timesShown(requests, "what happened: The checkout answers with errors"), [0, 0, 1]);
    assert.deepEqual(added("SessionStart", requests), [1, 0, 0]);
    assert.deepEqual(added("Stop", requests), [0, 0, 1]);
    assert.deepEqual(await shop.sessions(), [], "its session has left");

    await plugin("uninstall", PLUGIN);
    await plugin("marketplace", "remove", "ambient-signals");
    assert.deepEqual(settings(), { enabledPlugins: {}, extraKnownMarketplaces: {} });
    await shop.fire("ci:next", "CI is failing again");
    const after = await shop.session(["Hello."]);
    assert.deepEqual(timesShown(after.requests, "mbient"), [0]);
  });
});
