import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { codexBinary } from "../../lib/testing/codex.ts";
import { AT, placesOf, type Step } from "../../lib/testing/responses-api.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/**
 * The main job, seen from the model: the real client, the hooks as they are installed and trusted, and a stand-in for
 * the API that records every request.
 */

before(() => Promise.all([codexBinary(), bundles()]), { timeout: 300_000 });

const HEADER = "Ambient signals: ";

describe("in the real Codex", PARALLEL, () => {
  test("a signal reaches the model once, at the next safe point, and so does its end", async () => {
    const shop = await Workshop.installedForCodex();
    await shop.fire(...RED);
    await shop.fire("ci:elsewhere", "CI of another repository is failing", "--repo", "acme/web");
    let living: { id: string; harness: string }[] = [];

    const { requests, sessionId } = await shop.codex([
      async () => {
        await shop.fire("pool:linux", "All linux runners are offline");
        return exec("true");
      },
      // Nothing new: this call outlasts a lease, so what was not confirmed would be told again after it.
      exec("sleep 4"),
      async () => {
        await shop.script("resolve", "ci:main", "--summary", "CI on main is green again");
        return exec("true");
      },
      async () => {
        living = await shop.sessions();
        return "I am done.";
      },
    ]);

    // request: 1 the prompt, 2 after the first call, 3 after `sleep`, 4 after the third
    const shown = (text: string) => timesShown(requests, text);
    assert.deepEqual(shown(RED_TOLD), [1, 0, 0, 0]);
    assert.deepEqual(shown("what happened: All linux runners are offline"), [0, 1, 0, 0]);
    assert.deepEqual(shown("what happened: CI on main is green again"), [0, 0, 0, 1]);
    assert.deepEqual(shown("another repository"), [0, 0, 0, 0]);

    assert.deepEqual(placesOf(requests, HEADER), [[AT.start], [AT.call], [], [AT.call]]);
    assert.deepEqual(shown(HEADER), [1, 1, 0, 1]);
    assert.deepEqual(shown("<signal-data>\n"), [1, 1, 0, 1]);
    assert.deepEqual(shown("\n</signal-data>"), [1, 1, 0, 1]);
    assert.deepEqual(shown("Sent again"), [0, 0, 0, 0]);

    assert.deepEqual(await shop.standing(), [
      ["ci:elsewhere", "fired", "held", 0],
      ["ci:main", "resolved", "delivered", 1],
      ["pool:linux", "fired", "delivered", 1],
    ]);
    assert.deepEqual(
      living.map(({ id, harness }) => [id, harness]),
      [[sessionId, "codex"]],
      "the session was registered while it ran",
    );
    assert.deepEqual(await shop.sessions(), [], "and has left");
  });

  test("an urgent signal does not hold a stop, and comes with the next prompt", async () => {
    const shop = await Workshop.installedForCodex();
    const fire = () => shop.fire(...RED, "--severity", "urgent");
    const { requests, sessionId } = await shop.codex([() => fire().then(() => "I am done.")]);
    assert.deepEqual(timesShown(requests, RED_TOLD), [0]);
    const next = await shop.codex(["Hello."], { resume: sessionId });
    assert.deepEqual(timesShown(next.requests, RED_TOLD), [1]);
    assert.deepEqual(timesShown(next.requests, "hook_prompt"), [0], "the stop added nothing to the session");
  });

  test("what a start leaves over comes behind the prompt", async () => {
    const shop = await Workshop.installedForCodex();
    for (const n of [1, 2, 3, 4]) await shop.fire(`ci:${n}`, `Pipeline ${n} is failing`);
    const { requests } = await shop.codex(["Done."]);
    assert.deepEqual(placesOf(requests, HEADER), [[AT.start, AT.prompt]]);
    assert.deepEqual(placesOf(requests, "what happened: Pipeline 4 is failing"), [[AT.prompt]]);
  });

  test("of six calls at once, one failing, a reminder comes with one", async () => {
    const shop = await Workshop.installedForCodex();
    const calls = [1, 2, 3, 4, 5, 6].map((n) => `echo call-${n}; ${n === 3 ? "exit 3" : "sleep 0.2"}`);
    const { requests } = await shop.codex([() => shop.fire(...RED).then(() => exec(...calls)), "Done."]);
    assert.deepEqual(placesOf(requests, RED_TOLD), [[], [AT.call]]);
    assert.deepEqual(timesShown(requests, RED_TOLD), [0, 1]);
    assert.deepEqual(timesShown(requests, "mbient signals:"), [0, 1], "and nothing else comes");
    assert.deepEqual(timesShown(requests, "call-"), [0, 6], "all six were run");
  });

  test("a command that fails brings a reminder too", async () => {
    const shop = await Workshop.installedForCodex();
    const { requests } = await shop.codex([() => shop.fire(...RED).then(() => exec("exit 3")), "Done."]);
    assert.deepEqual(placesOf(requests, RED_TOLD), [[], [AT.call]]);
    assert.deepEqual(timesShown(requests, "exited with code 3"), [0, 1], "and the result stays what it was");
  });

  test("of five signals three are told with the number that waits, then two", async () => {
    const shop = await Workshop.installedForCodex();
    const { requests } = await shop.codex([
      async () => {
        for (const n of [1, 2, 3, 4, 5]) await shop.fire(`ci:${n}`, `Pipeline ${n} is failing`);
        return exec("true");
      },
      exec("true"),
      exec("true"),
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

  /** Runs in which no hook of ours may do anything; the first one's are not asked after, and nothing is said of it. */
  const silent: [what: string, trusted: boolean, env: Record<string, string>][] = [
    ["whose hooks nobody has trusted", false, {}],
    ["that switches the hooks off", true, { HARN_EXT_SIGNALS_OFF: "1" }],
  ];
  for (const [what, trusted, env] of silent) {
    test(`a run ${what} is no session, and told nothing`, async () => {
      const shop = await Workshop.installedForCodex({ trusted });
      await shop.fire(...RED, "--severity", "urgent");
      let living: { id: string }[] = [];
      const step = async () => {
        living = await shop.sessions();
        return exec("true");
      };
      const { requests, stdout, stderr } = await shop.codex([step, "Done."], { env });
      assert.deepEqual(timesShown(requests, "mbient"), [0, 0]);
      assert.deepEqual(living, []);
      assert.doesNotMatch(stdout + stderr, /hook/i);
    });
  }
});

describe("a subagent", PARALLEL, () => {
  const agents = (name: string, input: Record<string, unknown>) => ({
    tools: [{ namespace: "multi_agent_v1", name, input }],
  });

  test("is told nothing, and its parent gets the reminder with the next call that ends", async () => {
    const shop = await Workshop.installedForCodex();
    let parentWaits = () => {};
    const waiting = new Promise<void>((resolve) => {
      parentWaits = resolve;
    });
    const wait: Step = ({ pieces }) => {
      const [, id] = /"agent_id":"([^"]+)"/.exec(pieces.at(-1)?.text ?? "") ?? [];
      parentWaits();
      return agents("wait_agent", { targets: [id] });
    };
    const { requests, subagentRequests, sessionId } = await shop.codex(
      [agents("spawn_agent", { message: "Look around." }), wait, "Done."],
      {
        subagents: [
          async () => {
            await waiting;
            await shop.fire(...RED, "--severity", "urgent");
            return exec("true", "exit 3");
          },
          exec("true"),
          "I have looked.",
        ],
      },
    );
    assert.equal(subagentRequests.length, 3);
    assert.deepEqual(timesShown(subagentRequests, "mbient"), [0, 0, 0]);
    assert.deepEqual(placesOf(requests, RED_TOLD), [[], [], [AT.call]]);
    assert.equal((await shop.list())[0]?.delivery.session, sessionId);
  });
});
