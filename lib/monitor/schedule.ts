/** When one entry is polled next. Milliseconds of the wall clock: it goes on while the machine sleeps. */
interface Slot {
  /** When the pause began. */
  from: number;
  pause: number;
}

/** As many polls as run at once. */
const MOST = 6;
/** Between the first polls of two entries. */
const SPREAD_MS = 250;

/**
 * Which entry is to be polled when: each after its own pause, never twice at once, and only so many together. It never
 * asks for the time itself.
 */
export class Schedule {
  readonly #slots = new Map<string, Slot>();
  /** With the slot that each had when it began. */
  readonly #running = new Map<string, Slot | undefined>();

  /**
   * These are all there is from now on. What was there already goes on as it was; what is `again` or new is polled
   * soon, one after the other.
   */
  set(ids: readonly string[], now: number, again: readonly string[] = []): void {
    for (const id of this.#slots.keys()) if (!ids.includes(id)) this.#slots.delete(id);
    const fresh = ids.filter((id) => !this.#slots.has(id) || again.includes(id));
    for (const [i, id] of fresh.entries()) this.#slots.set(id, { from: now, pause: i * SPREAD_MS });
  }

  /** The entries whose time has come, and for which there is room, the longest due first. Each counts as running now. */
  take(now: number): string[] {
    const due = [...this.#slots]
      .map(([id, slot]) => ({ id, at: dueAt(slot, now) }))
      .filter(({ id, at }) => at <= now && !this.#running.has(id))
      .sort((a, b) => a.at - b.at)
      .slice(0, MOST - this.#running.size)
      .map(({ id }) => id);
    for (const id of due) this.#running.set(id, this.#slots.get(id));
    return due;
  }

  /** The poll of an entry has ended; the next one comes after `pause`, or soon if it was set again meanwhile. */
  done(id: string, now: number, pause: number): void {
    const slot = this.#running.get(id);
    this.#running.delete(id);
    if (slot !== undefined && this.#slots.get(id) === slot) this.#slots.set(id, { from: now, pause });
  }

  /** Milliseconds until there is something to take; undefined when a poll has to end first, or there is no entry. */
  next(now: number): number | undefined {
    if (this.#running.size >= MOST) return undefined;
    const waiting = [...this.#slots].filter(([id]) => !this.#running.has(id));
    if (waiting.length === 0) return undefined;
    return Math.max(0, Math.min(...waiting.map(([, slot]) => dueAt(slot, now) - now)));
  }
}

/** A clock that was set back begins the pause anew, so that nothing waits for a time that is past already. */
function dueAt(slot: Slot, now: number): number {
  if (slot.from > now) slot.from = now;
  return slot.from + slot.pause;
}
