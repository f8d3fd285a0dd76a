import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runFile, tempDirectory } from "../lib/testing/process.ts";

function place(config?: string) {
  const dir = join(tempDirectory("config"), "signals");
  mkdirSync(dir, { mode: 0o700 });
  const file = join(dir, "config.toml");
  if (config !== undefined) writeFileSync(file, config);
  const script = (name: string, ...args: string[]) => runFile(`scripts/${name}.mts`, [...args, "--dir", dir]);
  return { dir, file, script };
}

test("every setting is shown with where it comes from", async () => {
  const { file, script } = place(
    'lease = "5m"\n\n[[mute]]\nkey = "flaky:*"\nreason = "known flake"\n\n[[monitor]]\nrun = "./disk.sh"\nargs = ["-w", "80 %"]\n',
  );
  const { code, stdout, stderr } = await script("config");
  assert.deepEqual([code, stderr], [0, ""]);
  const [name, ...lines] = stdout.trimEnd().split("\n");
  assert.equal(name, file);
  assert.ok(lines.includes(`lease = 5m (${file}:1)`), stdout);
  assert.ok(lines.includes("stale_after = 30m (default)"), stdout);
  const monitor = `monitor[0] = {"run":"./disk.sh","every":"1m","args":["-w","80 %"]} (${file}:7)`;
  assert.ok(lines.includes(monitor), stdout);
  assert.ok(lines.includes(`mute[0] = {"key":"flaky:*","reason":"known flake"} (${file}:3)`), stdout);

  const json = JSON.parse((await script("config", "--json")).stdout);
  assert.deepEqual([json.file, json.exists, json.fault], [file, true, null]);
  assert.deepEqual(json.values.lease, { value: "5m", from: `${file}:1` });

  const none = place();
  const defaults = await none.script("config");
  assert.equal(defaults.code, 0);
  assert.match(
    defaults.stdout,
    /config\.toml: no such file, so these are the defaults\nmin_severity = info \(default\)\n/,
  );
  assert.deepEqual(readdirSync(none.dir), []);
});

test("while a file is not valid, what goes on to hold is shown beside what is wrong", async () => {
  const { dir, file, script } = place('lease = "5m"\n');
  await script("fire", "--summary", "x");
  writeFileSync(file, "lease = 5\n");
  const { code, stdout, stderr } = await script("config");
  assert.deepEqual([code, stderr.startsWith(`error: ${file}:1: lease`)], [1, true]);
  assert.match(stdout, /^lease = 5m \(last valid version\)$/m);
  assert.ok(readdirSync(dir).includes("inbox.json"));
});

test("a file that is not valid stops every script with file, line and key, and nothing is stored", async () => {
  const { dir, file, script } = place('# mine\nmin_severty = "info"\n');
  const fault = `${file}:2: min_severty: unknown key; did you mean min_severity?`;
  const json = await script("config", "--json");
  assert.deepEqual([json.code, JSON.parse(json.stdout).fault], [1, fault]);

  const cases: [script: string, ...args: string[]][] = [
    ["config"],
    ["fire", "--summary", "x"],
    ["resolve", "x"],
    ["list", "--json"],
    ["sessions", "--end", "ada"],
    ["ack", "x"],
  ];
  await Promise.all(
    cases.map(async ([name, ...args]) => {
      const { code, stdout, stderr } = await script(name, ...args);
      assert.deepEqual([name, code, stderr], [name, 1, `error: ${fault}\n`]);
      if (name !== "config") assert.equal(stdout, "");
    }),
  );
  assert.ok(!readdirSync(dir).includes("inbox.json"));
});
