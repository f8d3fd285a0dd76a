import {
  type Document,
  type Envelope,
  emptyDocument,
  findSession,
  findSignal,
  type Session,
  type Signal,
} from "../document.ts";
import { type AckResult, ack, type Reminder } from "../lease.ts";
import {
  type FireOutcome,
  type FireReport,
  fire,
  type ResolveOutcome,
  type ResolveReport,
  resolve,
} from "../lifecycle.ts";
import { type Config, DEFAULTS } from "../policy.ts";
import type { Rule } from "../router.ts";
import { type CheckIn, endSession, type Heartbeat } from "../session.ts";
import { type Time, timeOf } from "../time.ts";
import { type Applied, apply, type Transaction } from "../transaction.ts";

const START = Date.UTC(2026, 0, 5, 12);
const MINUTE = 60_000;

/** A day on the virtual clock, in minutes. */
export const DAY = 24 * 60;

/** The virtual clock: so many minutes after the beginning, a fraction or a negative number too. */
export function AT(minutes: number): Time {
  return timeOf(START + minutes * MINUTE);
}

/** An inbox with the default policy, from the beginning of the clock. */
export function document(fields: Partial<Document> = {}, config: Partial<Config> = {}): Document {
  const policy = { stamp: "none", config: { ...DEFAULTS, ...config } };
  return { ...emptyDocument(AT(0)), policy, ...fields };
}

export function card(fields: Partial<Envelope> = {}): Envelope {
  return {
    schema: "harn.triage_event.v1",
    id: "triage_evt_1",
    provider: "ci",
    source_kind: "run",
    source_id: "main",
    source_url: "https://ci.example/runs/7",
    actors: [],
    summary: "CI on main is red",
    why_it_matters: "Nothing merges",
    proposed_action: "Read the log",
    urgency: "normal",
    priority: "p2",
    confidence: 1,
    related_refs: [],
    dedupe_key: "k",
    privacy: { redacted: false, raw_payload_retained: false, contains_sensitive: false, flags: [] },
    action_intents: [],
    ...fields,
  };
}

/** A report that the signal `k` fired, at home in the repository of `session()`. */
export function report(fields: Partial<FireReport> = {}): FireReport {
  return {
    key: "k",
    severity: "warning",
    envelope: card(),
    producer: "monitors/ci",
    signature: "local",
    origin: "monitor",
    hints: { repository: "git.example/acme/api" },
    ...fields,
  };
}

export function resolution(fields: Partial<ResolveReport> = {}): ResolveReport {
  return { key: "k", producer: "monitors/ci", signature: "local", origin: "monitor", ...fields };
}

/** What a hook of session `a` says after a tool call. */
export function checkIn(fields: Partial<CheckIn> = {}): CheckIn {
  return {
    id: "a",
    harness: "claude-code",
    cwd: "/src/api",
    work_tree: "/src/api",
    repository: "git.example/acme/api",
    state: "busy",
    registers: true,
    subagent: false,
    ...fields,
  };
}

/** Session `a`, which was heard of at the beginning of the clock. */
export function session(fields: Partial<Session> = {}): Session {
  const { registers: _, subagent: __, ...described } = checkIn();
  return { ...described, state: "busy", last_seen: AT(0), last_hook: AT(0), started_at: AT(0), ...fields };
}

/** An inbox that tests act on as its callers do. All times are minutes on the virtual clock. */
export class Inbox {
  doc: Document;
  rule: Rule | undefined;
  heartbeats: Heartbeat[] = [];
  #tokens = 0;

  constructor(doc: Document = document()) {
    this.doc = doc;
  }

  /** One transaction, with the signs of life that earlier ones left, as the store does it. */
  run<T>(minutes: number, transaction: Transaction<T> = {}): Applied<T> {
    const now = AT(minutes);
    const notInFuture = (time: Time | undefined) => (time && time > now ? now : time);
    this.heartbeats = this.heartbeats.map(({ id, seen, hook }) => ({
      id,
      seen: notInFuture(seen),
      hook: notInFuture(hook),
    }));
    const around = {
      heartbeats: this.heartbeats,
      newToken: () => `token-${++this.#tokens}`,
      ...(this.rule && { rule: this.rule }),
    };
    const applied = apply(this.doc, transaction, around, now);
    if (applied.changed) this.doc = applied.doc;
    if (transaction.checkIn) {
      const { id, subagent } = transaction.checkIn;
      const known = this.heartbeats.find((beat) => beat.id === id);
      const beat = subagent ? { ...known, id, seen: now } : { id, seen: now, hook: now };
      this.heartbeats = [...this.heartbeats.filter((other) => other !== known), beat];
    }
    return applied;
  }

  fire(minutes: number, fields: Partial<FireReport> = {}): FireOutcome {
    return this.run(minutes, { change: (doc, now) => fire(doc, report(fields), now) }).value as FireOutcome;
  }

  resolve(minutes: number, fields: Partial<ResolveReport> = {}): ResolveOutcome {
    const change = (doc: Document, now: Time) => {
      const [next, outcome] = resolve(doc, resolution(fields), now);
      return [next, outcome] as const;
    };
    return this.run(minutes, { change }).value as ResolveOutcome;
  }

  /** A hook of a session, of `a` if not said otherwise, that takes whatever is due. */
  hook(minutes: number, fields: Partial<CheckIn> = {}): readonly Reminder[] {
    return this.run(minutes, { checkIn: checkIn(fields), lease: "any" }).reminders;
  }

  /** The same, when the session is about to stop. */
  stop(minutes: number, fields: Partial<CheckIn> = {}): readonly Reminder[] {
    return this.run(minutes, { checkIn: checkIn({ state: "idle", ...fields }), lease: "urgent" }).reminders;
  }

  ack(minutes: number, { lease }: Reminder): AckResult["outcome"] {
    return (
      this.run(minutes, { change: (doc, now) => ack(doc, lease.token, now) }).value?.outcome ?? "unknown"
    );
  }

  /** A hook that tells all it took and says so: what a session is told, as `key#generation STATE`. */
  tell(minutes: number, fields: Partial<CheckIn> = {}): string[] {
    const reminders = this.hook(minutes, fields);
    for (const reminder of reminders) this.ack(minutes, reminder);
    return reminders.map(idOf);
  }

  end(minutes: number, id = "a"): void {
    this.run(minutes, { change: (doc, now) => [endSession(doc, id, now), undefined] });
  }

  signal(key = "k"): Signal {
    const found = findSignal(this.doc, key);
    if (found === undefined) throw new Error(`no signal ${key}`);
    return found;
  }

  session(id = "a"): Session | undefined {
    return findSession(this.doc, id);
  }

  /** The session that the present generation is routed to. */
  routedTo(key = "k"): string | undefined {
    const { assigned, generation } = this.signal(key);
    return assigned?.generation === generation ? assigned.session : undefined;
  }
}

/** A reminder in short, such as `k#1 fired`. */
export function idOf({ signal, lease }: Reminder): string {
  const again = lease.attempt > 1 ? ` attempt ${lease.attempt}` : "";
  return `${signal.key}#${lease.generation} ${signal.state}${again}`;
}

/** The same document, frozen to the last leaf, so that a rule that changes it throws. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}
