import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { codexBinary } from "../../lib/testing/codex.ts";
import { AT, placesOf, type ResponsesRequest } from "../../lib/testing/responses-api.ts";
import { timesShown } from "../../lib/testing/shown.ts";
import { bundles, exec, PARALLEL, RED, RED_TOLD, Workshop } from "../../lib/testing/workshop.ts";

/** What a session of the real client loses by a compaction, or by its own absence, it is shown again, once. */

before(() => Promise.all([codexBinary(), bundles()]), { timeout: 300_000 });

/** How often a request shows a text at all, not only what is new in it: a compaction leaves little to compare with. */
function inAll(request: ResponsesRequest | undefined, text: string): number {
  return timesShown(request ? [request] : [], text)[0] ?? Number.NaN;
}

const TOLD =
  /Told before, at [\d:TZ-]+; shown again at [\d:TZ-]+, after a compaction of the context\.\n<signal-data>/g;

/** A conversation of more tokens than that is compacted before the model is asked again. */
const settings = { model_auto_compact_token_limit: 1000 };
const tokens = 5000;

describe("a compaction in mid-turn", PARALLEL, () => {
  test("is followed by what is still wrong, marked as told before, once", async () => {
    const shop = await Workshop.installedForCodex();
    await shop.fire(...RED);
    await shop.fire("pool:linux", "All linux runners are offline");
    const { requests, compactions } = await shop.codex(
      [
        async () => {
          await shop.script("resolve", "pool:linux", "--summary", "The linux runners are back");
          await shop.fire("prod", "The checkout answers with errors", "--severity", "urgent");
          return { ...exec("true"), tokens };
        },
        exec("true"),
        exec("true"),
        "Done.",
      ],
      { settings },
    );

    // What the hook of the call said was seen only by what sums up.
    const [summary, ...others] = compactions;
    assert.deepEqual(others, []);
    const [PROD_TOLD, BACK_TOLD] = [
      "what happened: The checkout answers with errors",
      "what happened: The linux runners are back",
    ];
    for (const text of [RED_TOLD, PROD_TOLD, BACK_TOLD]) assert.equal(inAll(summary, text), 1, text);

    // request: 1 the prompt, 2 after the compaction, 3 and 4 after the calls that follow
    assert.equal(requests.length, 4);
    const after = requests[1];
    assert.deepEqual(placesOf(requests.slice(1), "Ambient signals: ")[0], [AT.prompt], "behind the summary");
    for (const text of [RED_TOLD, PROD_TOLD]) assert.equal(inAll(after, text), 1, text);
    assert.equal(inAll(after, "linux runners"), 0, "what is over is not shown as if it were not");
    const said = after?.pieces.at(-1)?.text ?? "";
    assert.equal(said.match(TOLD)?.length, 2, said);
    assert.ok(said.indexOf(PROD_TOLD) < said.indexOf(RED_TOLD), "the most severe first");
    assert.deepEqual(timesShown(requests, "<signal-data>\n").slice(1), [2, 0, 0]);
    assert.deepEqual(timesShown(requests, "Sent again"), [0, 0, 0, 0]);

    assert.deepEqual(await shop.standing(), [
      ["ci:main", "fired", "delivered", 1],
      ["pool:linux", "resolved", "delivered", 1],
      ["prod", "fired", "delivered", 1],
    ]);
  });

  test("of many signals shows three with the number that is left out, new ones first", async () => {
    const shop = await Workshop.installedForCodex();
    for (const n of [1, 2, 3, 4, 5]) await shop.fire(`ci:${n}`, `Pipeline ${n} is failing`);
    const { requests } = await shop.codex(
      [
        // The hook of this call takes three of the four, so the start after the compaction leases the fourth.
        async () => {
          for (const n of [6, 7, 8, 9]) await shop.fire(`ci:${n}`, `Pipeline ${n} is failing`);
          return { ...exec("true"), tokens };
        },
        exec("true"),
        "Done.",
      ],
      { settings },
    );
    const said = requests[1]?.pieces.at(-1)?.text ?? "";
    const pipelines = [...said.matchAll(/what happened: Pipeline (\d) is failing/g)].map(([, n]) => n);
    assert.deepEqual(pipelines, ["9", "8", "7"]);
    assert.equal(said.match(TOLD)?.length, 2, "the first of them is no repetition");
    assert.match(said, /\n6 more signals told before are left out here\.$/);
    assert.deepEqual(timesShown(requests.slice(1), "Pipeline"), [3, 0]);
  });
});

describe("a session that is resumed", PARALLEL, () => {
  test("is shown what has changed since, and not what is as it was", async () => {
    const shop = await Workshop.installedForCodex();
    await shop.fire(...RED);
    await shop.fire("pool:linux", "All linux runners are offline");
    const first = await shop.codex(["Done."]);
    assert.deepEqual(timesShown(first.requests, "what happened: "), [2]);

    await shop.script("resolve", "ci:main", "--summary", "CI on main is green again");
    await shop.fire("prod", "The checkout answers with errors");
    const again = await shop.codex([exec("true"), "Done."], { resume: first.sessionId });
    assert.equal(again.sessionId, first.sessionId);
    const [request] = again.requests;
    assert.equal(inAll(request, RED_TOLD), 1, "its transcript still says so");
    assert.equal(inAll(request, "what happened: CI on main is green again"), 1);
    assert.equal(inAll(request, "what happened: The checkout answers with errors"), 1);
    assert.equal(inAll(request, "what happened: All linux runners are offline"), 1, "only in the transcript");
    assert.deepEqual(timesShown(again.requests, "mbient signals")[1], 0);
  });

  test("is shown what another session was told meanwhile, marked as changed, once", async () => {
    const shop = await Workshop.installedForCodex();
    await shop.fire(...RED);
    const { sessionId: resume } = await shop.codex(["Done."]);
    await shop.script("resolve", "ci:main", "--summary", "CI on main is green again");
    const other = await shop.codex(["Done."]);
    assert.deepEqual(timesShown(other.requests, "what happened: CI on main is green again"), [1]);

    const changed =
      /Signal resolved at [^\n]* Told before, as generation 1; changed since, and shown at [\d:TZ-]+, on resumption\.\n<signal-data>\n[^<]*what happened: CI on main is green again/;
    for (const n of [1, 2]) {
      const { requests } = await shop.codex(["Done."], { resume });
      const said = requests[0]?.pieces.filter(({ role, text }) => role === "developer" && changed.test(text));
      assert.equal(said?.length, 1, `in the ${n}. turn, as in the transcript from then on`);
    }
  });
});
