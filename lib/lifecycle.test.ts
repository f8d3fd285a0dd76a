import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findSignal, isOwed, type Signal, type Signature } from "./document.ts";
import { SignalsError } from "./errors.ts";
import { type FireReport, fire, type ResolveReport, resolve } from "./lifecycle.ts";
import { AT, card, DAY, document, frozen, Inbox, report, resolution, session } from "./testing/build.ts";

const at = (minutes: number) => card({ source_timestamp: AT(minutes) });

describe("a report of a key that is not known", () => {
  test("fires generation 1 when it is a fire", () => {
    const [doc, outcome] = fire(frozen(document()), report(), AT(3));
    assert.equal(outcome, "fired");
    const signal = findSignal(doc, "k") as Signal;
    const { state, generation, severity, trust, fired_at, changed_at, news, attempt } = signal;
    assert.deepEqual(
      { state, generation, severity, trust, fired_at, changed_at, news, attempt },
      {
        state: "fired",
        generation: 1,
        severity: "warning",
        trust: "local",
        fired_at: AT(3),
        changed_at: AT(3),
        news: true,
        attempt: 0,
      },
    );
  });

  test("stores nothing when it is a resolve", () => {
    const doc = frozen(document());
    const [next, outcome] = resolve(doc, resolution(), AT(3));
    assert.equal(outcome, "unknown");
    assert.equal(next, doc);
  });
});

describe("a fire of a fired signal", () => {
  const fired = (fields: Partial<FireReport> = {}) => {
    const inbox = new Inbox();
    inbox.fire(0, fields);
    return inbox;
  };

  test("of the same or a lower severity extends it and leaves all else frozen", () => {
    for (const severity of ["info", "warning"] as const) {
      const inbox = fired();
      const before = inbox.signal();
      const outcome = inbox.fire(10, {
        severity,
        envelope: card({ summary: "Other words" }),
        producer: "other",
        origin: "webhook",
        hints: {},
        one_shot: true,
      });
      assert.equal(outcome, "extended");
      assert.deepEqual(inbox.signal(), { ...before, expires_at: AT(10 + DAY) });
    }
  });

  test("of a higher severity makes a generation with the new text, and keeps when it began", () => {
    const inbox = fired();
    assert.equal(inbox.fire(10, { severity: "urgent", envelope: card({ summary: "Worse" }) }), "escalated");
    const { generation, severity, envelope, fired_at, changed_at } = inbox.signal();
    assert.deepEqual(
      [generation, severity, envelope.summary, fired_at, changed_at],
      [2, "urgent", "Worse", AT(0), AT(10)],
    );
  });

  test("of a higher severity leaves the hints, so that who was told hears that it got worse", () => {
    const inbox = fired({ hints: { session: "a" } });
    inbox.fire(1, { severity: "urgent", hints: { repository: "acme/web" } });
    assert.deepEqual(inbox.signal().hints, { session: "a" });
    const unhinted = fired({ hints: {} });
    unhinted.fire(1, { severity: "urgent", hints: { repository: "acme/web" } });
    assert.deepEqual(unhinted.signal().hints, { repository: "acme/web" }, "and fills in what nobody said");
  });

  test("of a higher severity does not move it: it keeps its hints, unless it had none", () => {
    const cases: [FireReport["hints"], FireReport["hints"], FireReport["hints"]][] = [
      [{ cwd: "/old" }, { cwd: "/new" }, { cwd: "/old" }],
      [{}, { cwd: "/new" }, { cwd: "/new" }],
      [{ cwd: undefined }, { cwd: "/new" }, { cwd: "/new" }],
    ];
    for (const [before, report, after] of cases) {
      const inbox = fired({ hints: before });
      inbox.fire(1, { severity: "urgent", hints: report });
      assert.deepEqual(inbox.signal().hints, after);
    }
  });

  test("of a fallen severity does not make the next rise news again", () => {
    const inbox = fired({ severity: "urgent" });
    assert.equal(inbox.fire(1, { severity: "info" }), "extended");
    assert.equal(inbox.fire(2, { severity: "urgent" }), "extended");
    assert.equal(inbox.signal().generation, 1);
  });

  test("writes nothing when nothing moves", () => {
    const doc = frozen(fired({ expires_at: AT(60) }).doc);
    assert.equal(fire(doc, report({ expires_at: AT(60) }), AT(5))[0], doc);
  });

  describe("moves the expiry forward, never back", () => {
    const cases: [name: string, first: number | undefined, later: Partial<FireReport>, expiry: number][] = [
      ["an earlier one", 600, { expires_at: AT(60) }, 600],
      ["a later one", 60, { expires_at: AT(600) }, 600],
      ["the default, which is later", 60, {}, 30 + DAY],
      ["the default, which is earlier", 3 * DAY, {}, 3 * DAY],
      ["an earlier one of an escalation", 600, { severity: "urgent", expires_at: AT(60) }, 600],
      ["a later one of an escalation", 60, { severity: "urgent", expires_at: AT(600) }, 600],
    ];
    for (const [name, first, later, expiry] of cases) {
      test(name, () => {
        const inbox = fired({ expires_at: first === undefined ? undefined : AT(first) });
        inbox.fire(30, later);
        assert.equal(inbox.signal().expires_at, AT(expiry));
      });
    }
  });
});

test("a signal remembers the source times of a few providers, however many report it", () => {
  const inbox = new Inbox();
  for (let i = 0; i < 100; i++) {
    inbox.fire(i, { envelope: card({ provider: `made-up-${i}`, source_timestamp: AT(i) }) });
  }
  assert.equal(inbox.signal().reports.length, 16);
  assert.equal(inbox.signal().reports.at(-1)?.provider, "made-up-99");
});

test("a fire of a settled signal brings its own hints, if it has any", () => {
  const inbox = new Inbox();
  inbox.fire(0, { hints: { repository: "acme/api" } });
  inbox.resolve(1);
  inbox.fire(2, { hints: {} });
  assert.deepEqual(inbox.signal().hints, { repository: "acme/api" });
  inbox.resolve(3);
  inbox.fire(4, { hints: { cwd: "/src/web" } });
  assert.deepEqual(inbox.signal().hints, { cwd: "/src/web" });
});

describe("a resolve", () => {
  test("of a fired signal makes a generation and keeps text, severity and beginning", () => {
    const inbox = new Inbox();
    inbox.fire(0, { severity: "urgent" });
    const before = inbox.signal();
    assert.equal(inbox.resolve(10, { producer: "scripts/resolve", signature: "verified" }), "resolved");
    const after = inbox.signal();
    assert.equal(after.state, "resolved");
    assert.equal(after.generation, 2);
    assert.equal(after.envelope, before.envelope);
    assert.deepEqual([after.severity, after.fired_at, after.changed_at], ["urgent", AT(0), AT(10)]);
    assert.deepEqual([after.producer, after.signature], ["scripts/resolve", "verified"]);
  });

  test("brings its own text if it has one", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.resolve(1, { envelope: card({ summary: "CI on main is green" }) });
    assert.equal(inbox.signal().envelope.summary, "CI on main is green");
  });

  test("of a settled signal does nothing", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.resolve(1);
    const doc = frozen(inbox.doc);
    const [next, outcome] = resolve(doc, resolution(), AT(2));
    assert.equal(outcome, "already_settled");
    assert.equal(next, doc);

    const expired = new Inbox();
    expired.fire(0);
    assert.equal(expired.resolve(2 * DAY), "already_settled");
    assert.equal(expired.signal().state, "expired");
  });
});

describe("a fire of a settled signal", () => {
  test("makes a generation with new text, hints and beginning, whatever the severity was", () => {
    const inbox = new Inbox();
    inbox.fire(0, { severity: "urgent", expires_at: AT(5 * DAY) });
    inbox.resolve(10);
    const again = report({
      severity: "info",
      envelope: card({ summary: "Red again" }),
      hints: { cwd: "/x" },
    });
    assert.equal(inbox.fire(20, { ...again, expires_at: AT(60) }), "refired");
    const { state, generation, severity, envelope, hints, fired_at, expires_at } = inbox.signal();
    assert.deepEqual(
      [state, generation, severity, envelope.summary, hints, fired_at],
      ["fired", 3, "info", "Red again", { cwd: "/x" }, AT(20)],
    );
    assert.equal(expires_at, AT(60), "the old condition's expiry does not outlive it");
  });

  test("without hints keeps those it had", () => {
    const inbox = new Inbox();
    inbox.fire(0, { hints: { cwd: "/old" } });
    inbox.resolve(1);
    inbox.fire(2, { hints: {} });
    assert.deepEqual(inbox.signal().hints, { cwd: "/old" });
  });

  test("that has expired is a refire too", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.run(DAY);
    assert.equal(inbox.fire(DAY + 1), "refired");
    assert.equal(inbox.signal().generation, 3);
  });
});

describe("time", () => {
  const cases: [name: string, minutes: number, expected: string][] = [
    ["before a signal expires leaves it", DAY - 0.001, "fired#1"],
    ["makes it a generation at the very instant", DAY, "expired#2"],
  ];
  for (const [name, minutes, expected] of cases) {
    test(name, () => {
      const inbox = new Inbox();
      inbox.fire(0);
      inbox.run(minutes);
      const { state, generation, changed_at } = inbox.signal();
      assert.equal(`${state}#${generation}`, expected);
      if (state === "expired") assert.equal(changed_at, AT(DAY));
    });
  }

  test("counts from the last fire, when the producer set no expiry", () => {
    const inbox = new Inbox(document({}, { expire_after: 60 * 60_000 }));
    inbox.fire(0);
    inbox.fire(59);
    inbox.run(61);
    assert.equal(inbox.signal().state, "fired");
    inbox.run(119);
    assert.equal(inbox.signal().state, "expired");
  });
});

describe("a report that is out of date", () => {
  type Step =
    | ["fire", number | undefined, Partial<FireReport>?]
    | ["resolve", number | undefined, Partial<ResolveReport>?];
  const red = (source?: number, fields: Partial<FireReport> = {}): Step => ["fire", source, fields];
  const green = (source?: number): Step => ["resolve", source];
  const elsewhere = (source: number) => card({ provider: "other", source_timestamp: AT(source) });

  /** The outcomes of reports, one every minute from 100 on, each with the time that its source gives it. */
  function outcomes(...steps: Step[]): string[] {
    const inbox = new Inbox();
    return steps.map(([kind, source, fields], i) => {
      const envelope = source === undefined ? card() : at(source);
      return kind === "fire"
        ? inbox.fire(100 + i, { envelope, ...fields })
        : inbox.resolve(100 + i, { envelope, ...fields });
    });
  }

  const cases: [name: string, steps: Step[], last: string][] = [
    ["is an older fire of a fired signal", [red(10), red(9)], "stale"],
    ["is an older fire of a resolved signal", [red(10), green(20), red(15)], "stale"],
    ["is an older resolve of a fired signal", [red(10), green(9)], "stale"],
    ["is an older resolve of a settled signal", [red(10), green(20), green(15)], "stale"],
    ["is an older fire, even if it is higher", [red(10), red(9, { severity: "urgent" })], "stale"],
    ["is an equal fire of a resolved signal", [red(10), green(10), red(10)], "stale"],
    ["is an equal resolve", [red(10), green(20), green(20)], "stale"],
    ["is an equal resolve after a new fire of that time", [red(9), green(10), red(10), green(10)], "stale"],
    ["is an older fire after a resolve of a settled one", [red(10), green(20), green(30), red(25)], "stale"],
    ["is not an equal resolve of a kind not applied yet", [red(10), green(10)], "resolved"],
    ["is not an equal fire of a kind not applied yet", [red(9), green(10), red(10)], "refired"],
    ["is not an equal fire that extends", [red(10), red(10)], "extended"],
    ["is not an equal fire that escalates", [red(10), red(10, { severity: "urgent" })], "escalated"],
    ["is not a newer fire", [red(10), green(20), red(21)], "refired"],
    ["is not one without a source time", [red(10), green(20), red()], "refired"],
    ["is not a resolve without a source time", [red(10), green()], "resolved"],
    ["is not an older one of another provider", [red(10), red(9, { envelope: elsewhere(9) })], "extended"],
    ["is not the first one that has a source time", [red(), green(1)], "resolved"],
  ];
  for (const [name, steps, last] of cases) {
    test(name, () => assert.equal(outcomes(...steps).at(-1), last));
  }

  test("is not an equal fire of an expired signal", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(0) });
    assert.equal(inbox.fire(2 * DAY, { envelope: at(0) }), "refired");
  });

  test("is an older fire of an expired signal", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(0) });
    assert.equal(inbox.fire(2 * DAY, { envelope: at(-1) }), "stale");
  });

  test("is a redelivered fire of a one-shot that was delivered", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true, envelope: at(0) });
    inbox.tell(1);
    assert.equal(inbox.fire(2, { one_shot: true, envelope: at(0) }), "stale");
    assert.equal(inbox.signal().state, "resolved");
  });

  test("changes nothing at all", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(0) });
    const doc = frozen(inbox.doc);
    assert.equal(fire(doc, report({ envelope: at(-1), severity: "urgent" }), AT(1))[0], doc);
    assert.equal(resolve(doc, resolution({ envelope: at(-1) }), AT(1))[0], doc);
  });

  test("is none that comes after a report whose clock was ahead", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(5 * DAY) });
    assert.equal(inbox.resolve(1, { envelope: at(0.5) }), "resolved");
  });

  test("is compared whatever zone and precision its source writes", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: card({ source_timestamp: "2026-01-05T13:00:00+02:00" }) });
    assert.equal(
      inbox.resolve(1, { envelope: card({ source_timestamp: "2026-01-05T10:59:59.9Z" }) }),
      "stale",
    );
    assert.equal(
      inbox.resolve(2, { envelope: card({ source_timestamp: "2026-01-05T11:00:00Z" }) }),
      "resolved",
    );
  });
});

describe("trust", () => {
  const states: ["fired" | "resolved" | "expired", (inbox: Inbox) => void][] = [
    ["fired", () => {}],
    ["resolved", (inbox) => inbox.resolve(1)],
    ["expired", (inbox) => inbox.run(DAY)],
  ];
  for (const trust of ["local", "verified"] as const) {
    for (const [state, settle] of states) {
      test(`refuses every unverified report of a ${state} ${trust} signal, and says so`, () => {
        const inbox = new Inbox();
        inbox.fire(0, { signature: trust });
        settle(inbox);
        const doc = frozen(inbox.doc);
        const now = AT(DAY + 1);
        const weak = { signature: "unverified" as const, severity: "urgent" as const };
        const message =
          `k: refused: the report is unverified and the signal is ${trust}; ` +
          "report it with evidence at least as strong, or under a key of its own";
        assert.throws(() => fire(doc, report(weak), now), new SignalsError(`fire ${message}`));
        assert.throws(() => resolve(doc, resolution(weak), now), new SignalsError(`resolve ${message}`));
      });
    }
  }

  test("does not rank local and verified against each other", () => {
    const pairs: [Signature, Signature][] = [
      ["local", "verified"],
      ["verified", "local"],
    ];
    for (const [first, second] of pairs) {
      const inbox = new Inbox();
      inbox.fire(0, { signature: first });
      assert.equal(inbox.fire(1, { signature: second }), "extended");
      assert.equal(inbox.signal().signature, first);
      assert.equal(inbox.resolve(2, { signature: second }), "resolved");
      assert.deepEqual([inbox.signal().signature, inbox.signal().trust], [second, first]);
      assert.equal(inbox.fire(3, { signature: second }), "refired");
      assert.deepEqual([inbox.signal().signature, inbox.signal().trust], [second, first]);
    }
  });

  test("lets unverified reports run an unverified signal", () => {
    const inbox = new Inbox();
    const signature = "unverified";
    assert.equal(inbox.fire(0, { signature, severity: "info" }), "fired");
    assert.equal(inbox.fire(1, { signature, severity: "warning" }), "escalated");
    assert.equal(inbox.fire(2, { signature, severity: "urgent" }), "extended");
    assert.equal(inbox.resolve(3, { signature }), "resolved");
    assert.equal(inbox.fire(4, { signature, severity: "urgent" }), "refired");
    assert.deepEqual([inbox.signal().severity, inbox.signal().trust], ["warning", "unverified"]);
  });

  test("caps the severity of an unverified report at warning, and of no other", () => {
    const cases: [Signature, string][] = [
      ["unverified", "warning"],
      ["verified", "urgent"],
      ["local", "urgent"],
    ];
    for (const [signature, severity] of cases) {
      const inbox = new Inbox();
      inbox.fire(0, { signature, severity: "urgent" });
      assert.equal(inbox.signal().severity, severity);
    }
  });

  test("confirms a signal that was fired on weaker evidence, with the severity of the better", () => {
    for (const severity of ["info", "warning", "urgent"] as const) {
      const inbox = new Inbox();
      inbox.fire(0, { signature: "unverified", severity: "warning" });
      const better = { signature: "verified" as const, severity, envelope: card({ summary: "Seen" }) };
      assert.equal(inbox.fire(1, better), "confirmed");
      const signal = inbox.signal();
      assert.deepEqual(
        [signal.generation, signal.severity, signal.envelope.summary, signal.signature, signal.trust],
        [2, severity, "Seen", "verified", "verified"],
      );
      assert.equal(inbox.fire(2, better), "extended", "once is enough");
    }
  });

  test("is raised for good by whatever stronger report comes", () => {
    const raisers: [string, (inbox: Inbox) => void][] = [
      ["a confirmation", (inbox) => inbox.fire(1, { signature: "verified" })],
      ["a resolve", (inbox) => inbox.resolve(1, { signature: "local" })],
      [
        "a refire",
        (inbox) => {
          inbox.resolve(1, { signature: "unverified" });
          inbox.fire(2, { signature: "local" });
        },
      ],
      [
        "a resolve of what had settled already",
        (inbox) => {
          inbox.resolve(1, { signature: "unverified" });
          inbox.resolve(2, { signature: "verified" });
        },
      ],
    ];
    for (const [name, raise] of raisers) {
      const inbox = new Inbox();
      inbox.fire(0, { signature: "unverified" });
      raise(inbox);
      inbox.run(2 * DAY);
      assert.throws(() => inbox.fire(2 * DAY, { signature: "unverified" }), SignalsError, name);
    }
  });
});

describe("the order of the rows", () => {
  test("puts trust before stale: a weak old report is refused, not ignored", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(0) });
    assert.throws(() => inbox.fire(1, { signature: "unverified", envelope: at(-1) }), SignalsError);
    assert.throws(() => inbox.resolve(1, { signature: "unverified", envelope: at(-1) }), SignalsError);
  });

  test("puts stale before confirmed and escalated", () => {
    const inbox = new Inbox();
    inbox.fire(0, { signature: "unverified", severity: "info", envelope: at(0) });
    assert.equal(inbox.fire(1, { signature: "local", severity: "urgent", envelope: at(-1) }), "stale");
    assert.equal(inbox.signal().trust, "unverified");
  });

  test("puts stale before already settled", () => {
    const inbox = new Inbox();
    inbox.fire(0, { envelope: at(-5) });
    inbox.resolve(1, { envelope: at(0) });
    assert.equal(inbox.resolve(2, { envelope: at(-1) }), "stale");
  });

  test("puts confirmed before escalated and extended", () => {
    for (const severity of ["info", "urgent"] as const) {
      const inbox = new Inbox();
      inbox.fire(0, { signature: "unverified" });
      assert.equal(inbox.fire(1, { signature: "local", severity }), "confirmed");
    }
  });
});

describe("a settled generation is news", () => {
  const told = () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0);
    inbox.tell(1);
    return inbox;
  };

  test("for the session that was told of the fire", () => {
    const inbox = told();
    inbox.resolve(2);
    assert.equal(isOwed(inbox.signal()), true);
    assert.equal(inbox.signal().follow_up, "a");
    assert.deepEqual(inbox.tell(3), ["k#2 resolved"]);
    assert.equal(isOwed(inbox.signal()), false);
  });

  test("after a lease that was never acked, which may have reached the model", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.hook(1);
    inbox.run(2 * DAY);
    assert.equal(inbox.signal().state, "expired");
    assert.equal(isOwed(inbox.signal()), true);
  });

  test("for nobody when nobody was told", () => {
    const settlers: ((inbox: Inbox) => void)[] = [(inbox) => inbox.resolve(5), (inbox) => inbox.run(2 * DAY)];
    for (const settle of settlers) {
      const inbox = new Inbox();
      inbox.fire(0);
      settle(inbox);
      assert.equal(isOwed(inbox.signal()), false);
      assert.deepEqual(inbox.tell(2 * DAY + 1), []);
    }
  });

  test("for nobody when the last they heard is that it is over", () => {
    const inbox = told();
    inbox.resolve(2);
    inbox.tell(3);
    inbox.fire(4, { hints: { repository: "git.example/acme/elsewhere" } });
    inbox.resolve(5);
    assert.equal(isOwed(inbox.signal()), false);
  });

  test("when the fire in between was not told, but the one before it was", () => {
    const inbox = told();
    inbox.resolve(2);
    inbox.fire(3);
    inbox.resolve(4);
    assert.equal(isOwed(inbox.signal()), true);
    assert.deepEqual(inbox.tell(5), ["k#4 resolved"]);
  });
});

describe("a newer generation", () => {
  test("replaces an older one that is owed", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.fire(1, { severity: "urgent" });
    assert.deepEqual(inbox.tell(2), ["k#2 fired"]);
    assert.deepEqual(inbox.tell(3), []);
  });

  test("is owed although the older one was acked", () => {
    const inbox = new Inbox();
    inbox.fire(0);
    inbox.tell(1);
    inbox.fire(2, { severity: "urgent" });
    assert.deepEqual(inbox.tell(3), ["k#2 fired"]);
  });
});

test("a report only touches the signal of its key", () => {
  const inbox = new Inbox();
  inbox.fire(0, { key: "other" });
  const other = inbox.signal("other");
  inbox.fire(1);
  inbox.resolve(2);
  inbox.fire(3);
  assert.equal(inbox.signal("other"), other);
});
