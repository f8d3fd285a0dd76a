import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { structuralFault } from "./shape.ts";
import { Inbox, session } from "./testing/build.ts";

/** A document with everything in it that there can be, as JSON keeps it. */
function stored(): { [field: string]: never } {
  const inbox = new Inbox();
  inbox.doc = { ...inbox.doc, sessions: [session()], ended: [{ id: "b", at: inbox.doc.stamped_at }] };
  inbox.fire(0, { key: "k", hints: { session: "a" } });
  inbox.run(1, { checkIn: { ...session(), registers: true, subagent: false }, lease: "any" });
  inbox.fire(2, { key: "k", severity: "urgent" });
  inbox.run(3, { checkIn: { ...session(), registers: true, subagent: false }, lease: "any" });
  return JSON.parse(JSON.stringify(inbox.doc));
}

describe("a stored document", () => {
  test("of our own is sound, also with fields that are not known yet", () => {
    assert.equal(structuralFault(stored()), undefined);
    assert.equal(structuralFault({ ...stored(), later: { x: 1 } }), undefined);
  });

  // biome-ignore lint/suspicious/noExplicitAny: the table breaks documents in ways that no type allows
  const cases: [path: string, breaks: (doc: any) => void][] = [
    ["schema", (doc) => (doc.schema = "other")],
    ["version", (doc) => (doc.version = "1")],
    ["stamped_at", (doc) => (doc.stamped_at = "yesterday")],
    ["signals", (doc) => (doc.signals = {})],
    ["signals[0]", (doc) => (doc.signals[0] = null)],
    ["signals[0].severity", (doc) => (doc.signals[0].severity = "boom")],
    ["signals[0].state", (doc) => (doc.signals[0].state = "zzz")],
    ["signals[0].generation", (doc) => (doc.signals[0].generation = null)],
    ["signals[0].envelope", (doc) => (doc.signals[0].envelope = [])],
    ["signals[0].envelope.summary", (doc) => delete doc.signals[0].envelope.summary],
    ["signals[0].hints.cwd", (doc) => (doc.signals[0].hints.cwd = 7)],
    ["signals[0].past[0].token", (doc) => delete doc.signals[0].past[0].token],
    ["signals[0].told[0]", (doc) => (doc.signals[0].told = [null])],
    ["signals[0].lease.token", (doc) => (doc.signals[0].lease = {})],
    ["signals[0].expires_at", (doc) => (doc.signals[0].expires_at = "2026")],
    ["signals: a key is there twice", (doc) => doc.signals.push(doc.signals[0])],
    ["sessions[0].last_hook", (doc) => delete doc.sessions[0].last_hook],
    ["ended[0].at", (doc) => (doc.ended[0].at = 0)],
    ["policy.config.lease", (doc) => delete doc.policy.config.lease],
    ["policy.config.mute", (doc) => delete doc.policy.config.mute],
  ];
  for (const [path, breaks] of cases) {
    test(`is not sound with a broken ${path}`, () => {
      const doc = stored();
      breaks(doc);
      assert.equal(structuralFault(doc), path);
    });
  }

  for (const nothing of [null, undefined, 7, "x", []]) {
    test(`is not ${JSON.stringify(nothing)}`, () => assert.equal(structuralFault(nothing), "no object"));
  }
});
