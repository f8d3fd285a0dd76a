import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { type Step, startMessagesApi, timesShown } from "../../lib/testing/messages-api.ts";
import { bash, bundles, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** The interactive client, in a terminal that is driven as a person would. */

before(() => Promise.all([claudeBinary(), bundles()]), { timeout: 300_000 });

describe("in a terminal", PARALLEL, () => {
  /** Starts the client with the installed hooks; both ends close when the test does. */
  async function open(t: TestContext, shop: Workshop, script: Step[]) {
    const api = await startMessagesApi({ script });
    t.after(() => api.close());
    const terminal = await shop.terminal(api);
    t.after(() => terminal.close());
    return { api, terminal };
  }

  test("what a session was not told goes to the one that /clear begins", async (t) => {
    const shop = await Workshop.installed();
    const { api, terminal } = await open(t, shop, ["First answer.", "Second answer."]);
    const idsOf = async () => (await shop.sessions()).map(({ id }) => id);

    assert.doesNotMatch(await terminal.ready(), /Settings Warning/);
    // The client takes input before the hook of the start has ended.
    while ((await idsOf()).length === 0) await sleep(50);
    const [first, ...others] = await idsOf();
    assert.deepEqual(others, []);

    await terminal.submit("hello");
    await terminal.sees(/● First answer\./);
    await shop.fire(...RED);
    assert.equal((await shop.list())[0]?.delivery.session, first);

    await terminal.submit("/clear");
    await terminal.sees(/^(?![\s\S]*First answer)/);
    await terminal.submit("go on");
    await terminal.sees(/● Second answer\./);
    const [second, ...more] = await idsOf();
    assert.notEqual(second, first);
    assert.deepEqual(more, [], "the old one has ended");
    assert.deepEqual(timesShown(api.requests, RED_TOLD), [0, 1]);
    assert.deepEqual(timesShown(api.requests, "Sent again"), [0, 0]);
    const { status, session } = (await shop.list())[0]?.delivery ?? {};
    assert.deepEqual([status, session], ["delivered", second]);

    await terminal.submit("/exit");
    assert.equal(await terminal.ends(), 0);
    assert.deepEqual(await idsOf(), []);
    assert.deepEqual(api.problems, []);
  });

  test("a broken inbox is said to the person once, and not to the model", async (t) => {
    const shop = await Workshop.installed();
    writeFileSync(join(shop.inbox, "inbox.json"), "{ not json");
    const { api, terminal } = await open(t, shop, [bash("true"), "First answer.", "Second answer."]);
    await terminal.sees(/SessionStart:startup says: ambient-signals: inbox: .* is not JSON/);

    await terminal.submit("hello");
    await terminal.sees(/● First answer\./);
    await terminal.submit("go on");
    const screen = await terminal.sees(/● Second answer\./);
    assert.equal(screen.split("ambient-signals:").length - 1, 1, screen);
    assert.deepEqual(timesShown(api.requests, "mbient"), [0, 0, 0]);
    assert.deepEqual(api.problems, []);

    await terminal.submit("/exit");
    assert.equal(await terminal.ends(), 0);
  });
});
