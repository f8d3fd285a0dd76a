import assert from "node:assert/strict";
import { test } from "node:test";
import { runCommand } from "./command.ts";

const never = new AbortController().signal;

test("a command is run without a shell, and says how it ended", async () => {
  const ran = await runCommand(["printf", "%s|", "a b", "$HOME"], "first", never);
  assert.deepEqual(ran, { status: 0, signal: null, stdout: "a b|$HOME|", stderr: "" });
  const failed = await runCommand(["sh", "-c", "echo no >&2; exit 42"], "last", never);
  assert.deepEqual([failed.status, failed.stderr], [42, "no\n"]);
});

test("of what a command prints the first or the last part is kept", async () => {
  const flood = ["sh", "-c", "echo begin; head -c 20000000 /dev/zero; echo end"];
  for (const [keep, part] of [
    ["first", /^begin\n\0*$/],
    ["last", /^\0*end\n$/],
  ] as const)
    assert.match((await runCommand(flood, keep, never)).stdout, part);
});

test("a command that was stopped tells nothing, whatever its status", async () => {
  const controller = new AbortController();
  const running = runCommand(
    ["sh", "-c", "trap 'exit 0' TERM; sleep 300 & wait"],
    "first",
    controller.signal,
  );
  setTimeout(() => controller.abort(), 500);
  await assert.rejects(running, { name: "SignalsError", message: "was stopped" });
});

test("a command that is to stop before it began, or is not there, is told from one that fails", async () => {
  await assert.rejects(runCommand(["true"], "first", AbortSignal.abort()), { name: "AbortError" });
  const missing = { name: "SignalsError", message: "cannot be started (ENOENT)" };
  await assert.rejects(runCommand(["no-such-program"], "first", never), missing);
});

test("a command leaves no listener behind", async () => {
  const count = () => [...SIGNALS, "exit"].map((name) => process.listenerCount(name));
  const before = count();
  await runCommand(["true"], "first", never);
  assert.deepEqual(count(), before);
});

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];
