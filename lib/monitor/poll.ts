import { setTimeout as sleep } from "node:timers/promises";
import type { Document, Hints, Session } from "../document.ts";
import { attempt, messageOf, UsageError } from "../errors.ts";
import { look, transact } from "../inbox.ts";
import { isLive } from "../session.ts";
import { clean } from "../text.ts";
import { plus, type Time, timeOf } from "../time.ts";
import { type Delivery, deliveryOf } from "../view.ts";
import { FAILURES, ownVerdict, type Reported, type Reporter, report, SELF } from "./report.ts";
import { Source, Unreadable } from "./source.ts";
import { forget, labelOf, readState, type State, sweepStates, type Watch, writeState } from "./state.ts";
import { type Decision, decide, type Hysteresis, type Track } from "./steady.ts";
import {
  type Found,
  keyOf,
  type Reading,
  readingOf,
  type Status,
  statusFor,
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
export interface PollOptions {
  dir: string;
  watch: Watch;
  by: Reporter;
  steady: Hysteresis;
  check: (look: Look) => Promise<Found> | Found;
  timeoutMs: number;
  /** How often, when this is one of many. */
  every?: number | undefined;
  /** Touch neither the inbox nor what is kept. */
  dryRun: boolean;
  /** As for a transaction: what runs on goes on with the last valid policy. */
  onConfigFault: "throw" | "keep";
  stop?: AbortSignal | undefined;
}

/** One condition in a report of a poll. */
export interface VerdictReport {
  status: Status;
  key: string;
  summary: string;
  source_url: string | null;
  /** Why nothing was reported, though it is bad: `1 of 3 polls`, `silenced by …`. */
  waits?: string | undefined;
  outcome?: Reported["outcome"] | undefined;
  reason?: string | undefined;
  generation?: number | undefined;
  delivery?: Delivery | undefined;
}

/** What one poll came to, as `--json` prints it. */
export interface PollReport {
  monitor: string;
  label: string;
  at: Time;
  /** Whether the source was read; with `error`, what kept it from being. */
  read: boolean;
  error?: string | undefined;
  status: Status;
  summary: string;
  verdicts: VerdictReport[];
  /** Polls in a row that could not read it. */
  failures: number;
  read_at: Time | null;
  /** The source asked not to be asked before. */
  not_before: Time | null;
  /** What is wrong with config.toml. */
  config_fault?: string | undefined;
}

/** One poll: what it came to, and the inbox as it was then, where it was opened. */
export interface Polled {
  report: PollReport;
  doc: Document | undefined;
}

/**
 * Looks once, and reports what has lasted. Throws `SignalsError` when the inbox cannot be used, when the look was
 * stopped, and the check's own `UsageError`; what else the check throws only means that the source could not be read.
 */
export async function pollOnce(options: PollOptions): Promise<Polled> {
  const { dir, watch, dryRun } = options;
  const now = timeOf(Date.now());
  const before = readState(dir, watch);
  if (before.not_before !== undefined && before.not_before > now) return asked(before, now);
  const memory = structuredClone(before.memory);
  const state: State = { ...before, every: options.every, polled_at: now, not_before: undefined };
  let reading: Reading;
  try {
    reading = readingOf(await inTime(options, memory, now));
  } catch (error) {
    // No source is to blame for it.
    if (error instanceof UsageError || options.stop?.aborted) throw error;
    return failed({ ...state, ...failure(error, before, now) }, options, now);
  }
  const { gone, unread } = reading;
  const absent = gone === undefined ? [] : missing(before, reading, options.by.provider, gone);
  const tracksOf = (verdict: Verdict) => before.tracks[keyOf(options.by.provider, verdict)];
  const decisions = [...reading.verdicts, ...absent].map((verdict) =>
    decide(
      { ...verdict, status: statusFor(verdict.status, options.by.severity) },
      tracksOf(verdict),
      options.steady,
      now,
    ),
  );
  const statuses = decisions.map(({ verdict, do: what }) => (what === "keep" ? "OK" : verdict.status));
  const status = statuses.length > 0 ? worstOf(statuses) : gone === undefined ? "UNKNOWN" : "OK";
  const read: State = {
    ...state,
    failures: 0,
    error: undefined,
    not_before: askedFor(unread, 1, now),
    read_at: now,
    status,
    summary: summaryOf(reading, decisions, statuses),
    memory,
  };
  const told = dryRun ? { reported: [] } : await tell(read, decisions, options);
  const tracks = { ...kept(before, reading), ...tracksAfter(decisions, told.reported, options.by.provider) };
  const after = { ...read, tracks };
  if (!dryRun) keep(dir, after, now);
  return reportOf(after, now, decisions, told, options.by.provider);
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

/** What is kept of a poll that could not read its source. */
function failure(error: unknown, before: State, now: Time): Pick<State, "failures" | "error" | "not_before"> {
  const failures = before.failures + 1;
  const message = Array.from(clean(messageOf(error)))
    .slice(0, LONGEST_ERROR)
    .join("");
  return { failures, error: message, not_before: askedFor(error, failures, now) };
}

/** Until when the source asked for time; without a time of its own a minute at least, and longer each time. */
function askedFor(error: unknown, failures: number, now: Time): Time | undefined {
  if (!(error instanceof Unreadable)) return undefined;
  const { waitMs, limited } = error;
  const wait = waitMs ?? (limited ? Math.min(60_000 * 2 ** (failures - 1), 3_600_000) : undefined);
  return wait === undefined ? undefined : plus(now, wait);
}

const LONGEST_ERROR = 300;

/** Who speaks for a monitor that cannot speak for itself. */
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
  const state: State = { ...before, every: minder.every, polled_at: now, not_before: undefined };
  return failed({ ...state, ...failure(new Error(message), before, now) }, optionsOf(minder), now);
}

/**
 * A monitor that is not to run any more has no trouble any more. What it said of its source stays, until it expires.
 * Throws `SignalsError` when the inbox cannot be used.
 */
export async function retire(dir: string, watch: Watch): Promise<void> {
  const state = readState(dir, watch);
  if (state.failures === 0) return;
  if (state.failures >= FAILURES)
    await tell(state, [], optionsOf({ dir, watch, hints: {} }), "is not run any more");
  if (state.read_at === undefined) forget(dir, watch);
  else writeState(dir, { ...state, failures: 0, error: undefined });
}

function optionsOf({ dir, watch, hints }: Omit<Minder, "every">): TellOptions {
  const by = { producer: `monitors/${watch.name}`, provider: SELF, why: "", action: "", hints };
  return { dir, by: { ...by, asked: undefined, severity: undefined }, dryRun: false, onConfigFault: "keep" };
}

type TellOptions = Pick<PollOptions, "dir" | "by" | "dryRun" | "onConfigFault">;

async function failed(state: State, options: TellOptions, now: Time): Promise<Polled> {
  const after: State = { ...state, status: "UNKNOWN", summary: state.error ?? "" };
  if (options.dryRun) return reportOf(after, now, [], { reported: [] }, SELF);
  // First the count: whoever cannot write the inbox goes on to count.
  keep(options.dir, after, now);
  const told = after.failures >= FAILURES ? await tell(after, [], options) : { reported: [] };
  return reportOf(after, now, [], told, SELF);
}

/** A poll that did not happen, since the source asked for time. It does not count as a failure. */
function asked(state: State, now: Time): Polled {
  const said = state.error === undefined ? "" : ` (${state.error})`;
  const summary = `the source asked not to be asked before ${state.not_before}${said}`;
  return reportOf({ ...state, status: "UNKNOWN", summary, error: summary }, now, [], { reported: [] }, SELF);
}

/** One transaction for all that a poll has to report, and for what the monitor says of itself. */
async function tell(
  state: State,
  decisions: readonly Decision[],
  { dir, by, onConfigFault }: TellOptions,
  over?: string,
) {
  const { verdict } = ownVerdict(state, over);
  const own: Decision = {
    verdict,
    do: verdict.status === "OK" ? "resolve" : "fire",
    status: verdict.status,
    track: { streaks: {} },
  };
  const { doc, now, value, configFault } = await transact(
    dir,
    {
      change: (doc, now) => {
        const [first, reported] = report(doc, decisions, by, now);
        const [second, self] = report(first, [own], { ...by, provider: SELF, severity: undefined }, now);
        return [second, { reported, self: self[0] }] as const;
      },
    },
    { onConfigFault, optimistic: true },
  );
  const { reported = [], self } = value ?? {};
  return { doc, now, reported, self, configFault };
}

type Told = Partial<Awaited<ReturnType<typeof tell>>> & { reported: readonly Reported[] };

/** What was fired by an earlier poll and is no longer there, in a read that was whole. */
function missing(before: State, reading: Reading, provider: string, gone: string): Verdict[] {
  const there = new Set(reading.verdicts.map((verdict) => keyOf(provider, verdict)));
  return Object.entries(before.tracks).flatMap(([key, { fired }]) =>
    fired === undefined || there.has(key)
      ? []
      : [
          {
            ...fired,
            status: "OK" as const,
            at: undefined,
            held: undefined,
            summary: `${gone}; before: ${fired.summary}`,
          },
        ],
  );
}

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
  return Object.fromEntries(
    decisions.map(({ verdict, do: what, track }) => {
      const key = keyOf(provider, verdict);
      const done = reported.some((one) => one.key === key && one.outcome !== "refused");
      if (what === "fire" && done && !verdict.once) return [key, { ...track, fired: verdict }];
      return [key, what === "resolve" && done ? { streaks: track.streaks } : track];
    }),
  );
}

/** What is kept only saves a poll from beginning anew; the sweep may fail. */
function keep(dir: string, state: State, now: Time): void {
  writeState(dir, state);
  attempt(() => sweepStates(dir, now));
}

function summaryOf(
  { summary, verdicts }: Reading,
  decisions: readonly Decision[],
  statuses: readonly Status[],
): string {
  if (summary !== undefined) return clean(summary);
  const worst =
    decisions[statuses.indexOf(worstOf(statuses))]?.verdict.summary ?? "there is nothing to watch";
  return clean(verdicts.length > 1 ? `${worst}, and ${verdicts.length - 1} more` : worst);
}

function reportOf(
  state: State,
  at: Time,
  decisions: readonly Decision[],
  { reported, doc, now, configFault }: Told,
  provider: string,
): Polled {
  const verdicts = decisions.map(({ verdict, waits }): VerdictReport => {
    const key = keyOf(provider, verdict);
    const { outcome, reason } = reported.find((one) => one.key === key) ?? {};
    const signal = doc?.signals.find((one) => one.key === key);
    return {
      status: verdict.status,
      key,
      summary: verdict.summary,
      source_url: verdict.source_url ?? null,
      ...(waits !== undefined && { waits }),
      ...(outcome && { outcome }),
      ...(reason && { reason }),
      ...(outcome &&
        signal &&
        doc &&
        now && { generation: signal.generation, delivery: deliveryOf(doc, signal, now) }),
    };
  });
  const { name, error, status, summary, failures, read_at = null, not_before = null } = state;
  const report: PollReport = {
    monitor: name,
    label: labelOf(state),
    at,
    read: error === undefined,
    ...(error !== undefined && { error }),
    status,
    summary,
    verdicts,
    failures,
    read_at,
    not_before,
    ...(configFault && { config_fault: configFault.message }),
  };
  return { report, doc };
}
