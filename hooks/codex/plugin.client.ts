import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { CODEX } from "../../lib/codex.ts";
import { codexHooks } from "../../lib/codex-app-server.ts";
import { loopbackEnvironment } from "../../lib/testing/client.ts";
import { codexBinary } from "../../lib/testing/codex.ts";
import { packPackage, startNpmRegistry } from "../../lib/testing/npm-registry.ts";
import { run } from "../../lib/testing/process.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { startStandIn } from "../../lib/testing/stand-in.ts";
import { tempDirectory } from "../../lib/testing/temp.ts";
import { bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** What `npm pack` makes of the repository, as a plugin of the real client, from a stand-in for the npm registry. */

const PLUGIN = "ambient-signals@ambient-signals";

/** With plugins, the client looks there for more of them at every start, whatever its settings. It is refused. */
const CATALOGUES = ["github.com:443", "api.github.com:443", "chatgpt.com:443"];

describe("the package as a plugin of Codex", PARALLEL, () => {
  let tarball = "";
  const unpacked = join(tempDirectory("unpacked"), "package");

  before(
    async () => {
      [tarball] = await Promise.all([packPackage(), codexBinary(), bundles()]);
      execFileSync("tar", ["-xzf", tarball, "-C", join(unpacked, "..")]);
    },
    { timeout: 300_000 },
  );

  test("is installed from its marketplace, waits for trust, tells the model, and goes without a trace", async (t) => {
    const shop = new Workshop();
    const { home, project: cwd } = shop;
    const config = join(home, ".codex", "config.toml");
    const registry = await startNpmRegistry(tarball);
    t.after(() => registry.close());
    const world = await startStandIn({}, CATALOGUES);
    t.after(() => world.close());
    const codex = await codexBinary();
    const loopback = loopbackEnvironment(home, world.url);
    const env = {
      ...loopback,
      PATH: [dirname(codex), loopback["PATH"]].join(delimiter),
      npm_config_registry: registry.url,
      npm_config_update_notifier: "false",
    };
    const plugin = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(codex, ["plugin", ...args], { cwd, env });
      assert.equal(code, 0, `${args.join(" ")}: ${stdout}\n${stderr}`);
      return stdout;
    };
    const session = { settings: { "features.plugins": true }, env: loopback };

    await plugin("marketplace", "add", unpacked);
    await plugin("add", PLUGIN);
    const { hooks, warnings, errors } = await codexHooks({ cwd, env }, { plugins: true });
    assert.deepEqual([warnings, errors], [[], []]);
    const root = join(home, ".codex", "plugins", "cache", "ambient-signals", "ambient-signals", "0.1.0");
    const event = (name: string) => name.replace(/^./, (first) => first.toLowerCase());
    assert.deepEqual(
      hooks
        .map(({ eventName, command, pluginId, trustStatus }) =>
          [eventName, command, pluginId, trustStatus].join(" "),
        )
        .sort(),
      CODEX.points
        .map(({ event: name, hook }) => {
          const command = `node "${join(root, "dist", "hooks", "codex", `${hook}.mjs`)}"`;
          return [event(name), command, PLUGIN, "untrusted"].join(" ");
        })
        .sort(),
      "all of Codex's, and none of another client's",
    );

    const doctor = await shop.run("doctor", ["--json"], env);
    const checks: { check: string; found: string }[] = JSON.parse(doctor.stdout);
    const file = join(root, "hooks", "codex", "hooks.json");
    assert.deepEqual(
      checks.filter(({ check }) => check === "trust").map(({ found }) => found),
      [`Codex does not run 6 hooks of ${file}: not trusted, and codex exec says nothing of that`],
    );

    await shop.fire(...RED);
    const untrusted = await shop.codex(["Done."], session);
    assert.deepEqual(timesShown(untrusted.requests, "mbient"), [0]);

    const args = ["--dangerously-bypass-hook-trust"];
    const later = "what happened: All linux runners are offline";
    const { requests } = await shop.codex(
      [() => shop.fire("pool:linux", "All linux runners are offline").then(() => exec("true")), "Done."],
      { ...session, args },
    );
    assert.deepEqual(timesShown(requests, RED_TOLD), [1, 0]);
    assert.deepEqual(timesShown(requests, later), [0, 1]);
    assert.deepEqual(await shop.sessions(), [], "its session has left");

    await plugin("remove", PLUGIN);
    await plugin("marketplace", "remove", "ambient-signals");
    assert.doesNotMatch(readFileSync(config, "utf8"), /ambient-signals/);
    await shop.fire("ci:next", "CI is failing again");
    const after = await shop.codex(["Hello."], { ...session, args });
    assert.deepEqual(timesShown(after.requests, "mbient"), [0]);
    assert.deepEqual(world.problems, []);
  });
});
