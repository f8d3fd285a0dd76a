import type { Hints, Severity } from "../document.ts";
import { identityKey, MAX_SUMMARY } from "../envelope.ts";
import { SignalsError } from "../errors.ts";
import { clean } from "../text.ts";
import type { Time } from "../time.ts";
import type { Unreadable } from "./source.ts";

/** What a monitor saw, in the words of the Nagios plugins; the exit status is the place in this list. */
export const STATUSES = ["OK", "WARNING", "CRITICAL", "UNKNOWN"] as const;
export type Status = (typeof STATUSES)[number];

/** What a check says of one condition. */
export interface Verdict {
  /**
   * WARNING and CRITICAL fire, OK resolves, UNKNOWN does neither: what was asked could be read, and tells nothing yet
   * of this one.
   */
  status: Status;
  /**
   * The values that make the identity, in order. Never what differs from report to report, such as a run's id or a
   * commit; whoever else reports the same condition with the same parts meets it in one signal.
   */
  identity: readonly string[];
  /** The first part of the identity, of one provider: `workflow_run`. */
  kind?: string | undefined;
  /** What happened, in one line. Text of the source may be in it. */
  summary: string;
  /** Where to look: an http(s) or file: URL; what is none of those is left out. */
  source_url?: string | undefined;
  /** Why it matters and what to do: the monitor's own words, never the source's. */
  why?: string | undefined;
  action?: string | undefined;
  /** Instead of what follows from the status; `--severity` stands above it. */
  severity?: Severity | undefined;
  /** Where the news is at home; without it, where the monitor runs. */
  hints?: Hints | undefined;
  /** The source's own time of the change: an older report of another producer is out of date then. RFC 3339. */
  at?: Time | string | undefined;
  /** The condition holds, but somebody asked for silence, in these words: it fires nothing anew, and ends nothing. */
  held?: string | undefined;
  /** An event and no condition: it settles by itself once a session was told. */
  once?: boolean | undefined;
}

/** All that one poll read. */
export interface Reading {
  verdicts: readonly Verdict[];
  /** The line on the whole; without it, that of the worst verdict. */
  summary?: string | undefined;
  /**
   * The verdicts are all there is: what was fired by an earlier poll and is not among them is over, for this reason.
   * Never to be given after a read that was partial.
   */
  gone?: string | undefined;
  /** What kept a part of it from being read: that counts as a failure, and the time that it asks for is given. */
  unread?: Unreadable | undefined;
}

/** What a check may return. */
export type Found = Verdict | readonly Verdict[] | Reading;

/** What a check returned, as a reading. Throws `SignalsError` for what is none: nobody checks the types of a script. */
export function readingOf(found: Found): Reading {
  const isReading = typeof found === "object" && found !== null && "verdicts" in found;
  const reading: Reading = isReading ? found : { verdicts: [found].flat() as Verdict[] };
  for (const verdict of reading.verdicts) {
    const { status, identity, summary } = (verdict ?? {}) as Partial<Verdict>;
    if (!STATUSES.some((known) => known === status))
      throw new SignalsError(
        `status: ${String(status)}: is none of ${STATUSES.join(", ")}; correct the check`,
      );
    if (!Array.isArray(identity) || identity.some((part) => typeof part !== "string"))
      throw new SignalsError("identity: is no list of texts; name what makes it this condition and no other");
    if (typeof summary !== "string")
      throw new SignalsError(`summary: ${String(summary)}: is no text; say what was seen`);
  }
  return reading;
}

/** A verdict whose text is one line of a length that is stored, and whose link, if it has one, fits too. */
export function tidy(verdict: Verdict): Verdict {
  const { summary, source_url: url } = verdict;
  // Twice as long is enough to cut from: a source may say megabytes.
  const line = clean(summary.slice(0, 2 * MAX_SUMMARY)).slice(0, MAX_SUMMARY);
  return {
    ...verdict,
    summary: line.replace(/[\uD800-\uDBFF]$/, ""),
    source_url: url !== undefined && url.length > LONGEST_LINK ? undefined : url,
  };
}

const LONGEST_LINK = 4_000;

/** The key of the signal that a verdict is about. */
export function keyOf(provider: string, { kind = "condition", identity }: Verdict): string {
  return identityKey(provider, kind, identity);
}

/** What is worse comes later. What could not be told is worse than what is well, and better than what is known to be bad. */
const BADNESS: readonly Status[] = ["OK", "UNKNOWN", "WARNING", "CRITICAL"];

export function isWorse(a: Status, b: Status): boolean {
  return BADNESS.indexOf(a) > BADNESS.indexOf(b);
}

/** The status of all of them together; UNKNOWN when there is none. */
export function worstOf(statuses: readonly Status[]): Status {
  return statuses.reduce(
    (worst, status) => (isWorse(status, worst) ? status : worst),
    statuses[0] ?? "UNKNOWN",
  );
}

/** Whether a status means that the condition holds. */
export function isBad(status: Status): status is "WARNING" | "CRITICAL" {
  return status === "WARNING" || status === "CRITICAL";
}

/** The status with which a severity asked for by `--severity` shows: urgent is CRITICAL, anything else WARNING. */
export function statusFor(status: Status, asked: Severity | undefined): Status {
  if (asked === undefined || !isBad(status)) return status;
  return asked === "urgent" ? "CRITICAL" : "WARNING";
}

/** Severity follows status: WARNING fires `warning`, CRITICAL `urgent`. */
export function severityFor(status: Status): Severity {
  return status === "CRITICAL" ? "urgent" : "warning";
}
