import { type Document, isOwed, type Session, type Signal } from "../document.ts";
import { parseEnvelope } from "../envelope.ts";
import { messageOf } from "../errors.ts";
import { isSessionId } from "../session.ts";

/**
 * What the rules rely on and always keep, beyond the shape that every reader checks: a hook cannot afford to look. Where
 * one does not hold, somebody else has written into the inbox, or there is a bug.
 */
type Rule<T> = readonly [says: string, holds: (item: T, doc: Document) => boolean];

const OF_SIGNALS: readonly Rule<Signal>[] = [
  ["a generation is a whole number from 1 on", ({ generation }) => isCount(generation)],
  [
    "the text is of a generation that was",
    ({ worded, generation }) => isCount(worded) && worded <= generation,
  ],
  [
    "an unverified report is never urgent",
    ({ signature, severity }) => signature !== "unverified" || severity !== "urgent",
  ],
  [
    "a signal is trusted no less than its last report",
    ({ signature, trust }) => signature === "unverified" || trust !== "unverified",
  ],
  [
    "what is leased is the present generation",
    ({ lease, generation }) => lease === undefined || lease.generation === generation,
  ],
  ["what is acked is not leased any more", ({ lease, acked }) => lease === undefined || acked === undefined],
  [
    "what sessions were told and leased was there before",
    ({ told, past, generation }) => [...told, ...past].every((entry) => entry.generation <= generation),
  ],
  [
    "a session was told of one generation last",
    ({ told }) => areDifferent(told.map(({ session }) => session)),
  ],
  [
    "what waits for a session waits for one that is known",
    (signal, { sessions }) =>
      !isOwed(signal) ||
      signal.lease !== undefined ||
      signal.assigned === undefined ||
      signal.assigned.session === signal.hints.session ||
      sessions.some(({ id }) => id === signal.assigned?.session),
  ],
];

const OF_SESSIONS: readonly Rule<Session>[] = [
  ["a session's id can be the name of a file", ({ id }) => isSessionId(id)],
  ["a session was seen when its last hook ran", ({ last_seen, last_hook }) => last_seen >= last_hook],
  ["a session that has ended is not listed", ({ id }, { ended }) => !ended.some((entry) => entry.id === id)],
];

const OF_ALL: readonly Rule<Document>[] = [
  ["a session is listed once", ({ sessions }) => areDifferent(sessions.map(({ id }) => id))],
  [
    "no two leases have one token",
    ({ signals }) =>
      areDifferent(signals.flatMap(({ lease, past }) => [...(lease ? [lease] : []), ...past]).map(tokenOf)),
  ],
];

/** The rules that the document breaks, each with the first signal or session that does. */
export function brokenRules(doc: Document): { says: string; by: string }[] {
  const broken = <T>(rules: readonly Rule<T>[], items: readonly T[], nameOf: (item: T) => string) =>
    rules.flatMap(([says, holds]) => {
      const first = items.find((item) => !holds(item, doc));
      return first === undefined ? [] : [{ says, by: nameOf(first) }];
    });
  return [
    ...broken(OF_SIGNALS, doc.signals, ({ key }) => `signal ${key}`),
    ...broken(OF_SESSIONS, doc.sessions, ({ id }) => `session ${id}`),
    ...broken(OF_ALL, [doc], () => "the list"),
  ];
}

/** The signals that may still be told and whose envelope would be refused today, each with the reason. */
export function refusedEnvelopes(doc: Document): { key: string; reason: string }[] {
  return doc.signals
    .filter((signal) => signal.state === "fired" || isOwed(signal))
    .flatMap(({ key, envelope }) => {
      try {
        parseEnvelope(envelope);
        return [];
      } catch (error) {
        // What to do about it was said to whoever sent it.
        return [{ key, reason: messageOf(error).replace(/; [^;]*$/, "") }];
      }
    });
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 1;
}

function areDifferent(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

function tokenOf({ token }: { token: string }): string {
  return token;
}
