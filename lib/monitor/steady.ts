import { between, type Time } from "../time.ts";
import { isBad, isWorse, type Status, type Verdict } from "./verdict.ts";

/** How long something has to last before it counts: so many polls in a row, over at least so many milliseconds. */
export interface Steady {
  polls: number;
  over: number;
}

/** The one for what goes wrong, and the one for what is well again. */
export interface Hysteresis {
  fire: Steady;
  resolve: Steady;
}

export const AT_ONCE: Steady = { polls: 1, over: 0 };

/** Polls in a row that saw the same. */
interface Streak {
  polls: number;
  since: Time;
}

/** What is kept of one condition from poll to poll. */
export interface Track {
  /** How long it has been well, at least a WARNING, and CRITICAL. */
  streaks: Partial<Record<Exclude<Status, "UNKNOWN">, Streak>>;
  /** The last report that fired, until it was resolved: what to end when it is no longer heard of. */
  fired?: Verdict | undefined;
  /** The source's time of what was last found to be out of date. */
  stale?: string | undefined;
}

/** What to do about one verdict. */
export interface Decision {
  verdict: Verdict;
  /** `keep`: only what is fired already goes on to be. */
  do: "fire" | "resolve" | "keep" | "nothing";
  /** What has lasted: it may be less bad than what was seen last. */
  status: Status;
  /** What it waits for, such as `1 of 3 polls`. */
  waits?: string | undefined;
  track: Track;
}

/**
 * What one more look at a condition comes to. A flapping condition is no news in either direction: it fires when it was
 * bad for long enough, at the level that lasted so long, and resolves when it was well for long enough. A look that
 * could not tell neither counts nor begins again.
 */
export function decide(verdict: Verdict, track: Track | undefined, steady: Hysteresis, now: Time): Decision {
  const { status } = verdict;
  if (status === "UNKNOWN") return { verdict, do: "nothing", status, track: track ?? { streaks: {} } };
  const streaks = seen(track?.streaks ?? {}, status, now);
  const next: Track = { ...track, streaks };
  if (verdict.held !== undefined) return { verdict, do: "keep", status, waits: verdict.held, track: next };

  if (status === "OK") {
    const lacks = missing(streaks.OK, steady.resolve, now);
    // Where nothing is fired, nobody waits for the end of it.
    const waits = track?.fired && lacks;
    return { verdict, do: lacks ? "nothing" : "resolve", status, waits, track: next };
  }
  const lasting = (["CRITICAL", "WARNING"] as const).find(
    (level) => streaks[level] && missing(streaks[level], steady.fire, now) === undefined,
  );
  // What is fired already goes on while it is bad at all: it has its proof.
  const level = lasting ?? (track?.fired ? "WARNING" : undefined);
  if (level) return { verdict, do: "fire", status: level, track: next };
  return { verdict, do: "nothing", status, waits: missing(streaks.WARNING, steady.fire, now), track: next };
}

function seen(before: Track["streaks"], status: Exclude<Status, "UNKNOWN">, now: Time): Track["streaks"] {
  const longer = (streak: Streak | undefined): Streak => ({
    polls: (streak?.polls ?? 0) + 1,
    since: streak && streak.since < now ? streak.since : now,
  });
  if (!isBad(status)) return { OK: longer(before.OK) };
  const critical = isWorse(status, "WARNING") ? { CRITICAL: longer(before.CRITICAL) } : {};
  return { WARNING: longer(before.WARNING), ...critical };
}

/** What a streak lacks, for people; undefined when it is long enough. */
function missing(streak: Streak | undefined, { polls, over }: Steady, now: Time): string | undefined {
  const [count, lasted] = streak ? [streak.polls, between(streak.since, now)] : [0, 0];
  if (count < polls) return `${count} of ${polls} polls`;
  return lasted < over ? `for ${Math.floor(lasted / 1000)}s of ${Math.ceil(over / 1000)}s` : undefined;
}
