import { type Document, filterSame, isOwed, type Signal, withSignals } from "./document.ts";
import { SignalsError } from "./errors.ts";
import { configOf } from "./policy.ts";
import { plus, type Time } from "./time.ts";

/**
 * Drops what nobody needs any more: settled signals after `retain`, ended sessions that nothing names, and settled
 * signals past the `max_signals` cap.
 */
export function collect(doc: Document, now: Time): Document {
  const config = configOf(doc);
  const signals = filterSame(
    doc.signals,
    (signal) => signal.state === "fired" || plus(signal.changed_at, config.retain) > now,
  );
  const kept = dropSettled(withSignals(doc, signals), {
    signals: signals.length - config.max_signals,
    bytes: 0,
  }).doc;
  const named = new Set(
    kept.signals.flatMap(({ told, hints, follow_up }) => [
      ...told.map((entry) => entry.session),
      hints.session,
      follow_up,
    ]),
  );
  const ended = filterSame(doc.ended, ({ id, at }) => named.has(id) || plus(at, config.stale_after) > now);
  return ended === kept.ended ? kept : { ...kept, ended };
}

/** How much too many there are, and what is left of that after something went. */
interface Excess {
  signals: number;
  bytes: number;
}

/** Drops settled signals until `bytes` bytes are free or none is left. Fired ones always stay. */
export function shed(doc: Document, bytes: number): Document {
  return dropSettled(doc, { signals: 0, bytes }).doc;
}

/**
 * Room for one new signal under both caps. Fired unverified signals go too, when a stronger report needs the room,
 * and are counted. Throws `SignalsError`, which the producer sees, when nothing can go.
 */
export function makeRoom(doc: Document, fresh: Signal): Document {
  const { max_signals, max_bytes } = configOf(doc);
  const size = bytesOf(doc) + bytesOf(fresh) + 1;
  let room = dropSettled(doc, { signals: doc.signals.length + 1 - max_signals, bytes: size - max_bytes });
  if (isOver(room.left) && fresh.signature !== "unverified") {
    const before = room.doc.signals.length;
    const weak = room.doc.signals.filter(({ trust }) => trust === "unverified");
    room = drop(
      room.doc,
      oldestFirst(weak, ({ lease }) => lease !== undefined),
      room.left,
    );
    const evicted = (doc.evicted ?? 0) + before - room.doc.signals.length;
    room = { ...room, doc: { ...room.doc, evicted } };
  }
  if (isOver(room.left)) {
    const cap =
      room.left.signals > 0
        ? `all of max_signals = ${max_signals} are fired`
        : `fired signals take all of max_bytes = ${max_bytes}`;
    throw new SignalsError(
      `fire ${fresh.key}: refused, the inbox is full: ${cap}; ` +
        "resolve some (signals list shows them) or raise the cap in config.toml",
    );
  }
  return room.doc;
}

/** UTF-8 bytes of the stored form. */
export function bytesOf(value: Document | Signal): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function isOver(excess: Excess): boolean {
  return excess.signals > 0 || excess.bytes > 0;
}

/**
 * Drops settled signals until the excess is gone or none is left: the oldest with nothing owed first, then the
 * oldest. Fired ones always stay: a cap never refuses a resolve or an escalation.
 */
function dropSettled(doc: Document, excess: Excess): { doc: Document; left: Excess } {
  const settled = isOver(excess) ? doc.signals.filter(({ state }) => state !== "fired") : [];
  return drop(doc, oldestFirst(settled, isOwed), excess);
}

/** The oldest change first, but those that should rather stay behind all others. */
function oldestFirst(signals: readonly Signal[], rather: (signal: Signal) => boolean): Signal[] {
  return [...signals].sort(
    (a, b) => Number(rather(a)) - Number(rather(b)) || a.changed_at.localeCompare(b.changed_at),
  );
}

function drop(doc: Document, candidates: readonly Signal[], excess: Excess): { doc: Document; left: Excess } {
  const left = { ...excess };
  const gone = new Set<Signal>();
  for (const signal of candidates) {
    if (!isOver(left)) break;
    gone.add(signal);
    left.signals -= 1;
    left.bytes -= bytesOf(signal) + 1;
  }
  const signals = filterSame(doc.signals, (signal) => !gone.has(signal));
  return { doc: withSignals(doc, signals), left };
}
