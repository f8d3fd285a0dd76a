import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { type Step, timesShown } from "../../lib/testing/messages-api.ts";
import { added, bash, bundles, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/**
 * The main job, seen from the model: the real client, the hooks as they are installed, and a stand-in for the API
 * that records every request.
 */

before(() => Promise.all([claudeBinary(), bundles()]), { timeout: 300_000 });

describe("in the real Claude Code", PARALLEL, () => {
  test("a signal reaches the model once, at the next safe point, and so does its end", async () => {
    const shop = await Workshop.installed();
    await shop.fire(...RED);
    await shop.fire("ci:elsewhere", "CI of another repository is failing", "--repo", "acme/web");
    let living: { id: string }[] = [];

    const { requests, sessionId } = await shop.session([
      async () => {
        await shop.fire("pool:linux", "All linux runners are offline");
        return bash('echo "id=$HARN_EXT_SIGNALS_SESSION"');
      },
      // Nothing new: this call outlasts a lease, so what was not confirmed would be told again after it.
      bash("sleep 4"),
      async () => {
        await shop.script("resolve", "ci:main", "--summary", "CI on main is green again");
        return bash("true");
      },
      async () => {
        living = await shop.sessions();
        await shop.fire("prod", "The checkout answers with errors", "--severity", "urgent");
        await shop.fire("note", "A new minor release is out", "--severity", "info");
        return "I am done.";
      },
      "I have looked at the checkout.",
    ]);

    // request: 1 the prompt, 2 after `echo`, 3 after `sleep`, 4 after `true`, 5 after the stop that was held
    const shown = (text: string) => timesShown(requests, text);
    assert.deepEqual(shown(RED_TOLD), [1, 0, 0, 0, 0]);
    assert.deepEqual(shown("what happened: All linux runners are offline"), [0, 1, 0, 0, 0]);
    assert.deepEqual(shown("what happened: CI on main is green again"), [0, 0, 0, 1, 0]);
    assert.deepEqual(shown("what happened: The checkout answers"), [0, 0, 0, 0, 1]);
    assert.deepEqual(shown("A new minor release"), [0, 0, 0, 0, 0], "info does not hold a stop");
    assert.deepEqual(shown("another repository"), [0, 0, 0, 0, 0]);

    assert.deepEqual(added("SessionStart", requests), [1, 0, 0, 0, 0]);
    assert.deepEqual(added("PostToolBatch", requests), [0, 1, 0, 1, 0]);
    assert.deepEqual(added("Stop", requests), [0, 0, 0, 0, 1]);
    assert.deepEqual(shown("<signal-data>\n"), [1, 1, 0, 1, 1]);
    assert.deepEqual(shown("\n</signal-data>"), [1, 1, 0, 1, 1]);
    assert.deepEqual(shown("Sent again"), [0, 0, 0, 0, 0]);

    assert.deepEqual(shown(`id=${sessionId}`), [0, 1, 0, 0, 0], "its shell knows which session it is");

    assert.deepEqual(await shop.standing(), [
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
    assert.deepEqual(await shop.sessions(), [], "and has left");
  });

  const clients: [what: string, version: string, events: string[]][] = [
    ["once after them all", "2.1.332", ["PostToolBatch"]],
    [
      "with one of them, for a client without PostToolBatch",
      "2.1.117",
      ["PostToolUse:Bash", "PostToolUseFailure:Bash"],
    ],
  ];
  for (const [what, version, events] of clients) {
    test(`of six calls at once, one failing, a reminder comes ${what}`, async () => {
      const shop = await Workshop.installed({ version });
      const calls = [1, 2, 3, 4, 5, 6].map((n) => `echo call-${n}; ${n === 3 ? "exit 3" : "sleep 0.2"}`);
      const { requests } = await shop.session([() => shop.fire(...RED).then(() => bash(...calls)), "Done."]);
      assert.deepEqual(timesShown(requests, RED_TOLD), [0, 1]);
      const at = events.map((event) => added(event, requests)[1] ?? 0);
      assert.equal(
        at.reduce((sum, times) => sum + times),
        1,
        `${at}`,
      );
      assert.deepEqual(timesShown(requests, "mbient signals:"), [0, 1], "and nothing else comes");
      assert.deepEqual(timesShown(requests, "call-"), [0, 6], "all six were run");
    });
  }

  test("a call that fails alone brings a reminder too, for a client without PostToolBatch", async () => {
    const shop = await Workshop.installed({ version: "2.1.117" });
    const { requests } = await shop.session([() => shop.fire(...RED).then(() => bash("exit 3")), "Done."]);
    assert.deepEqual(added("PostToolUseFailure:Bash", requests), [0, 1]);
  });

  test("of five signals three are told with the number that waits, then two", async () => {
    const shop = await Workshop.installed();
    const { requests } = await shop.session([
      async () => {
        for (const n of [1, 2, 3, 4, 5]) await shop.fire(`ci:${n}`, `Pipeline ${n} is failing`);
        return bash("true");
      },
      bash("true"),
      bash("true"),
      "Done.",
    ]);
    const told = [1, 2, 3, 4, 5].map((n) =>
      timesShown(requests, `what happened: Pipeline ${n} is failing`).indexOf(1),
    );
    assert.deepEqual(told, [1, 1, 1, 2, 2], "the oldest first");
    assert.deepEqual(timesShown(requests, "what happened: Pipeline"), [0, 3, 2, 0]);
    assert.deepEqual(timesShown(requests, "\n2 more signals wait for a later safe point."), [0, 1, 0, 0]);
    assert.deepEqual(timesShown(requests, "for a later safe point"), [0, 1, 0, 0]);
  });

  test("a run that switches the hooks off is no session, and told nothing", async () => {
    const shop = await Workshop.installed();
    await shop.fire(...RED, "--severity", "urgent");
    let living: { id: string }[] = [];
    const step = async () => {
      living = await shop.sessions();
      return bash("true");
    };
    const { requests } = await shop.session([step, "Done."], { env: { HARN_EXT_SIGNALS_OFF: "1" } });
    assert.deepEqual(timesShown(requests, "mbient"), [0, 0]);
    assert.deepEqual(living, []);
  });

  test("what waited is told with the prompt of a resumed session", async () => {
    const shop = await Workshop.installed();
    const first = await shop.session(["Hello."]);
    await shop.fire(...RED);
    const again = await shop.session(["Hello again."], { args: ["--resume", first.sessionId ?? ""] });
    assert.equal(again.sessionId, first.sessionId);
    assert.deepEqual(timesShown(again.requests, RED_TOLD), [1]);
  });
});

describe("a subagent", PARALLEL, () => {
  const start = (run_in_background: boolean): Step => ({
    tools: [
      {
        name: "Agent",
        input: {
          description: "look",
          prompt: "Look around.",
          subagent_type: "general-purpose",
          run_in_background,
        },
      },
    ],
  });

  test("is told nothing, and its parent gets the reminder with its result", async () => {
    const shop = await Workshop.installed();
    const { requests, subagentRequests } = await shop.session([start(false), "Done."], {
      subagents: [
        () => shop.fire(...RED, "--severity", "urgent").then(() => bash("true", "exit 3")),
        bash("true"),
        "I have looked.",
      ],
    });
    assert.equal(subagentRequests.length, 3);
    assert.deepEqual(timesShown(subagentRequests, "mbient"), [0, 0, 0]);
    assert.deepEqual(timesShown(requests, RED_TOLD), [0, 1]);
    assert.deepEqual(added("PostToolBatch", requests), [0, 1]);
  });

  test("in the background is told nothing, and its parent gets the reminder when it is woken by its end", async () => {
    const shop = await Workshop.installed();
    let parentStops = () => {};
    const stopping = new Promise<void>((resolve) => {
      parentStops = resolve;
    });
    const { requests, subagentRequests } = await shop.session(
      [
        start(true),
        () => {
          parentStops();
          return "I wait for it.";
        },
        "Done.",
      ],
      {
        subagents: [() => stopping.then(() => shop.fire(...RED)).then(() => bash("true")), "I have looked."],
      },
    );
    assert.deepEqual(timesShown(subagentRequests, "mbient"), [0, 0]);
    assert.deepEqual(timesShown(requests, RED_TOLD), [0, 0, 1]);
    assert.deepEqual(added("UserPromptSubmit", requests), [0, 0, 1]);
  });
});
