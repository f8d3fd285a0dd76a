import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Document, Signal } from "./document.ts";
import { SignalsError } from "./errors.ts";
import { bytesOf, collect, makeRoom, shed } from "./garbage.ts";
import { type FireReport, fire, resolve } from "./lifecycle.ts";
import { AT, card, DAY, document, frozen, Inbox, report, resolution } from "./testing/build.ts";

const keys = (doc: Document) => doc.signals.map(({ key }) => key).join(" ");

/** A stored signal as `fields` want it, that changed at this minute. */
function signal(key: string, minutes: number, fields: Partial<Signal> = {}): Signal {
  const [doc] = fire(document(), report({ key, signature: fields.trust ?? "local" }), AT(minutes));
  const [fresh] = doc.signals;
  assert.ok(fresh);
  return { ...fresh, ...fields };
}
const settled = (key: string, minutes: number, fields: Partial<Signal> = {}) =>
  signal(key, minutes, { state: "resolved", news: false, ...fields });
const owed = (key: string, minutes: number) => settled(key, minutes, { news: true, follow_up: "a" });
const weak = (key: string, minutes: number, fields: Partial<Signal> = {}) =>
  signal(key, minutes, { trust: "unverified", ...fields });
const lease = {
  token: "t",
  session: "a",
  generation: 1,
  attempt: 1,
  leased_at: AT(0),
  lapses_at: AT(10),
};

/** A document that is full with these signals. */
const full = (...signals: Signal[]) => frozen(document({ signals }, { max_signals: signals.length }));

describe("retention", () => {
  const cases: [name: string, signal: Signal, kept: boolean][] = [
    ["a settled signal stays for retain", settled("k", 0.01), true],
    ["a settled signal goes after retain", settled("k", 0), false],
    ["an expired one goes after retain", settled("k", 0, { state: "expired" }), false],
    ["one that waits for an absent session goes after retain", owed("k", 0), false],
    ["one that fired long ago and settled now stays", settled("k", 7 * DAY, { fired_at: AT(-DAY) }), true],
    ["a fired one stays, however old", signal("k", -30 * DAY, { expires_at: AT(9 * DAY) }), true],
  ];
  for (const [name, one, kept] of cases) {
    test(name, () => {
      const doc = frozen(document({ signals: [one] }));
      const after = collect(doc, AT(7 * DAY));
      assert.equal(keys(after), kept ? "k" : "");
      if (kept) assert.equal(after, doc);
    });
  }

  test("takes what is remembered of a signal with it, so that it fires anew", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: card({ source_timestamp: AT(0) }) });
    inbox.tell(1);
    inbox.resolve(2);
    const older = { envelope: card({ source_timestamp: AT(-1) }) };
    assert.equal(inbox.fire(6 * DAY, older), "stale");
    inbox.run(8 * DAY);
    assert.equal(inbox.fire(8 * DAY, older), "fired");
    assert.equal(inbox.signal().generation, 1);
  });
});

describe("past max_signals", () => {
  test("nothing goes before the cap is passed", () => {
    const doc = frozen(document({ signals: [settled("a", 1), signal("b", 2)] }, { max_signals: 3 }));
    assert.equal(makeRoom(doc, signal("new", 3)), doc);
  });

  const cases: [name: string, stored: Signal[], fresh: Signal, left: string | "refused"][] = [
    ["the oldest settled one goes", [settled("a", 2), settled("b", 1)], signal("new", 3), "a"],
    ["one with nothing owed goes first", [owed("a", 1), settled("b", 2)], signal("new", 3), "a"],
    ["then the oldest settled one with something owed", [owed("a", 2), owed("b", 1)], signal("new", 3), "a"],
    ["a settled one goes before a weak one", [weak("a", 1), owed("b", 2)], signal("new", 3), "a"],
    ["a settled one goes for a weak report too", [settled("a", 1), signal("b", 2)], weak("new", 3), "b"],
    ["then the oldest weak one, for a stronger report", [weak("a", 2), weak("b", 1)], signal("new", 3), "a"],
    [
      "a weak one with no lease out goes first",
      [weak("a", 1, { lease }), weak("b", 2)],
      signal("new", 3),
      "a",
    ],
    ["a weak one goes although its lease is out", [weak("a", 1, { lease })], signal("new", 3), ""],
    ["no weak one goes for a weak report", [weak("a", 1)], weak("new", 3), "refused"],
    ["a fired strong one never goes", [signal("a", 1)], signal("new", 3), "refused"],
  ];
  for (const [name, stored, fresh, left] of cases) {
    test(name, () => {
      const doc = full(...stored);
      if (left === "refused") assert.throws(() => makeRoom(doc, fresh), SignalsError);
      else assert.equal(keys(makeRoom(doc, fresh)), left);
    });
  }

  test("a weak one that went is counted, and only such a one", () => {
    assert.equal(makeRoom(full(weak("a", 1), weak("b", 2)), signal("new", 3)).evicted, 1);
    const again = { ...full(weak("a", 1)), evicted: 4 };
    assert.equal(makeRoom(again, signal("new", 3)).evicted, 5);
    assert.equal(makeRoom(full(settled("a", 1)), signal("new", 3)).evicted, undefined);
  });

  test("a lower cap in the configuration drops settled ones at once, and no fired one", () => {
    const signals = [signal("a", 1), owed("b", 2), settled("c", 4), settled("d", 3), signal("e", 5)];
    const cap = (max_signals: number) => keys(collect(document({ signals }, { max_signals }), AT(10)));
    assert.deepEqual([5, 4, 3, 2, 1].map(cap), ["a b c d e", "a b c e", "a b e", "a e", "a e"]);
  });
});

describe("past max_bytes", () => {
  const big = (key: string, minutes: number, make = settled) =>
    make(key, minutes, { envelope: card({ summary: "x".repeat(1_000) }) });

  test("settled signals go until a new one fits, the oldest first", () => {
    const signals = [big("a", 1), big("b", 2), big("c", 3)];
    const fresh = big("new", 4, signal);
    const size = (max_bytes: number) => document({ signals }, { max_bytes });
    const whole = bytesOf(document({ signals: [...signals, fresh] }, { max_bytes: 9_999 }));
    const one = bytesOf(big("a", 1)) + 1;
    assert.equal(keys(makeRoom(size(whole), fresh)), "a b c");
    assert.equal(keys(makeRoom(size(whole - 1), fresh)), "b c");
    assert.equal(keys(makeRoom(size(whole - one), fresh)), "b c");
    assert.equal(keys(makeRoom(size(whole - one - 1), fresh)), "c");
  });

  test("what is left fits, to the byte", () => {
    const signals = [big("a", 1), big("b", 2), big("c", 3, signal)];
    const fresh = big("new", 4, signal);
    for (let max_bytes = 3_000; max_bytes < 9_000; max_bytes += 101) {
      try {
        const doc = makeRoom(document({ signals }, { max_bytes }), fresh);
        assert.ok(bytesOf({ ...doc, signals: [...doc.signals, fresh] }) <= max_bytes);
      } catch (error) {
        assert.ok(error instanceof SignalsError);
        assert.ok(bytesOf(document({ signals: [big("c", 3, signal), fresh] })) > max_bytes - 20);
      }
    }
  });

  test("a signal larger than the inbox may be is refused", () => {
    const doc = frozen(document({ signals: [settled("a", 1)] }, { max_bytes: 1_000 }));
    assert.throws(
      () => makeRoom(doc, big("new", 2, signal)),
      /full: fired signals take all of max_bytes = 1000;/,
    );
  });

  test("settled ones can be shed by bytes, and fired ones stay", () => {
    const doc = frozen(document({ signals: [big("a", 2), big("b", 1), big("c", 0, signal)] }));
    assert.equal(shed(doc, 0), doc);
    assert.equal(keys(shed(doc, 1)), "a c");
    assert.equal(keys(shed(doc, 1_900)), "c");
    assert.equal(keys(shed(doc, 1_000_000)), "c");
  });
});

describe("a full inbox", () => {
  const stuffed = () => new Inbox(full(signal("a", 0), signal("b", 0)));

  test("refuses a new key with an error that says what to do, and stores nothing", () => {
    const inbox = stuffed();
    const { doc } = inbox;
    assert.throws(
      () => inbox.fire(1),
      new SignalsError(
        "fire k: refused, the inbox is full: all of max_signals = 2 are fired; " +
          "resolve some (signals list shows them) or raise the cap in config.toml",
      ),
    );
    assert.equal(inbox.doc, doc);
  });

  test("gives nothing up for a report that is refused all the same", () => {
    const doc = frozen(
      document({ signals: [settled("a", 0), signal("b", 0)] }, { max_signals: 9, max_bytes: 900 }),
    );
    assert.throws(() => fire(doc, report({ key: "new" }), AT(1)), SignalsError);
    assert.equal(keys(doc), "a b");
  });

  const moves: [name: string, act: (inbox: Inbox) => string, outcome: string][] = [
    ["a resolve", (inbox) => inbox.resolve(1, { key: "a" }), "resolved"],
    ["an escalation", (inbox) => inbox.fire(1, { key: "a", severity: "urgent" }), "escalated"],
    ["an extension", (inbox) => inbox.fire(1, { key: "a" }), "extended"],
    [
      "a refire",
      (inbox) => {
        inbox.resolve(1, { key: "a" });
        return inbox.fire(2, { key: "a" });
      },
      "refired",
    ],
  ];
  for (const [name, act, outcome] of moves) {
    test(`never refuses ${name}`, () => assert.equal(act(stuffed()), outcome));
  }

  test("never refuses a resolve or an escalation for its bytes", () => {
    const doc = document({ signals: [signal("k", 0)] }, { max_bytes: 100 });
    const long = card({ summary: "x".repeat(2_000) });
    assert.equal(fire(doc, report({ severity: "urgent", envelope: long }), AT(1))[1], "escalated");
    assert.equal(resolve(doc, resolution({ envelope: long }), AT(1))[1], "resolved");
  });

  test("has room again after a resolve", () => {
    const inbox = stuffed();
    inbox.resolve(1, { key: "a" });
    assert.equal(inbox.fire(2, { key: "new" }), "fired");
    assert.equal(keys(inbox.doc), "b new");
  });

  test("of weak signals makes room for a strong report, not for a flood of weak ones", () => {
    const inbox = new Inbox(document({}, { max_signals: 10 }));
    const flood: Partial<FireReport> = { signature: "unverified" };
    for (let i = 0; i < 10; i++) inbox.fire(i, { ...flood, key: `flood${i}` });
    assert.throws(() => inbox.fire(10, { ...flood, key: "one more" }), SignalsError);
    assert.equal(inbox.fire(11), "fired");
    assert.equal(inbox.doc.evicted, 1);
    assert.equal(inbox.doc.signals.length, 10);
  });
});
