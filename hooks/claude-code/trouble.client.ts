import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClaudeCodeRun, claudeBinary } from "../../lib/testing/claude-code.ts";
import type { Cut } from "../../lib/testing/cut.ts";
import { timesShown } from "../../lib/testing/messages-api.ts";
import { privateMounts } from "../../lib/testing/mounts.ts";
import { bash, bundles, PARALLEL, RED, RED_TOLD, until, Workshop } from "../../lib/testing/workshop.ts";
import { shellWord } from "../../lib/text.ts";

/** Hooks that die, hang or cannot use their inbox, in the real client: the session goes on and nothing is lost. */

const AGAIN = "(attempt 2): the earlier delivery was not confirmed.";

/** The lines for the person: what the client shows, and what a hook said that runs before it shows anything. */
function said({ events }: ClaudeCodeRun): string[] {
  return events.flatMap(({ subtype, content, stdout }) => {
    if (subtype === "informational") return [String(content)];
    return subtype === "hook_response" && stdout ? (JSON.parse(String(stdout)).systemMessage ?? []) : [];
  });
}

before(() => Promise.all([claudeBinary(), bundles()]), { timeout: 300_000 });

describe("a hook that does not come to its end loses nothing", PARALLEL, () => {
  /** How it ends, and how often each request shows the reminder: the client keeps what a killed hook had printed. */
  const ends: [how: Cut, shown: number[]][] = [
    ["killed before it prints", [0, 0, 1, 0]],
    ["killed before it acks", [0, 1, 1, 0]],
    ["stuck before it prints", [0, 0, 1, 0]],
  ];
  for (const [how, shown] of ends) {
    test(`${how}: a later one of the session tells it again and says so`, async () => {
      const shop = await Workshop.installed();
      const happened = shop.cut("PostToolBatch", how);
      const { requests } = await shop.session([
        () => shop.fire(...RED).then(() => bash("true")),
        // Longer than a lease.
        bash("sleep 4"),
        bash("true"),
        "Done.",
      ]);
      assert.ok(happened());
      assert.deepEqual(timesShown(requests, RED_TOLD), shown);
      assert.deepEqual(timesShown(requests, AGAIN), [0, 0, 1, 0]);
      const [signal] = await shop.list();
      assert.deepEqual([signal?.delivery.status, signal?.delivery.attempt], ["delivered", 2]);
    });
  }

  /** When the signal fires (0: before the session, 1, 2: while the model says that) and how many more do before it. */
  const points: [event: string, at: number, others: number][] = [
    ["SessionStart", 0, 0],
    ["UserPromptSubmit", 0, 3],
    ["PostToolBatch", 1, 0],
    ["Stop", 2, 0],
  ];
  for (const [event, at, others] of points) {
    test(`killed at ${event}: the session ends as ever, and the next one is told`, async () => {
      // The lease is out until the session's end takes it back.
      const shop = await Workshop.installed({ lease: "10m" });
      const happened = shop.cut(event, "killed before it prints");
      const fire = async (moment: number) => {
        if (moment !== at) return;
        for (let n = 0; n < others; n++) await shop.fire(`other:${n}`, "Another", "--severity", "urgent");
        await shop.fire(...RED, "--severity", "urgent");
      };
      await fire(0);
      const { requests } = await shop.session([
        () => fire(1).then(() => bash("true")),
        () => fire(2).then(() => "Done."),
      ]);
      assert.ok(happened());
      assert.deepEqual(timesShown(requests, RED_TOLD), [0, 0]);
      const next = await shop.session(["Hello."]);
      assert.deepEqual(timesShown(next.requests, RED_TOLD), [1]);
      assert.deepEqual(timesShown(next.requests, AGAIN), [1]);
    });
  }
});

describe("while another process has the inbox", PARALLEL, () => {
  /** Starts a process that holds the lock and is alive, as its touching it shows. Returns what ends it. */
  async function hold({ inbox }: Workshop, t: TestContext): Promise<() => Promise<void>> {
    const lock = join(inbox, "inbox.lock");
    const touch =
      "setInterval(() => fs.writeFileSync(process.argv[1], String(Date.now())), 20);" +
      "process.stdin.resume().on('end', () => process.exit())";
    const holder = spawn(process.execPath, ["-e", touch, lock], { stdio: ["pipe", "ignore", "ignore"] });
    const ended = once(holder, "close");
    const release = async () => {
      holder.kill("SIGKILL");
      await ended;
      rmSync(lock, { force: true });
    };
    t.after(release);
    while (!existsSync(lock)) await sleep(10);
    return release;
  }

  test("the session goes on, its person is told, and the reminder comes when it is free", async (t) => {
    const shop = await Workshop.installed();
    let release = async () => {};
    const run = await shop.session([
      async () => {
        await shop.fire(...RED);
        release = await hold(shop, t);
        return bash("true");
      },
      () => release().then(() => bash("true")),
      "Done.",
    ]);
    assert.deepEqual(timesShown(run.requests, RED_TOLD), [0, 0, 1]);
    assert.deepEqual(timesShown(run.requests, "Sent again"), [0, 0, 0], "it was never taken");
    assert.deepEqual(timesShown(run.requests, "busy"), [0, 0, 0]);
    const [line, ...more] = said(run);
    assert.match(line ?? "", /^PostToolBatch says: ambient-signals: inbox: busy for 2 s: held by /);
    assert.deepEqual(more, []);
  });

  test("a session ends all the same, and what it was not told goes to another", async (t) => {
    const shop = await Workshop.installed();
    let release = async () => {};
    const { requests } = await shop.session([
      async () => {
        await shop.fire(...RED, "--severity", "urgent");
        release = await hold(shop, t);
        return "Done.";
      },
    ]);
    assert.deepEqual(timesShown(requests, "mbient"), [0]);
    await release();
    // Nobody reported the end of the first one, so it counts as there until it was silent for a while.
    const next = await shop.session(until(RED_TOLD));
    assert.equal(timesShown(next.requests, RED_TOLD).at(-1), 1);
  });
});

describe("an inbox that cannot be used", PARALLEL, () => {
  const cases: [what: string, content: string, says: RegExp][] = [
    ["is not JSON", "{ not json", /inbox\.json is not JSON /],
    [
      "is of a newer version",
      '{"schema":"ambient-signals.inbox","version":99,"signals":{}}\n',
      /inbox\.json is of version 99 and this copy knows \d+; /,
    ],
    [
      "has lost a part",
      '{"schema":"ambient-signals.inbox","version":1,"signals":[]}\n',
      /inbox\.json is not valid: /,
    ],
  ];
  for (const [what, content, says] of cases) {
    test(`since it ${what} is a matter for the person, once, and for the model none`, async () => {
      const shop = await Workshop.installed();
      const file = join(shop.inbox, "inbox.json");
      const run = await shop.session([
        async () => {
          await shop.fire(...RED);
          writeFileSync(file, content);
          return bash("true");
        },
        bash("true"),
        "Done.",
      ]);
      assert.deepEqual(timesShown(run.requests, "mbient"), [0, 0, 0]);
      assert.deepEqual(timesShown(run.requests, "inbox"), [0, 0, 0]);
      const [line, ...more] = said(run);
      assert.match(line ?? "", says);
      assert.deepEqual(more, []);
      assert.equal(readFileSync(file, "utf8"), content, "left as it was");
    });
  }

  test("since the disk is full is a matter for the person, and the reminder comes when there is room", async (t) => {
    const mounts = privateMounts();
    if (mounts === undefined) {
      assert.notEqual(process.getuid?.(), 0, "root cannot mount a small tmpfs with unshare");
      t.diagnostic("no mount namespaces here: nothing was tested");
      return;
    }
    const shop = await Workshop.installed();
    // Only the client and what it starts see this disk, so the model does all that is done to it.
    const disk = 'mount -t tmpfs -o size=256k,nr_inodes=100,mode=700 tmpfs "$0" && exec "$@"';
    const fill = shellWord(join(shop.inbox, "fill"));
    const fire = `${process.execPath} ${join(await bundles(), "scripts", "fire.mjs")}`;
    const run = await shop.session(
      [
        bash(`${fire} --key ci:main --summary '${RED[1]}' && head -c 1M /dev/zero > ${fill}; wc -c ${fill}`),
        bash("true"),
        bash(`rm ${fill}`),
        "Done.",
      ],
      { under: [...mounts, "sh", "-c", disk, shop.inbox] },
    );
    assert.deepEqual(timesShown(run.requests, "No space left on device"), [0, 1, 0, 0]);
    assert.deepEqual(timesShown(run.requests, RED_TOLD), [0, 0, 0, 1]);
    assert.deepEqual(timesShown(run.requests, "mbient signals"), [0, 0, 0, 1]);
    assert.deepEqual(timesShown(run.requests, "ENOSPC"), [0, 0, 0, 0]);
    const [line, ...more] = said(run);
    assert.match(line ?? "", /^PostToolBatch says: ambient-signals: inbox: cannot \w+ .*\(ENOSPC\); /);
    assert.deepEqual(more, []);
  });
});

describe("a config.toml that cannot be used", PARALLEL, () => {
  const FAULT = /config\.toml:1: lease: "soon" is not a duration/;

  test("is a matter for the person, once; the last valid settings hold", async () => {
    const shop = await Workshop.installed();
    const run = await shop.session([
      async () => {
        await shop.fire(...RED);
        writeFileSync(join(shop.inbox, "config.toml"), 'lease = "soon"\n');
        return bash("true");
      },
      bash("true"),
      "Done.",
    ]);
    assert.deepEqual(timesShown(run.requests, RED_TOLD), [0, 1, 0]);
    assert.deepEqual(timesShown(run.requests, "config.toml"), [0, 0, 0]);
    const [line, ...more] = said(run);
    assert.match(line ?? "", FAULT);
    assert.match(line ?? "", /\(until then the last valid settings hold\)/);
    assert.deepEqual(more, []);
  });

  test("from the start holds every signal, and the session goes on", async () => {
    const shop = await Workshop.installed();
    await shop.fire(...RED);
    // As if there had never been valid ones.
    const { policy: _, ...doc } = JSON.parse(shop.stored);
    writeFileSync(join(shop.inbox, "inbox.json"), JSON.stringify(doc));
    writeFileSync(join(shop.inbox, "config.toml"), 'lease = "soon"\n');
    const run = await shop.session([bash("true"), "Done."]);
    assert.deepEqual(timesShown(run.requests, "mbient"), [0, 0]);
    const [line, ...more] = said(run);
    assert.match(line ?? "", FAULT);
    assert.match(line ?? "", /\(until then every signal is held\)/);
    assert.deepEqual(more, []);
  });
});
