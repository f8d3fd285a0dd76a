import {
  type Document,
  findSignal,
  interrupts,
  type Known,
  mapSame,
  putSignal,
  type Signal,
  severityRank,
  type Told,
} from "./document.ts";
import { isRoutedTo } from "./lease.ts";
import { policyHold } from "./policy.ts";
import type { Time } from "./time.ts";

/**
 * What makes a session lose what it was told: a compaction throws away what hooks have added to its context, and a
 * resumed one goes by what was true when it was left.
 */
export type Loss = "compact" | "resume";

/** A signal that its session is shown again, as it stands now. It is no lease: nobody waits for an ack of it. */
export interface Recall {
  signal: Signal;
  session: string;
  loss: Loss;
  /** What the session knew of it before. */
  known: Known;
  /** It is leased to the session, whose hook has not confirmed it: it may not have been shown. */
  isUnconfirmed: boolean;
  at: Time;
}

/** The loss that the `source` of a session start means; undefined for the others. */
export function lossFrom(source: unknown): Loss | undefined {
  return source === "compact" || source === "resume" ? source : undefined;
}

/**
 * What a session is shown again, the most severe and newest first: after a compaction the fired signals of which it
 * knew the present generation; when resumed, those that have a newer generation than it knew. Never a one-shot, what
 * the policy holds, or what it is told anyway, in this output (`except`, by key) or at a later safe point.
 */
export function recall(
  doc: Document,
  session: string,
  loss: Loss,
  except: ReadonlySet<string>,
  now: Time,
): Recall[] {
  const found = doc.signals.flatMap((signal): Recall[] => {
    const told = toldTo(signal, session);
    if (told === undefined || signal.one_shot || except.has(signal.key)) return [];
    if (isRoutedTo(signal, session, now) || policyHold(doc, signal, now)) return [];
    const known = knownOf(told);
    const isNewer = signal.generation > known.generation;
    const isLost = loss === "resume" ? isNewer : !isNewer && signal.state === "fired";
    return isLost
      ? [{ signal, session, loss, known, isUnconfirmed: signal.lease?.session === session, at: now }]
      : [];
  });
  return found.sort(recallOrder);
}

function recallOrder({ signal: a }: Recall, { signal: b }: Recall): number {
  const severity = severityRank(interrupts(b)) - severityRank(interrupts(a));
  return severity || (a.changed_at > b.changed_at ? -1 : a.changed_at < b.changed_at ? 1 : 0);
}

/**
 * Notes what a session was shown again, so that it is not shown when nothing has changed since. To whom how it ends is
 * news does not depend on that: it goes by who was told with a lease.
 */
export function noteRecalled(doc: Document, recalls: readonly Recall[]): Document {
  return recalls.reduce((acc, { signal: { key, generation }, session, at }) => {
    const signal = findSignal(acc, key);
    if (signal === undefined) return acc;
    const told = mapSame(signal.told, (entry) =>
      entry.session === session && knownOf(entry).generation < generation
        ? { ...entry, shown: { generation, at } }
        : entry,
    );
    return told === signal.told ? acc : putSignal(acc, { ...signal, told });
  }, doc);
}

function toldTo({ told }: Signal, session: string): Told | undefined {
  return told.find((entry) => entry.session === session);
}

function knownOf({ generation, at, shown }: Told): Known {
  return shown && shown.generation > generation ? shown : { generation, at };
}
