import {
  type Document,
  type Envelope,
  filterSame,
  findSignal,
  type Hints,
  mapSame,
  type Origin,
  putSignal,
  type Report,
  type Severity,
  type Signal,
  type Signature,
  severityRank,
  type Told,
  withSignals,
} from "./document.ts";
import { SignalsError } from "./errors.ts";
import { makeRoom } from "./garbage.ts";
import { configOf } from "./policy.ts";
import { parseTime, plus, type Time } from "./time.ts";

/** What a producer says when its condition holds. */
export interface FireReport {
  key: string;
  severity: Severity;
  envelope: Envelope;
  producer: string;
  signature: Signature;
  origin: Origin;
  hints: Hints;
  /** Without one, `expire_after` from now. */
  expires_at?: Time | undefined;
  /** Settles by itself once it was delivered: a wake-up, a finished task. */
  one_shot?: boolean | undefined;
}

/** What a producer says when its condition is over. Without an envelope the old text stays. */
export interface ResolveReport {
  key: string;
  producer: string;
  signature: Signature;
  origin: Origin;
  envelope?: Envelope | undefined;
}

export type FireOutcome = "fired" | "extended" | "escalated" | "confirmed" | "refired" | "stale";
export type ResolveOutcome = "resolved" | "already_settled" | "unknown" | "stale";

const TRUST: Record<Signature, number> = { unverified: 0, local: 1, verified: 1 };

/**
 * Applies a fire to the document. Firing what is already fired is not news: the expiry moves, the text stays
 * frozen. A higher severity, stronger evidence or a settled signal makes a new generation.
 * Throws `SignalsError` when the report is weaker than the signal, or when the inbox is full.
 */
export function fire(doc: Document, report: FireReport, now: Time): readonly [Document, FireOutcome] {
  const signal = findSignal(doc, report.key);
  const severity = capped(report);
  const expires_at = report.expires_at ?? plus(now, configOf(doc).expire_after);
  const { envelope, producer, signature, origin, hints } = report;
  const card = { severity, envelope, producer, signature, origin, one_shot: report.one_shot ?? false };

  if (signal === undefined) {
    const fresh: Signal = {
      key: report.key,
      state: "fired",
      ...card,
      hints,
      generation: 1,
      worded: 1,
      trust: signature,
      fired_at: now,
      changed_at: now,
      expires_at,
      reports: recordReport([], "fire", envelope, now),
      news: true,
      attempt: 0,
      past: [],
      told: [],
    };
    return [putSignal(makeRoom(doc, fresh), fresh), "fired"];
  }

  refuseWeaker(signal, signature, `fire ${report.key}`);
  if (isStale(signal, "fire", envelope, now)) return [doc, "stale"];

  const reports = recordReport(signal.reports, "fire", envelope, now);
  const later = expires_at > signal.expires_at ? expires_at : signal.expires_at;
  const trust = strongest(signal.trust, signature);
  const moved = { ...card, state: "fired" as const, trust, reports };

  if (signal.state !== "fired") {
    const wanted = hasHints(hints) ? hints : signal.hints;
    const next = nextGeneration(signal, { ...moved, hints: wanted, fired_at: now, expires_at }, now);
    return [putSignal(doc, next), "refired"];
  }
  const confirms = trust !== signal.trust;
  if (confirms || severityRank(severity) > severityRank(signal.severity)) {
    // It got worse, it did not move: who was told of it hears that too.
    const kept = hasHints(signal.hints) ? signal.hints : hints;
    const next = nextGeneration(signal, { ...moved, hints: kept, expires_at: later }, now);
    return [putSignal(doc, next), confirms ? "confirmed" : "escalated"];
  }
  // The same object when nothing moved, so that a poll that repeats itself writes nothing.
  const same = later === signal.expires_at && reports === signal.reports;
  return [same ? doc : putSignal(doc, { ...signal, expires_at: later, reports }), "extended"];
}

/**
 * Applies a resolve to the document. A key that was never fired is stored nowhere: a script's first green run
 * must not fail, and must not leave a trace either.
 * Throws `SignalsError` when the report is weaker than the signal.
 */
export function resolve(
  doc: Document,
  report: ResolveReport,
  now: Time,
): readonly [Document, ResolveOutcome, Signal?] {
  const signal = findSignal(doc, report.key);
  if (signal === undefined) return [doc, "unknown"];

  const { producer, signature, origin } = report;
  refuseWeaker(signal, signature, `resolve ${report.key}`);
  if (isStale(signal, "resolve", report.envelope, now)) return [doc, "stale", signal];

  // Also recorded on a settled signal: an older fire that arrives after this resolve is out of date.
  const reports = recordReport(signal.reports, "resolve", report.envelope, now);
  const trust = strongest(signal.trust, signature);
  if (signal.state !== "fired") {
    const same = reports === signal.reports && trust === signal.trust;
    return [same ? doc : putSignal(doc, { ...signal, reports, trust }), "already_settled", signal];
  }
  const next = nextGeneration(
    signal,
    {
      state: "resolved",
      producer,
      signature,
      origin,
      ...(report.envelope && { envelope: report.envelope }),
      trust,
      reports,
    },
    now,
  );
  return [putSignal(doc, next), "resolved", next];
}

/** Time passes: what was fired and has outlived its expiry is over, as far as anybody knows. */
export function expire(doc: Document, now: Time): Document {
  return withSignals(
    doc,
    mapSame(doc.signals, (signal) =>
      signal.state === "fired" && signal.expires_at <= now
        ? nextGeneration(signal, { state: "expired" }, now)
        : signal,
    ),
  );
}

/**
 * The signal after a real transition. The older generation is never owed again; a lease on it stays known, so
 * that its ack is answered truly. The assignment stays for the router to judge.
 */
export function nextGeneration(signal: Signal, change: Partial<Signal>, now: Time): Signal {
  const last = lastTold(signal);
  const fired = (change.state ?? signal.state) === "fired";
  const generation = signal.generation + 1;
  return {
    ...signal,
    ...change,
    generation,
    worded: change.envelope === undefined ? signal.worded : generation,
    changed_at: now,
    // Who was told learns how it ended; who never heard is not told now.
    news: fired || last?.state === "fired",
    follow_up: fired ? undefined : last?.session,
    attempt: 0,
    lease: undefined,
    acked: undefined,
    past: signal.lease ? [...signal.past, signal.lease] : signal.past,
  };
}

/** The newest generation that was leased to any session, and to whom. */
function lastTold(signal: Signal): Told | undefined {
  return [...signal.told].sort((a, b) => a.generation - b.generation || (a.at < b.at ? -1 : 1)).at(-1);
}

/** What is known once is known for good: only stronger evidence takes its place. */
function strongest(known: Signature, reported: Signature): Signature {
  return TRUST[reported] > TRUST[known] ? reported : known;
}

function hasHints(hints: Hints): boolean {
  return Object.values(hints).some((hint) => hint !== undefined);
}

/** An unverified report may not wake or hold an agent, so nobody outside can. */
function capped(report: FireReport): Severity {
  return report.signature === "unverified" && report.severity === "urgent" ? "warning" : report.severity;
}

function refuseWeaker(signal: Signal, signature: Signature, what: string): void {
  if (TRUST[signature] < TRUST[signal.trust]) {
    throw new SignalsError(
      `${what}: refused: the report is ${signature} and the signal is ${signal.trust}; ` +
        "report it with evidence at least as strong, or under a key of its own",
    );
  }
}

/** When the source says it happened; a stamp in the future counts as now, or it would outrank every later report. */
function sourceTime(envelope: Envelope | undefined, now: Time): Time | undefined {
  const time = envelope?.source_timestamp === undefined ? undefined : parseTime(envelope.source_timestamp);
  return time !== undefined && time > now ? now : time;
}

/**
 * Whether this report is out of date: older than the newest one applied from its provider, or a repetition at the
 * same instant. A repeated fire is still good for what it can do without going back in time.
 */
function isStale(
  signal: Signal,
  kind: "fire" | "resolve",
  envelope: Envelope | undefined,
  now: Time,
): boolean {
  const at = sourceTime(envelope, now);
  const known = signal.reports.find(({ provider }) => provider === envelope?.provider);
  if (at === undefined || known === undefined || at > known.at) return false;
  if (at < known.at) return true;
  return known.kinds.includes(kind) && (kind === "resolve" || signal.state === "resolved");
}

/** A signal has one provider, or two that watch the same; more are somebody who makes names up. */
const MAX_PROVIDERS = 16;

function recordReport(
  reports: readonly Report[],
  kind: "fire" | "resolve",
  envelope: Envelope | undefined,
  now: Time,
): readonly Report[] {
  const at = sourceTime(envelope, now);
  if (at === undefined || envelope === undefined) return reports;
  const known = reports.find(({ provider }) => provider === envelope.provider);
  if (known?.at === at && known.kinds.includes(kind)) return reports;
  const kinds = known?.at === at ? [...known.kinds, kind] : [kind];
  const others = filterSame(reports, ({ provider }) => provider !== envelope.provider);
  return [...others, { provider: envelope.provider, at, kinds }].slice(-MAX_PROVIDERS);
}
