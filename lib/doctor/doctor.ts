import { CLIENTS, type Harness } from "../client.ts";
import { messageOf, SignalsError, UsageError } from "../errors.ts";
import { moveAside } from "../inbox.ts";
import { versionOf } from "../install/client-version.ts";
import { situation } from "../install/paths.ts";
import { indented, line, note } from "../script.ts";
import { parseDuration } from "../time.ts";
import { checkCanary } from "./check-canary.ts";
import {
  checkClient,
  checkEnvironment,
  checkInstallation,
  checkNode,
  checkSettings,
} from "./check-client.ts";
import { count, type Finding, fault, ok, type Place } from "./check-finding.ts";
import { checkHooks } from "./check-hooks.ts";
import { checkConfig, checkFailures, checkInbox, checkSessions, checkSignals } from "./check-inbox.ts";
import { checkMonitors } from "./check-monitors.ts";
import { checkService } from "./check-service.ts";
import { checkDirectory, checkFiles, checkLock, checkSpace, hasDirectory } from "./check-store.ts";
import { checkTrust } from "./check-trust.ts";

/** One line of `signals doctor`. A check that finds several things has a line for each. */
export interface Check extends Finding {
  check: string;
}

type Run = (place: Place) => Finding[] | Promise<Finding[]>;

/** What is looked at, in the order in which a signal goes: from who may hear it to what became of it. */
const CHECKS: readonly [check: string, run: Run, where?: "inside"][] = [
  ["node", checkNode],
  ["client", checkClient],
  ["environment", checkEnvironment],
  ["settings", checkSettings],
  ["installation", checkInstallation],
  ["hooks", checkHooks],
  ["trust", checkTrust],
  ["service", checkService],
  ["directory", checkDirectory],
  ["space", checkSpace],
  // Of these there is nothing to say where there is no directory.
  ["files", checkFiles, "inside"],
  ["lock", checkLock, "inside"],
  ["inbox", checkInbox, "inside"],
  ["config", checkConfig, "inside"],
  ["signals", checkSignals, "inside"],
  ["monitors", checkMonitors, "inside"],
  ["sessions", checkSessions, "inside"],
  ["failures", checkFailures, "inside"],
];

/** The flags of `doctor.mts`. */
export const DOCTOR_FLAGS = {
  repair: { type: "boolean" },
  canary: { type: "boolean" },
  session: { type: "string" },
  wait: { type: "string" },
} as const;

export interface DoctorFlags {
  repair?: boolean | undefined;
  canary?: boolean | undefined;
  session?: string | undefined;
  wait?: string | undefined;
}

/**
 * Checks the whole path of the inbox in `dir`, one check after the other. Changes nothing but what the flags ask for:
 * `repair` moves a broken inbox aside first, `canary` sends a test through at the end. Codex, when it is asked what it
 * trusts, writes into its own folder what it writes at every start. Throws `UsageError`.
 */
export async function* diagnose(dir: string, flags: DoctorFlags): AsyncGenerator<Check> {
  const waitMs = waitFrom(flags);
  const { env } = process;
  const place = { dir, ...situation(), versions: await clientVersions(env), now: new Date().toISOString() };
  if (flags.repair) yield* await found("repair", repair, place);
  yield* examine(place);
  if (flags.canary) yield* await found("canary", () => canary(place, flags.session, waitMs), place);
}

/** Of each client on PATH. */
export async function clientVersions(env: NodeJS.ProcessEnv): Promise<Place["versions"]> {
  const of = (harness: Harness) => versionOf(CLIENTS[harness].program, env);
  const [claude, codex] = await Promise.all([of("claude-code"), of("codex")]);
  return { "claude-code": claude, codex };
}

/** All that can be said of a place without changing it. No check can end another. */
export async function* examine(place: Place): AsyncGenerator<Check> {
  for (const [check, run, where] of CHECKS) {
    if (where !== "inside" || hasDirectory(place)) yield* await found(check, run, place);
  }
}

/** What one check found. One that throws is a fault of its own. */
async function found(check: string, run: Run, place: Place): Promise<Check[]> {
  try {
    return (await run(place)).map((finding) => ({ check, ...finding }));
  } catch (error) {
    // Ours say after the last semicolon what to do.
    const [, what = messageOf(error), mend = "mend that, then run signals doctor again"] =
      (error instanceof SignalsError && /^(.*); (?:run: )?(.*)$/s.exec(error.message)) || [];
    return [{ check, ...fault(`did not work: ${what}`, mend) }];
  }
}

async function repair({ dir }: Place): Promise<Finding[]> {
  const aside = await moveAside(dir);
  return [
    ok(
      aside
        ? `the broken inbox is now ${aside}; a new one is begun`
        : "no inbox is broken, so nothing was moved",
    ),
  ];
}

async function canary(place: Place, session: string | undefined, waitMs: number): Promise<Finding[]> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  // Only once: whoever asks twice does not wait for the lock.
  for (const signal of signals) process.once(signal, stop);
  const onWait = (who: string) =>
    process.stderr.isTTY && note(`waiting for ${who}; Ctrl-C withdraws the test`);
  try {
    return [await checkCanary(place, { session, waitMs, stop: controller.signal, onWait })];
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

function waitFrom({ canary, session, wait = "2m" }: DoctorFlags): number {
  const stray = session !== undefined ? "session" : wait !== "2m" ? "wait" : undefined;
  if (stray && !canary) throw new UsageError(`--${stray}: belongs to --canary; add that, or leave it out`);
  const waitMs = parseDuration(wait) ?? 0;
  if (waitMs > 0) return waitMs;
  throw new UsageError(`--wait: ${wait}: is no duration to wait for; write one such as 2m`);
}

/** The last line for people: what all of it comes to. */
export function verdict(checks: readonly Check[]): string {
  const number = (status: Finding["status"]) => checks.filter((check) => check.status === status).length;
  const faults = number("fault") > 0 ? count(number("fault"), "fault") : "no fault";
  return `${faults}, ${count(number("note"), "note")}`;
}

/** Prints a check for people: one line, and below it what mends it. */
export function printCheck({ check, status, found, mend }: Check): void {
  line(`${status} ${check}: ${found}`, COLOURS[status]);
  if (mend) indented(mend);
}

const COLOURS = { fault: "red", note: undefined, ok: "dim" } as const;
