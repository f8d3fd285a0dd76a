import {
  type Document,
  findSession,
  interrupts,
  isOwed,
  mapSame,
  type Session,
  type Signal,
  withSignals,
} from "./document.ts";
import { isLeased } from "./lease.ts";
import { nextGeneration } from "./lifecycle.ts";
import { configOf, type Hold, noSession, policyHold, waitsFor } from "./policy.ts";
import { isWithin, sameRepository } from "./repository.ts";
import { hasEnded, isLive, isResponsive } from "./session.ts";
import type { Time } from "./time.ts";

/** Where the present generation of a signal goes: to a session, nowhere for now, or nowhere any more. */
export type Destination = { session: string } | { hold: Hold } | { drop: true };

/**
 * The replaceable step of routing: which of the live sessions should hear of this signal, or why none.
 * What stands above it, policy and settled news, has been decided when it is called.
 */
export type Rule = (signal: Signal, doc: Document, now: Time) => Destination;

/**
 * The routing pass: every generation that is owed and not leased goes where it should. Policy comes first, so a
 * mute also takes back what was assigned and not leased.
 */
export function route(doc: Document, now: Time, rule: Rule = byHints): Document {
  return withSignals(
    doc,
    mapSame(doc.signals, (signal) => routeOne(signal, doc, now, rule)),
  );
}

function routeOne(signal: Signal, doc: Document, now: Time, rule: Rule): Signal {
  if (!isOwed(signal) || isLeased(signal, now)) return signal;
  const to = destination(signal, doc, now, rule);
  // That it expired may be news for somebody who was told of it.
  if ("drop" in to) return routeOne(giveUp(signal, now), doc, now, rule);
  if ("hold" in to) return signal.assigned ? { ...signal, assigned: undefined } : signal;
  const { assigned, generation } = signal;
  return assigned?.session === to.session && assigned.generation === generation
    ? signal
    : { ...signal, assigned: { session: to.session, generation } };
}

/** Where the present generation goes now. Pure, so that a reader can also ask why something is held. */
export function destination(signal: Signal, doc: Document, now: Time, rule: Rule = byHints): Destination {
  const hold = policyHold(doc, signal, now);
  if (hold) return { hold };

  const kept = keeper(signal, doc, now);
  if (kept && signal.assigned?.generation === signal.generation) return kept;

  // How it ended concerns the session that was told it had begun.
  const listener = signal.follow_up;
  if (listener !== undefined) {
    if (isLiveId(doc, listener, now)) return { session: listener };
    if (!hasEnded(doc, listener)) return { hold: waitsFor(doc, listener) };
    if (signal.state === "expired") return { drop: true };
  }

  const wanted = signal.hints.session;
  const isThere = wanted !== undefined && isLiveId(doc, wanted, now);
  if (wanted !== undefined && !isThere && signal.one_shot) {
    if (!hasEnded(doc, wanted)) return { hold: waitsFor(doc, wanted) };
    if (signal.hints.repository === undefined && signal.hints.cwd === undefined) return { drop: true };
  }
  if (kept) return kept;
  return isThere ? { session: wanted } : rule(signal, doc, now);
}

/** Nobody can hear this any more: an unheard one-shot expires, news of an expiry is just forgotten. */
function giveUp(signal: Signal, now: Time): Signal {
  return signal.state === "fired"
    ? nextGeneration(signal, { state: "expired" }, now)
    : { ...signal, news: false, assigned: undefined };
}

/** The deterministic rule: repository, then directory, then the fallback role; ties in a fixed order. */
export const byHints: Rule = (signal, doc, now) => {
  const step = stepsByHints(signal, doc, now).find((candidates) => candidates.length > 0);
  const best = step?.sort(tieOrder(signal, doc, now))[0];
  return best ? { session: best.id } : { hold: noSession(doc, signal) };
};

/** The live sessions that suit a signal, in the order in which they are asked: an earlier step suits better. */
function stepsFor(signal: Signal, doc: Document, now: Time): Session[][] {
  const live = (id: string | undefined) =>
    doc.sessions.filter((session) => session.id === id && isLive(doc, session, now));
  const listener = live(signal.follow_up);
  return listener.length > 0 ? [listener] : [live(signal.hints.session), ...stepsByHints(signal, doc, now)];
}

function stepsByHints(signal: Signal, doc: Document, now: Time): Session[][] {
  const live = doc.sessions.filter((session) => isLive(doc, session, now));
  return [
    live.filter((session) => inRepository(session, signal)),
    live.filter((session) => closeness(session.cwd, session.work_tree, signal.hints.cwd) > 0),
    live.filter((session) => session.role === configOf(doc).fallback_role),
  ];
}

/**
 * The session that keeps its assignment. A new generation stays where the one before went, while that session
 * still suits it; then it moves only from a session that was silent for a lease window, and only to one that is
 * responsive and suits as well or better. So a reminder does not bounce between sessions.
 */
function keeper(signal: Signal, doc: Document, now: Time): Destination | undefined {
  if (signal.assigned === undefined) return undefined;
  const { session: id, generation } = signal.assigned;
  const session = findSession(doc, id);
  if (session === undefined || !isLive(doc, session, now)) return undefined;
  // Most often so, and then nobody else need be looked at.
  const responsive = isResponsive(doc, session, now);
  if (responsive && generation === signal.generation) return { session: id };

  const steps = stepsFor(signal, doc, now);
  const step = steps.findIndex((candidates) => candidates.includes(session));
  if (step < 0 && generation !== signal.generation) return undefined;
  if (responsive) return { session: id };
  const others = steps.slice(0, step < 0 ? steps.length : step + 1).flat();
  return others.some((other) => isResponsive(doc, other, now)) ? undefined : { session: id };
}

function inRepository(session: Session, { hints }: Signal): boolean {
  return (
    hints.repository !== undefined &&
    session.repository !== undefined &&
    sameRepository(hints.repository, session.repository)
  );
}

/**
 * How well a session's directory fits the directory hint: 0 not at all; best is the directory itself, then its
 * ancestors, the deepest first, then a directory below it in the same work tree.
 */
function closeness(cwd: string, workTree: string | undefined, hint: string | undefined): number {
  if (hint === undefined) return 0;
  const depth = cwd.split("/").filter(Boolean).length;
  if (isWithin(hint, cwd)) return 1 + depth;
  // Below the hint, the innermost work tree around the session holds the hint too, or they are two work trees.
  const sameTree = workTree !== undefined && isWithin(hint, workTree);
  return isWithin(cwd, hint) && sameTree ? 1 / (1 + depth) : 0;
}

/** Who goes first within one step. Ends with the id, so two routing passes reach the same answer. */
function tieOrder(signal: Signal, doc: Document, now: Time): (a: Session, b: Session) => number {
  const urgent = interrupts(signal) === "urgent";
  const score = (session: Session): (number | boolean | Time)[] => [
    isResponsive(doc, session, now),
    // Only a busy session comes by a safe point soon.
    urgent && session.state === "busy",
    // A headless script in the same repository should not swallow the news; unknown counts as attended.
    session.attended !== false,
    closeness(session.cwd, session.work_tree, signal.hints.cwd),
    session.last_hook,
  ];
  return (a, b) => {
    const [ofA, ofB] = [score(a), score(b)];
    for (const [i, value] of ofA.entries()) {
      const other = ofB[i] as typeof value;
      if (value !== other) return value > other ? -1 : 1;
    }
    return a.id < b.id ? -1 : 1;
  };
}

function isLiveId(doc: Document, id: string, now: Time): boolean {
  const session = findSession(doc, id);
  return session !== undefined && isLive(doc, session, now);
}
