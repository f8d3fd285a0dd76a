import type { Hints } from "../document.ts";
import type { Verdict } from "../monitor/verdict.ts";

/** What an end says of the thing itself: whether it is well, or nothing at all. */
export type Outcome = "good" | "bad" | "none";

/** Of workflow runs and check runs (`conclusion`), and of commit statuses (`state`). */
const OUTCOMES: Record<string, Outcome> = {
  success: "good",
  failure: "bad",
  timed_out: "bad",
  startup_failure: "bad",
  error: "bad",
  // Somebody or something kept it from telling: a newer push, a condition, a person who is asked first.
  cancelled: "none",
  skipped: "none",
  neutral: "none",
  stale: "none",
  action_required: "none",
  pending: "none",
};

/** A conclusion that is not known, or not there yet, tells nothing. */
export function outcomeOf(conclusion: string | null | undefined): Outcome {
  return (isKnown(conclusion) && OUTCOMES[conclusion ?? ""]) || "none";
}

/** Whether a conclusion is one that this was written for. */
export function isKnown(conclusion: string | null | undefined): boolean {
  return !conclusion || Object.hasOwn(OUTCOMES, conclusion);
}

/** What the rows of a list are about: a branch of a repository, or `pull/7`. */
export interface Subject {
  repository: { id: number; full_name: string; html_url?: string };
  branch: string;
  hints?: Hints | undefined;
}

/** One thing that ended, in the words of whoever lists it. */
export interface End {
  kind: string;
  /** Between the repository and the branch: what makes the identity. */
  parts: readonly string[];
  name: string;
  conclusion: string | null | undefined;
  url: string | null | undefined;
  /** When it began. */
  at: string | null | undefined;
}

/** A verdict, and what it is on. */
export interface Judged extends Verdict {
  name: string;
}

/** How each outcome reads. */
const WORDS = {
  good: { status: "OK", says: "passed" },
  bad: { status: "WARNING", says: "failed" },
  none: { status: "UNKNOWN", says: "has not finished" },
} as const satisfies Record<Outcome, { status: Verdict["status"]; says: string }>;

/** The verdict on one thing. The same parts, and the same time, are what a webhook knows of it. */
export function verdictOn({ repository, branch, hints }: Subject, end: End): Judged {
  const { status, says } = WORDS[outcomeOf(end.conclusion)];
  const why = status === "WARNING" ? ` (${end.conclusion})` : "";
  const url = end.url ?? "";
  return {
    name: end.name,
    status,
    kind: end.kind,
    identity: [String(repository.id), ...end.parts, branch],
    summary: `CI: ${end.name} ${says} on ${branch} of ${repository.full_name}${why}`,
    // Whoever posts a status names any link: no file of this machine.
    ...(/^https?:/i.test(url) && { source_url: url }),
    ...(end.at && { at: end.at }),
    ...(hints && { hints }),
  };
}
