import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ParseArgsConfig } from "node:util";
import { hintsFrom, repositoryFrom } from "../by-hand.ts";
import { type Hints, SEVERITIES } from "../document.ts";
import { attempt, messageOf, SignalsError, UsageError } from "../errors.ts";
import { type Cli, note, oneOf, printJson, printJsonLine, runScript } from "../script.ts";
import { between, formatDuration, parseDuration } from "../time.ts";
import { MONITOR_FLAGS } from "./flags.ts";
import { type Look, type PollOptions, pollOnce } from "./poll.ts";
import type { PollReport } from "./poll-report.ts";
import { hasNews, newsIn, printReport } from "./print.ts";
import { watchOf } from "./state.ts";
import { AT_ONCE, type Hysteresis, type Steady } from "./steady.ts";
import { type Found, STATUSES } from "./verdict.ts";

type Flags = NonNullable<ParseArgsConfig["options"]>;

/** What a check is asked, and what it works with. */
export type Asked<F extends Flags> = Look & Pick<Cli<F & typeof MONITOR_FLAGS>, "flags" | "args">;

/** What makes a monitor. */
export interface Monitor<F extends Flags> {
  /** Its own flags, for the parser of `node:util`. */
  flags?: F;
  /** Names of the arguments that must be given, and of those that may follow. */
  required?: readonly string[];
  optional?: readonly string[];
  /** Any number of arguments may follow. */
  rest?: boolean;
  /** What helps whoever gave a flag that is not known. */
  advice?: string;
  /** Whose conditions these are; without it, the monitor's own name. */
  provider?: string;
  /** Why it matters and what to do, where a verdict does not say it. Two sentences of your own. */
  why: string;
  action: string;
  /** How long something has to last before it counts, where it is not the first look that does. */
  fire?: Partial<Steady>;
  resolve?: Partial<Steady>;
  /** How long a look may take; 30s without it. */
  timeout?: string;
  /**
   * Looks once. It returns what it found, one verdict or several, and throws when it cannot tell: then nothing is
   * fired and nothing resolved. Throws `UsageError` for flags that are wrong.
   */
  check(asked: Asked<F>): Promise<Found> | Found;
}

/** The repository that signals of a monitor are at home in when it knows none itself; empty: nowhere. */
export const HOME_REPOSITORY = "HARN_EXT_SIGNALS_REPOSITORY";

/** Set by `signals poll`: each of its polls is one of many, so often, and it says itself what is wrong with config.toml. */
export const POLLED_EVERY = "HARN_EXT_SIGNALS_POLLED_EVERY";

const HELP = `Every monitor has these flags too:

  when       --every 60s: again and again, until told to stop (it exits 0 then); --timeout for one look
  what       --severity info|warning|urgent, whatever the status; --dry-run touches nothing
  patience   --polls N --over 2m: how long it has to last, before it fires and before it resolves
  hints      --repo OWNER/NAME --cwd DIR --session ID, or --no-hint: who should hear of it
  others     --json, with --every a document in a line for each look; --dir DIR: another inbox; -h, --version, -v`;

const EXITS = { help: 3, wrong: 3, failed: 3 };

/**
 * Runs a monitor: once, or with `--every` until it is told to stop. What its check says fires and resolves signals;
 * the status is that of a Nagios plugin: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. `url` is the entry file's
 * `import.meta.url`, whose doc comment is the help and whose name is the monitor's.
 */
export async function runMonitor<const F extends Flags = Record<never, never>>(
  url: string,
  monitor: Monitor<F>,
): Promise<void> {
  const { required = [], optional = [], rest = false, advice } = monitor;
  const flags = { ...MONITOR_FLAGS, ...monitor.flags } as F & typeof MONITOR_FLAGS;
  await runScript(url, { flags, required, optional, rest, advice, exits: EXITS, help: HELP }, async (cli) => {
    const common = cli.flags as Cli<typeof MONITOR_FLAGS>["flags"];
    const name = basename(fileURLToPath(url)).replace(/\.m?[jt]s$/, "");
    const every = common.every === undefined ? undefined : durationFrom("--every", common.every);
    const runEvery = process.env[POLLED_EVERY];
    const often = every ?? (runEvery ? durationFrom(POLLED_EVERY, runEvery) : undefined);
    const options: PollOptions = {
      dir: cli.dir,
      watch: watchOf(name, process.argv.slice(2), attempt(() => process.cwd()) ?? "/"),
      by: reporterOf(name, monitor, common),
      steady: steadyOf(monitor, common),
      check: (look) => monitor.check({ ...look, flags: cli.flags, args: cli.args } as unknown as Asked<F>),
      timeoutMs: durationFrom("--timeout", common.timeout ?? monitor.timeout ?? "30s"),
      every: often,
      dryRun: common["dry-run"] ?? false,
      onConfigFault: often === undefined ? "throw" : "keep",
    };
    if (every !== undefined) return again(options, every, cli.json);
    const polled = await pollOnce(options);
    if (cli.json) printJson(polled.report);
    else printReport(polled);
    // A look that took too long may keep the process alive.
    setTimeout(() => process.exit(), 200).unref();
    return STATUSES.indexOf(polled.report.status);
  });
}

/** Polls until it is told to stop; then the status is 0: it did what it was asked. */
async function again(options: PollOptions, every: number, json: boolean): Promise<number> {
  const controller = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => controller.abort());
  const stop = controller.signal;
  if (!json) note(`${options.watch.name}: looks every ${formatDuration(every)}, and prints what changed`);
  let printed = "";
  while (!stop.aborted) {
    let pause = every;
    try {
      const polled = await pollOnce({ ...options, stop });
      pause = pauseAfter(polled.report, every);
      const { status, summary, config_fault: fault } = polled.report;
      const seen = newsIn(status, summary);
      if (json) printJsonLine(polled.report);
      else if (seen !== printed || hasNews(polled.report)) printReport(polled);
      printed = seen;
      if (fault) note(`config.toml: goes on with the last valid settings: ${fault}`);
    } catch (error) {
      if (stop.aborted) break;
      // The inbox may be full, locked or gone for a while: what holds is told when it can be.
      if (!(error instanceof SignalsError) || error instanceof UsageError) throw error;
      note(`error: ${messageOf(error)}`);
    }
    await sleep(pause, undefined, { signal: stop }).catch(() => {});
  }
  // A look that was cut short may keep the process alive.
  setTimeout(() => process.exit(), 200).unref();
  return 0;
}

/**
 * How long to wait after a poll, in milliseconds: the interval, longer and longer while the source cannot be read, and
 * at least as long as it asked for; a little more or less each time, so that many machines do not ask at once.
 */
export function pauseAfter(
  { failures, partial, not_before, at }: Pick<PollReport, "failures" | "partial" | "not_before" | "at">,
  every: number,
  chance = Math.random(),
): number {
  // Of what can be read in part, the rest is not to wait.
  const times = partial ? 1 : 2 ** Math.max(failures - 1, 0);
  const backedOff = Math.max(every, Math.min(every * times, LONGEST_PAUSE_MS));
  const spread = backedOff * (0.9 + 0.2 * chance);
  const asked = not_before === null ? 0 : between(at, not_before);
  return Math.round(Math.min(Math.max(spread, asked * (1 + 0.1 * chance)), LONGEST_TIMER_MS));
}

/** With more, the timers of node fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
const LONGEST_PAUSE_MS = 15 * 60_000;

type CommonFlags = Cli<typeof MONITOR_FLAGS>["flags"];

function reporterOf<F extends Flags>(
  name: string,
  monitor: Monitor<F>,
  flags: CommonFlags,
): PollOptions["by"] {
  const { provider = name, why, action } = monitor;
  const asked = HINT_FLAGS.some((flag) => flags[flag] !== undefined) ? hintsFrom(flags) : undefined;
  const severity = flags.severity === undefined ? undefined : oneOf("--severity", flags.severity, SEVERITIES);
  return { producer: `monitors/${name}`, provider, why, action, hints: homeOf(), asked, severity };
}

const HINT_FLAGS = ["repo", "cwd", "session", "no-hint"] as const;

/** Where news is at home that knows no place of its own: as the environment says, else here. */
function homeOf(): Hints {
  const named = process.env[HOME_REPOSITORY];
  if (named === undefined) return attempt(() => hintsFrom({})) ?? {};
  return named === "" ? {} : { repository: repositoryFrom(named) };
}

function steadyOf<F extends Flags>({ fire, resolve }: Monitor<F>, { polls, over }: CommonFlags): Hysteresis {
  const asked: Partial<Steady> = {
    ...(polls !== undefined && { polls: pollsFrom(polls) }),
    ...(over !== undefined && { over: durationFrom("--over", over) }),
  };
  return { fire: { ...AT_ONCE, ...fire, ...asked }, resolve: { ...AT_ONCE, ...resolve, ...asked } };
}

function pollsFrom(text: string): number {
  const polls = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (polls > 0) return polls;
  throw new UsageError(`--polls: ${text}: is no number of polls; write a whole one, such as 3`);
}

/** The milliseconds of a flag that takes a duration. Throws `UsageError`. */
export function durationFrom(flag: string, text: string): number {
  const ms = parseDuration(text) ?? 0;
  if (ms > LONGEST_TIMER_MS) throw new UsageError(`${flag}: ${text}: is too long; write at most 24d`);
  if (ms > 0) return ms;
  throw new UsageError(
    `${flag}: ${text}: is no duration; write a whole number and a unit, such as 60s or 5m`,
  );
}
