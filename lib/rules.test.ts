import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { brokenRules } from "./doctor/check-document.ts";
import {
  type Document,
  findSignal,
  isOwed,
  type Lease,
  ORIGINS,
  SEVERITIES,
  type Signal,
  severityRank,
} from "./document.ts";
import { SignalsError } from "./errors.ts";
import { ack, MAX_REMINDERS } from "./lease.ts";
import { fire, resolve } from "./lifecycle.ts";
import { policyHold } from "./policy.ts";
import { type Loss, noteRecalled, type Recall, recall } from "./recall.ts";
import { destination } from "./router.ts";
import { type CheckIn, endSession, isLive } from "./session.ts";
import { AT, card, checkIn, document, frozen, Inbox, report, resolution } from "./testing/build.ts";
import { type Applied, apply, type Transaction } from "./transaction.ts";

// ---------------------------------------------------------------- what may happen

const KEYS = ["k1", "k2", "k3", "k4", "k5", "k6"];
const SESSIONS = ["a", "b", "c"];
const SIGNATURES = ["unverified", "verified", "local"] as const;

const HOME = checkIn();
const PLACES = [
  HOME,
  { ...HOME, cwd: "/src/api/lib" },
  { ...HOME, cwd: "/src/web", work_tree: "/src/web", repository: "git.example/acme/web" },
  { ...HOME, cwd: "/", work_tree: undefined, repository: undefined, role: "control" },
];
const HINTS = [
  {},
  { repository: "acme/api" },
  { repository: "git.example/acme/web", cwd: "/src/web" },
  { cwd: "/src/api/lib/deep" },
  { session: "a" },
  { session: "b", repository: "acme/api" },
];

/** A token by its place among all that were handed out; past the end, one that never was. */
type Event =
  | {
      do: "fire";
      report: Parameters<typeof report>[0];
      expiresIn: number | undefined;
      source: number | undefined;
    }
  | { do: "resolve"; report: Parameters<typeof resolution>[0]; source: number | undefined }
  | { do: "hook"; event: CheckIn; lease: Transaction<void>["lease"]; recall: Loss | undefined }
  | { do: "ack"; token: number }
  | { do: "end"; session: string }
  | { do: "policy"; muted: boolean }
  | { do: "nothing" };

const source = fc.option(fc.constantFrom(0, 0, 1, 30), { nil: undefined });
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("fire" as const),
      report: fc.record({
        key: fc.constantFrom(...KEYS),
        severity: fc.constantFrom(...SEVERITIES),
        signature: fc.constantFrom(...SIGNATURES),
        origin: fc.constantFrom(...ORIGINS),
        hints: fc.constantFrom(...HINTS),
        one_shot: fc.boolean(),
      }),
      expiresIn: fc.option(fc.constantFrom(1, 60, 3_000, 30_000), { nil: undefined }),
      source,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("resolve" as const),
      report: fc.record({
        key: fc.constantFrom(...KEYS),
        signature: fc.constantFrom(...SIGNATURES),
      }),
      source,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("hook" as const),
      event: fc
        .record({
          id: fc.constantFrom(...SESSIONS),
          place: fc.constantFrom(...PLACES),
          state: fc.constantFrom("busy" as const, "idle" as const, "waiting" as const),
          attended: fc.constantFrom(true, false, undefined),
          registers: fc.boolean(),
          subagent: fc.boolean(),
        })
        .map(({ place, ...own }) => ({ ...place, ...own })),
      lease: fc.constantFrom("any" as const, "any" as const, "urgent" as const, undefined),
      recall: fc.constantFrom("compact" as const, "resume" as const, undefined),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ack" as const), token: fc.nat(12) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("end" as const), session: fc.constantFrom(...SESSIONS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("policy" as const), muted: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("nothing" as const) }) },
);

const pause = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 0.05, 0.3, 1, 4) },
  { weight: 2, arbitrary: fc.constantFrom(9.99, 10, 29, 31) },
  { weight: 1, arbitrary: fc.constantFrom(120, 1_440, 11_520) },
);
const story = fc.array(fc.tuple(pause, event), { minLength: 1, maxLength: 50 });

// ---------------------------------------------------------------- one step, and what must hold after it

/** Plays events on an inbox whose documents are frozen, and watches what the rules promise. */
class Watched extends Inbox {
  minutes = 0;
  /** Every lease ever handed out, with its key, in the order of their tokens. */
  readonly leases: (Lease & { key: string; state: "out" | "acked" | "taken back" })[] = [];

  constructor() {
    super(document({}, { max_signals: 5 }));
  }

  play(pause: number, event: Event): void {
    this.minutes += pause;
    const before = frozen(this.doc);
    try {
      this.#act(event);
    } catch (error) {
      // A refusal stores nothing.
      assert.ok(error instanceof SignalsError, String((error as Error).stack));
      assert.equal(this.doc, before);
    }
    for (const { key } of before.signals) {
      // The key may be fired again from the beginning once everything about it is forgotten.
      if (findSignal(this.doc, key) === undefined) this.#forget(key);
    }
    checkStep(before, this.doc);
    checkDocument(this.doc);
    // Else `signals doctor` would find fault with what the rules themselves made.
    assert.deepEqual(brokenRules(this.doc), []);
  }

  #act(event: Event): void {
    const now = this.minutes;
    const at = (source: number | undefined) => ({
      ...card(),
      ...(source !== undefined && { source_timestamp: AT(now - source) }),
    });
    if (event.do === "fire") {
      const expires_at = event.expiresIn === undefined ? undefined : AT(now + event.expiresIn);
      const made = report({ ...event.report, envelope: at(event.source), ...(expires_at && { expires_at }) });
      const trust = this.#trustOf(made.key);
      this.#run({ change: (doc, time) => fire(doc, made, time) });
      assert.ok(made.signature !== "unverified" || trust === undefined || trust === "unverified");
    } else if (event.do === "resolve") {
      const made = resolution({ ...event.report, envelope: at(event.source) });
      const trust = this.#trustOf(made.key);
      const change = (doc: Document, time: string) => {
        const [next, outcome] = resolve(doc, made, time);
        return [next, outcome] as const;
      };
      this.#run({ change });
      assert.ok(made.signature !== "unverified" || trust === undefined || trust === "unverified");
    } else if (event.do === "hook") {
      const { recalled } = this.#run({ checkIn: event.event, lease: event.lease, recall: event.recall });
      this.#noteRecalled(recalled);
    } else if (event.do === "ack") {
      const known = this.leases[event.token];
      const token = known?.token ?? "never handed out";
      const wasOut = known?.state === "out" && known.lapses_at > AT(now);
      const result = this.#run({
        change: (doc, time) => {
          const [next, result] = ack(doc, token, time);
          if (result.outcome === "unknown") assert.equal(next, doc);
          return [next, result];
        },
      }).value;
      const generation = known && findSignal(this.doc, known.key)?.generation;
      if (known === undefined) assert.equal(result?.outcome, "unknown");
      else if (wasOut && generation === known.generation) assert.equal(result?.outcome, "acked");
      if (known && result?.outcome === "acked") known.state = "acked";
    } else if (event.do === "end") {
      this.#run({ change: (doc, time) => [endSession(doc, event.session, time), undefined] });
      for (const lease of this.leases) {
        if (lease.session === event.session && lease.state === "out") lease.state = "taken back";
      }
    } else if (event.do === "policy") {
      const mute = event.muted ? [{ key: "k1" }, { key: "k2" }] : [];
      this.doc = { ...this.doc, policy: document({}, { max_signals: 5, mute }).policy };
    } else this.#run({});
  }

  /** What was shown again is noted, and nothing else follows from it. */
  #noteRecalled(recalled: readonly Recall[]): void {
    const before = frozen(this.doc);
    this.#run({ change: (doc) => [noteRecalled(doc, recalled), undefined] });
    const withoutNotes = ({ signals }: Document) =>
      signals.map((signal) => ({ ...signal, told: signal.told.map(({ shown: _, ...told }) => told) }));
    assert.deepEqual(withoutNotes(this.doc), withoutNotes(before));
    for (const { signal, session } of recalled) {
      const again = recall(this.doc, session, "resume", new Set(), AT(this.minutes));
      assert.ok(!again.some((other) => other.signal.key === signal.key), "a change is shown once");
    }
  }

  #trustOf(key: string): string | undefined {
    return findSignal(this.doc, key)?.trust;
  }

  #forget(key: string): void {
    for (const lease of this.leases) if (lease.key === key) lease.key = `${key}, forgotten`;
  }

  #run<T>(transaction: Transaction<T>): Applied<T> {
    const before = frozen(this.doc);
    const applied = this.run(this.minutes, transaction);
    this.#checkOutcome(before, applied, transaction);
    this.#checkRepetition();
    return applied;
  }

  /** What one transaction hands out, and how it says that nothing happened. */
  #checkOutcome<T>(before: Document, applied: Applied<T>, transaction: Transaction<T>): void {
    const { reminders, waiting, recalled, omitted, changed, doc } = applied;
    const { checkIn: event } = transaction;
    const now = AT(this.minutes);
    assert.ok(reminders.length <= MAX_REMINDERS && waiting >= 0);
    assert.ok(reminders.length + recalled.length <= MAX_REMINDERS);
    assert.ok(omitted === 0 || reminders.length + recalled.length === MAX_REMINDERS);
    assert.ok(recalled.length === 0 || (transaction.recall && event?.subagent === false));
    const leased = reminders.map(({ signal }) => signal.key);
    for (const { signal, loss, known } of recalled) {
      assert.ok(!leased.includes(signal.key) && !signal.one_shot);
      assert.equal(policyHold(doc, signal, now), undefined, "nothing held is shown again");
      assert.ok(
        signal.told.some(({ session }) => session === event?.id),
        "only what it was told",
      );
      if (loss === "resume") assert.ok(known.generation < signal.generation);
      else assert.ok(known.generation === signal.generation && signal.state === "fired");
    }
    for (const { signal, lease } of reminders) {
      const { key, generation } = signal;
      assert.equal(lease.session, event?.id);
      assert.equal(event?.subagent, false);
      const [session] = doc.sessions.filter(({ id }) => id === lease.session);
      assert.ok(session && isLive(doc, session, now), "a lease goes to a live session");
      assert.ok(
        "session" in destination({ ...signal, lease: undefined }, doc, now),
        "nothing held is leased",
      );
      if (transaction.lease === "urgent") assert.equal(`${signal.state} ${signal.severity}`, "fired urgent");
      for (const older of this.leases.filter((other) => other.key === key)) {
        assert.ok(older.generation <= generation, "no older generation is leased after a newer one");
        if (older.generation < generation) continue;
        assert.notEqual(older.state, "acked", "no generation that was acked is leased again");
        assert.ok(older.state === "taken back" || older.lapses_at <= now, "no two leases are out on one");
        assert.ok(lease.attempt > older.attempt, "attempts rise");
      }
      this.leases.push({ ...lease, key, state: "out" });
    }
    if (!changed) {
      const withoutStamps = (one: Document) => ({
        ...one,
        sessions: one.sessions.map((session) => ({ ...session, last_seen: "", last_hook: "" })),
      });
      assert.deepEqual(withoutStamps(doc), withoutStamps(before));
    } else assert.equal(doc.stamped_at, now);
  }

  /** The same instant again changes nothing, and a document that was written and read does as well as this one. */
  #checkRepetition(): void {
    const around = { heartbeats: this.heartbeats, newToken: () => "t" };
    const now = AT(this.minutes);
    const again = apply(frozen(this.doc), {}, around, now);
    assert.equal(again.changed, false, "the same instant again is no change");
    const copy: Document = JSON.parse(JSON.stringify(this.doc));
    const later = AT(this.minutes + 12);
    const transaction = { checkIn: checkIn({ id: "b" }), lease: "any" as const };
    assert.deepEqual(
      JSON.parse(JSON.stringify(apply(copy, transaction, around, later))),
      JSON.parse(JSON.stringify(apply(this.doc, transaction, around, later))),
    );
  }
}

/** What may and may not change between two documents, whatever happened. */
function checkStep(before: Document, after: Document): void {
  for (const old of before.signals) {
    const signal = findSignal(after, old.key);
    if (signal === undefined || signal === old) continue;
    assert.ok(signal.generation >= old.generation, "generations only rise");
    if (signal.generation === old.generation) {
      const settledByAck = old.one_shot && old.state === "fired" && signal.acked !== undefined;
      assert.equal(signal.state, settledByAck ? "resolved" : old.state, "no state changes in one generation");
      for (const field of ["severity", "envelope", "producer", "signature", "origin", "hints"] as const) {
        assert.equal(signal[field], old[field], `${field} is frozen in one generation`);
      }
      assert.ok(signal.attempt >= old.attempt);
      assert.ok(signal.expires_at >= old.expires_at, "an expiry never moves back");
      if (old.acked) assert.deepEqual(signal.acked, old.acked);
      if (!old.news) assert.equal(signal.news, false, "what is no news does not become news");
    } else if (signal.generation === old.generation + 1 && old.state === signal.state) {
      const rose = severityRank(signal.severity) > severityRank(old.severity);
      const confirmed = old.trust === "unverified" && signal.trust !== "unverified";
      assert.ok(signal.state === "fired" && (rose || confirmed), "each generation is a real transition");
    }
    assert.ok(old.trust === "unverified" || signal.trust !== "unverified", "trust is raised for good");
    for (const { session, generation } of old.told) {
      const told = signal.told.find((entry) => entry.session === session);
      assert.ok(told && told.generation >= generation, "what was told is never forgotten");
    }
  }
}

/** What holds in every document. */
function checkDocument(doc: Document): void {
  const unique = (values: string[]) => assert.equal(new Set(values).size, values.length);
  unique(doc.signals.map(({ key }) => key));
  unique(doc.sessions.map(({ id }) => id));
  unique(doc.ended.map(({ id }) => id));
  unique([...doc.sessions, ...doc.ended].map(({ id }) => id));
  assert.ok(doc.signals.length <= 5);
  for (const signal of doc.signals) {
    const { state, told, trust, signature, severity, lease, generation } = signal;
    if (state !== "fired") {
      const last = [...told].sort((a, b) => a.generation - b.generation).at(-1);
      assert.ok(!isOwed(signal) || last !== undefined, "nothing is owed of what nobody was told");
    }
    assert.ok(trust !== "unverified" || signature === "unverified");
    assert.ok(trust !== "unverified" || severity !== "urgent", "an unverified one is never urgent");
    if (lease) {
      assert.equal(lease.generation, generation);
      assert.ok(isOwed(signal));
    }
    unique(signal.past.map(({ token }) => token).concat(lease?.token ?? []));
  }
}

// ---------------------------------------------------------------- properties

const runs = { numRuns: 300 };

describe("whatever happens, in whatever order,", () => {
  test("the rules keep their promises and never change a document in place", () => {
    fc.assert(
      fc.property(story, (steps) => {
        const inbox = new Watched();
        for (const [pause, event] of steps) inbox.play(pause, event);
      }),
      runs,
    );
  });

  test("everything that is fired, routable and not held is told once hooks keep coming", () => {
    fc.assert(
      fc.property(story, (steps) => {
        const inbox = new Watched();
        for (const [pause, event] of steps) inbox.play(pause, event);
        const { sessions } = inbox.doc;
        const told = new Set<string>();
        const owedAtFirst = inbox.doc.signals.filter(
          (signal) => isOwed(signal) && "session" in destination(signal, inbox.doc, AT(inbox.minutes)),
        );
        for (let minute = 1; minute <= 45; minute++) {
          for (const { id, cwd, work_tree, repository, role } of sessions) {
            const where = { id, cwd, work_tree, repository, ...(role && { role }) };
            for (const line of inbox.tell(inbox.minutes + minute, where)) told.add(line.split(" ")[0] ?? "");
          }
        }
        const now = AT(inbox.minutes + 45);
        if (sessions.length === 0) return;
        const left = inbox.doc.signals.filter(
          (signal) => isOwed(signal) && "session" in destination(signal, inbox.doc, now),
        );
        assert.deepEqual(left, [], "nothing that could be told is left");
        for (const { key, generation, state, expires_at } of owedAtFirst) {
          const gone = state === "fired" && expires_at <= now;
          const newest: Signal | undefined = findSignal(inbox.doc, key);
          if (!gone && newest) assert.ok(told.has(`${key}#${generation}`), `${key}#${generation} was told`);
        }
      }),
      { numRuns: 150 },
    );
  });

  test("a clock that jumps back and forth leaves no lease, session or grace behind for ever", () => {
    const jump = fc.constantFrom(-2_000, -100, -15, -1, 3, 12, 500, 2_000);
    fc.assert(
      fc.property(fc.array(fc.tuple(jump, event), { minLength: 1, maxLength: 25 }), (steps) => {
        const inbox = new Inbox();
        let minutes = 0;
        const tokens: string[] = [];
        for (const [pause, event] of steps) {
          minutes += pause;
          inbox.doc = frozen(inbox.doc);
          if (event.do === "fire") {
            const { hints, ...rest } = event.report ?? {};
            const strong = { ...rest, signature: "local" as const, hints: { ...hints, session: undefined } };
            inbox.fire(minutes, { ...strong, one_shot: false, expires_at: AT(90_000) });
          } else if (event.do === "hook") {
            const { reminders } = inbox.run(minutes, { checkIn: event.event, lease: event.lease });
            tokens.push(...reminders.map(({ lease }) => lease.token));
          } else if (event.do === "ack") {
            const token = tokens[event.token] ?? "?";
            inbox.run(minutes, { change: (doc, now) => ack(doc, token, now) });
          } else if (event.do === "end") inbox.end(minutes, event.session);
          else inbox.run(minutes);
        }
        // From here on the clock is right, and one session works on that suits everything.
        const told = new Set<string>();
        for (let minute = 1; minute <= 60; minute++) {
          for (const line of inbox.tell(minutes + minute, { id: "z", role: "control" })) told.add(line);
        }
        assert.deepEqual(
          inbox.doc.sessions.map(({ id }) => id),
          ["z"],
          "sessions that are gone are removed",
        );
        assert.deepEqual(
          inbox.doc.signals.filter(({ state, lease }) => state === "fired" && lease !== undefined),
          [],
        );
        assert.deepEqual(
          inbox.doc.signals.filter((signal) => signal.state === "fired" && isOwed(signal)),
          [],
        );
      }),
      { numRuns: 150 },
    );
  });
});
