/**
 * An instant: RFC 3339 in UTC with milliseconds, as `Date.toISOString` writes it. All of one length and zone,
 * so `a < b` on two of them is "a is before b". The rules use nothing else and never ask for the time.
 */
export type Time = string;

/** The latest instant that is written with a four-digit year: what is later than this would not compare. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** The instant `ms` milliseconds after 1970; an instant outside the years 0001 to 9999 becomes the nearest end. */
export function timeOf(ms: number): Time {
  return new Date(Math.min(Math.max(ms, -62135596800000), LAST_MS)).toISOString();
}

/** The instant `ms` milliseconds after `time`. */
export function plus(time: Time, ms: number): Time {
  return timeOf(Date.parse(time) + ms);
}

/** Milliseconds from `from` to `to`. */
export function between(from: Time, to: Time): number {
  return Date.parse(to) - Date.parse(from);
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)$/;

/** Any RFC 3339 or ISO 8601 instant that names its zone, in our form; undefined when it is none. */
export function parseTime(text: string): Time | undefined {
  const [, year, month, day] = RFC_3339.exec(text.trim()) ?? [];
  const ms = Date.parse(text.trim().replace(" ", "T"));
  // Date.parse takes 30 February for 2 March.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return day === undefined || Number.isNaN(ms) || Number(day) > lastDay ? undefined : timeOf(ms);
}

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** `10m`, `1d`, … in milliseconds; undefined unless it is a whole number and one of the units `ms s m h d w`. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})(ms|s|m|h|d|w)$/.exec(text.trim()) ?? [];
  return count && unit ? Number(count) * UNITS[unit as keyof typeof UNITS] : undefined;
}

/** The units that people are shown, largest first: weeks are read, but `7d` is what people write. */
const SHOWN_UNITS = Object.entries(UNITS)
  .filter(([unit]) => unit !== "w")
  .reverse();

/** Milliseconds in the largest unit that divides them: 600000 is `10m`. */
export function formatDuration(ms: number): string {
  const [unit, size] = SHOWN_UNITS.find(([, size]) => ms !== 0 && ms % size === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** How far `time` is from `now`, for people: `just now`, `5m ago`, `in 2h`. */
export function relative(time: Time, now: Time): string {
  const ms = between(time, now);
  const size = Math.abs(ms);
  if (size < 5_000) return "just now";
  const [unit, unitMs] = SHOWN_UNITS.find(([, unitMs]) => size >= unitMs) ?? ["s", 1_000];
  const count = Math.floor(size / unitMs);
  return ms > 0 ? `${count}${unit} ago` : `in ${count}${unit}`;
}
