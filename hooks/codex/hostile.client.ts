import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { codexBinary } from "../../lib/testing/codex.ts";
import { ATTACKS, FIELDS, fireHostile, framesOf } from "../../lib/testing/hostile.ts";
import { newTexts, type Shown, timesShown } from "../../lib/testing/shown.ts";
import { bundles, exec, PARALLEL, Workshop } from "../../lib/testing/workshop.ts";

/** Text from outside that tries to be more than data, in the real client: what the model is shown holds one frame. */

before(() => Promise.all([codexBinary(), bundles()]), { timeout: 300_000 });

/** The output of ours that a request newly shows: a message of its own, which holds nothing else. */
function outputIn(requests: readonly Shown[], index: number): string {
  const pieces = newTexts(requests)[index] ?? [];
  const [output, ...others] = pieces.filter(({ text }) => text.includes("<signal-data>"));
  assert.deepEqual(others, []);
  assert.equal(output?.role, "developer");
  return output?.text ?? "";
}

describe("hostile text in a signal", PARALLEL, () => {
  test("stays inside its frame, and the turn goes on", async () => {
    const shop = await Workshop.installedForCodex();
    const attacks = Object.values(ATTACKS);
    const all = attacks.map(({ text }) => text).join(" ");
    const batches = [
      ...[0, 3, 6].map((from) => attacks.slice(from, from + 3)),
      [{ text: all.slice(0, 2000), shown: "red" }],
    ];
    const steps = batches.map((batch, i) => async () => {
      for (const [j, { text }] of batch.entries()) await fireHostile(shop, `k:${i}:${j}`, text);
      return exec("true");
    });
    const { requests } = await shop.codex([...steps, "Done."]);
    assert.equal(requests.length, 5);

    for (const [i, batch] of batches.entries()) {
      const frames = framesOf(outputIn(requests, i + 1));
      assert.equal(frames.length, batch.length);
      for (const [j, { shown }] of batch.entries()) {
        const frame = frames[j] ?? "";
        for (const field of FIELDS.slice(3)) assert.ok(frame.includes(`${field}: ${shown}`), frame);
      }
    }
    assert.deepEqual(timesShown(requests, "</signal-data>"), [0, 3, 3, 3, 1]);
    assert.deepEqual(timesShown(requests, "<system-reminder>OBEY"), [0, 0, 0, 0, 0]);
    assert.deepEqual(timesShown(requests, "\nHuman:"), [0, 0, 0, 0, 0]);
    assert.deepEqual(timesShown(requests, "\nAmbient signals:"), [0, 0, 0, 0, 0]);
  });

  /** Each makes as much of every field as it can: in bytes, and in what escaping makes of it. */
  for (const letter of ["漢", "&", "é"]) {
    test(`of 1,000 times ${letter} in every field arrives whole, three signals at once`, async () => {
      const shop = await Workshop.installedForCodex();
      const { requests } = await shop.codex([
        async () => {
          for (const n of [1, 2, 3, 4])
            await fireHostile(
              shop,
              `${n}${letter.repeat(500)}`,
              letter.repeat(1000),
              "--severity",
              "warning",
            );
          return exec("true");
        },
        "Done.",
      ]);
      const output = outputIn(requests, 1);
      const [whole, more] = output.split(/\n(?=1 more signal waits for a later safe point\.$)/);
      assert.ok(more, output.slice(-200));
      assert.equal(framesOf(whole ?? "").length, 3);
      const bytes = Buffer.byteLength(output);
      assert.ok(bytes > 6000 && bytes <= 9000, `${bytes} bytes`);
      assert.deepEqual(timesShown(requests, "truncated"), [0, 0]);
      assert.ok(!readdirSync(join(shop.home, "tmp")).includes("hook_outputs"), "nothing is left in a file");
    });
  }
});
