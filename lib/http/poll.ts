import { UsageError } from "../errors.ts";
import type { Look } from "../monitor/poll.ts";
import { durationFrom } from "../monitor/run.ts";
import type { Reading } from "../monitor/verdict.ts";
import { formatDuration } from "../time.ts";
import { ask, isOnline } from "./ask.ts";
import { expectedFrom, type HttpFlags } from "./expect.ts";
import { readingFrom } from "./judge.ts";
import { targetFrom } from "./target.ts";

/** How long a whole look may take: longer than an answer, or one that is late would only be unknown. */
export const HTTP_TIMEOUT = "30s";

/**
 * Asks an address, and judges what it answers. Throws `UsageError` for what cannot be asked, and `Unreadable` when this
 * machine is offline; an address that cannot be reached otherwise is no trouble of the monitor, but its verdict.
 */
export async function lookAtHttp(
  { now, signal }: Pick<Look, "now" | "signal">,
  text: string,
  flags: HttpFlags & { timeout?: string | undefined },
): Promise<Reading> {
  const target = targetFrom(text);
  const expected = expectedFrom(flags);
  const { timeout = HTTP_TIMEOUT } = flags;
  if (expected.within >= durationFrom("--timeout", timeout)) {
    const within = formatDuration(expected.within);
    throw new UsageError(
      `--within: ${within}: is not shorter than --timeout ${timeout}, so what is late would be unknown; change one of them`,
    );
  }
  const answer = await ask(target, expected, signal);
  return readingFrom(target.url, answer, expected, { now: Date.parse(now), isOnline: isOnline() });
}
