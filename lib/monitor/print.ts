import type { Document } from "../document.ts";
import { shortKey } from "../key.ts";
import { deliveryShown } from "../people.ts";
import { indented, line } from "../script.ts";
import { timeOf } from "../time.ts";
import type { Polled, VerdictReport } from "./poll-report.ts";
import type { Status } from "./verdict.ts";

/** How a status is coloured in a terminal. */
export const STATUS_COLOURS = {
  OK: "green",
  WARNING: "yellow",
  CRITICAL: "red",
  UNKNOWN: undefined,
} as const satisfies Record<Status, string | undefined>;

/** What a Nagios plugin prints first: the name, the status, and what was seen. Then a line on what is not well. */
export function printReport({ report, doc }: Polled): void {
  const { monitor, status, summary, verdicts } = report;
  line(`${monitor.toUpperCase()} ${status} - ${summary}`, STATUS_COLOURS[status]);
  for (const verdict of verdicts) {
    const fate = fateOf(verdict, doc);
    if (verdicts.length > 1 && (verdict.status !== "OK" || fate))
      indented(`${verdict.status}: ${verdict.summary}`);
    if (fate) indented(fate);
  }
}

const NEWS: readonly unknown[] = ["fired", "escalated", "confirmed", "refired", "resolved"];

/** Whether an outcome is a change of a signal. */
export function isNews(outcome: VerdictReport["outcome"]): boolean {
  return NEWS.includes(outcome);
}

/** Whether a poll changed a signal. */
export function hasNews({ verdicts }: Polled["report"]): boolean {
  return verdicts.some(({ outcome }) => isNews(outcome));
}

/** What is new in a line is what differs in this: how fast it is, or how full, is no news while it is well. */
export function newsIn(status: Status, text: string): string {
  return `${status} ${status === "OK" ? text.replace(/\d+/g, "0") : text}`;
}

/** What became of one condition; undefined where there is nothing to say. */
export function fateOf(verdict: VerdictReport, doc: Document | undefined): string | undefined {
  const { outcome, key, generation, delivery, reason, waits, status } = verdict;
  if (outcome === "refused") return `refused: ${reason}`;
  if (waits !== undefined) return status === "OK" ? `not resolved yet: ${waits}` : `not fired: ${waits}`;
  if (!outcome || !delivery || outcome === "unknown" || outcome === "already_settled") return undefined;
  const news = doc ? deliveryShown(doc, delivery, timeOf(Date.now())) : "";
  return `${outcome} ${shortKey(key)}#${generation} ${news}`.trim();
}
