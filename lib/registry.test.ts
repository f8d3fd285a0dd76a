import assert from "node:assert/strict";
import { test } from "node:test";
import { SignalsError, UsageError } from "./errors.ts";
import { sessionNamed } from "./registry.ts";
import { document, session } from "./testing/build.ts";
import { sessionLabel } from "./view.ts";

const ADA = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";
const BOB = "5e551014-0000-4c0d-9b1f-2f6c1d0a9e37";
const EVE = "0dd5e551-7a1e-4c0d-9b1f-2f6c1d0a9e37";

test("a session is the one that is named whole, or whose beginning is no other's", () => {
  const ids = [ADA, BOB, EVE, "0dd5", "watch-the-build"];
  const doc = document({ sessions: ids.map((id) => session({ id })) });
  const cases: [name: string, id: string][] = [
    [ADA, ADA],
    ["5e551014-7", ADA],
    ["0dd5e551", EVE],
    ["0DD5E551", EVE],
    ["0dd5", "0dd5"],
    // Of ids of another form people are shown all, so a part of one is another.
    ["watch", "watch"],
    ["nobody", "nobody"],
    ["", ""],
  ];
  for (const [name, id] of cases) assert.equal(sessionNamed(doc, name), id, name);
  assert.throws(
    () => sessionNamed(doc, "5e551014"),
    (error) =>
      error instanceof SignalsError &&
      !(error instanceof UsageError) &&
      error.message === `session: 5e551014: could be any of ${ADA}, ${BOB}; write more of it`,
  );
});

test("what people are shown of a session names it again, also when its id begins with a time", () => {
  const cases: [id: string, shown: string][] = [
    [ADA, "5e551014"],
    [EVE, "0dd5e551"],
    // Two of one minute, as Codex numbers them.
    ["019e5510-7a1e-7c0d-9b1f-2f6c1d0a9e37", "019e5510-7a1e"],
    ["019e5510-9f02-7c0d-8b1f-2f6c1d0a9e37", "019e5510-9f02"],
    ["watch-the-build", "watch-the-build"],
    ["5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37-and-more", "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37-and-more"],
  ];
  const doc = document({ sessions: cases.map(([id]) => session({ id })) });
  for (const [id, shown] of cases) {
    assert.equal(sessionLabel(doc, id), `${shown} (claude-code, api)`);
    assert.equal(sessionNamed(doc, shown), id);
  }
});
