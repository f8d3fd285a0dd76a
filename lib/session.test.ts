import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { foldHeartbeats, hasEnded, isLive, isResponsive, noticeSleep, removeStale } from "./session.ts";
import { AT, checkIn, DAY, document, frozen, Inbox, session } from "./testing/build.ts";

const known = (inbox: Inbox, id = "a") => inbox.session(id) !== undefined;
const start = (fields = {}) => checkIn({ registers: true, ...fields });
const late = (fields = {}) => checkIn({ registers: false, ...fields });

/** `b` keeps the machine awake from one minute to another. */
function stayAwake(inbox: Inbox, from: number, to: number): void {
  for (let minute = from; minute <= to; minute += 5) inbox.hook(minute, { id: "b" });
}

describe("registration", () => {
  test("is what a first check-in does, with all that it says", () => {
    const inbox = new Inbox();
    const event = start({
      role: "control",
      title: "Mend the build",
      transcript_path: "/t",
      attended: false,
      pid: 7,
    });
    inbox.run(1, { checkIn: event });
    const { registers: _, subagent: __, ...described } = event;
    const stamps = { last_seen: AT(1), last_hook: AT(1), started_at: AT(1) };
    assert.deepEqual(inbox.session(), { ...described, ...stamps });
  });

  test("is also done by a hook that does not register, when the id is new", () => {
    const inbox = new Inbox();
    inbox.run(1, { checkIn: late() });
    assert.ok(known(inbox));
  });

  test("is an upsert: one entry per id", () => {
    const inbox = new Inbox();
    for (const minute of [0, 1, 2]) inbox.run(minute, { checkIn: start() });
    assert.equal(inbox.doc.sessions.length, 1);
    assert.equal(inbox.session()?.started_at, AT(0));
  });

  test("refreshes place and state, and keeps what a hook does not know", () => {
    const lasting = { role: "control", title: "T", transcript_path: "/t", attended: false, pid: 7 };
    const inbox = new Inbox();
    inbox.run(0, { checkIn: start(lasting) });
    const moved = {
      cwd: "/src/web",
      work_tree: "/src/web",
      repository: "git.example/acme/web",
      state: "waiting",
    };
    inbox.run(1, { checkIn: late(moved) });
    const stamps = { last_seen: AT(1), last_hook: AT(1), started_at: AT(0) };
    assert.deepEqual(inbox.session(), { ...session(), ...lasting, ...moved, ...stamps });
  });

  test("forgets the repository when the session has left it", () => {
    const inbox = new Inbox();
    inbox.run(0, { checkIn: start() });
    inbox.run(1, { checkIn: late({ cwd: "/tmp", work_tree: undefined, repository: undefined }) });
    assert.deepEqual([inbox.session()?.repository, inbox.session()?.work_tree], [undefined, undefined]);
  });

  test("that says nothing new changes nothing, its stamps apart", () => {
    const inbox = new Inbox();
    inbox.run(0, { checkIn: start() });
    const { doc } = inbox;
    const { changed } = inbox.run(1, { checkIn: late() });
    assert.equal(changed, false);
    assert.equal(inbox.doc, doc);
    inbox.fire(2);
    assert.equal(inbox.session()?.last_hook, AT(1), "the next change folds them in");
  });

  test("says nothing new either after the document was written and read", () => {
    const inbox = new Inbox();
    inbox.run(0, { checkIn: start() });
    inbox.doc = JSON.parse(JSON.stringify(inbox.doc));
    assert.equal(inbox.run(1, { checkIn: start() }).changed, false);
  });
});

describe("the end of a session", () => {
  test("takes its entry, and is remembered", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b" })] }));
    inbox.end(1);
    assert.deepEqual([known(inbox), known(inbox, "b")], [false, true]);
    assert.ok(hasEnded(inbox.doc, "a"));
  });

  test("returns what it was routed or leased and did not ack, and nothing else", () => {
    const inbox = new Inbox();
    inbox.fire(0, { key: "acked" });
    inbox.tell(0);
    inbox.fire(1, { key: "leased" });
    inbox.hook(1);
    inbox.fire(2, { key: "routed" });
    inbox.run(3, { checkIn: checkIn({ id: "b" }) });
    inbox.end(4);
    assert.deepEqual(inbox.tell(5, { id: "b" }), ["leased#1 fired attempt 2", "routed#1 fired"]);
  });

  test("leaves what is routed to others with them, object for object", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b" })] }));
    inbox.fire(0);
    const { signals } = inbox.doc;
    inbox.end(0, "b");
    assert.equal(inbox.doc.signals, signals);
  });

  test("twice, or of an unknown id, is harmless", () => {
    const inbox = new Inbox();
    inbox.end(0, "nobody");
    inbox.end(1, "nobody");
    assert.deepEqual(inbox.doc.ended, [{ id: "nobody", at: AT(1) }]);
  });

  const returns: [name: string, minutes: number, event: ReturnType<typeof checkIn>, expected: boolean][] = [
    ["a late hook leaves no ghost", 1.01, late(), false],
    ["a late hook leaves no ghost, up to stale_after", 30.99, late(), false],
    ["a hook after stale_after is a session again", 31, late(), true],
    ["a start or a prompt registers it at once", 1.01, start(), true],
    ["a subagent registers nothing", 60, start({ subagent: true }), false],
  ];
  for (const [name, minutes, event, expected] of returns) {
    test(`is followed: ${name}`, () => {
      const inbox = new Inbox(document({ sessions: [session()] }));
      inbox.end(1);
      inbox.run(minutes, { checkIn: event, lease: "any" });
      assert.equal(known(inbox), expected);
      assert.equal(hasEnded(inbox.doc, "a"), !expected && minutes < 31);
    });
  }

  test("leases nothing to a late hook", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0);
    inbox.end(1);
    assert.deepEqual(inbox.hook(1.01, { registers: false }), []);
  });

  test("is forgotten after stale_after, unless a signal still names the id", () => {
    const namings: [string, (inbox: Inbox) => void, boolean][] = [
      ["nothing", () => {}, false],
      ["told", (inbox) => inbox.tell(0), true],
      ["a hint", (inbox) => inbox.fire(0, { hints: { session: "a", cwd: "/x" } }), true],
    ];
    for (const [name, act, expected] of namings) {
      const inbox = new Inbox();
      if (name === "told") inbox.fire(0, { expires_at: AT(5 * DAY) });
      act(inbox);
      inbox.end(1);
      inbox.run(60);
      assert.equal(hasEnded(inbox.doc, "a"), expected, name);
    }
  });

  test("is forgotten with the last signal that names it", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.tell(0);
    inbox.end(1);
    inbox.resolve(2);
    inbox.run(7 * DAY);
    assert.ok(hasEnded(inbox.doc, "a"));
    inbox.run(7 * DAY + 2);
    assert.deepEqual([inbox.doc.signals, inbox.doc.ended], [[], []]);
  });
});

describe("a session not seen for stale_after", () => {
  test("is removed by the next transaction, and only absent", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    stayAwake(inbox, 0, 25);
    inbox.run(29.99);
    assert.ok(known(inbox));
    inbox.run(30);
    assert.equal(known(inbox), false);
    assert.equal(hasEnded(inbox.doc, "a"), false);
  });

  test("is a session again with any hook of its own", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    stayAwake(inbox, 0, 30);
    inbox.run(31, { checkIn: late() });
    assert.ok(known(inbox));
  });

  test("is not removed in the transaction of its own hook", () => {
    const inbox = new Inbox(document({ sessions: [session({ title: "Old" })] }));
    stayAwake(inbox, 0, 29);
    inbox.run(31, { checkIn: late() });
    assert.equal(inbox.session()?.title, "Old");
  });
});

describe("a subagent's payload", () => {
  test("is a sign of life and nothing else", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    const elsewhere = { cwd: "/tmp", repository: undefined, state: "idle" as const, role: "control" };
    const { changed } = inbox.run(9, { checkIn: checkIn({ subagent: true, ...elsewhere }), lease: "any" });
    assert.equal(changed, false);
    inbox.fire(9.5);
    assert.deepEqual(inbox.session(), session({ last_seen: AT(9) }));
  });

  test("keeps its session live, but not responsive", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    for (let minute = 5; minute <= 60; minute += 5) {
      inbox.run(minute, { checkIn: checkIn({ subagent: true }) });
    }
    inbox.fire(61);
    const found = inbox.session();
    assert.ok(found);
    assert.equal(isLive(inbox.doc, found, AT(61)), true);
    assert.equal(isResponsive(inbox.doc, found, AT(61)), false);
  });

  test("registers no session", () => {
    const inbox = new Inbox();
    inbox.run(0, { checkIn: checkIn({ subagent: true, registers: true }) });
    assert.deepEqual(inbox.doc.sessions, []);
  });
});

test("a heartbeat of the session's own hooks counts although a subagent was heard since", () => {
  const doc = document({ sessions: [session({ last_seen: AT(9) })] });
  const [folded] = foldHeartbeats(doc, [{ id: "a", hook: AT(8) }], AT(9)).sessions;
  assert.deepEqual([folded?.last_seen, folded?.last_hook], [AT(9), AT(8)]);
  assert.equal(foldHeartbeats(doc, [{ id: "a", hook: AT(-1), seen: AT(8) }], AT(9)), doc);
});

describe("live and responsive", () => {
  const cases: [name: string, seen: number, hook: number, live: boolean, responsive: boolean][] = [
    ["heard a moment ago", 0, 0, true, true],
    ["silent for just under a lease window", 0, -9.99, true, true],
    ["silent for a lease window", 0, -10, true, false],
    ["not seen for just under stale_after", -29.99, -29.99, true, false],
    ["not seen for stale_after", -30, -30, false, false],
  ];
  for (const [name, seen, hook, live, responsive] of cases) {
    test(`${name}: ${live ? "live" : "stale"}, ${responsive ? "responsive" : "silent"}`, () => {
      const one = session({ last_seen: AT(seen), last_hook: AT(hook) });
      assert.equal(isLive(document(), one, AT(0)), live);
      assert.equal(isResponsive(document(), one, AT(0)), responsive);
    });
  }
});

describe("a machine that slept", () => {
  const asleep = () => new Inbox(document({ sessions: [session(), session({ id: "b" })] }));

  test("is one on which nothing was stamped for a lease window", () => {
    const doc = frozen(document({ sessions: [session()] }));
    assert.equal(noticeSleep(doc, AT(9.99)), doc);
    assert.deepEqual(noticeSleep(doc, AT(10)).grace, { from: AT(0), until: AT(20) });
    const stamped = frozen({ ...doc, stamped_at: AT(5) });
    assert.equal(noticeSleep(stamped, AT(14.99)), stamped);
    const beating = frozen(document({ sessions: [session({ last_seen: AT(5) })] }));
    assert.equal(noticeSleep(beating, AT(14.99)), beating);
  });

  test("does not notice where no session is", () => {
    const doc = frozen(document());
    assert.equal(noticeSleep(doc, AT(DAY)), doc);
  });

  test("gives every session one lease window of grace", () => {
    const inbox = asleep();
    inbox.hook(8 * 60, { id: "b" });
    assert.ok(known(inbox), "the first to wake does not remove the others");
    inbox.hook(8 * 60 + 9.99, { id: "b" });
    assert.ok(known(inbox));
    inbox.hook(8 * 60 + 10, { id: "b" });
    assert.equal(known(inbox), false);
  });

  test("gives no grace to one that had been gone before, or it would live from pause to pause", () => {
    const inbox = asleep();
    for (let minute = 12; minute <= 36; minute += 12) inbox.hook(minute, { id: "b" });
    assert.ok(known(inbox), "it was there when the first pause began");
    for (let minute = 48; minute <= 72; minute += 12) inbox.hook(minute, { id: "b" });
    assert.equal(known(inbox), false);
  });

  test("leaves what is routed to a sleeper with it during the grace", () => {
    const inbox = asleep();
    inbox.fire(0);
    assert.equal(inbox.routedTo(), "a");
    inbox.hook(8 * 60, { id: "b" });
    assert.equal(inbox.routedTo(), "a");
    assert.deepEqual(inbox.tell(8 * 60 + 5), ["k#1 fired"]);
  });

  test("moves what is routed to a sleeper that does not wake, after the grace", () => {
    const inbox = asleep();
    inbox.fire(0);
    stayAwake(inbox, 8 * 60, 8 * 60 + 5);
    assert.deepEqual(inbox.tell(8 * 60 + 10, { id: "b" }), ["k#1 fired"]);
  });

  test("is noticed before the waking session's own sign of life", () => {
    const inbox = asleep();
    inbox.run(8 * 60, { checkIn: late() });
    assert.equal(inbox.doc.grace?.until, AT(8 * 60 + 10));
    assert.equal(inbox.session()?.last_hook, AT(8 * 60));
  });

  test("does not get a grace that lasts, when its clock is set back", () => {
    const grace = { from: AT(-120), until: AT(DAY) };
    const doc = document({ sessions: [session({ last_seen: AT(-60) })], grace });
    assert.deepEqual(removeStale(doc, AT(0)).sessions, []);
    assert.equal(removeStale(doc, AT(DAY - 1)).sessions.length, 1);
  });
});

describe("a stamp in the future", () => {
  test("counts as now, for good", () => {
    const ahead = session({ last_seen: AT(DAY), last_hook: AT(DAY) });
    const inbox = new Inbox(document({ sessions: [ahead], stamped_at: AT(DAY) }));
    inbox.run(0);
    assert.deepEqual([inbox.session()?.last_seen, inbox.session()?.last_hook], [AT(0), AT(0)]);
    assert.equal(inbox.doc.stamped_at, AT(0));
    stayAwake(inbox, 0, 30);
    assert.equal(known(inbox), false, "it does not live until the clock catches up");
  });

  test("of its last hook alone counts as now too", () => {
    const inbox = new Inbox(document({ sessions: [session({ last_hook: AT(DAY) })] }));
    inbox.run(5);
    assert.equal(inbox.session()?.last_hook, AT(5));
  });

  test("counts as now in a heartbeat too", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.run(DAY, { checkIn: late() });
    inbox.fire(1);
    assert.equal(inbox.session()?.last_hook, AT(1));
  });
});
