import { createHash } from "node:crypto";
import type { Hints } from "../document.ts";
import { transact } from "../inbox.ts";
import { clean } from "../text.ts";
import { plus, type Time, timeOf } from "../time.ts";
import { NOTHING_TOLD, type Polled, polledOf, type Told } from "./poll-report.ts";
import { type Reporter, report } from "./report.ts";
import { Unreadable } from "./source.ts";
import { forget, keep, labelOf, readState, type State, type Watch } from "./state.ts";
import type { Decision } from "./steady.ts";
import { tidy, type Verdict } from "./verdict.ts";

/** Where and how a poll is told. */
export interface Teller {
  dir: string;
  by: Reporter;
  /** As for a transaction: what runs on goes on with the last valid policy. */
  onConfigFault: "throw" | "keep";
}

/** Polls in a row that may fail before the monitor says so itself. */
const FAILURES = 3;

/** One transaction for all that a poll has to report, and for what the monitor says of itself. Throws `SignalsError`. */
export async function tell(
  state: State,
  decisions: readonly Decision[],
  { dir, by, onConfigFault }: Teller,
  over?: string,
): Promise<Told> {
  const own = ownDecision(state, over);
  // Mostly nothing changes. Where much does, trying without the lock first would only do it twice.
  const optimistic = !decisions.some(({ do: what, track }) => what === "fire" && !track.fired);
  const { doc, now, value, configFault } = await transact(
    dir,
    {
      change: (doc, now) => {
        const [first, reported] = report(doc, decisions, by, now);
        const hints = Object.keys(by.hints).length > 0 ? by.hints : (state.home ?? {});
        const [second] = report(first, [own], { ...by, hints, provider: SELF, severity: undefined }, now);
        return [second, reported] as const;
      },
    },
    { onConfigFault, optimistic },
  );
  return { doc, now, reported: value ?? [], configFault };
}

/** The provider of what monitors say of themselves. */
const SELF = "ambient-signals";

/** What a monitor says of itself: whether it can read its source; `over` says why that does not matter any more. */
function ownDecision(state: State, over?: string): Decision {
  const { name, args, cwd, failures, error = "", read_at, partial } = state;
  const label = labelOf(state);
  const since = read_at ? `since ${read_at}` : "yet";
  const isWell = failures === 0 || over !== undefined;
  const summary = isWell
    ? `The monitor ${label} ${over ?? "reads its source again"}`
    : `The monitor ${label} has not been able to read ${partial ? "all of " : ""}its source ${since}: ${error}`;
  // The rest as a hash: a password or a token may be among the arguments.
  const rest = createHash("sha256")
    .update(JSON.stringify([args, cwd]))
    .digest("hex")
    .slice(0, 16);
  const status = isWell ? "OK" : "WARNING";
  const verdict: Verdict = {
    status,
    kind: "monitor",
    identity: [name, rest],
    summary,
    why: "Until it reads it again, nobody learns from it what breaks or recovers.",
    action: "If it is yours to mend, see what the monitor says when it runs by itself with --dry-run.",
  };
  const what = isWell ? "resolve" : failures >= FAILURES ? "fire" : "nothing";
  return { verdict, do: what, status, track: { streaks: {} } };
}

/** What is kept of a poll that could not read its source, or not all of it. */
export function failureOf(
  error: unknown,
  before: State,
  now: Time,
): Pick<State, "failures" | "error" | "not_before"> {
  const failures = before.failures + 1;
  const message = error instanceof Error ? error.message : String(error);
  const short = Array.from(clean(message)).slice(0, LONGEST_ERROR).join("");
  return { failures, error: short, not_before: askedFor(error, failures, now) };
}

const LONGEST_ERROR = 300;

/** Until when the source asked for time; without a time of its own a minute at least, and longer each time. */
function askedFor(error: unknown, failures: number, now: Time): Time | undefined {
  if (!(error instanceof Unreadable)) return undefined;
  const { waitMs, limited } = error;
  const wait = waitMs ?? (limited ? Math.min(60_000 * 2 ** (failures - 1), 3_600_000) : undefined);
  return wait === undefined ? undefined : plus(now, wait);
}

/** Ends a poll that could not read its source: its state says so. */
export async function tellFailure(state: State, teller: Teller, dryRun: boolean, now: Time): Promise<Polled> {
  const after: State = { ...state, status: "UNKNOWN", summary: state.error ?? "", partial: undefined };
  const { provider } = teller.by;
  if (dryRun) return polledOf(after, now, [], NOTHING_TOLD, provider);
  // First the count: whoever cannot write the inbox goes on to count.
  keep(teller.dir, after, now);
  const told = after.failures >= FAILURES ? await tell(after, [], teller) : NOTHING_TOLD;
  return polledOf(after, now, [], told, provider);
}

// ---------------------------------------------------------------- for a monitor that cannot speak for itself

/** Who speaks for it. */
export interface Minder {
  dir: string;
  watch: Watch;
  every: number;
  /** Where its news is at home. */
  hints: Hints;
}

/**
 * Counts a poll that never came to a report, as the monitor itself counts those that could not read: the third in a
 * row fires its signal about itself, and its next good read resolves that. Throws `SignalsError` when the inbox
 * cannot be used.
 */
export function noteFailure(minder: Minder, message: string): Promise<Polled> {
  const now = timeOf(Date.now());
  const before = readState(minder.dir, minder.watch);
  const state: State = {
    ...before,
    every: minder.every,
    polled_at: now,
    ...failureOf(message, before, now),
  };
  return tellFailure(state, tellerOf(minder), false, now);
}

/**
 * A monitor that is not to run any more ends what it fired, and what it said of itself: nobody else would. Throws
 * `SignalsError` when the inbox cannot be used.
 */
export async function retire(dir: string, watch: Watch): Promise<void> {
  const state = readState(dir, watch);
  const { provider = SELF, tracks, failures } = state;
  const ends = Object.values(tracks).flatMap(({ fired }): Decision[] => {
    if (!fired) return [];
    const summary = `${labelOf(watch)} is not run any more; before: ${fired.summary}`;
    const verdict = tidy({ ...fired, status: "OK", at: undefined, summary });
    return [{ verdict, do: "resolve", status: "OK", track: { streaks: {} } }];
  });
  if (ends.length > 0 || failures >= FAILURES)
    await tell(state, ends, tellerOf({ dir, watch, hints: {} }, provider), "is not run any more");
  forget(dir, watch);
}

/** Who retires has no words of its own. */
const WHY = "What watched it was taken out of config.toml, so nobody tells any more how it is.";

function tellerOf({ dir, watch, hints }: Omit<Minder, "every">, provider = SELF): Teller {
  const by = { producer: `monitors/${watch.name}`, provider, why: WHY, action: WHY, hints, interval: 0 };
  return { dir, by: { ...by, asked: undefined, severity: undefined }, onConfigFault: "keep" };
}
