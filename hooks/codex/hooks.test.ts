import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { writeBundles } from "../../lib/bundle.ts";
import type { Session } from "../../lib/document.ts";
import { readFailures } from "../../lib/failure.ts";
import { Bench, SESSIONS } from "../../lib/testing/bench.ts";
import { ROOT, tempDirectory } from "../../lib/testing/process.ts";

/** The hooks as Codex meets them: what they do there that they do not do in Claude Code. */

const ID = SESSIONS.codex;
/** Tests share two cores with each other and with the hooks that they start. */
const PARALLEL = { concurrency: 3 };

const bundles = tempDirectory("bundles");
before(() => writeBundles(bundles), { timeout: 60_000 });

const bench = () => new Bench(undefined, "codex", bundles);

/** The payloads of this client, by name. */
const FIXTURES = readdirSync(join(ROOT, "fixtures", "codex")).map((file) => file.replace(/\.json$/, ""));

describe("each hook", PARALLEL, () => {
  const cases: [file: string, fixture: string][] = [
    ["session-start", "SessionStart"],
    ["session-start", "SessionStart.clear"],
    ["session-start", "SessionStart.fork"],
    ["user-prompt-submit", "UserPromptSubmit"],
    ["post-tool-use", "PostToolUse"],
    ["post-tool-use", "PostToolUse.failed"],
  ];
  for (const [file, fixture] of cases) {
    test(`${file} on ${fixture} tells all that is due and leaves the session busy`, async () => {
      const shop = bench();
      await shop.fire(["ci:main"]);
      const { event, told, message, stderr } = await shop.hook(file, fixture);
      assert.deepEqual([told, message, stderr], [["ci:main#1"], undefined, ""]);
      assert.equal(event, shop.payload(fixture)["hook_event_name"]);
      assert.deepEqual([shop.session?.harness, shop.session?.state], ["codex", "busy"]);
      assert.ok(shop.isAcked("ci:main"));
    });
  }

  test("stop leaves the session idle and urgent reminders for the next prompt", async () => {
    const shop = bench();
    await shop.hook("session-start", "SessionStart");
    await shop.fire(["prod:down"], { severity: "urgent" });
    assert.equal((await shop.hook("stop", "Stop")).stdout, "");
    assert.equal(shop.session?.state, "idle");
    assert.ok(!shop.isAcked("prod:down"));
    const { told } = await shop.hook("user-prompt-submit", "UserPromptSubmit");
    assert.deepEqual(told, ["prod:down#1"]);
  });

  test("interrupt leaves the session idle, since no stop follows", async () => {
    const shop = bench();
    await shop.hook("post-tool-use", "PostToolUse");
    assert.equal(shop.session?.state, "busy");
    assert.equal((await shop.hook("interrupt", "Interrupt")).stdout, "");
    assert.equal(shop.session?.state, "idle");
  });

  test("session-end takes the session out, and a late hook of it brings none back", async () => {
    const shop = bench();
    await shop.hook("user-prompt-submit", "UserPromptSubmit");
    assert.equal(shop.session?.id, ID);
    assert.equal((await shop.hook("session-end", "SessionEnd")).stdout, "");
    assert.equal(shop.session, undefined);
    await shop.hook("post-tool-use", "PostToolUse");
    assert.equal(shop.session, undefined);
  });

  test("of a subagent is a sign of life and no more", async () => {
    const shop = bench();
    await shop.hook("session-start", "SessionStart");
    await shop.fire(["ci:main"], { severity: "urgent" });
    const seen = (shop.session as Session).last_hook;
    for (const [file, fixture] of [
      ["user-prompt-submit", "UserPromptSubmit.subagent"],
      ["post-tool-use", "PostToolUse.subagent"],
    ] as const) {
      assert.equal((await shop.hook(file, fixture)).stdout, "");
    }
    assert.equal((await shop.hook("stop", { ...shop.payload("Stop"), agent_id: "child" })).stdout, "");
    assert.equal(
      (await shop.hook("session-end", { ...shop.payload("SessionEnd"), agent_id: "child" })).stdout,
      "",
    );
    assert.deepEqual([shop.session?.state, shop.session?.last_hook], ["busy", seen]);
    assert.ok(!shop.isAcked("ci:main"));
  });

  test("takes nothing for its own that a session of Claude Code around it has in its environment", async () => {
    const shop = bench();
    const file = join(shop.home, "session-environment");
    writeFileSync(file, "");
    const env = { CLAUDE_PID: "4711", CLAUDE_CODE_SESSION_ATTENDED: "0", CLAUDE_ENV_FILE: file };
    await shop.hook("session-start", "SessionStart", { env });
    const { pid, attended } = shop.session as Session;
    assert.deepEqual([pid, attended], [undefined, undefined]);
    assert.equal(readFileSync(file, "utf8"), "");
  });
});

describe("told again", PARALLEL, () => {
  test("after a compaction in the middle of a turn: what is still fired, and not what is over", async () => {
    const shop = bench();
    await shop.fire(["ci:main", "disk"]);
    await shop.hook("user-prompt-submit", "UserPromptSubmit");
    await shop.resolve("disk");
    await shop.hook("post-tool-use", "PostToolUse");
    const again = await shop.hook("session-start", "SessionStart.compact");
    assert.deepEqual([again.event, again.told], ["SessionStart", ["ci:main#1"]]);
    assert.match(again.text, /^Signal fired at .* Told before, at .*, after a compaction of the context\.$/m);
    assert.equal(shop.session?.state, "busy");
    assert.equal((await shop.hook("post-tool-use", "PostToolUse")).stdout, "");
    assert.deepEqual((await shop.hook("session-start", "SessionStart.compact")).told, ["ci:main#1"]);
  });

  test("on resumption: what changed while it was away, once", async () => {
    const shop = bench();
    await shop.fire(["ci:main"]);
    await shop.hook("user-prompt-submit", "UserPromptSubmit");
    await shop.hook("session-end", "SessionEnd");
    const other = { ...shop.payload("UserPromptSubmit"), session_id: "other" };
    await shop.hook("user-prompt-submit", other);
    await shop.resolve("ci:main");
    assert.deepEqual((await shop.hook("post-tool-use", { ...other, hook_event_name: "PostToolUse" })).told, [
      "ci:main#2",
    ]);
    const { told, text } = await shop.hook("session-start", "SessionStart.resume");
    assert.deepEqual(told, ["ci:main#2"]);
    assert.match(
      text,
      /^Signal resolved at .* Told before, as generation 1; changed since, .* on resumption\.$/m,
    );
    assert.equal((await shop.hook("session-start", "SessionStart.resume")).stdout, "");
  });
});

describe("the hooks of a stop, an interrupt and an end print nothing", PARALLEL, () => {
  const silent = ["stop", "interrupt", "session-end"];

  for (const file of silent) {
    test(`${file}, whichever event it is given, and whatever is due`, async () => {
      const shop = bench();
      await shop.hook("user-prompt-submit", "UserPromptSubmit");
      await shop.fire(["prod:down"], { severity: "urgent" });
      for (const fixture of FIXTURES) {
        assert.equal((await shop.hook(file, fixture)).stdout, "", fixture);
      }
    });

    test(`${file}, whatever is wrong, which is kept for the doctor and told by a hook that is heard`, async () => {
      const holding = (name: string, text: string) => (shop: Bench) => {
        shop.write(name, text);
        return {};
      };
      const broken: [what: string, prepare: (shop: Bench) => Parameters<Bench["start"]>[1]][] = [
        ["no JSON in the inbox", holding("inbox.json", "{ not json")],
        ["a newer inbox", holding("inbox.json", '{"schema":"ambient-signals.inbox","version":99}')],
        ["a config with a fault", holding("config.toml", "lease = nonsense")],
        ["a flag that it does not know", () => ({ args: ["--continue"] })],
        ["an inbox that is no absolute path", () => ({ env: { HARN_EXT_SIGNALS_DIR: "signals" } })],
        ["no home directory", () => ({ env: { HOME: "", HARN_EXT_SIGNALS_DIR: "" } })],
      ];
      for (const [what, prepare] of broken) {
        const shop = bench();
        const options = prepare(shop);
        const { stdout } = await shop.hook(file, "Stop", options);
        assert.equal(stdout, "", what);
        const { message } = await shop.hook("user-prompt-submit", "UserPromptSubmit", options);
        assert.match(message ?? "", /^ambient-signals: /, `${what}: it was not counted as told`);
        if (what.includes("JSON"))
          assert.match(readFailures(shop.dir)[0]?.hook ?? "", new RegExp(`codex ${file}`));
      }
    });

    test(`${file}, for any input`, async () => {
      const shop = bench();
      await shop.fire(["prod:down"], { severity: "urgent", session: ID });
      const field = fc.constantFrom(
        "hook_event_name",
        "session_id",
        "cwd",
        "agent_id",
        "source",
        "transcript_path",
      );
      const input = fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .tuple(fc.constantFrom(...FIXTURES), field, fc.jsonValue())
          .map(([fixture, name, value]) => JSON.stringify({ ...shop.payload(fixture), [name]: value })),
      );
      const check = async (text: string) => {
        const { stdout } = await shop.start(file).ends(text);
        assert.equal(stdout, "", text);
      };
      await fc.assert(fc.asyncProperty(input, check), { numRuns: 25 });
    });
  }
});
