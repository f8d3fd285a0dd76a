import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findSignal, type Session } from "../../lib/document.ts";
import { codeOf } from "../../lib/errors.ts";
import { readFailures } from "../../lib/failure.ts";
import { Bench, type Payload, SESSIONS, said, until } from "../../lib/testing/bench.ts";
import { privateMounts } from "../../lib/testing/mounts.ts";
import { ROOT, run, TSX } from "../../lib/testing/process.ts";

/** The hooks as Claude Code meets them: real processes, with the payloads of real runs on stdin. */

const ADA = SESSIONS["claude-code"];

/** Tests share two cores with each other and with the hooks that they start. */
const PARALLEL = { concurrency: 3 };

// ---------------------------------------------------------------- what each hook does

describe("each hook", PARALLEL, () => {
  const cases: [file: string, fixture: string, state: Session["state"]][] = [
    ["session-start", "SessionStart", "idle"],
    ["user-prompt-submit", "UserPromptSubmit", "busy"],
    ["user-prompt-submit", "UserPromptSubmit.task-notification", "busy"],
    ["post-tool-use", "PostToolUse", "busy"],
    ["post-tool-use", "PostToolUseFailure", "busy"],
    ["post-tool-batch", "PostToolBatch", "busy"],
  ];
  for (const [file, fixture, state] of cases) {
    test(`${file} on ${fixture} tells all that is due and leaves the session ${state}`, async () => {
      const shop = new Bench();
      await shop.fire(["ci:main"]);

      const { event, told, message, stderr } = await shop.hook(file, fixture);
      assert.deepEqual([told, message, stderr], [["ci:main#1"], undefined, ""]);
      assert.equal(event, shop.payload(fixture)["hook_event_name"], "the event's name as it was received");
      assert.equal(shop.session?.state, state);
      assert.ok(shop.isAcked("ci:main"));
    });
  }

  test("follows one session from its start to its end, and after it", async () => {
    const shop = new Bench();
    const web = shop.checkout("web", "https://github.com/acme/web.git");
    const env = {
      CLAUDE_PID: "4711",
      CLAUDE_CODE_SESSION_ATTENDED: "0",
      HARN_EXT_SIGNALS_ROLE: "control",
    };

    const start = await shop.hook("session-start", "SessionStart", { env });
    assert.equal(start.stdout, "", "nothing is due, so nothing is printed");
    const { last_seen, last_hook, started_at, ...registered } = shop.session as Session;
    assert.deepEqual(registered, {
      id: ADA,
      harness: "claude-code",
      cwd: shop.api,
      work_tree: shop.api,
      repository: "github.com/acme/api",
      role: "control",
      state: "idle",
      transcript_path: shop.payload("SessionStart")["transcript_path"],
      attended: false,
      pid: 4711,
    });

    // The directory follows the session; what the environment no longer says stays known.
    await shop.hook("user-prompt-submit", shop.payload("UserPromptSubmit", { cwd: web }));
    const moved = shop.session;
    assert.deepEqual([moved?.state, moved?.cwd, moved?.repository], ["busy", web, "github.com/acme/web"]);
    assert.deepEqual([moved?.attended, moved?.pid, moved?.role], [false, 4711, "control"]);
    await shop.hook("post-tool-use", shop.payload("PostToolUse", { cwd: join(shop.home, "signals") }));
    assert.deepEqual([shop.session?.cwd, shop.session?.repository], [shop.dir, undefined]);
    await shop.hook("post-tool-use", "PostToolUse");

    // A subagent carries its parent's id: the text would go into the wrong context.
    await shop.fire(["ci:main"]);
    const before = shop.session;
    const subagent = await shop.hook("post-tool-use", shop.payload("PostToolUse.subagent", { cwd: web }));
    assert.equal(subagent.stdout, "");
    assert.equal(findSignal(shop.doc, "ci:main")?.lease, undefined);
    assert.deepEqual([shop.session?.cwd, shop.session?.state], [before?.cwd, "busy"]);

    // Only what is urgent keeps a session that is about to stop.
    const states: [payload: Payload, state: string][] = [
      [shop.payload("Stop.background-tasks", { cwd: shop.api }), "waiting"],
      [shop.payload("Stop", { session_crons: [{ id: "c1" }] }), "waiting"],
      [shop.payload("Stop", { background_tasks: undefined, session_crons: undefined }), "idle"],
    ];
    for (const [payload, state] of states) {
      assert.equal((await shop.hook("stop", payload)).stdout, "");
      assert.equal(shop.session?.state, state);
    }
    await shop.fire(["prod:down"], { severity: "urgent" });
    const kept = await shop.hook("stop", "Stop");
    assert.deepEqual([kept.event, kept.told], ["Stop", ["prod:down#1"]]);
    assert.match(kept.text, /1 more signal waits for a later safe point/);
    assert.equal(shop.session?.state, "busy", "it goes on with what it was told");
    assert.equal((await shop.hook("stop", "Stop.active")).stdout, "", "once per generation");
    assert.equal(shop.session?.state, "idle");

    assert.equal((await shop.hook("session-end", "SessionEnd")).stdout, "");
    assert.equal(shop.session, undefined);
    await shop.hook("post-tool-use", "PostToolUse");
    assert.equal(shop.session, undefined, "a late hook leaves no ghost");
    const back = await shop.hook("session-start", "SessionStart.resume");
    assert.deepEqual(back.told, ["ci:main#1"], "what it was not told waits for it");
  });

  test("tells three of five at first, says how many wait, and then tells the rest", async () => {
    const shop = new Bench();
    await shop.fire(["a", "b", "c", "d"]);
    await shop.fire(["prod:down"], { severity: "urgent" });

    const first = await shop.hook("session-start", "SessionStart");
    assert.deepEqual(first.told, ["prod:down#1", "a#1", "b#1"], "urgent ones first, then the oldest");
    assert.match(first.text, /3 signals from .*\n2 more signals wait for a later safe point\.$/s);
    const second = await shop.hook("post-tool-use", "PostToolUse");
    assert.deepEqual(second.told, ["c#1", "d#1"]);
    assert.doesNotMatch(second.text, /later safe point/);
    assert.equal((await shop.hook("post-tool-use", "PostToolUse")).stdout, "");
  });

  test("tells each reminder exactly once when twelve hooks of one session run at once", async () => {
    const shop = new Bench();
    const keys = Array.from({ length: 8 }, (_, i) => `job:${i}`);
    await shop.fire(keys);

    const all = await Promise.all(
      Array.from({ length: 12 }, () => shop.hook("post-tool-use", "PostToolUse")),
    );
    const told = all.flatMap((one) => one.told).sort();
    assert.deepEqual(
      told,
      keys.map((key) => `${key}#1`),
    );
    assert.deepEqual(all.flatMap(({ message, stderr }) => [message, stderr]).filter(Boolean), []);
    assert.ok(keys.every((key) => shop.isAcked(key)));
  });

  test("uses the inbox that --dir names before the one of the environment", async () => {
    const [shop, other] = [new Bench(), new Bench()];
    await other.fire(["ci:main"]);
    const { told } = await shop.hook("session-start", "SessionStart", { args: ["--dir", other.dir] });
    assert.deepEqual(told, ["ci:main#1"]);
    assert.deepEqual(readdirSync(shop.dir), []);
  });

  test("prints its own doc comment as help, and the version", async () => {
    const shop = new Bench();
    const help = await run(process.execPath, [...TSX, join(ROOT, "hooks/claude-code/stop.mts"), "-h"]);
    assert.equal(help.code, 0);
    assert.match(help.stdout, /^When the agent is about to stop: [^\n]*\n[\s\S]*\nNeeds {4}/);
    const version = await shop.start("stop", { args: ["--version"] });
    version.child.stdout?.removeAllListeners("data");
    let text = "";
    version.child.stdout?.on("data", (part: string) => (text += part));
    await version.ends();
    assert.match(text, /^ambient-signals \d+\.\d+\.\d+\n$/);
  });
});

// ---------------------------------------------------------------- what arrives on stdin

describe("the event on stdin", PARALLEL, () => {
  test("is taken as complete as soon as it is, though the client never closes its end", async () => {
    const shop = new Bench();
    await shop.fire(["ci:main"]);
    const hook = shop.start("post-tool-use");
    hook.write(JSON.stringify(shop.payload("PostToolUse")));
    // A hook that waited for the end, or gave up after the silence, would print nothing.
    assert.deepEqual((await hook.ends()).told, ["ci:main#1"]);
  });

  test("may come in pieces, cut inside a character, after a brace and inside a string", async () => {
    const shop = new Bench();
    await shop.fire(["ci:main"]);
    const response = { stdout: 'é🎉 } {"a\\": "}} \\', nested: { deep: {} }, after: "{" };
    const text = JSON.stringify(shop.payload("PostToolUse", { tool_response: response }), null, 1);
    const bytes = Buffer.from(`\r\n${text}\n`);
    const cuts = [1, bytes.indexOf("é") + 1, bytes.indexOf("🎉") + 2];
    for (let at = bytes.indexOf("}"); at >= 0; at = bytes.indexOf("}", at + 1)) cuts.push(at + 1);
    cuts.push(bytes.indexOf("\\\\") + 1, bytes.indexOf('\\"') + 1);

    const hook = shop.start("post-tool-use");
    let from = 0;
    for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) {
      hook.write(bytes.subarray(from, cut));
      from = cut;
      await sleep(30);
    }
    assert.deepEqual((await hook.ends()).told, ["ci:main#1"]);
  });

  test("may hold a tool's output of 20 MB, and braces in it cost no more than letters", async (t) => {
    const shop = new Bench();
    await shop.fire(["ci:main"]);
    const seconds = async (filler: string) => {
      const response = { stdout: filler.repeat(20e6) };
      const from = performance.now();
      const { told } = await shop.hook(
        "post-tool-use",
        shop.payload("PostToolUse", { tool_response: response }),
      );
      return { told, took: performance.now() - from };
    };
    // At once, so that a busy machine slows both.
    const [letters, braces] = await Promise.all([seconds("a"), seconds("}")]);
    assert.deepEqual([...letters.told, ...braces.told], ["ci:main#1"]);
    // It did take twenty times as long; said and not asserted, as the machine may be busy.
    t.diagnostic(`20 MB of letters ${Math.round(letters.took)} ms, of braces ${Math.round(braces.took)} ms`);
  });

  test("is passed over in silence when it is empty", async () => {
    const shop = new Bench();
    const { stdout, stderr } = await shop.start("session-start").ends("");
    assert.deepEqual([stdout, stderr, readdirSync(shop.dir)], ["", "", []]);
  });

  const nothings: [what: string, input: string, said: RegExp][] = [
    ["is not JSON", "}{ not json }", /^ambient-signals: stdin: is not JSON/],
    ["is a list", "[]", /^ambient-signals: stdin: is no hook event/],
    ["is null", "null", /^ambient-signals: stdin: is no hook event/],
    ["has no session_id", '{"hook_event_name":"SessionStart","cwd":"/"}', /session_id is missing/],
  ];
  for (const [what, input, said] of nothings) {
    test(`is said to the person, once, and touches nothing, when it ${what}`, async () => {
      const shop = new Bench();
      const { stdout, stderr } = await shop.start("session-start").ends(input);
      assert.match(JSON.parse(stdout).systemMessage, said);
      assert.match(stderr, said);
      const again = await shop.start("post-tool-use").ends(input);
      assert.equal(again.stdout, "");
      assert.match(again.stderr, said);
      assert.deepEqual(
        readdirSync(shop.dir).sort(),
        ["failures.jsonl", "told"],
        "but for what it is remembered by",
      );
    });
  }

  test("is given up quietly after three seconds without a byte", async () => {
    const shop = new Bench();
    const hook = shop.start("session-start");
    hook.write('{"hook_event_name":"SessionStart",');
    const { stdout, stderr } = await hook.ends();
    assert.deepEqual([stdout, stderr, readdirSync(shop.dir)], ["", "", []]);
  });

  test("is not even looked at with HARN_EXT_SIGNALS_OFF=1", async () => {
    const shop = new Bench();
    await shop.fire(["ci:main"]);
    const hook = shop.start("session-start", { env: { HARN_EXT_SIGNALS_OFF: "1" } });
    const { stdout, stderr } = await hook.ends();
    assert.deepEqual([stdout, stderr, shop.doc.sessions], ["", "", []]);
    const on = await shop.hook("session-start", "SessionStart", { env: { HARN_EXT_SIGNALS_OFF: "0" } });
    assert.deepEqual(on.told, ["ci:main#1"]);
  });
});

// ---------------------------------------------------------------- session ids

describe("a session id", PARALLEL, () => {
  for (const id of ["../../escape%2F", "..", "é".repeat(40)]) {
    test(`such as ${id.slice(0, 20)} names a session and no path`, async () => {
      const shop = new Bench();
      await shop.fire(["ci:main"]);
      const { told, stderr } = await shop.hook(
        "session-start",
        shop.payload("SessionStart", { session_id: id }),
      );
      assert.deepEqual([told, stderr], [["ci:main#1"], ""]);
      assert.equal(findSignal(shop.doc, "ci:main")?.acked?.session, id);
      assert.deepEqual(readdirSync(shop.home).sort(), ["api", "signals"]);
      assert.deepEqual(readdirSync(join(shop.dir, "hook")).map(decodeURIComponent), [id]);
    });
  }

  const bad: [what: string, id: string][] = [
    ["starts another line and hides", `${ADA}\nexport PATH=\u202e\u200b`],
    ["is too long for a file's name", "€".repeat(100)],
  ];
  for (const [what, id] of bad) {
    test(`that ${what} is refused, and the person is told`, async () => {
      const shop = new Bench();
      await shop.fire(["ci:main"]);
      const said = await shop.hook("session-start", shop.payload("SessionStart", { session_id: id }));
      assert.equal(said.text, "");
      assert.match(
        said.message ?? "",
        /^ambient-signals: session_id: not usable: [\x20-\x7e€]*; nothing was delivered$/,
      );
      assert.deepEqual(shop.doc.sessions, []);
    });
  }

  test("reaches the session's own shell through CLAUDE_ENV_FILE, from its start only", async () => {
    const shop = new Bench();
    const file = join(shop.home, "env.sh");
    const env = { CLAUDE_ENV_FILE: file };
    const id = `it's "$(touch ${join(shop.home, "pwned")})" \\ \`id\``;
    await shop.hook("user-prompt-submit", shop.payload("UserPromptSubmit", { session_id: id }), { env });
    assert.ok(!existsSync(file), "only a session's start says so");

    writeFileSync(file, "export OTHER=1\n");
    await shop.hook("session-start", shop.payload("SessionStart", { session_id: id }), { env });
    assert.match(readFileSync(file, "utf8"), /^export OTHER=1\nexport HARN_EXT_SIGNALS_SESSION='[^\n]*'\n$/);
    const shell = await run("sh", ["-c", `. '${file}'; printf %s "$HARN_EXT_SIGNALS_SESSION"`]);
    assert.deepEqual([shell.stdout, shell.stderr], [id, ""]);
    assert.ok(!existsSync(join(shop.home, "pwned")));
  });
});

describe("the event of a subagent", PARALLEL, () => {
  for (const agent_id of ["a1", "", 7]) {
    test(`is no event of the session, agent_id ${JSON.stringify(agent_id)}`, async () => {
      const shop = new Bench();
      await shop.hook("user-prompt-submit", "UserPromptSubmit");
      await shop.fire(["ci:main"], { severity: "urgent" });
      const env = { CLAUDE_ENV_FILE: join(shop.home, "env") };
      for (const [hook, fixture] of [
        ["session-start", "SessionStart"],
        ["post-tool-use", "PostToolUse"],
        ["stop", "Stop"],
        ["session-end", "SessionEnd"],
      ] as const) {
        const { stdout } = await shop.hook(hook, shop.payload(fixture, { agent_id }), { env });
        assert.equal(stdout, "", hook);
      }
      assert.equal(shop.session?.state, "busy");
      assert.ok(!existsSync(env.CLAUDE_ENV_FILE));
      assert.deepEqual((await shop.hook("post-tool-use", "PostToolUse")).told, ["ci:main#1"]);
    });
  }
});

test("a compaction in the middle of a turn leaves the session as busy as it was", async () => {
  const shop = new Bench();
  await shop.hook("user-prompt-submit", "UserPromptSubmit");
  await shop.hook("session-start", shop.payload("SessionStart", { source: "compact" }));
  assert.equal(shop.session?.state, "busy");
  await shop.hook("session-start", shop.payload("SessionStart", { source: "resume" }));
  assert.equal(shop.session?.state, "idle");
});

test("what the person is shown is clean, whatever the trouble names", async () => {
  const shop = new Bench();
  const dir = join(shop.home, "in\n\u001b[31mbox\u202e");
  mkdirSync(join(dir, "config.toml"), { recursive: true });
  const { message, stdout, stderr } = await shop.hook("post-tool-use", "PostToolUse", {
    args: ["--dir", dir],
    env: { DEBUG: "1" },
  });
  assert.match(message ?? "", /config\.toml: cannot be read/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
  assert.doesNotMatch((message ?? "") + stdout + stderr.replaceAll("\n", ""), /[\u0000-\u001f\u202e]/);
});

describe("a flag that is not one of a hook's", PARALLEL, () => {
  for (const args of [["--dir"], ["--dir="], ["--dirr", "/tmp/x"], ["--dir", "/tmp/x", "more"]]) {
    test(`is trouble, and no session is reported anywhere: ${args.join(" ")}`, async () => {
      const shop = new Bench();
      const { message } = await shop.hook("session-start", "SessionStart", { args });
      assert.match(message ?? "", /not the flags of a hook/);
      assert.deepEqual(readdirSync(shop.dir).sort(), ["failures.jsonl", "told"]);
    });
  }
});

describe("the environment of a hook", PARALLEL, () => {
  const cases: [env: Record<string, string>, attended: boolean | undefined, pid: number | undefined][] = [
    [{ CLAUDE_CODE_SESSION_ATTENDED: "1", CLAUDE_PID: "12" }, true, 12],
    [{ CLAUDE_CODE_SESSION_ATTENDED: "", CLAUDE_PID: "1e3x" }, undefined, undefined],
  ];
  for (const [env, attended, pid] of cases) {
    test(`with ${JSON.stringify(env)} says attended ${attended} and process ${pid}`, async () => {
      const shop = new Bench();
      await shop.hook("session-start", "SessionStart", { env });
      assert.deepEqual([shop.session?.attended, shop.session?.pid], [attended, pid]);
    });
  }
});

// ---------------------------------------------------------------- an output that does not arrive

describe("a reminder whose output does not arrive", PARALLEL, () => {
  /** Short leases, so that a reminder which nobody confirmed comes again within the test. */
  const SOON = 'lease = "1s"\nstale_after = "1h"\n';

  const isLeased = (shop: Bench) => findSignal(shop.doc, "ci:main")?.lease !== undefined;

  /** A pipe that is full, so that a hook which prints stands still between lease and ack. */
  function fullPipe(shop: Bench): { fd: number; reader: number; size: number } {
    const path = join(shop.home, "pipe");
    assert.equal(spawnSync("mkfifo", [path]).status, 0);
    // Two openings, since the hook's start makes the one that it is given blocking.
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    let size = 0;
    for (const block of [65_536, 1]) {
      const bytes = Buffer.alloc(block, "x");
      try {
        for (;;) size += writeSync(fd, bytes);
      } catch (error) {
        assert.equal(codeOf(error), "EAGAIN");
      }
    }
    return { fd, reader, size };
  }

  async function comesAgain(shop: Bench): Promise<void> {
    assert.ok(!shop.isAcked("ci:main"), "what was not read is not acked");
    await sleep(1_050);
    const again = await shop.hook("post-tool-use", "PostToolUse");
    assert.deepEqual(again.told, ["ci:main#1"]);
    assert.match(
      again.text,
      / Sent again at \S+Z \(attempt 2\): the earlier delivery was not confirmed\.\n<signal-data>/,
    );
  }

  test("since the client closed it comes again", async () => {
    const shop = new Bench(SOON);
    await shop.fire(["ci:main"]);
    const hook = shop.start("post-tool-use");
    hook.child.stdout?.destroy();
    const { stderr } = await hook.ends(JSON.stringify(shop.payload("PostToolUse")));
    assert.match(stderr, /^ambient-signals: .*EPIPE.*\n$/);
    await comesAgain(shop);
  });

  test("since the hook was killed while it printed comes again", async () => {
    const shop = new Bench(SOON);
    await shop.fire(["ci:main"]);
    const { fd, reader } = fullPipe(shop);
    const hook = shop.start("post-tool-use", { stdout: fd });
    hook.write(JSON.stringify(shop.payload("PostToolUse")));
    await until("the hook leases", () => isLeased(shop));
    await hook.isKilled();
    closeSync(fd);
    closeSync(reader);
    await comesAgain(shop);
  });

  test("for a moment, since the pipe is full, is waited for and then acked", async () => {
    const shop = new Bench();
    await shop.fire(["ci:main"]);
    const { fd, reader, size } = fullPipe(shop);
    const hook = shop.start("post-tool-use", { stdout: fd });
    hook.write(JSON.stringify(shop.payload("PostToolUse")));
    await until("the hook leases", () => isLeased(shop));
    await sleep(100);
    assert.ok(!shop.isAcked("ci:main"), "acked before it was printed");

    closeSync(fd);
    const bytes = Buffer.alloc(size + 65_536);
    let read = 0;
    await until("the hook has ended and all is read", () => {
      try {
        const count = readSync(reader, bytes, read, bytes.length - read, null);
        read += count;
        return count === 0;
      } catch (error) {
        assert.equal(codeOf(error), "EAGAIN");
        return false;
      }
    });
    closeSync(reader);
    await hook.ends();
    assert.deepEqual(said(bytes.toString("utf8", size, read), "").told, ["ci:main#1"]);
    assert.ok(shop.isAcked("ci:main"));
  });

  for (const [what, streams] of [
    ["its output", ["stdout"]],
    ["both", ["stdout", "stderr"]],
  ] as const) {
    test(`and trouble besides, with ${what} closed, is no reason to exit with another status`, async () => {
      const shop = new Bench();
      shop.write("inbox.json", "not json");
      const hook = shop.start("post-tool-use");
      for (const stream of streams) hook.child[stream]?.destroy();
      await hook.ends(JSON.stringify(shop.payload("PostToolUse")));
    });
  }
});

// ---------------------------------------------------------------- trouble of our own

describe("trouble", PARALLEL, () => {
  const cases: [what: string, says: RegExp, make: (shop: Bench) => void][] = [
    [
      "an inbox that is not JSON",
      /inbox\.json is not JSON .*: signals doctor --repair --dir /,
      (shop) => shop.write("inbox.json", "{ not"),
    ],
    [
      "an inbox of a newer version",
      /is of version 99 and this copy knows 2; update this copy/,
      (shop) => shop.write("inbox.json", '{"schema":"ambient-signals.inbox","version":99,"signals":{}}'),
    ],
    [
      "an inbox that is not valid",
      /is not valid: signals\[0\]\.key; /,
      (shop) => {
        const fields =
          '"stamped_at":"2026-01-01T00:00:00.000Z","signals":[{"key":7}],"sessions":[],"ended":[]';
        shop.write("inbox.json", `{"schema":"ambient-signals.inbox","version":2,${fields}}`);
      },
    ],
    [
      "an inbox that is a folder",
      /inbox: cannot read .*EISDIR/,
      (shop) => mkdirSync(join(shop.dir, "inbox.json")),
    ],
    [
      "a file where the inbox should be",
      /inbox: cannot use .*; choose another with --dir/,
      (shop) => {
        rmSync(shop.dir, { recursive: true });
        writeFileSync(shop.dir, "");
      },
    ],
  ];
  for (const [what, says, make] of cases) {
    test(`with ${what} is one line for the person and none for the model`, async () => {
      const shop = new Bench();
      make(shop);
      const inbox = join(shop.dir, "inbox.json");
      const before = existsSync(inbox) && statSync(inbox).isFile() && readFileSync(inbox, "utf8");

      const { text, message, stderr } = await shop.hook("user-prompt-submit", "UserPromptSubmit");
      assert.equal(text, "");
      assert.match(message ?? "", /^ambient-signals: [^\n]+$/);
      assert.match(message ?? "", says);
      assert.equal(stderr, `${message}\n`);
      if (before) assert.equal(readFileSync(inbox, "utf8"), before, "left as it was");

      const again = await shop.hook("post-tool-use", "PostToolUse");
      assert.deepEqual([again.stdout, again.stderr], ["", stderr], "the person is told once");
    });
  }

  test("is told once to each session, again when it is another, and all of it is on record", async () => {
    const shop = new Bench();
    const other = { session_id: "other" };
    const told: (string | undefined)[] = [];
    const tell = async (fields: Payload = {}) =>
      told.push((await shop.hook("post-tool-use", shop.payload("PostToolUse", fields))).message);
    shop.write("inbox.json", "{ not");
    await tell();
    await tell();
    await tell(other);
    shop.write("inbox.json", "[]");
    await tell();
    await tell(other);
    await tell(other);
    assert.deepEqual(
      told.map((message) => message && (/is not JSON|is not valid/.exec(message)?.[0] ?? message)),
      ["is not JSON", undefined, "is not JSON", "is not valid", "is not valid", undefined],
    );
    const failures = readFailures(shop.dir);
    assert.deepEqual(
      failures.map(({ hook, event, session }) => [hook, event, session]),
      [ADA, ADA, "other", ADA, "other", "other"].map((id) => [
        "claude-code post-tool-use.mts",
        "PostToolUse",
        id,
      ]),
    );
    assert.equal(failures[0]?.message, told[0]);
  });

  test("that comes with calls that end at the same time is told by one of them", async () => {
    const shop = new Bench();
    shop.write("inbox.json", "{ not");
    const runs = await Promise.all(
      Array.from({ length: 6 }, () => shop.hook("post-tool-use", "PostToolUse")),
    );
    assert.equal(runs.filter(({ message }) => message !== undefined).length, 1);
  });

  test("that nothing can remember is told with a start or a prompt, and not with every call", async () => {
    const shop = new Bench();
    rmSync(shop.dir, { recursive: true });
    writeFileSync(shop.dir, "");
    const messages = [];
    for (const [name, event] of [
      ["session-start", "SessionStart"],
      ["post-tool-use", "PostToolUse"],
      ["stop", "Stop"],
      ["user-prompt-submit", "UserPromptSubmit"],
    ] as const) {
      messages.push((await shop.hook(name, event)).message);
    }
    assert.deepEqual(
      messages.map((message) => message !== undefined),
      [true, false, false, true],
    );
  });

  test("with flags in the settings is told once too", async () => {
    const shop = new Bench();
    const args = ["--dri", shop.dir];
    const { message } = await shop.hook("post-tool-use", "PostToolUse", { args });
    assert.match(message ?? "", /the only one is --dir DIR, nothing was delivered$/);
    assert.equal((await shop.hook("post-tool-use", "PostToolUse", { args })).stdout, "");
  });

  for (const full of ["bytes", "files"]) {
    test(`with a disk that has no ${full} left is told once, and over when there is room`, async (t) => {
      const inside = privateMounts();
      if (inside === undefined) {
        assert.notEqual(process.getuid?.(), 0, "root can mount");
        return t.diagnostic("no mount namespaces here");
      }
      const shop = new Bench();
      // A small disk for the inbox; the session starts, the disk fills up, and three hooks later there is room again.
      const script = `
        mount -t tmpfs -o size=128k,nr_inodes=60,mode=700 tmpfs "$DIR" && cd "$DIR" || exit 9
        hook() { printf '%s' "$2" | "$NODE" --import "$TSX" "$HOOKS/$1.mts"; echo " [$?]"; }
        hook session-start "$START"
        mkdir fill
        ${full === "bytes" ? "cat /dev/zero > fill/zeros" : "i=0; while touch fill/$i; do i=$((i+1)); done"}
        hook stop "$STOP"; hook user-prompt-submit "$PROMPT"; hook stop "$STOP"
        rm -r fill
        hook stop "$STOP"; cat inbox.json`;
      const [command = "", ...args] = inside;
      const events = { START: "SessionStart", STOP: "Stop", PROMPT: "UserPromptSubmit" };
      const { stdout } = await run(command, [...args, "sh", "-c", script], {
        cwd: shop.home,
        env: {
          DIR: shop.dir,
          HARN_EXT_SIGNALS_DIR: shop.dir,
          NODE: process.execPath,
          TSX: import.meta.resolve("tsx"),
          HOOKS: join(ROOT, "hooks", "claude-code"),
          ...Object.fromEntries(
            Object.entries(events).map(([name, event]) => [name, JSON.stringify(shop.payload(event))]),
          ),
        },
      });
      const [start, ...later] = stdout.split(" [0]\n");
      assert.equal(start, "");
      const messages = later.slice(0, 4).map((text) => (text === "" ? "" : JSON.parse(text).systemMessage));
      assert.equal(later.length, 5, stdout);
      const [first = "", ...others] = messages.filter((message) => message !== "");
      assert.match(first, /^ambient-signals: inbox: cannot (write|lock).* \(ENOSPC\); /);
      assert.deepEqual(others, [], stdout);
      assert.equal(messages[3], "", "when there is room it works again");
      assert.equal(JSON.parse(later[4] ?? "").sessions[0].state, "idle");
    });
  }

  test("at a session's end is said on stderr only, since nobody reads the output any more", async () => {
    const shop = new Bench();
    shop.write("inbox.json", "{ not");
    const { stdout, stderr } = await shop.hook("session-end", "SessionEnd");
    assert.equal(stdout, "");
    assert.match(stderr, /^ambient-signals: inbox: [^\n]+ is not JSON [^\n]+\n$/);
  });

  test("with config.toml is said once per session and version of the file, and nothing is un-muted", async () => {
    const shop = new Bench('[[mute]]\nkey = "muted:*"\n');
    await shop.fire(["muted:a", "ci:main"]);
    shop.write("config.toml", '[[mute]]\nkye = "muted:*"\n');
    const faulty =
      /^ambient-signals: \S+config\.toml:2: mute\[0\]\.kye: unknown key; did you mean key\? \(until then the last valid settings hold\)$/;

    const first = await shop.hook("session-start", "SessionStart");
    assert.match(first.message ?? "", faulty);
    assert.deepEqual([first.told, first.stderr], [["ci:main#1"], ""], "with the reminder, in one object");
    assert.doesNotMatch(first.text, /config/, "not to the model");
    assert.equal((await shop.hook("post-tool-use", "PostToolUse")).stdout, "", "once is enough");
    const other = await shop.hook("session-start", shop.payload("SessionStart", { session_id: "other" }));
    assert.match(other.message ?? "", faulty);

    shop.write("config.toml", "lease = 'soon'\n");
    const changed = await shop.hook("stop", "Stop");
    assert.match(changed.message ?? "", /config\.toml:1: lease: "soon" is not a duration/);
    shop.write("config.toml", "# nothing is muted any more\n");
    const mended = await shop.hook("post-tool-use", "PostToolUse");
    assert.deepEqual([mended.message, mended.told], [undefined, ["muted:a#1"]]);
  });

  test("with a first config.toml holds everything, and says so", async () => {
    const shop = new Bench('min_severity = "loud"\n');
    await shop.fire(["prod:down"], { severity: "urgent" });
    const { text, message } = await shop.hook("session-start", "SessionStart");
    assert.equal(text, "");
    assert.match(message ?? "", /config\.toml:1: min_severity: .* \(until then every signal is held\)$/);
  });

  test("with a lock that is never let go is said after two seconds; a hook with no news needs no lock", async () => {
    const shop = new Bench();
    await shop.hook("user-prompt-submit", "UserPromptSubmit");
    const seen = shop.session?.last_seen ?? "";
    // A lock that keeps changing is alive, so nobody takes it over.
    const lock = join(shop.dir, "inbox.lock");
    const holder = setInterval(() => writeFileSync(lock, String(Date.now())), 20);
    try {
      await until("the lock is held", () => existsSync(lock));
      const quiet = await shop.hook("post-tool-use", "PostToolUse");
      assert.deepEqual([quiet.stdout, quiet.stderr], ["", ""]);
      assert.ok(
        statSync(join(shop.dir, "hook", ADA)).mtime.toISOString() > seen,
        "a sign of life all the same",
      );

      const { text, message, stderr } = await shop.hook("stop", "Stop");
      assert.equal(text, "");
      assert.match(message ?? "", /^ambient-signals: inbox: busy for 2 s: held by [^\n]+; try again$/);
      assert.equal(stderr, `${message}\n`);
      assert.equal(shop.session?.state, "busy", "nothing was stored");
    } finally {
      clearInterval(holder);
      rmSync(lock, { force: true });
    }
  });
});
