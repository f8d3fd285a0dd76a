import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { startMessagesApi } from "../../lib/testing/messages-api.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { bash, bundles, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** What a session of the real client loses by a compaction, or by its own absence, it is shown again, once. */

before(() => Promise.all([claudeBinary(), bundles()]), { timeout: 300_000 });

describe("a session is shown again", PARALLEL, () => {
  test("after a compaction: what is still wrong, marked as told before, once", async (t) => {
    const shop = await Workshop.installed();
    await shop.fire(...RED);
    await shop.fire("pool:linux", "All linux runners are offline");
    const api = await startMessagesApi({
      script: [
        async () => {
          await shop.script("resolve", "pool:linux", "--summary", "The linux runners are back");
          return bash("true");
        },
        "First answer.",
        bash("true"),
        "Second answer.",
      ],
    });
    t.after(() => api.close());
    const terminal = await shop.terminal(api);
    t.after(() => terminal.close());

    await terminal.submit("hello");
    await terminal.sees(/● First answer\./);
    await terminal.submit("/compact");
    await terminal.sees(/Compacted \(/);
    await terminal.submit("go on");
    await terminal.sees(/● Second answer\./);

    // request: 1 hello, 2 after its call, 3 go on, after the compaction, 4 after its call
    assert.equal(api.requests.length, 4);
    const shown = (text: string) => timesShown(api.requests, text);
    assert.deepEqual(shown(RED_TOLD), [1, 0, 1, 0]);
    assert.deepEqual(shown("after a compaction of the context.\n<signal-data>"), [0, 0, 1, 0]);
    assert.deepEqual(shown("what happened: The linux runners are back"), [0, 1, 0, 0]);
    assert.equal(shown("All linux runners are offline")[2], 0, "what is over is not shown as if it were not");
    assert.deepEqual(shown("Sent again"), [0, 0, 0, 0]);

    await terminal.submit("/exit");
    assert.equal(await terminal.ends(), 0);
    assert.deepEqual(api.problems, []);
  });

  test("when it is resumed: what another session was told meanwhile, once", async () => {
    const shop = await Workshop.installed();
    await shop.fire(...RED);
    const { sessionId = "" } = await shop.session(["Done."]);
    await shop.script("resolve", "ci:main", "--summary", "CI on main is green again");
    const other = await shop.session(["Done."]);
    assert.deepEqual(timesShown(other.requests, "what happened: CI on main is green again"), [1]);

    const changed = "Told before, as generation 1; changed since";
    for (const _ of ["first", "second"]) {
      const { requests } = await shop.session(["Done."], { args: ["--resume", sessionId] });
      assert.deepEqual(timesShown(requests, changed), [1], "and from then on in the transcript");
      assert.deepEqual(timesShown(requests, "what happened: CI on main is green again"), [1]);
    }
  });
});
