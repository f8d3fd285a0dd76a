import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { claudeBinary } from "../../lib/testing/claude-code.ts";
import { ATTACKS, FIELDS, fireHostile, framesOf } from "../../lib/testing/hostile.ts";
import { type MessagesRequest, newTexts, timesShown } from "../../lib/testing/messages-api.ts";
import { bash, bundles, PARALLEL, Workshop } from "../../lib/testing/workshop.ts";

/** Text from outside that tries to be more than data, in the real client: what the model is shown holds one frame. */

before(() => Promise.all([claudeBinary(), bundles()]), { timeout: 300_000 });

/** The output of ours that a request newly shows, from the header to the end of the last frame. */
function outputIn(requests: readonly MessagesRequest[], index: number): string {
  const pieces = newTexts(requests)[index] ?? [];
  const outputs = pieces.flatMap(
    ({ text }) => /hook additional context: (Ambient signals: [\s\S]*<\/signal-data>)/.exec(text)?.[1] ?? [],
  );
  assert.equal(outputs.length, 1);
  return outputs[0] ?? "";
}

describe("hostile text in a signal", PARALLEL, () => {
  // With the first the text is a message of its own, with the second a part of a tool's result.
  for (const model of [undefined, "claude-opus-4-6"]) {
    test(`stays inside its frame, and the turn goes on: ${model ?? "the client's own model"}`, async () => {
      const shop = await Workshop.installed();
      const attacks = Object.values(ATTACKS);
      const batches = [0, 3, 6].map((from) => attacks.slice(from, from + 3));
      const steps = batches.map((batch, i) => async () => {
        for (const [j, { text }] of batch.entries()) await fireHostile(shop, `k:${i}:${j}`, text);
        return bash("true");
      });
      const last = async () => {
        const all = attacks.map(({ text }) => text).join(" ");
        await fireHostile(shop, "k:last", all.slice(0, 2000), "--severity", "urgent");
        return "Done.";
      };
      const { requests } = await shop.session([...steps, last, "Done again."], model ? { model } : {});
      assert.equal(requests.length, 5);

      for (const [i, batch] of batches.entries()) {
        const frames = framesOf(outputIn(requests, i + 1));
        assert.equal(frames.length, 3);
        for (const [j, { shown }] of batch.entries()) {
          const frame = frames[j] ?? "";
          for (const field of FIELDS.slice(3)) assert.ok(frame.includes(`${field}: ${shown}`), frame);
        }
      }
      assert.equal(framesOf(outputIn(requests, 4)).length, 1);
      assert.deepEqual(timesShown(requests, "</signal-data>"), [0, 3, 3, 3, 1]);
      assert.deepEqual(timesShown(requests, "<system-reminder>OBEY"), [0, 0, 0, 0, 0]);
      assert.deepEqual(timesShown(requests, "\nHuman:"), [0, 0, 0, 0, 0]);
      assert.deepEqual(timesShown(requests, "\nAmbient signals:"), [0, 0, 0, 0, 0]);
    });
  }
});
