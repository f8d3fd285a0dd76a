import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { until } from "../../lib/testing/bench.ts";
import type { InTerminal } from "../../lib/testing/client.ts";
import { codexBinary, codexInTerminal, codexWithDaemon, endDaemon } from "../../lib/testing/codex.ts";
import { AT, placesOf, type Step, startResponsesApi } from "../../lib/testing/responses-api.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** The interactive client, in a terminal that is driven as a person would. */

before(() => Promise.all([codexBinary(), bundles()]), { timeout: 300_000 });

/** The answer, and that the turn is over. */
const answer = (which: string) => new RegExp(`• ${which} answer\\.\\n\\s+Worked for`);

describe("in a terminal", PARALLEL, () => {
  /** A stand-in for the API, and how to start the client against it; both end when the test does. */
  async function prepare(t: TestContext, shop: Workshop, client: InTerminal, script: Step[]) {
    const api = await startResponsesApi({ script });
    t.after(() => api.close());
    const open = async (env?: Record<string, string>) => {
      const terminal = await shop.terminal(api, client, env);
      t.after(() => terminal.close());
      return terminal;
    };
    return { api, open };
  }

  test("a reminder comes with the prompt, and is not on the screen", async (t) => {
    const shop = await Workshop.installedForCodex();
    const { api, open } = await prepare(t, shop, codexInTerminal, [
      "First answer.",
      () =>
        shop
          .fire("prod", "The checkout answers with errors", "--severity", "urgent")
          .then(() => exec("true")),
      "Second answer.",
      "Third answer.",
    ]);
    const terminal = await open();
    await terminal.submit("hello");
    await terminal.sees(answer("First"));
    await shop.fire(...RED);
    await terminal.submit("go on");
    const screen = await terminal.sees(answer("Second"));
    assert.doesNotMatch(screen, /mbient|signal|hook|checkout answers/i);
    assert.ok(!screen.includes(RED[1]), screen);
    assert.deepEqual(placesOf(api.requests, "Ambient signals: "), [[], [AT.prompt], [AT.call]]);
    assert.deepEqual(timesShown(api.requests, RED_TOLD), [0, 1, 0]);

    // What a person compacts is told again with the next prompt.
    await terminal.submit("/compact");
    await terminal.sees(/• Context compacted/);
    await terminal.submit("and now");
    await terminal.sees(answer("Third"));
    assert.equal(api.compactions.length, 1);
    assert.deepEqual(timesShown(api.requests.slice(3), "after a compaction of the context."), [2]);

    await terminal.submit("/quit");
    assert.equal(await terminal.ends(), 0);
    assert.deepEqual(await shop.sessions(), []);
    assert.deepEqual(api.problems, []);
  });

  test("what comes after an interrupt and /clear goes to the session that began then", async (t) => {
    const shop = await Workshop.installedForCodex({ lease: "10m" });
    const { api, open } = await prepare(t, shop, codexInTerminal, [
      exec("sleep 0.1"),
      exec("sleep 60"),
      "Second answer.",
      "Third answer.",
    ]);
    const terminal = await open();
    await terminal.submit("hello");
    await until("it works on the second call", () => api.requests.length === 2);
    await terminal.sees(/esc to interrupt/);
    await terminal.press("Escape");
    await until("the interrupt leaves it idle", async () => (await shop.sessions())[0]?.state === "idle");

    await terminal.submit("/clear");
    await terminal.sees(/^(?![\s\S]*hello)/);
    await terminal.submit("hello again");
    await terminal.sees(answer("Second"));
    await shop.fire("prod", "The checkout answers with errors", "--severity", "urgent");
    await terminal.submit("go on");
    await terminal.sees(answer("Third"));
    const told = timesShown(api.requests, "what happened: The checkout answers with errors");
    assert.deepEqual(told.slice(-2), [0, 1]);
  });

  test("with the daemon of another shell the hooks use the inbox that their command names", async (t) => {
    const shop = new Workshop();
    t.after(() => endDaemon(shop.home));
    const [other, log] = [join(shop.home, "other"), join(shop.home, "own.log")];
    // A hook of the person's own tells which environment hooks are given.
    const command = `echo "$HARN_EXT_SIGNALS_DIR" >> '${log}'`;
    const own = { hooks: { SessionStart: [{ hooks: [{ type: "command", command }] }] } };
    mkdirSync(join(shop.home, ".codex"));
    writeFileSync(join(shop.home, ".codex", "hooks.json"), JSON.stringify(own));
    await shop.installForCodex({ flags: ["--dir", shop.inbox] });
    const { api, open } = await prepare(t, shop, codexWithDaemon, [
      "First answer.",
      "Second answer.",
      "Third answer.",
    ]);

    const first = await open({ HARN_EXT_SIGNALS_DIR: other });
    // The person's own one is theirs to trust.
    await first.sees(/1 hook is new or changed\.[\s\S]*2\. Trust all/);
    await first.press("Down");
    // An Enter that comes before the choice is on the screen would be lost.
    await first.sees(/› 2\. Trust all/);
    await first.press("Enter");
    await first.submit("hello");
    await first.sees(answer("First"));
    await first.submit("/quit");
    assert.equal(await first.ends(), 0);
    await first.close();

    // The daemon still has the first session, so only what comes now goes to the second.
    const second = await open();
    await second.submit("hello");
    await second.sees(answer("Second"));
    await shop.fire(...RED);
    await second.submit("go on");
    const screen = await second.sees(answer("Third"));
    assert.doesNotMatch(screen, /mbient|signal|hook/i);
    await second.submit("/quit");
    assert.equal(await second.ends(), 0);
    assert.equal(readFileSync(log, "utf8"), `${other}\n${other}\n`, "the environment is that of the first");
    assert.deepEqual(timesShown(api.requests, RED_TOLD), [0, 0, 1]);
    assert.ok(!existsSync(other));
    assert.deepEqual(api.problems, []);
  });
});
