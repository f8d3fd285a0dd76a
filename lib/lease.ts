import {
  type Document,
  filterSame,
  interrupts,
  isOwed,
  type Lease,
  mapSame,
  putSignal,
  type Signal,
  withSignals,
} from "./document.ts";
import { configOf } from "./policy.ts";
import { between, plus, type Time } from "./time.ts";

/** Three worst-case reminders fit into the smallest output that a supported client shows its model whole. */
export const MAX_REMINDERS = 3;

/** While an older generation's lease is out and this young, its hook may still be printing "fired". */
const PRINTING_MS = 30_000;

/** One reminder as it was leased: the signal at that moment, and the lease. */
export interface Reminder {
  signal: Signal;
  lease: Lease;
}

export interface LeaseRequest {
  session: string;
  /** A session about to stop is kept for urgent reminders only. */
  urgentOnly: boolean;
  /** An unguessable token, new at each call. */
  newToken: () => string;
}

export interface Leased {
  doc: Document;
  reminders: readonly Reminder[];
  /** How many more are routed to the session and will come at a later safe point. */
  waiting: number;
}

export function isLeased(signal: Signal, now: Time): boolean {
  return signal.lease !== undefined && signal.lease.lapses_at > now;
}

/**
 * Leases up to three of the reminders that are routed to the session: urgent ones first, then the oldest. Only the
 * token acks a lease, so a hook that runs beside this one can neither take nor confirm what this one prints.
 */
export function lease(doc: Document, request: LeaseRequest, now: Time): Leased {
  const routed = doc.signals.filter((signal) => isRoutedTo(signal, request.session, now)).sort(leaseOrder);
  const chosen = routed
    .filter((signal) => !isBeingPrinted(signal, request.session, now))
    .filter((signal) => !request.urgentOnly || interrupts(signal) === "urgent")
    .slice(0, MAX_REMINDERS);
  const reminders = chosen.map((signal) => leaseOne(signal, request, plus(now, configOf(doc).lease), now));
  const leased = reminders.reduce((acc, { signal }) => putSignal(acc, signal), doc);
  return { doc: leased, reminders, waiting: routed.length - chosen.length };
}

/** Owed, routed to this session, and in nobody's hands. */
export function isRoutedTo(signal: Signal, session: string, now: Time): boolean {
  return isOwed(signal) && signal.assigned?.session === session && !isLeased(signal, now);
}

/** Another hook of this session may be printing an older generation, which must not come out after the newer one. */
function isBeingPrinted(signal: Signal, session: string, now: Time): boolean {
  return signal.past.some(
    (old) =>
      old.session === session &&
      old.generation < signal.generation &&
      old.acked_at === undefined &&
      plus(old.leased_at, PRINTING_MS) > now,
  );
}

/** Urgent ones first, then the oldest. */
export function leaseOrder(a: Signal, b: Signal): number {
  const urgency = Number(interrupts(b) === "urgent") - Number(interrupts(a) === "urgent");
  return urgency || (a.changed_at < b.changed_at ? -1 : a.changed_at > b.changed_at ? 1 : 0);
}

function leaseOne(signal: Signal, request: LeaseRequest, lapses_at: Time, now: Time): Reminder {
  const { session, newToken } = request;
  const { generation, state } = signal;
  const attempt = signal.attempt + 1;
  const taken: Lease = { token: newToken(), session, generation, attempt, leased_at: now, lapses_at };
  const told = [
    ...signal.told.filter((entry) => entry.session !== session),
    { session, generation, state, at: now },
  ];
  return { signal: { ...signal, attempt, lease: taken, told }, lease: taken };
}

/**
 * Time passes: a lease that nobody acked lapses, and its reminder is owed again; tokens of the past are forgotten
 * when they would have lapsed. A lease from the future (the clock was set back) counts as taken now, or it would be
 * out until the clock catches up.
 */
export function lapse(doc: Document, now: Time): Document {
  return withSignals(
    doc,
    mapSame(doc.signals, (signal) => {
      const lease = signal.lease && notInFuture(signal.lease, now);
      const known = filterSame(signal.past, ({ lapses_at }) => lapses_at > now);
      const past = mapSame(known, (old) => notInFuture(old, now));
      if (lease && lease.lapses_at <= now) return { ...signal, lease: undefined, past };
      return lease === signal.lease && past === signal.past ? signal : { ...signal, lease, past };
    }),
  );
}

function notInFuture(lease: Lease, now: Time): Lease {
  const { leased_at, lapses_at } = lease;
  if (leased_at <= now) return lease;
  return { ...lease, leased_at: now, lapses_at: plus(now, between(leased_at, lapses_at)) };
}

export interface AckResult {
  outcome: "acked" | "already_acked" | "superseded" | "unknown";
  key?: string;
  generation?: number;
}

/**
 * The proof, by the lease's token, that the reminder reached the model. Acking twice is harmless. A lease that was
 * replaced is answered truly: it changes nothing about the newer generation, except that its hook is known to have
 * finished.
 */
export function ack(doc: Document, token: string, now: Time): readonly [Document, AckResult] {
  for (const signal of doc.signals) {
    const { key, generation } = signal;
    if (signal.lease?.token === token) {
      const done = { ...signal.lease, acked_at: now };
      const delivered: Signal = {
        ...signal,
        lease: undefined,
        past: [...signal.past, done],
        acked: { session: done.session, at: now },
      };
      const settles = signal.one_shot && signal.state === "fired";
      const next: Signal = settles ? { ...delivered, state: "resolved", changed_at: now } : delivered;
      return [putSignal(doc, next), { outcome: "acked", key, generation }];
    }
    const old = signal.past.find((lease) => lease.token === token);
    if (old) {
      const wasAcked = old.acked_at !== undefined;
      const past = mapSame(signal.past, (lease) =>
        lease === old && !wasAcked ? { ...lease, acked_at: now } : lease,
      );
      const next = past === signal.past ? doc : putSignal(doc, { ...signal, past });
      return [next, { outcome: wasAcked ? "already_acked" : "superseded", key, generation: old.generation }];
    }
  }
  return [doc, { outcome: "unknown" }];
}

/** Acks all leases that one output carried. A token that is not known any more changes nothing. */
export function ackAll(doc: Document, tokens: readonly string[], now: Time): Document {
  return tokens.reduce((acc, token) => ack(acc, token, now)[0], doc);
}
