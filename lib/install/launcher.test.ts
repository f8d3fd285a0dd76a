import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../testing/temp.ts";
import { commandText, launcherText } from "./launcher.ts";

const NODE = process.execPath;

/** An installation of one file that tells how it was run, in a folder with all that a shell could trip over. */
function installed(node: string): string {
  const folder = join(tempDirectory("launcher"), 'a b\'s "$HOME" `x`', "ambient-signals");
  mkdirSync(join(folder, "hooks", "claude-code"), { recursive: true });
  const tell =
    "console.log(JSON.stringify({ pid: process.pid, node: process.argv0, args: process.argv.slice(2) }));";
  writeFileSync(join(folder, "hooks", "claude-code", "stop.mjs"), tell);
  writeFileSync(join(folder, "launch"), launcherText(folder, node), { mode: 0o755 });
  return join(folder, "launch");
}

async function start(file: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  const [code] = await once(child, "close");
  return { pid: child.pid, code, ...output };
}

test("a hook runs in the launcher's own process, with its flags, in any folder and an empty environment", async () => {
  const { pid, code, stdout, stderr } = await start(installed(NODE), [
    "hooks/claude-code/stop",
    "--dir",
    "a b",
  ]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { pid, node: NODE, args: ["--dir", "a b"] });
});

test("a node that is gone is replaced by the one on PATH", async () => {
  const path = tempDirectory("path");
  symlinkSync(NODE, join(path, "node"));
  const { code, stdout, stderr } = await start(installed("/gone/node"), ["hooks/claude-code/stop"], {
    PATH: path,
  });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).node, join(path, "node"));
});

test("without any node a hook ends well, and the person is told once in a session", async () => {
  const launcher = installed("/it's/gone");
  const env = { PATH: "/nowhere" };
  assert.deepEqual(
    await start(launcher, ["hooks/claude-code/stop"], env).then(({ pid: _, ...rest }) => rest),
    {
      code: 0,
      stdout: "",
      stderr: "",
    },
  );
  const { code, stdout } = await start(launcher, ["hooks/claude-code/session-start"], env);
  assert.equal(code, 0);
  assert.equal(
    JSON.parse(stdout).systemMessage,
    "ambient-signals: node: there is none at /it's/gone and none on PATH; " +
      "install Node 20 or newer; until then this session hears of no signal",
  );
});

test("without any node a script says so in one line and exits 127", async () => {
  const { code, stdout, stderr } = await start(installed("/gone/node"), ["scripts/list"], {
    PATH: "/nowhere",
  });
  assert.deepEqual([code, stdout], [127, ""]);
  assert.equal(
    stderr,
    "error: node: there is none at /gone/node and none on PATH; install Node 20 or newer\n",
  );
});

test("without its file a hook ends well and the person is told, and a script says so", async () => {
  const launcher = installed(NODE);
  const runs = await Promise.all(
    ["hooks/claude-code/post-tool-use", "hooks/claude-code/session-start", "scripts/list"].map((name) =>
      start(launcher, [name]),
    ),
  );
  assert.deepEqual(
    runs.map(({ code }) => code),
    [0, 0, 127],
  );
  assert.equal(runs[0]?.stdout, "");
  assert.match(
    JSON.parse(runs[1]?.stdout ?? "").systemMessage,
    /^ambient-signals: installation: files are gone from \//,
  );
  assert.match(runs[2]?.stderr ?? "", /^error: installation: files are gone from [^\n]+\n$/);
  assert.equal((await start(launcher, [])).code, 127, "nothing at all is no hook");
});

test("the signals command runs the script of that name with all it is given", async () => {
  const launcher = installed(NODE);
  mkdirSync(join(dirname(launcher), "scripts"));
  writeFileSync(
    join(dirname(launcher), "scripts", "signals.mjs"),
    "console.log(process.argv.slice(2).join('|'))",
  );
  const command = join(tempDirectory("bin"), "signals");
  writeFileSync(command, commandText(launcher), { mode: 0o755 });
  const { stdout, stderr } = await start(command, ["fire", "--summary", 'it\'s "so"']);
  assert.equal(stdout, 'fire|--summary|it\'s "so"\n', stderr);
});
