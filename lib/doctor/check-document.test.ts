import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document, Signal } from "../document.ts";
import { parseEnvelope } from "../envelope.ts";
import { structuralFault } from "../shape.ts";
import { AT, card, Inbox, session } from "../testing/build.ts";
import { brokenRules, refusedEnvelopes } from "./check-document.ts";

/** Three signals of session `a`, in every state: told and acked, leased, and owed; one that has ended, `b`. */
function inbox(): Inbox {
  const inbox = new Inbox();
  inbox.hook(0, { id: "b" });
  inbox.end(0, "b");
  inbox.fire(1, { key: "told" });
  inbox.tell(1);
  inbox.fire(2, { key: "leased" });
  inbox.hook(2);
  inbox.fire(3, { key: "k", envelope: envelope() });
  return inbox;
}

function envelope() {
  return parseEnvelope(card());
}

const LEASE = {
  token: "t",
  session: "a",
  generation: 1,
  attempt: 1,
  leased_at: AT(3),
  lapses_at: AT(13),
} as const;
const TOLD = { session: "a", generation: 1, state: "fired", at: AT(3) } as const;

test("what the rules themselves make breaks none, in any state", () => {
  const { doc } = inbox();
  assert.deepEqual(brokenRules(doc), []);
  assert.deepEqual(
    doc.signals.map(({ acked, lease, assigned }) => [!!acked, !!lease, !!assigned]),
    [
      [true, false, true],
      [false, true, true],
      [false, false, true],
    ],
  );
});

test("each rule is broken by what it is there for, and by nothing that the shape already refuses", () => {
  const signal = (change: Partial<Signal>) => (doc: Document) => ({
    ...doc,
    signals: doc.signals.map((other) => (other.key === "k" ? { ...other, ...change } : other)),
  });
  const cases: [by: string, says: string, breakIt: (doc: Document) => Document][] = [
    ["signal k", "a generation is a whole number from 1 on", signal({ generation: 1.5 })],
    ["signal k", "the text is of a generation that was", signal({ worded: 2 })],
    ["signal k", "the text is of a generation that was", signal({ worded: 0 })],
    [
      "signal k",
      "an unverified report is never urgent",
      signal({ severity: "urgent", signature: "unverified", trust: "unverified" }),
    ],
    ["signal k", "a signal is trusted no less than its last report", signal({ trust: "unverified" })],
    [
      "signal k",
      "what is leased is the present generation",
      signal({ generation: 2, worded: 2, lease: LEASE }),
    ],
    [
      "signal k",
      "what is acked is not leased any more",
      signal({ lease: LEASE, acked: { session: "a", at: AT(3) } }),
    ],
    [
      "signal k",
      "what sessions were told and leased was there before",
      signal({ told: [{ ...TOLD, generation: 2 }] }),
    ],
    [
      "signal k",
      "what sessions were told and leased was there before",
      signal({ past: [{ ...LEASE, generation: 2 }] }),
    ],
    ["signal k", "a session was told of one generation last", signal({ told: [TOLD, TOLD] })],
    [
      "signal k",
      "what waits for a session waits for one that is known",
      signal({ assigned: { session: "nobody", generation: 1 } }),
    ],
    [
      "session ",
      "a session's id can be the name of a file",
      (doc) => ({ ...doc, sessions: [session({ id: "" })] }),
    ],
    [
      "session a",
      "a session was seen when its last hook ran",
      (doc) => ({ ...doc, sessions: [session({ last_hook: AT(9) })] }),
    ],
    [
      "session a",
      "a session that has ended is not listed",
      (doc) => ({ ...doc, ended: [{ id: "a", at: AT(3) }] }),
    ],
    ["the list", "a session is listed once", (doc) => ({ ...doc, sessions: [session(), session()] })],
    ["the list", "no two leases have one token", signal({ past: [LEASE, LEASE] })],
  ];
  for (const [by, says, breakIt] of cases) {
    const broken = breakIt(inbox().doc);
    assert.equal(structuralFault(broken), undefined, says);
    assert.ok(
      brokenRules(broken).some((rule) => rule.by === by && rule.says === says),
      `${by}: ${says}: ${JSON.stringify(brokenRules(broken))}`,
    );
  }
});

test("a signal that waits for the session it is meant for breaks no rule, be that session known or not", () => {
  const { doc } = inbox();
  const signals = doc.signals.map((signal) => ({
    ...signal,
    hints: { session: "away" },
    assigned: { session: "away", generation: 1 },
  }));
  assert.deepEqual(brokenRules({ ...doc, signals }), []);
});

test("a text that would be refused today is found while it may still be told", () => {
  const { doc } = inbox();
  const signals = doc.signals.map((signal) => ({
    ...signal,
    envelope: { ...envelope(), summary: signal.key === "k" ? "x".repeat(2001) : "fine" },
  }));
  const [found, ...more] = refusedEnvelopes({ ...doc, signals });
  assert.equal(more.length, 0);
  assert.equal(found?.key, "k");
  assert.match(found?.reason ?? "", /^envelope: summary is longer than 2000 characters: "x+…"$/);

  const settled = signals.map((signal) => ({ ...signal, state: "resolved" as const, news: false }));
  assert.deepEqual(refusedEnvelopes({ ...doc, signals: settled }), []);
});
