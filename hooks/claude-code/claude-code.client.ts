import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { claudeBinary, runClaudeCode } from "../../lib/testing/claude-code.ts";
import { type MessagesRequest, newTexts, type Step, timesShown } from "../../lib/testing/messages-api.ts";
import { ROOT, run, runFile, tempDirectory } from "../../lib/testing/process.ts";
import type { SignalView } from "../../lib/view.ts";

/**
 * The main job, seen from the model: the real client, the hooks as `hooks/hooks.json` registers them, and a
 * stand-in for the API that records every request.
 */

type HookSettings = Record<string, { hooks: Record<string, unknown>[] }[]>;

/** The entries of hooks/hooks.json, as the client would read them from the plugin. */
function pluginHooks(): HookSettings {
  const text = readFileSync(join(ROOT, "hooks/hooks.json"), "utf8");
  return JSON.parse(text.replaceAll(/\$\{CLAUDE_PLUGIN_ROOT\}/g, ROOT.replace(/\/$/, ""))).hooks;
}

/** The same with PostToolBatch in the place of what comes after each tool call, for clients that know it. */
function batchHooks(): HookSettings {
  const { PostToolUse = [], PostToolUseFailure: _, ...others } = pluginHooks();
  const text = JSON.stringify(PostToolUse).replaceAll("post-tool-use", "post-tool-batch");
  return { ...others, PostToolBatch: JSON.parse(text) };
}

/** A checkout of acme/api, an inbox of its own, and the scripts to act on it while the model "thinks". */
async function workshop() {
  const home = tempDirectory("client");
  const project = join(home, "api");
  const env = { HARN_EXT_SIGNALS_DIR: join(home, "signals") };
  mkdirSync(project);
  mkdirSync(env.HARN_EXT_SIGNALS_DIR, { mode: 0o700 });
  // Short, so that a reminder which nobody confirmed would come again within the test.
  writeFileSync(join(env.HARN_EXT_SIGNALS_DIR, "config.toml"), 'lease = "3s"\n');
  await run("git", ["init", "-q"], { cwd: project });
  await run("git", ["remote", "add", "origin", "git@github.com:acme/api.git"], { cwd: project });

  const script = async (file: string, ...args: string[]) => {
    const result = await runFile(`scripts/${file}`, args, { env });
    assert.equal(result.code, 0, result.stderr);
    return result.stdout;
  };
  const list = async (): Promise<SignalView[]> => JSON.parse(await script("list.mts", "--all", "--json"));
  const sessions = async (): Promise<{ id: string }[]> => JSON.parse(await script("sessions.mts", "--json"));
  const session = (hooks: HookSettings, steps: Step[], args: string[] = []) =>
    runClaudeCode({ settings: { hooks }, script: steps, home, cwd: project, env, args });
  return { script, list, sessions, session };
}

/** The label that the client puts before the text that a hook adds. */
function added(event: string, requests: readonly MessagesRequest[]): number[] {
  return timesShown(requests, `${event} hook additional context: Ambient signals:`);
}

/** The script that says that CI is red, and its arguments. */
const RED = [
  "fire.mts",
  "--key",
  "ci:main",
  "--summary",
  "CI on main is failing",
  "--repo",
  "acme/api",
] as const;

const bash = (command: string): Step => ({
  text: "Let me look.",
  tools: [{ name: "Bash", input: { command, description: "look" } }],
});

describe("in the real Claude Code", () => {
  before(claudeBinary, { timeout: 300_000 });

  test("a signal reaches the model once, at the next safe point, and so does its end", async () => {
    const { script, list, sessions, session } = await workshop();
    const fire = (key: string, summary: string, ...flags: string[]) =>
      script("fire.mts", "--key", key, "--summary", summary, "--repo", "acme/api", ...flags);

    await fire("ci:main", "CI on main is failing");
    await fire("ci:elsewhere", "CI of another repository is failing", "--repo", "acme/web");
    let living: { id: string }[] = [];

    const { code, requests, stderr, sessionId } = await session(pluginHooks(), [
      async () => {
        await fire("pool:linux", "All linux runners are offline");
        return bash("true") as object;
      },
      // Nothing new: this call outlasts a lease, so what was not confirmed would be told again after it.
      bash("sleep 4"),
      async () => {
        await script("resolve.mts", "ci:main", "--summary", "CI on main is green again");
        return bash("true") as object;
      },
      async () => {
        living = await sessions();
        await fire("prod", "The checkout answers with errors", "--severity", "urgent");
        await fire("note", "A new minor release is out", "--severity", "info");
        return "I am done.";
      },
      "I have looked at the checkout.",
    ]);
    assert.equal(code, 0, stderr);

    // request: 1 the prompt, 2 after `true`, 3 after `sleep`, 4 after `true`, 5 after the stop that was held
    assert.deepEqual(timesShown(requests, "what happened: CI on main is failing"), [1, 0, 0, 0, 0]);
    assert.deepEqual(timesShown(requests, "what happened: All linux runners are offline"), [0, 1, 0, 0, 0]);
    assert.deepEqual(timesShown(requests, "what happened: CI on main is green again"), [0, 0, 0, 1, 0]);
    assert.deepEqual(timesShown(requests, "what happened: The checkout answers"), [0, 0, 0, 0, 1]);
    assert.deepEqual(
      timesShown(requests, "A new minor release"),
      [0, 0, 0, 0, 0],
      "info does not hold a stop",
    );
    assert.deepEqual(timesShown(requests, "another repository"), [0, 0, 0, 0, 0]);

    assert.deepEqual(added("SessionStart", requests), [1, 0, 0, 0, 0]);
    assert.deepEqual(added("PostToolUse:Bash", requests), [0, 1, 0, 1, 0]);
    assert.deepEqual(added("Stop", requests), [0, 0, 0, 0, 1]);
    assert.deepEqual(timesShown(requests, "<signal-data>\n"), [1, 1, 0, 1, 1]);
    assert.deepEqual(timesShown(requests, "\n</signal-data>"), [1, 1, 0, 1, 1]);
    assert.deepEqual(timesShown(requests, "Sent again"), [0, 0, 0, 0, 0]);

    const standing = (await list()).map(({ key, state, delivery }) => [
      key,
      state,
      delivery.status,
      delivery.attempt,
    ]);
    assert.deepEqual(standing.sort(), [
      ["ci:elsewhere", "fired", "held", 0],
      ["ci:main", "resolved", "delivered", 1],
      ["note", "fired", "held", 0],
      ["pool:linux", "fired", "delivered", 1],
      ["prod", "fired", "delivered", 1],
    ]);
    assert.deepEqual(
      living.map(({ id }) => id),
      [sessionId],
      "the session was registered while it ran",
    );
    assert.deepEqual(await sessions(), [], "and has left");
  });

  test("with PostToolBatch, one of several calls failing, a reminder comes once after the batch", async () => {
    const { script, session } = await workshop();
    const { code, requests, stderr } = await session(batchHooks(), [
      async () => {
        await script(...RED);
        const calls = ["true", "exit 3", "echo hi"];
        return { tools: calls.map((command) => ({ name: "Bash", input: { command, description: "look" } })) };
      },
      "Done.",
    ]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(added("PostToolBatch", requests), [0, 1]);
    assert.deepEqual(timesShown(requests, "what happened: CI on main is failing"), [0, 1]);
  });

  test("a reminder comes with a call that failed as well", async () => {
    const { script, session } = await workshop();
    const steps: Step[] = [() => script(...RED).then(() => bash("exit 3") as object), "Done."];
    const { requests } = await session(pluginHooks(), steps);
    assert.deepEqual(added("PostToolUseFailure:Bash", requests), [0, 1]);
  });

  test("what waited is told with the prompt of a resumed session", async () => {
    const { script, session } = await workshop();
    const first = await session(pluginHooks(), ["Hello."]);
    await script(...RED);
    const again = await session(pluginHooks(), ["Hello again."], ["--resume", first.sessionId ?? ""]);
    assert.deepEqual(timesShown(again.requests, "what happened: CI on main is failing"), [1]);
    assert.equal(newTexts(again.requests).length, 1);
  });

  test("a broken inbox leaves the session alone and tells the model nothing", async () => {
    const { session, script } = await workshop();
    const { code, requests } = await session(pluginHooks(), [
      async () => {
        const dir = JSON.parse(await script("config.mts", "--json")).file.replace(/config\.toml$/, "");
        writeFileSync(join(dir, "inbox.json"), "{ not json");
        return bash("true") as object;
      },
      "Done.",
    ]);
    assert.equal(code, 0);
    assert.equal(requests.length, 2);
    assert.deepEqual(timesShown(requests, "mbient"), [0, 0]);
  });
});
