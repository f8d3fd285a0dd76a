import { between, type Time } from "../time.ts";
import { pauseAfter } from "./run.ts";
import { labelOf, monitorsOf, type State } from "./state.ts";

/** More notes than this hide what they stand below. */
const MOST = 10;

/**
 * When each monitor that polled of late last read its source, a line each, what is wrong first: some of those that did
 * within a day or are to go on, or `all` of a week. `shown` turns a time into words.
 */
export function lastReads(dir: string, now: Time, shown: (time: Time) => string, all = false): string[] {
  const states = monitorsOf(dir, now)
    .filter(({ every, polled_at = now }) => all || every !== undefined || between(polled_at, now) < DAY_MS)
    .map((state) => ({ state, rank: rankOf(state, now) }));
  const lines = states
    .sort((a, b) => a.rank - b.rank)
    .map(({ state }) => `monitor ${labelOf(state)}: ${lastRead(state, now, shown)}`);
  const more = lines.length - MOST;
  return more > 0 && !all ? [...lines.slice(0, MOST), `and ${more} more: --all shows them`] : lines;
}

const DAY_MS = 24 * 3_600_000;

/** When a monitor last read its source, and what has kept it from that since. */
export function lastRead(state: State, now: Time, shown: (time: Time) => string): string {
  const { read_at, failures, error = "", every } = state;
  const when = read_at ? `read its source ${shown(read_at)}` : "never read its source";
  const polls = failures === 1 ? "1 poll has" : `${failures} polls have`;
  if (failures > 0)
    return read_at ? `last ${when}; ${polls} failed since: ${error}` : `${when}; ${polls} failed: ${error}`;
  if (every !== undefined && isOverdue(state, every, now)) return `${when}, and is not polled any more`;
  return when;
}

function rankOf(state: State, now: Time): number {
  if (state.failures > 0) return 0;
  return state.every !== undefined && isOverdue(state, state.every, now) ? 1 : 2;
}

/** Whether a monitor that is to poll every so many milliseconds has missed three polls, back-off included. */
export function isOverdue(state: State, every: number, now: Time): boolean {
  const { polled_at, failures, partial, not_before = null } = state;
  if (polled_at === undefined) return true;
  return between(polled_at, now) > 3 * pauseAfter({ failures, partial, not_before, at: polled_at }, every, 1);
}
