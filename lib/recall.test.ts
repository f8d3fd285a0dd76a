import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lossFrom, noteRecalled, type Recall } from "./recall.ts";
import { AT, checkIn, document, frozen, Inbox, type report } from "./testing/build.ts";
import type { Applied } from "./transaction.ts";

/** A session that starts after a loss, as its hook reports it. */
function start(inbox: Inbox, minutes: number, loss: "compact" | "resume" | undefined, id = "a") {
  const event = checkIn({ id });
  return inbox.run(minutes, { checkIn: event, lease: "any", recall: loss });
}

/** The same, whose hook tells the inbox that all of it was shown: `key#generation STATE`. */
function shown(inbox: Inbox, minutes: number, loss: "compact" | "resume" | undefined, id = "a"): string[] {
  const applied = start(inbox, minutes, loss, id);
  for (const reminder of applied.reminders) inbox.ack(minutes, reminder);
  inbox.run(minutes, { change: (doc) => [noteRecalled(frozen(doc), applied.recalled), undefined] });
  return idsOf(applied);
}

function idsOf({ reminders, recalled }: Pick<Applied<void>, "reminders" | "recalled">): string[] {
  const id = ({ signal: { key, generation, state } }: Pick<Recall, "signal">) =>
    `${key}#${generation} ${state}`;
  return [...reminders.map((one) => `new ${id(one)}`), ...recalled.map(id)];
}

/** An inbox in which session `a` was told of `k` at minute 1. */
function told(fields: Parameters<typeof report>[0] = {}): Inbox {
  const inbox = new Inbox();
  inbox.fire(0, fields);
  assert.equal(inbox.tell(1).length, 1);
  return inbox;
}

describe("after a compaction a session is shown again", () => {
  type Case = [what: string, shown: string[], inbox: () => Inbox];
  const cases: Case[] = [
    ["what it was told and is still fired", ["k#1 fired"], () => told()],
    [
      "what it was leased by a hook that the compaction overtook",
      ["k#1 fired"],
      () => {
        const inbox = new Inbox();
        inbox.fire(0);
        inbox.hook(9.9);
        return inbox;
      },
    ],
    [
      "the newer generation that it was told, not the older",
      ["k#2 fired"],
      () => {
        const inbox = told();
        inbox.fire(2, { severity: "urgent" });
        inbox.tell(3);
        return inbox;
      },
    ],
    [
      "not what it was told is over",
      [],
      () => {
        const inbox = told();
        inbox.resolve(2);
        inbox.tell(3);
        return inbox;
      },
    ],
    ["not a one-shot that it was told", [], () => told({ one_shot: true })],
    [
      "not a one-shot that another hook is telling it",
      [],
      () => {
        const inbox = new Inbox();
        inbox.fire(0, { one_shot: true });
        inbox.hook(9.9);
        return inbox;
      },
    ],
    [
      "not what is muted now",
      [],
      () => {
        const inbox = told();
        inbox.doc = { ...inbox.doc, policy: document({}, { mute: [{ key: "k" }] }).policy };
        return inbox;
      },
    ],
    [
      "not what another session was told",
      [],
      () => {
        const inbox = new Inbox();
        inbox.fire(0, { hints: { session: "b" } });
        inbox.tell(1, { id: "b" });
        return inbox;
      },
    ],
    [
      "not a generation that another session was told instead",
      [],
      () => {
        const inbox = told();
        inbox.end(2);
        inbox.fire(3, { severity: "urgent" });
        inbox.tell(4, { id: "b" });
        return inbox;
      },
    ],
    [
      "what is new to it, and that alone when it is of the same signal",
      ["new k#2 fired"],
      () => {
        const inbox = told();
        inbox.fire(2, { severity: "urgent" });
        return inbox;
      },
    ],
    [
      "what was not confirmed, as the reminder that it still is",
      ["new k#1 fired"],
      () => {
        const inbox = new Inbox();
        inbox.fire(0);
        inbox.hook(-0.5);
        inbox.hook(0);
        return inbox;
      },
    ],
  ];
  for (const [what, expected, make] of cases) {
    test(what, () => assert.deepEqual(idsOf(start(make(), 10, "compact")), expected));
  }

  test("once for each compaction, and with no effect on whom its end is told", () => {
    const inbox = told();
    const before = inbox.signal();
    assert.deepEqual(shown(inbox, 2, "compact"), ["k#1 fired"]);
    assert.deepEqual(inbox.tell(3), []);
    assert.deepEqual(shown(inbox, 4, "compact"), ["k#1 fired"]);
    assert.equal(inbox.signal(), before, "nothing about the signal is written");
    inbox.resolve(5);
    assert.deepEqual(inbox.tell(6), ["k#2 resolved"]);
    assert.deepEqual(shown(inbox, 7, "compact"), []);
  });
});

describe("a resumed session is shown again", () => {
  /** Session `b` is told how it went on while `a` was away. */
  function away(...steps: ((inbox: Inbox) => unknown)[]): Inbox {
    const inbox = told();
    inbox.end(2);
    for (const step of steps) step(inbox);
    inbox.tell(4, { id: "b" });
    return inbox;
  }
  const end = (inbox: Inbox) => inbox.resolve(3);
  const rise = (inbox: Inbox) => inbox.fire(3, { severity: "urgent" });
  const cases: [what: string, shown: string[], inbox: () => Inbox][] = [
    ["nothing when nothing changed", [], () => away()],
    ["what was resolved meanwhile", ["k#2 resolved"], () => away(end)],
    ["what got worse meanwhile", ["k#2 fired"], () => away(rise)],
    ["the newest of several changes", ["k#3 resolved"], () => away(rise, (inbox) => inbox.resolve(3.5))],
    [
      "what expired meanwhile, as news when nobody else was told",
      ["new k#2 expired"],
      () => {
        const inbox = told();
        inbox.end(2);
        return inbox;
      },
    ],
    ["not what it never heard of", [], () => away((inbox) => inbox.fire(3, { key: "other" }))],
    [
      "what is owed to it, as news",
      ["new k#2 resolved"],
      () => {
        const inbox = told();
        inbox.resolve(3);
        return inbox;
      },
    ],
    [
      "not a one-shot",
      [],
      () => {
        const inbox = told({ one_shot: true });
        inbox.fire(2, { one_shot: true });
        inbox.end(3);
        inbox.tell(4, { id: "b" });
        return inbox;
      },
    ],
    [
      "not what is below min_severity now",
      [],
      () => {
        const inbox = away(end);
        inbox.doc = { ...inbox.doc, policy: document({}, { min_severity: "urgent" }).policy };
        return inbox;
      },
    ],
  ];
  for (const [what, expected, make] of cases) {
    test(what, () => {
      const at = what.includes("expired") ? 1_500 : 10;
      assert.deepEqual(idsOf(start(make(), at, "resume")), expected);
    });
  }

  test("each change once, and it can be lost in a compaction like any other", () => {
    const inbox = away(rise);
    assert.deepEqual(shown(inbox, 10, "resume"), ["k#2 fired"]);
    assert.deepEqual(shown(inbox, 11, "resume"), []);
    assert.deepEqual(shown(inbox, 12, "compact"), ["k#2 fired"]);
    inbox.fire(13, { signature: "verified" });
    inbox.resolve(14);
    assert.deepEqual(
      inbox.tell(15, { id: "b" }),
      ["k#3 resolved"],
      "its end is told to who was told by a lease",
    );
    assert.deepEqual(shown(inbox, 16, "resume"), ["k#3 resolved"]);
  });

  test("a change that a hook took and died with before it had printed it", () => {
    const inbox = away(rise);
    const { recalled } = start(inbox, 10, "resume");
    assert.equal(recalled.length, 1);
    assert.deepEqual(shown(inbox, 11, "resume"), ["k#2 fired"]);
  });
});

test("new reminders come first, then the most severe and newest; three in all, the rest is counted", () => {
  const inbox = new Inbox();
  const keys = [
    ["old", "warning"],
    ["info", "info"],
    ["worst", "urgent"],
    ["young", "warning"],
  ] as const;
  for (const [i, [key, severity]] of keys.entries()) inbox.fire(i, { key, severity });
  inbox.tell(5);
  inbox.tell(5);
  const all = start(inbox, 6, "compact");
  assert.deepEqual(idsOf(all), ["worst#1 fired", "young#1 fired", "old#1 fired"]);
  assert.equal(all.omitted, 1);

  inbox.fire(7, { key: "new" });
  const mixed = start(inbox, 8, "compact");
  assert.deepEqual(idsOf(mixed), ["new new#1 fired", "worst#1 fired", "young#1 fired"]);
  assert.equal(mixed.omitted, 2);

  for (const key of ["n1", "n2", "n3", "n4"]) inbox.fire(9, { key });
  const full = start(inbox, 10, "compact");
  assert.deepEqual(idsOf(full), ["new n1#1 fired", "new n2#1 fired", "new n3#1 fired"]);
  assert.deepEqual([full.waiting, full.omitted], [1, 5]);
});

test("what waits for a later safe point anyway is not counted as left out", () => {
  const inbox = new Inbox();
  const keys = ["k1", "k2", "k3", "k4"];
  for (const key of keys) inbox.fire(0, { key });
  inbox.tell(1);
  inbox.tell(1);
  for (const key of keys) inbox.resolve(2, { key });
  const resumed = start(inbox, 3, "resume");
  assert.deepEqual(idsOf(resumed), ["new k1#2 resolved", "new k2#2 resolved", "new k3#2 resolved"]);
  assert.deepEqual([resumed.waiting, resumed.omitted], [1, 0]);
});

test("of what changed meanwhile a recovery comes after what is broken, however bad it had been", () => {
  const inbox = new Inbox();
  inbox.fire(0, { key: "over", severity: "urgent" });
  inbox.fire(0, { key: "worse", severity: "info" });
  inbox.tell(1);
  inbox.end(2);
  inbox.fire(3, { key: "worse", severity: "warning" });
  inbox.resolve(4, { key: "over" });
  inbox.tell(5, { id: "b" });
  assert.deepEqual(idsOf(start(inbox, 6, "resume")), ["worse#2 fired", "over#2 resolved"]);
});

test("what one session is shown again says nothing of what another one knows", () => {
  const inbox = told();
  inbox.end(2);
  inbox.fire(3, { severity: "urgent" });
  inbox.tell(4, { id: "b" });
  inbox.end(5, "b");
  inbox.resolve(6);
  inbox.tell(7, { id: "c" });
  assert.deepEqual(shown(inbox, 8, "resume"), ["k#3 resolved"]);
  assert.deepEqual(shown(inbox, 9, "resume", "b"), ["k#3 resolved"]);
});

test("a subagent, and a start without a loss, are shown nothing again", () => {
  const inbox = told();
  const event = checkIn({ subagent: true });
  const child = inbox.run(2, { checkIn: event, lease: "any", recall: "compact" });
  assert.deepEqual([child.recalled, child.omitted], [[], 0]);
  assert.deepEqual(idsOf(start(inbox, 3, undefined)), []);
  assert.deepEqual(["startup", "clear", "fork", "compact", "resume", undefined, 7].map(lossFrom), [
    undefined,
    undefined,
    undefined,
    "compact",
    "resume",
    undefined,
    undefined,
  ]);
});

test("a recall says what was known, and when, be it by a lease or by an earlier recall", () => {
  const inbox = told();
  const [compacted] = start(inbox, 5, "compact").recalled;
  assert.deepEqual(
    [compacted?.known, compacted?.at, compacted?.session],
    [{ generation: 1, at: AT(1) }, AT(5), "a"],
  );
  inbox.end(6);
  inbox.fire(7, { severity: "urgent" });
  inbox.tell(8, { id: "b" });
  assert.deepEqual(shown(inbox, 9, "resume"), ["k#2 fired"]);
  assert.deepEqual(start(inbox, 10, "compact").recalled[0]?.known, { generation: 2, at: AT(9) });
});
