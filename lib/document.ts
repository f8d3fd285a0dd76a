import type { Config } from "./policy.ts";
import type { Time } from "./time.ts";

/**
 * The inbox as it is stored: one JSON document, and the type the rules work on. There is no mapping between the two.
 * The rules never change a document in place: they return the same object when nothing happened and a new one that
 * shares the rest when something did, so that "nothing changed" is `===`, and fields that a newer version of the
 * toolkit added are carried along.
 */
export interface Document {
  schema: typeof SCHEMA;
  version: number;
  /** When the document was last rewritten. */
  stamped_at: Time;
  signals: readonly Signal[];
  sessions: readonly Session[];
  /** Sessions that said goodbye; ended is not absent. Kept while something still names the id. */
  ended: readonly Ended[];
  /** The last valid configuration, absent until one was seen. */
  policy?: Policy | undefined;
  /** What is wrong with the version of config.toml that is there now, if it is not valid. */
  config_fault?: { stamp: string; message: string } | undefined;
  /** After the machine slept: when it fell asleep, and until when who was there then is given time to be heard. */
  grace?: { from: Time; until: Time } | undefined;
  /** Unverified fired signals that made room for a stronger report. */
  evicted?: number | undefined;
}

export const SCHEMA = "ambient-signals.inbox";
export const VERSION = 2;

export const SEVERITIES = ["info", "warning", "urgent"] as const;
export type Severity = (typeof SEVERITIES)[number];
export type State = "fired" | "resolved" | "expired";
export type Signature = "unverified" | "verified" | "local";
export const ORIGINS = ["human", "self", "monitor", "webhook", "schedule", "task", "peer"] as const;
export type Origin = (typeof ORIGINS)[number];

/** Where a signal wants to go. `cwd` is a real path (no symlinks), `repository` is `host/owner/name` or `owner/name`. */
export interface Hints {
  repository?: string | undefined;
  cwd?: string | undefined;
  session?: string | undefined;
}

/** One condition with a lifecycle. */
export interface Signal {
  key: string;
  state: State;
  severity: Severity;
  /** Counts the real transitions; each one is a piece of news. */
  generation: number;
  one_shot: boolean;
  origin: Origin;
  /** Who reported the present generation, and how well that is known. */
  producer: string;
  signature: Signature;
  /** The strongest evidence ever seen for this signal: a weaker report cannot move it. */
  trust: Signature;
  envelope: Envelope;
  /** The generation whose report brought the text. A signal that settles without a word keeps the older one. */
  worded: number;
  hints: Hints;
  /** When the condition began, this time; kept when it settles. */
  fired_at: Time;
  changed_at: Time;
  expires_at: Time;
  /** Per provider, the newest source time applied and what was applied at it: older reports are stale. */
  reports: readonly Report[];
  /** Whether the present generation is news for somebody. A fired one is; a settled one only for who was told. */
  news: boolean;
  /** For a settled generation: the session that was told last, which hears how it ended. */
  follow_up?: string | undefined;
  /** The session the present (or, right after a transition, the previous) generation is routed to. */
  assigned?: { session: string; generation: number } | undefined;
  /** The highest attempt number leased for the present generation. */
  attempt: number;
  lease?: Lease | undefined;
  acked?: { session: string; at: Time } | undefined;
  /** Leases that no longer count, superseded or acked: their tokens are known until they would have lapsed. */
  past: readonly Lease[];
  /** Per session, the newest generation leased to it. It outlives the session's entry. */
  told: readonly Told[];
}

export interface Report {
  provider: string;
  at: Time;
  kinds: readonly ("fire" | "resolve")[];
}

/** A reminder taken by a session and not yet known to have reached the model. */
export interface Lease {
  token: string;
  session: string;
  generation: number;
  attempt: number;
  leased_at: Time;
  lapses_at: Time;
  acked_at?: Time | undefined;
}

export interface Told {
  session: string;
  generation: number;
  state: State;
  at: Time;
  /** A newer generation that it was shown without a lease, when it was resumed. */
  shown?: Known | undefined;
}

/** What a session knows of a signal, and since when. */
export interface Known {
  generation: number;
  at: Time;
}

/** A running agent session that has announced itself. */
export interface Session {
  id: string;
  harness: string;
  cwd: string;
  /** The root of the git work tree around `cwd`. */
  work_tree?: string | undefined;
  repository?: string | undefined;
  title?: string | undefined;
  role?: string | undefined;
  state: SessionState;
  /** Any sign of life. */
  last_seen: Time;
  /** Stamped by the session's own hooks only. */
  last_hook: Time;
  started_at: Time;
  transcript_path?: string | undefined;
  attended?: boolean | undefined;
  pid?: number | undefined;
}

export type SessionState = "busy" | "idle" | "waiting" | "parked";

export interface Ended {
  id: string;
  at: Time;
}

export interface Policy {
  /** Which version of config.toml this is; `none` when there is no file. */
  stamp: string;
  config: Config;
}

/** The normalized card that a signal carries, `harn.triage_event.v1`, without its raw payload. */
export interface Envelope {
  schema: "harn.triage_event.v1";
  id: string;
  provider: string;
  source_kind: string;
  source_id: string;
  source_url: string;
  source_timestamp?: string | undefined;
  received_at?: string | undefined;
  actors: readonly {
    kind: string;
    id: string;
    display_name?: string | undefined;
    url?: string | undefined;
  }[];
  summary: string;
  why_it_matters: string;
  proposed_action: string;
  urgency: "critical" | "high" | "normal" | "low";
  priority: "p0" | "p1" | "p2" | "p3" | "p4";
  confidence: number;
  related_refs: readonly { kind: string; label?: string | undefined; url: string }[];
  dedupe_key: string;
  privacy: {
    redacted: boolean;
    raw_payload_retained: boolean;
    contains_sensitive: boolean;
    flags: readonly string[];
  };
  action_intents: readonly {
    kind: string;
    label: string;
    target: string;
    effect: string;
    requires_approval: boolean;
    default_duration?: string | undefined;
  }[];
}

/** An inbox that nothing has happened in. */
export function emptyDocument(now: Time): Document {
  return { schema: SCHEMA, version: VERSION, stamped_at: now, signals: [], sessions: [], ended: [] };
}

export function severityRank(severity: Severity): number {
  return SEVERITIES.indexOf(severity);
}

/** `items` with `change` applied to each; the very same array when every result is the item itself. */
export function mapSame<T>(items: readonly T[], change: (item: T) => T): readonly T[] {
  const changed = items.map(change);
  return changed.every((item, i) => item === items[i]) ? items : changed;
}

/** `items` without those that fail `keep`; the very same array when all pass. */
export function filterSame<T>(items: readonly T[], keep: (item: T) => boolean): readonly T[] {
  const kept = items.filter(keep);
  return kept.length === items.length ? items : kept;
}

/** The document with these signals; the same one when they are its own. */
export function withSignals(doc: Document, signals: readonly Signal[]): Document {
  return signals === doc.signals ? doc : { ...doc, signals };
}

/** The document with `signal` in the place of the one with its key, or added at the end. */
export function putSignal(doc: Document, signal: Signal): Document {
  const known = doc.signals.some(({ key }) => key === signal.key);
  const signals = known
    ? mapSame(doc.signals, (other) => (other.key === signal.key ? signal : other))
    : [...doc.signals, signal];
  return withSignals(doc, signals);
}

export function findSignal(doc: Document, key: string): Signal | undefined {
  return doc.signals.find((signal) => signal.key === key);
}

export function findSession(doc: Document, id: string): Session | undefined {
  return doc.sessions.find((session) => session.id === id);
}

/** Whether the present generation is still to be told to somebody. An older one is never owed. */
export function isOwed(signal: Signal): boolean {
  return signal.news && signal.acked === undefined;
}

/** How much a generation may interrupt: a recovery interrupts nobody, so a settled one counts as `info`. */
export function interrupts(signal: Signal): Severity {
  return signal.state === "fired" ? signal.severity : "info";
}
