import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Document } from "./document.ts";
import { type AckResult, ack, ackAll, type Reminder } from "./lease.ts";
import { AT, checkIn, document, frozen, Inbox, idOf, session } from "./testing/build.ts";

/** One reminder, leased to `a` at minute 0, and the inbox that it is from. */
function leased(): [Inbox, Reminder] {
  const inbox = new Inbox();
  inbox.fire(0);
  const [reminder] = inbox.hook(0);
  assert.ok(reminder);
  return [inbox, reminder];
}

const keys = (reminders: readonly Reminder[]) => reminders.map(({ signal }) => signal.key).join(" ");

describe("a lease", () => {
  test("carries a token, the attempt 1, and one lease window", () => {
    const [inbox, { lease, signal }] = leased();
    assert.deepEqual(lease, {
      token: "token-1",
      session: "a",
      generation: 1,
      attempt: 1,
      leased_at: AT(0),
      lapses_at: AT(10),
    });
    assert.deepEqual(inbox.signal().lease, lease);
    assert.deepEqual(signal, inbox.signal());
    assert.deepEqual(inbox.signal().told, [{ session: "a", generation: 1, state: "fired", at: AT(0) }]);
  });

  test("has a token of its own for each reminder", () => {
    const inbox = new Inbox();
    for (const key of ["k", "l", "m"]) inbox.fire(0, { key });
    const tokens = inbox.hook(0).map(({ lease }) => lease.token);
    assert.equal(new Set(tokens).size, 3);
  });

  test("is not given to another hook of the session, nor to another session", () => {
    const [inbox] = leased();
    assert.deepEqual(inbox.hook(0), []);
    assert.deepEqual(inbox.hook(5), []);
    assert.deepEqual(inbox.hook(5, { id: "b" }), []);
  });

  test("is not given to a session that the reminder is not routed to", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0);
    assert.deepEqual(inbox.hook(0, { id: "b" }), []);
  });

  test("is not given to a subagent, nor to a caller that asks for none", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0);
    assert.deepEqual(inbox.hook(0, { subagent: true }), []);
    assert.deepEqual(inbox.run(0, { checkIn: checkIn() }).reminders, []);
    assert.equal(inbox.signal().lease, undefined);
  });

  test("is out for the lease window that the configuration says", () => {
    const inbox = new Inbox(document({}, { lease: 60_000 }));
    inbox.fire(0);
    inbox.hook(0);
    assert.deepEqual(inbox.hook(0.999), []);
    assert.deepEqual(inbox.hook(1).map(idOf), ["k#1 fired attempt 2"]);
  });
});

describe("a lease that is not acked", () => {
  test("lapses after the lease window, to the millisecond, and comes again with the next attempt", () => {
    const [inbox] = leased();
    assert.deepEqual(inbox.hook(10 - 1 / 60_000), []);
    assert.deepEqual(inbox.hook(10).map(idOf), ["k#1 fired attempt 2"]);
    assert.deepEqual(inbox.hook(20).map(idOf), ["k#1 fired attempt 3"]);
  });

  test("goes to its holder while that is responsive", () => {
    const [inbox] = leased();
    inbox.hook(5);
    assert.deepEqual(inbox.hook(10, { id: "b" }), []);
    assert.deepEqual(inbox.hook(11).map(idOf), ["k#1 fired attempt 2"]);
  });

  test("goes to whom the router picks when its holder is silent", () => {
    const [inbox] = leased();
    inbox.hook(5, { id: "b" });
    assert.deepEqual(inbox.hook(10, { id: "b" }).map(idOf), ["k#1 fired attempt 2"]);
    assert.deepEqual(inbox.hook(11), []);
  });

  test("is taken back when its session ends, and comes again with the next attempt", () => {
    const [inbox, reminder] = leased();
    inbox.end(1);
    assert.equal(inbox.signal().lease, undefined);
    assert.deepEqual(inbox.hook(2, { id: "b" }).map(idOf), ["k#1 fired attempt 2"]);
    assert.equal(inbox.ack(3, reminder), "superseded");
    assert.equal(inbox.signal().lease?.session, "b", "the late ack changes nothing about the new lease");
  });

  test("comes again at once to its own session, when that ends and starts again", () => {
    const [inbox] = leased();
    inbox.end(0.1);
    assert.deepEqual(inbox.hook(0.2).map(idOf), ["k#1 fired attempt 2"]);
  });

  test("counts as taken now when the clock was set back, so that it lapses", () => {
    const inbox = new Inbox();
    inbox.fire(1_000);
    inbox.hook(1_000);
    inbox.hook(0);
    assert.equal(inbox.signal().lease?.lapses_at, AT(10));
    assert.deepEqual(inbox.hook(10).map(idOf), ["k#1 fired attempt 2"]);
  });

  test("starts again at attempt 1 with a new generation", () => {
    const [inbox] = leased();
    inbox.hook(10);
    inbox.fire(11, { severity: "urgent" });
    assert.deepEqual(inbox.hook(12).map(idOf), ["k#2 fired"]);
  });
});

describe("an ack", () => {
  test("ends the delivery for good", () => {
    const [inbox, reminder] = leased();
    assert.equal(inbox.ack(1, reminder), "acked");
    assert.deepEqual(inbox.signal().acked, { session: "a", at: AT(1) });
    for (const minutes of [2, 12, 60]) assert.deepEqual(inbox.hook(minutes), []);
  });

  test("names what was acked", () => {
    const [{ doc }, { lease }] = leased();
    const expected: AckResult = { outcome: "acked", key: "k", generation: 1 };
    assert.deepEqual(ack(doc, lease.token, AT(1))[1], expected);
  });

  test("twice is harmless", () => {
    const [inbox, reminder] = leased();
    inbox.ack(1, reminder);
    const doc = frozen(inbox.doc);
    const [next, result] = ack(doc, reminder.lease.token, AT(2));
    assert.deepEqual(result, { outcome: "already_acked", key: "k", generation: 1 });
    assert.equal(next, doc);
  });

  test("with an unknown token says so and changes nothing", () => {
    const [{ doc }] = leased();
    for (const token of ["", "token-2", "TOKEN-1", "k", "k#1", "undefined", "__proto__"]) {
      const [next, result] = ack(frozen(doc), token, AT(1));
      assert.deepEqual(result, { outcome: "unknown" });
      assert.equal(next, doc);
    }
  });

  test("of a superseded lease is answered truly and does not ack the newer generation", () => {
    const [inbox, reminder] = leased();
    inbox.fire(1, { severity: "urgent" });
    const { doc } = inbox;
    assert.deepEqual(ack(doc, reminder.lease.token, AT(2))[1], {
      outcome: "superseded",
      key: "k",
      generation: 1,
    });
    assert.equal(inbox.ack(2, reminder), "superseded");
    assert.equal(inbox.ack(3, reminder), "already_acked");
    assert.deepEqual(inbox.tell(4), ["k#2 fired"]);
  });

  test("is known until the lease would have lapsed", () => {
    const superseded = leased();
    superseded[0].fire(1, { severity: "urgent" });
    const acked = leased();
    acked[0].ack(1, acked[1]);
    const cases: [[Inbox, Reminder], AckResult["outcome"]][] = [
      [superseded, "superseded"],
      [acked, "already_acked"],
    ];
    for (const [[{ doc }, reminder], outcome] of cases) {
      const answer = (minutes: number) => {
        const inbox = new Inbox(doc);
        inbox.run(minutes);
        return inbox.ack(minutes, reminder);
      };
      assert.equal(answer(9.99), outcome);
      assert.equal(answer(10), "unknown");
    }
  });

  test("of a lapsed lease comes too late", () => {
    const [inbox, reminder] = leased();
    assert.equal(inbox.ack(10, reminder), "unknown");
    assert.deepEqual(inbox.hook(11).map(idOf), ["k#1 fired attempt 2"]);
  });

  test("of one attempt does not ack the next", () => {
    const [inbox, first] = leased();
    const [second] = inbox.hook(10);
    assert.ok(second);
    assert.equal(inbox.ack(11, first), "unknown");
    assert.equal(inbox.ack(11, second), "acked");
  });

  test("of several leases at once skips those it does not know", () => {
    const inbox = new Inbox();
    for (const key of ["k", "l"]) inbox.fire(0, { key });
    const tokens = inbox.hook(0).map(({ lease }) => lease.token);
    const doc = ackAll(frozen(inbox.doc), ["?", ...tokens, ...tokens], AT(1));
    assert.deepEqual(
      doc.signals.map(({ acked }) => acked?.session),
      ["a", "a"],
    );
    assert.equal(ackAll(frozen(doc), tokens, AT(2)), doc);
  });
});

describe("a newer generation", () => {
  /** `a` holds a lease on the fired generation 1, taken at minute 0; the signal resolves at 0.1. */
  const resolved = (): [Inbox, Reminder] => {
    const [inbox, reminder] = leased();
    inbox.resolve(0.1);
    return [inbox, reminder];
  };

  test("is not leased to a session that may still be printing the older one, for 30 seconds", () => {
    const [inbox] = resolved();
    assert.deepEqual(inbox.hook(0.2), []);
    assert.deepEqual(inbox.hook(0.499), []);
    assert.deepEqual(inbox.hook(0.5).map(idOf), ["k#2 resolved"]);
  });

  test("is leased as soon as the older one is acked", () => {
    const [inbox, reminder] = resolved();
    inbox.ack(0.2, reminder);
    assert.deepEqual(inbox.hook(0.2).map(idOf), ["k#2 resolved"]);
  });

  test("counts among what waits meanwhile", () => {
    const [inbox] = resolved();
    inbox.fire(0.1, { key: "other" });
    const { reminders, waiting } = inbox.run(0.2, { checkIn: checkIn(), lease: "any" });
    assert.deepEqual([keys(reminders), waiting], ["other", 1]);
  });

  test("is leased to another session at once", () => {
    const [inbox] = leased();
    inbox.run(0, { checkIn: checkIn({ id: "b" }) });
    inbox.end(0.1);
    inbox.fire(0.2, { severity: "urgent" });
    assert.deepEqual(inbox.hook(0.2, { id: "b" }).map(idOf), ["k#2 fired"]);
  });

  test("waits for each older lease that is out", () => {
    const [inbox, first] = leased();
    inbox.fire(0.1, { severity: "urgent" });
    inbox.ack(0.1, first);
    inbox.hook(0.1);
    inbox.resolve(0.2);
    assert.deepEqual(inbox.hook(0.59), []);
    assert.deepEqual(inbox.hook(0.6).map(idOf), ["k#3 resolved"]);
  });

  test("does not wait for ever when the clock was set back", () => {
    const inbox = new Inbox();
    inbox.fire(1_000);
    inbox.hook(1_000);
    inbox.fire(0, { severity: "urgent" });
    assert.deepEqual(inbox.hook(0.4), []);
    assert.deepEqual(inbox.hook(0.5).map(idOf), ["k#2 fired"]);
  });
});

describe("one check-in", () => {
  /** Signals that fired one minute after another, in this order, with a session in their repository. */
  const inboxOf = (...signals: [key: string, severity: "info" | "warning" | "urgent"][]): Inbox => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    for (const [i, [key, severity]] of signals.entries()) inbox.fire(i, { key, severity });
    return inbox;
  };

  test("leases three at most, and says how many wait", () => {
    const inbox = inboxOf(["1", "info"], ["2", "info"], ["3", "info"], ["4", "info"], ["5", "info"]);
    const first = inbox.run(6, { checkIn: checkIn(), lease: "any" });
    assert.deepEqual([keys(first.reminders), first.waiting], ["1 2 3", 2]);
    const second = inbox.run(6, { checkIn: checkIn(), lease: "any" });
    assert.deepEqual([keys(second.reminders), second.waiting], ["4 5", 0]);
    const third = inbox.run(6, { checkIn: checkIn(), lease: "any" });
    assert.deepEqual([keys(third.reminders), third.waiting], ["", 0]);
  });

  test("takes urgent ones first, then the oldest change", () => {
    const inbox = inboxOf(["1", "info"], ["2", "urgent"], ["3", "warning"], ["4", "urgent"]);
    assert.equal(keys(inbox.hook(5)), "2 4 1");
  });

  test("takes those of one age in the order in which they came", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    for (const key of ["b", "c", "a"]) inbox.fire(0, { key });
    assert.equal(keys(inbox.hook(1)), "b c a");
  });

  test("takes a recovery by its age, also that of an urgent signal", () => {
    const inbox = inboxOf(["1", "urgent"]);
    inbox.tell(2);
    inbox.fire(3, { key: "2" });
    inbox.resolve(4, { key: "1" });
    inbox.fire(5, { key: "3", severity: "urgent" });
    assert.deepEqual(inbox.tell(6), ["3#1 fired", "2#1 fired", "1#2 resolved"]);
  });

  test("counts as waiting only what is routed to the session", () => {
    const inbox = inboxOf(["1", "info"], ["2", "info"]);
    inbox.fire(3, { key: "elsewhere", hints: { repository: "git.example/acme/other" } });
    inbox.run(4, { checkIn: checkIn({ id: "b", repository: "git.example/acme/third", cwd: "/third" }) });
    const { reminders, waiting } = inbox.run(5, { checkIn: checkIn(), lease: "any" });
    assert.deepEqual([keys(reminders), waiting], ["1 2", 0]);
  });

  test("leases what its own transaction routes", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    assert.equal(keys(inbox.hook(1)), "k");
  });

  describe("of a session about to stop", () => {
    test("leases urgent ones only, and counts the others as waiting", () => {
      const inbox = inboxOf(["1", "info"], ["2", "urgent"], ["3", "warning"]);
      const stop = { checkIn: checkIn({ state: "idle" as const }), lease: "urgent" as const };
      const { reminders, waiting } = inbox.run(4, stop);
      assert.deepEqual([keys(reminders), waiting], ["2", 2]);
    });

    test("leases no recovery, not of an urgent signal either", () => {
      const inbox = inboxOf(["1", "urgent"]);
      inbox.tell(2);
      inbox.resolve(3, { key: "1" });
      assert.deepEqual(inbox.stop(4), []);
      assert.deepEqual(inbox.tell(5), ["1#2 resolved"]);
    });

    test("leaves the session busy when it delivers, and as it says when it does not", () => {
      const inbox = inboxOf(["1", "urgent"]);
      inbox.stop(2);
      assert.equal(inbox.session()?.state, "busy");
      inbox.stop(3);
      assert.equal(inbox.session()?.state, "idle");
    });
  });

  test("of a session that starts leaves it idle, whatever it is told", () => {
    const inbox = inboxOf(["1", "urgent"]);
    assert.equal(keys(inbox.hook(2, { state: "idle" })), "1");
    assert.equal(inbox.session()?.state, "idle");
  });
});

describe("what was told", () => {
  test("is the newest generation per session, and outlives the session's entry", () => {
    const [inbox, reminder] = leased();
    inbox.ack(1, reminder);
    inbox.fire(2, { severity: "urgent" });
    inbox.end(3);
    inbox.tell(4, { id: "b" });
    assert.deepEqual(
      inbox.signal().told.map(({ session, generation }) => `${session}#${generation}`),
      ["a#1", "b#2"],
    );
    inbox.tell(5);
    inbox.resolve(6);
    inbox.tell(7, { id: "b" });
    assert.deepEqual(
      inbox.signal().told.map(({ session, generation, state }) => `${session}#${generation} ${state}`),
      ["a#1 fired", "b#3 resolved"],
    );
  });
});

test("the rules of a lease do not read a document's other fields, and keep them", () => {
  const doc = { ...document(), later: { version: 2 } } as Document;
  const inbox = new Inbox(doc);
  inbox.fire(0);
  inbox.doc = {
    ...inbox.doc,
    signals: inbox.doc.signals.map((signal) => ({ ...signal, colour: "red" })),
  };
  inbox.tell(1);
  inbox.fire(2, { severity: "urgent" });
  assert.deepEqual((inbox.doc as Document & { later: unknown }).later, { version: 2 });
  assert.equal((inbox.signal() as unknown as Record<string, unknown>)["colour"], "red");
});
