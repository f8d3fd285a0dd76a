import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempDirectory } from "../testing/temp.ts";
import { planUntrust, sayingOf } from "./codex-trust.ts";
import { hashOf } from "./manifest.ts";

const TABLES = '[hooks.state."/other:stop:0:0"]\ntrusted_hash = "sha256:aa"\n';

/** Takes back what is not there any more, so that nobody is asked; `before` is what the file was, null for none. */
async function takeBack(config: string, before: string | null, mode = 0o600): Promise<string[]> {
  const was = before === null ? null : { hash: hashOf(before), says: sayingOf(before), mode, states: true };
  const record = { before: was, hooks: { key: { settings: "/hooks.json", hash: "sha256:1" } } };
  const situation = { cwd: "/", env: { PATH: tempDirectory("empty") } };
  const { hooks, notes } = await planUntrust(config, record, ["key"], situation).run();
  assert.equal(hooks, 0);
  return notes;
}

describe("what Codex has made of its settings is given the very bytes that they had:", () => {
  const cases: [what: string, before: string, now: string][] = [
    ["a last line without an end", 'model = "x" # mine', 'model = "x" # mine\n'],
    ["other line ends", '# mine\r\nmodel = "x"\r\n', '# mine\nmodel = "x"\n'],
    ["a byte order mark", '\ufeffmodel = "x"\n', 'model = "x"\n'],
    ["no header over tables of hooks", `# mine\n${TABLES}# end\n`, `[hooks.state]\n# mine\n${TABLES}# end\n`],
    ["the same above an empty line", `a = 1\n\n${TABLES}`, `a = 1\n\n[hooks.state]\n\n${TABLES}`],
    ["the same below a line of its own", `[a]\n# mine\n${TABLES}`, `[a]\n\n[hooks.state]\n# mine\n${TABLES}`],
    [
      "all of that",
      `\ufeffa = 1\n${TABLES}b = 2`.replaceAll("\n", "\r\n"),
      `a = 1\n[hooks.state]\n${TABLES}b = 2\n`,
    ],
    ["nothing to change", "a = 1\n", "a = 1\n"],
  ];
  for (const [what, before, now] of cases) {
    test(what, async () => {
      const config = join(tempDirectory("config"), "config.toml");
      writeFileSync(config, now, { mode: 0o600 });
      assert.deepEqual(await takeBack(config, before, 0o640), []);
      assert.equal(readFileSync(config, "utf8"), before);
      assert.equal(statSync(config).mode & 0o777, 0o640);
    });
  }

  test("or its mode alone, when they say the same in another form, which is said", async () => {
    const config = join(tempDirectory("config"), "config.toml");
    writeFileSync(config, `a = 1\n\n[hooks.state]\n${TABLES}`, { mode: 0o600 });
    const before = `a = 1 # mine\nhooks.state = { "/other:stop:0:0" = { trusted_hash = "sha256:aa" } }\n`;
    assert.deepEqual(await takeBack(config, before, 0o640), [
      `${config} says the same as before, in Codex's own form`,
    ]);
    assert.equal(statSync(config).mode & 0o777, 0o640);
  });

  test("but not where a person has changed them since", async () => {
    const config = join(tempDirectory("config"), "config.toml");
    writeFileSync(config, "a = 2\n");
    chmodSync(config, 0o600);
    assert.deepEqual(await takeBack(config, "a = 1", 0o644), []);
    assert.equal(readFileSync(config, "utf8"), "a = 2\n");
    assert.equal(statSync(config).mode & 0o777, 0o600);
  });
});

describe("settings that were not there before", () => {
  test("go when they are empty, the file that a link leads to", async () => {
    const folder = tempDirectory("config");
    const config = join(folder, "config.toml");
    symlinkSync("mine.toml", config);
    writeFileSync(config, "\n");
    await takeBack(config, null);
    assert.equal(existsSync(join(folder, "mine.toml")), false);
  });

  test("stay when they say anything", async () => {
    const config = join(tempDirectory("config"), "config.toml");
    writeFileSync(config, "a = 1\n");
    await takeBack(config, null);
    assert.equal(readFileSync(config, "utf8"), "a = 1\n");
  });
});
