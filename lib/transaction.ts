import { type Document, findSession } from "./document.ts";
import { collect } from "./garbage.ts";
import { lapse, lease, MAX_REMINDERS, type Reminder } from "./lease.ts";
import { expire } from "./lifecycle.ts";
import { type Loss, type Recall, recall } from "./recall.ts";
import { type Rule, route } from "./router.ts";
import {
  type CheckIn,
  checkIn,
  foldHeartbeats,
  type Heartbeat,
  noticeSleep,
  putSession,
  removeStale,
} from "./session.ts";
import type { Time } from "./time.ts";

/** One transaction on the inbox. Every part is optional: an empty one only lets time pass. */
export interface Transaction<T> {
  /** The session on whose behalf this runs. */
  checkIn?: CheckIn | undefined;
  /** The caller's own change, and what it wants to know. It may throw `SignalsError` to refuse; nothing is stored. */
  change?: (doc: Document, now: Time) => readonly [Document, T];
  /** Lease reminders for the session that checks in: all that are due, or urgent ones only. */
  lease?: "any" | "urgent" | undefined;
  /** The session that checks in has lost what it was told: show it again what fits beside what is leased. */
  recall?: Loss | undefined;
}

export interface Applied<T> {
  doc: Document;
  /** False when nothing happened but signs of life: then there is nothing to write. */
  changed: boolean;
  value: T | undefined;
  reminders: readonly Reminder[];
  /** How many more are routed to the session and will come at a later safe point. */
  waiting: number;
  recalled: readonly Recall[];
  /** How many more it knew, and is not shown again. */
  omitted: number;
}

/** What the store found beside the document, and the source of tokens. */
export interface Surroundings {
  heartbeats: readonly Heartbeat[];
  newToken: () => string;
  rule?: Rule;
}

/**
 * The whole of one transaction, pure, in the order that the rules rely on: signs of life and the caller's check-in
 * first, so that a session that just spoke is not removed as stale; then what time alone does; the caller's change;
 * routing; leases for what was just routed; and last the garbage.
 */
export function apply<T>(
  stored: Document,
  transaction: Transaction<T>,
  around: Surroundings,
  now: Time,
): Applied<T> {
  const { checkIn: event } = transaction;
  const beating = foldHeartbeats(stored, around.heartbeats, now);
  const awake = noticeSleep(beating, now);
  const seen = event ? foldHeartbeats(awake, [ownHeartbeat(event, now)], now) : awake;
  // What only moved a time stamp up to here is not a change: the heartbeat files say it already.
  const registered = event ? checkIn(seen, event, now) : seen;
  const changedSoFar = awake !== beating || registered !== seen;

  const advanced = advance(registered, now);
  const [asked, value] = transaction.change?.(advanced, now) ?? [advanced, undefined];
  const routed = route(asked, now, around.rule);
  const leased =
    event && transaction.lease && !event.subagent
      ? lease(
          routed,
          { session: event.id, urgentOnly: transaction.lease === "urgent", newToken: around.newToken },
          now,
        )
      : { doc: routed, reminders: [], waiting: 0 };
  // A stop that delivers does not stop: the session goes on with what it was told.
  const stays = transaction.lease === "urgent" && leased.reminders.length > 0;
  const goesOn = event && stays ? setBusy(leased.doc, event.id) : leased.doc;
  const doc = collect(goesOn, now);

  const changed = changedSoFar || doc !== registered;
  const { reminders, waiting } = leased;
  const again = recallFor(leased.doc, transaction, reminders, now);
  return { doc: changed ? { ...doc, stamped_at: now } : doc, changed, value, reminders, waiting, ...again };
}

function recallFor<T>(
  doc: Document,
  { checkIn: event, recall: loss }: Transaction<T>,
  reminders: readonly Reminder[],
  now: Time,
): Pick<Applied<T>, "recalled" | "omitted"> {
  if (!event || !loss || event.subagent) return { recalled: [], omitted: 0 };
  const leased = new Set(reminders.map(({ signal }) => signal.key));
  const all = recall(doc, event.id, loss, leased, now);
  const recalled = all.slice(0, MAX_REMINDERS - reminders.length);
  return { recalled, omitted: all.length - recalled.length };
}

/** Everything that moves with time alone. */
export function advance(doc: Document, now: Time): Document {
  return removeStale(lapse(expire(doc, now), now), now);
}

function setBusy(doc: Document, id: string): Document {
  const session = findSession(doc, id);
  return session ? putSession(doc, { ...session, state: "busy" }) : doc;
}

function ownHeartbeat({ id, subagent }: CheckIn, now: Time): Heartbeat {
  return subagent ? { id, seen: now } : { id, seen: now, hook: now };
}
