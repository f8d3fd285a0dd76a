import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "../document.ts";
import { UsageError } from "../errors.ts";
import { look } from "../inbox.ts";
import { isLive } from "../session.ts";
import { clean } from "../text.ts";
import { between, type Time, timeOf } from "../time.ts";
import { NOTHING_TOLD, type Polled, polledOf } from "./poll-report.ts";
import type { Reported } from "./report.ts";
import { LONGEST_WAIT_MS, Source, Unreadable } from "./source.ts";
import { keep, readState, type State, type Watch } from "./state.ts";
import { type Decision, decide, type Hysteresis, type Track } from "./steady.ts";
import { failureOf, type Teller, tell, tellFailure } from "./tell.ts";
import {
  type Found,
  isWorse,
  keyOf,
  type Reading,
  readingOf,
  type Status,
  statusFor,
  tidy,
  type Verdict,
  worstOf,
} from "./verdict.ts";

/** What a check works with, besides its flags. */
export interface Look {
  now: Time;
  /** Reads JSON from a source. */
  source: Source;
  /** What this monitor put there at an earlier poll, and puts there for the next: JSON. It survives restarts. */
  memory: Record<string, unknown>;
  /** Aborted when the poll takes too long, or is to stop. */
  signal: AbortSignal;
  /** The sessions that are heard from. */
  sessions(): Promise<readonly Session[]>;
}

/** How one poll is run. */
export interface PollOptions extends Omit<Teller, "by"> {
  watch: Watch;
  by: Omit<Teller["by"], "interval">;
  steady: Hysteresis;
  check: (look: Look) => Promise<Found> | Found;
  timeoutMs: number;
  /** How often, when this is one of many. */
  every?: number | undefined;
  /** Touch neither the inbox nor what is kept. */
  dryRun: boolean;
  stop?: AbortSignal | undefined;
}

/**
 * Looks once, and reports what has lasted. Throws `SignalsError` when the inbox cannot be used, when the look was
 * stopped, and the check's own `UsageError`; what else the check throws only means that the source could not be read.
 */
export async function pollOnce(options: PollOptions): Promise<Polled> {
  const { dir, watch, dryRun, every } = options;
  const now = timeOf(Date.now());
  const before = readState(dir, watch);
  // Nothing may ask for longer; a clock that was ahead may have written so.
  const asked = before.not_before !== undefined ? between(now, before.not_before) : 0;
  if (asked > 0 && asked <= LONGEST_WAIT_MS) return notAsked(before, now, options.by.provider);

  const memory = structuredClone(before.memory);
  const state: State = { ...before, every, polled_at: now, not_before: undefined };
  const gap = before.polled_at === undefined ? 0 : between(before.polled_at, now);
  const by = { ...options.by, interval: every ?? Math.max(gap, 0) };
  let reading: Reading;
  try {
    reading = readingOf(await inTime(options, memory, now));
  } catch (error) {
    // No source is to blame for it.
    if (error instanceof UsageError || options.stop?.aborted) throw error;
    return tellFailure({ ...state, ...failureOf(error, before, now) }, { ...options, by }, dryRun, now);
  }
  const decisions = decisionsOf(reading, before, options, now);
  const { unread } = reading;
  const status = statusOf(reading, decisions);
  const read: State = {
    ...state,
    provider: by.provider,
    home: reading.verdicts.find(({ hints }) => hints)?.hints ?? before.home,
    ...(unread
      ? { ...failureOf(unread, before, now), partial: true }
      : { failures: 0, error: undefined, partial: undefined, read_at: now }),
    status,
    summary: summaryOf(reading, decisions),
    memory,
  };
  if (dryRun) return polledOf(read, now, decisions, NOTHING_TOLD, by.provider);
  const told = await tell(read, decisions, { ...options, by });
  const tracks = { ...kept(before, reading), ...tracksAfter(decisions, told.reported, by.provider) };
  // An event that the inbox refused is to be seen once more.
  const isLost = decisions.some(
    ({ verdict }) => verdict.once && isRefused(verdict, told.reported, by.provider),
  );
  const after = { ...read, tracks, memory: isLost ? before.memory : memory };
  keep(dir, after, now);
  return polledOf(after, now, decisions, told, by.provider);
}

/** A poll that did not happen, since the source asked for time. It does not count as a failure. */
function notAsked(state: State, now: Time, provider: string): Polled {
  const said = state.error === undefined ? "" : ` (${state.error})`;
  const summary = `the source asked not to be asked before ${state.not_before}${said}`;
  return polledOf({ ...state, status: "UNKNOWN", summary, error: summary }, now, [], NOTHING_TOLD, provider);
}

/** The check, for as long as it may take. */
async function inTime(options: PollOptions, memory: Record<string, unknown>, now: Time): Promise<Found> {
  const { check, timeoutMs, stop, dir } = options;
  const late = new AbortController();
  const signal = stop ? AbortSignal.any([late.signal, stop]) : late.signal;
  const source = new Source(memory, signal);
  const sessions = async () => {
    const { doc, now } = await look(dir, { onConfigFault: "keep" });
    return doc.sessions.filter((session) => isLive(doc, session, now));
  };
  // Not AbortSignal.timeout: node would end, and not wait for it, where nothing else is to come.
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const ended = new Promise<never>((_, reject) => {
    const end = () => {
      const why = late.signal.aborted ? `took longer than ${timeoutMs / 1000}s` : "was stopped";
      reject(new Unreadable(why));
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
  const looking = (async () => check({ now, source, memory, signal, sessions }))();
  try {
    const found = await Promise.race([looking, ended]);
    source.forgetOthers();
    return found;
  } catch (error) {
    // What it has started would outlive this process.
    if (signal.aborted) await Promise.race([looking.catch(() => {}), sleep(PUT_AWAY_MS)]);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** How long a check that is to stop has to put away what it has started. */
const PUT_AWAY_MS = 3_000;

// ---------------------------------------------------------------- what is decided

/** As many signals as one poll fires anew; what is too many for a transaction comes with the next ones. */
const MOST_NEW = 100;

function decisionsOf(reading: Reading, before: State, { by, steady }: PollOptions, now: Time): Decision[] {
  const { provider, severity } = by;
  const { gone } = reading;
  const verdicts = reading.verdicts.map(tidy);
  const absent = gone === undefined ? [] : missing(before, verdicts, provider, gone);
  const decisions = [...verdicts, ...absent].map((verdict) => {
    const track = before.tracks[keyOf(provider, verdict)];
    return decide(
      { ...timed(verdict, track), status: statusFor(verdict.status, severity) },
      track,
      steady,
      now,
    );
  });
  const fresh = decisions.filter(({ do: what, track }) => what === "fire" && !track.fired);
  const first = [...fresh].sort((a, b) =>
    isWorse(b.status, a.status) ? 1 : isWorse(a.status, b.status) ? -1 : 0,
  );
  const late = new Set(first.slice(MOST_NEW));
  const waits = `${MOST_NEW} others were fired at this look`;
  return decisions.map((decision) => (late.has(decision) ? { ...decision, do: "nothing", waits } : decision));
}

/**
 * The source's time keeps what was read late from undoing what is newer. But what a second look in a row still shows is
 * true now, however old it is, as after a branch was set back: then it has no time.
 */
function timed(verdict: Verdict, track: Track | undefined): Verdict {
  return verdict.at !== undefined && verdict.at === track?.stale ? { ...verdict, at: undefined } : verdict;
}

/** What was fired by an earlier poll and is no longer there, in a read that was whole. */
function missing(before: State, verdicts: readonly Verdict[], provider: string, gone: string): Verdict[] {
  const there = new Set(verdicts.map((verdict) => keyOf(provider, verdict)));
  return Object.entries(before.tracks).flatMap(([key, { fired }]) => {
    if (fired === undefined || there.has(key)) return [];
    const summary = `${gone}; before: ${fired.summary}`;
    return [tidy({ ...fired, status: "OK", at: undefined, summary })];
  });
}

function statusOf({ gone, unread }: Reading, decisions: readonly Decision[]): Status {
  const statuses = decisions.map(shownStatus);
  if (unread) statuses.push("UNKNOWN");
  return statuses.length > 0 ? worstOf(statuses) : gone === undefined ? "UNKNOWN" : "OK";
}

/** What is held back in silence does not count. */
function shownStatus({ verdict, do: what }: Decision): Status {
  return what === "keep" ? "OK" : verdict.status;
}

function summaryOf({ summary, verdicts }: Reading, decisions: readonly Decision[]): string {
  if (summary !== undefined) return clean(summary);
  const worst = worstOf(decisions.map(shownStatus));
  const first = decisions.find((decision) => shownStatus(decision) === worst);
  const words = first?.verdict.summary ?? "there is nothing to watch";
  return verdicts.length > 1 ? `${words}, and ${verdicts.length - 1} more` : words;
}

// ---------------------------------------------------------------- what is kept

/** What is known of conditions that this poll did not see: after a partial read they may come back. */
function kept(before: State, { gone }: Reading): Record<string, Track> {
  return gone === undefined
    ? Object.fromEntries(Object.entries(before.tracks).filter(([, { fired }]) => fired))
    : {};
}

function tracksAfter(
  decisions: readonly Decision[],
  reported: readonly Reported[],
  provider: string,
): Record<string, Track> {
  const outcomes = new Map(reported.map(({ key, outcome }) => [key, outcome]));
  return Object.fromEntries(
    decisions.map(({ verdict, do: what, track }) => {
      const key = keyOf(provider, verdict);
      const outcome = outcomes.get(key);
      const stale = outcome === "stale" ? verdict.at : verdict.at === undefined ? track.stale : undefined;
      const { fired, ...rest } = { ...track, stale };
      if (outcome === undefined || outcome === "refused" || outcome === "stale")
        return [key, { ...rest, fired }];
      if (what === "resolve") return [key, rest];
      return [key, { ...rest, fired: what === "fire" && !verdict.once ? verdict : fired }];
    }),
  );
}

function isRefused(verdict: Verdict, reported: readonly Reported[], provider: string): boolean {
  const key = keyOf(provider, verdict);
  return reported.some((one) => one.key === key && one.outcome === "refused");
}
