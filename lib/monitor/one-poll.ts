import { repositoryFrom } from "../by-hand.ts";
import { messageOf } from "../errors.ts";
import { look } from "../inbox.ts";
import { timeOf } from "../time.ts";
import { limitOf, runChild } from "./children.ts";
import { type Configured, commandOf, faultOf } from "./configured.ts";
import type { PollReport } from "./poll-report.ts";
import { fateOf, isNews } from "./print.ts";
import { type Minder, noteFailure } from "./tell.ts";

/**
 * One poll of a monitor of config.toml, in a process of its own. What goes wrong on the way is a report as well, and
 * counts as a poll that could not read the source. Undefined when it was stopped. `before` is the last report.
 */
export async function pollConfigured(
  monitor: Configured,
  dir: string,
  before: PollReport | undefined,
  stop: AbortSignal,
): Promise<PollReport | undefined> {
  const { env } = process;
  const fault = faultOf(monitor, dir, env);
  const ended =
    fault === undefined
      ? await runChild(commandOf(monitor, dir, env), limitOf(monitor.args), stop)
      : { failure: fault };
  if ("report" in ended) return { ...ended.report, label: monitor.label };
  return stop.aborted ? undefined : failed(monitor, dir, ended.failure, before);
}

/** Who speaks for a monitor of config.toml in `dir` that cannot speak for itself. */
function minderOf({ watch, entry }: Configured, dir: string): Minder {
  const { every, repository } = entry;
  return { dir, watch, every, hints: repository ? { repository: repositoryFrom(repository) } : {} };
}

async function failed(
  monitor: Configured,
  dir: string,
  failure: string,
  before: PollReport | undefined,
): Promise<PollReport> {
  try {
    const { report } = await noteFailure(minderOf(monitor, dir), failure);
    return { ...report, label: monitor.label };
  } catch (error) {
    // Where nothing can be kept, whoever polls has to count.
    const { failures = 0, read_at = null } = before ?? {};
    const summary = failure.startsWith("inbox: ") ? failure : `${failure}; ${messageOf(error)}`;
    return {
      monitor: monitor.watch.name,
      label: monitor.label,
      at: timeOf(Date.now()),
      read: false,
      error: summary,
      status: "UNKNOWN",
      summary,
      verdicts: [],
      failures: failures + 1,
      read_at,
      not_before: null,
    };
  }
}

/** What is news of the signals of a monitor, each in a line. */
export async function fatesOf(
  { verdicts }: PollReport,
  before: PollReport | undefined,
  dir: string,
): Promise<string[]> {
  const isAsBefore = (key: string, reason: string | undefined) =>
    before?.verdicts.some((one) => one.key === key && one.outcome === "refused" && one.reason === reason);
  const news = verdicts.filter(
    ({ outcome, key, reason }) => isNews(outcome) || (outcome === "refused" && !isAsBefore(key, reason)),
  );
  if (news.length === 0) return [];
  const looked = await look(dir, { onConfigFault: "keep" }).catch(() => undefined);
  return news.flatMap((verdict) => fateOf(verdict, looked?.doc) ?? []);
}
