import { type Document, findSession, isOwed, type Session, type Signal } from "./document.ts";
import { isLeased } from "./lease.ts";
import { destination } from "./router.ts";
import { isLive, isResponsive } from "./session.ts";
import type { Time } from "./time.ts";

/** Where the present generation of a signal stands. */
export interface Delivery {
  status: "owed" | "leased" | "delivered" | "held" | "none";
  session?: string | undefined;
  attempt?: number | undefined;
  leased_at?: Time | undefined;
  lapses_at?: Time | undefined;
  acked_at?: Time | undefined;
  /** Why it is held, and what would release it. */
  reason?: string | undefined;
  release?: string | undefined;
}

/** A signal as scripts print it with `--json`. */
export interface SignalView {
  key: string;
  state: Signal["state"];
  severity: Signal["severity"];
  generation: number;
  one_shot: boolean;
  origin: Signal["origin"];
  summary: string;
  why_it_matters: string;
  proposed_action: string;
  source_url: string;
  provider: string;
  producer: string;
  signature: Signal["signature"];
  hints: Signal["hints"];
  fired_at: Time;
  changed_at: Time;
  expires_at: Time;
  delivery: Delivery;
}

/** Where the signal's present generation stands at `now`, in a document that has just been routed. */
export function deliveryOf(doc: Document, signal: Signal, now: Time): Delivery {
  const { lease, acked, attempt, assigned } = signal;
  if (acked) return { status: "delivered", session: acked.session, attempt, acked_at: acked.at };
  if (!isOwed(signal)) return { status: "none" };
  if (lease && isLeased(signal, now)) {
    const { session, leased_at, lapses_at } = lease;
    return { status: "leased", session, attempt, leased_at, lapses_at };
  }
  if (assigned) return { status: "owed", session: assigned.session, attempt };
  const to = destination(signal, doc, now);
  if ("hold" in to) return { status: "held", attempt, ...to.hold };
  return { status: "none" };
}

export function signalView(doc: Document, signal: Signal, now: Time): SignalView {
  const { envelope } = signal;
  return {
    key: signal.key,
    state: signal.state,
    severity: signal.severity,
    generation: signal.generation,
    one_shot: signal.one_shot,
    origin: signal.origin,
    summary: envelope.summary,
    why_it_matters: envelope.why_it_matters,
    proposed_action: envelope.proposed_action,
    source_url: envelope.source_url,
    provider: envelope.provider,
    producer: signal.producer,
    signature: signal.signature,
    hints: signal.hints,
    fired_at: signal.fired_at,
    changed_at: signal.changed_at,
    expires_at: signal.expires_at,
    delivery: deliveryOf(doc, signal, now),
  };
}

/** A session as scripts print it with `--json`. */
export function sessionView(doc: Document, session: Session, now: Time) {
  return {
    id: session.id,
    harness: session.harness,
    cwd: session.cwd,
    repository: session.repository ?? null,
    title: session.title ?? null,
    role: session.role ?? null,
    state: session.state,
    attended: session.attended ?? null,
    last_seen: session.last_seen,
    last_hook: session.last_hook,
    live: isLive(doc, session, now),
    responsive: isResponsive(doc, session, now),
    watcher: false,
  };
}

/** A session for people: the beginning of its id, its client and its folder. */
export function sessionLabel(doc: Document, id: string): string {
  const session = findSession(doc, id);
  // One that begins with a time, in milliseconds, shares its first eight digits with all of the same minute.
  const [short = id] = /^[0-9a-f]{8}(-[0-9a-f]{4}(?=-7))?(?=-[0-9a-f-]{22,27}$)/.exec(id) ?? [];
  return session ? `${short} (${session.harness}, ${session.cwd.split("/").at(-1) || "/"})` : short;
}
