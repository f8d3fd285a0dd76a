import { parseArgs } from "node:util";
import { attempt, messageOf } from "../errors.ts";
import { type Ran, runGroup } from "../process-group.ts";
import { clean } from "../text.ts";
import { parseDuration } from "../time.ts";
import type { Command } from "./configured.ts";
import type { PollReport } from "./poll-report.ts";
import { STATUSES } from "./verdict.ts";

/** What one poll, as a process, came to: the report that it printed, or why there is none. */
export type Ended = { report: PollReport } | { failure: string };

/** What is longer than that is no report. */
const OPTIONS = { keep: "first", bytes: 8 * 1024 * 1024, grace: 3_000 } as const;

/** Runs one poll to its end, or ends it with all that it started: after so many milliseconds, or when `stop` says so. */
export async function runChild(
  { args, cwd, env }: Command,
  limitMs: number,
  stop: AbortSignal,
): Promise<Ended> {
  if (stop.aborted) return { failure: "was stopped" };
  const ending = new AbortController();
  const onStop = () => ending.abort("was stopped");
  const onMore = () => ending.abort("printed too much, and was ended");
  const onLate = () => ending.abort(`ran for more than ${limitMs / 1000}s, and was ended`);
  const timer = setTimeout(onLate, limitMs);
  stop.addEventListener("abort", onStop, { once: true });
  try {
    const options = { ...OPTIONS, cwd, env, onMore };
    const ran = await runGroup([process.execPath, ...args], options, ending.signal);
    const report = attempt(() => JSON.parse(ran.stdout)) as unknown;
    if (isReport(report)) return { report };
    return { failure: (ending.signal.reason as string | undefined) ?? failureOf(ran) };
  } catch (error) {
    return { failure: messageOf(error) };
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", onStop);
  }
}

/** How long the poll of a monitor with these arguments may take before it hangs: twice as long as it gives itself. */
export function limitOf(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: { timeout: { type: "string" } }, strict: false });
  const { timeout } = values;
  return Math.max(2 * ((typeof timeout === "string" && parseDuration(timeout)) || 0), 120_000);
}

/** The last thing that it said says most. */
function failureOf({ status, signal, stderr }: Ran): string {
  const lines = stderr.split("\n").map(clean).filter(Boolean);
  const error = lines.find((line) => line.startsWith("error: ")) ?? lines.at(-1);
  const how = signal ? `was killed by ${signal}` : `ended with status ${status} and without a report`;
  if (error?.startsWith("error: ")) return error.slice("error: ".length);
  return error === undefined ? how : `${how}: ${error}`;
}

function isReport(value: unknown): value is PollReport {
  const report = (value ?? {}) as Partial<PollReport>;
  return (
    STATUSES.some((status) => status === report.status) &&
    typeof report.summary === "string" &&
    typeof report.at === "string" &&
    Number.isInteger(report.failures) &&
    Array.isArray(report.verdicts)
  );
}
