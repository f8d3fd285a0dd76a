import { pathToFileURL } from "node:url";
import { type Document, type Envelope, findSignal, type Hints, type Severity } from "../document.ts";
import { isLink, parseEnvelope } from "../envelope.ts";
import { attempt, messageOf, SignalsError } from "../errors.ts";
import { fire, resolve } from "../lifecycle.ts";
import { configOf } from "../policy.ts";
import { between, parseTime, plus, type Time } from "../time.ts";
import type { Decision } from "./steady.ts";
import { keyOf, severityFor, type Verdict } from "./verdict.ts";

/** Who reports, and what holds for all of its reports that do not say otherwise. */
export interface Reporter {
  /** As the signals name it: `monitors/github-ci`. */
  producer: string;
  provider: string;
  why: string;
  action: string;
  /** Where news is at home that does not say so itself. */
  hints: Hints;
  /** Where a person wants all of it to go. */
  asked: Hints | undefined;
  /** A person's `--severity`. */
  severity: Severity | undefined;
  /** Milliseconds from one look to the next, as far as it is known. */
  interval: number;
}

/** What became of one report. */
export type Outcome = ReturnType<typeof fire>[1] | ReturnType<typeof resolve>[1] | "refused";

export interface Reported {
  key: string;
  outcome: Outcome;
  /** Why it was refused. */
  reason?: string;
}

/** The document after what was decided; a report that is refused keeps none of the others from being stored. */
export function report(
  doc: Document,
  decisions: readonly Decision[],
  by: Reporter,
  now: Time,
): readonly [Document, Reported[]] {
  const reported: Reported[] = [];
  let next = doc;
  for (const decision of decisions) {
    const key = keyOf(by.provider, decision.verdict);
    try {
      const [after, outcome] = apply(next, decision, key, by, now);
      next = after;
      if (outcome) reported.push({ key, outcome });
    } catch (error) {
      if (!(error instanceof SignalsError)) throw error;
      reported.push({ key, outcome: "refused", reason: messageOf(error) });
    }
  }
  return [next, reported];
}

function apply(
  doc: Document,
  decision: Decision,
  key: string,
  by: Reporter,
  now: Time,
): readonly [Document, Outcome?] {
  const { verdict, do: what, status } = decision;
  const severity = by.severity ?? verdict.severity ?? severityFor(status);
  const known = findSignal(doc, key);
  const isFired = known?.state === "fired";
  if (what === "fire") return fireOnce(doc, key, verdict, severity, by, now);
  // At the severity that it has: a condition in silence does not get worse.
  if (what === "keep" && isFired) return fireOnce(doc, key, verdict, known.severity, by, now);
  if (what !== "resolve") return [doc];
  const { producer } = by;
  // A settled signal, or one that never was, needs no text.
  const envelope = isFired ? envelopeOf(key, verdict, by) : undefined;
  const [after, outcome] = resolve(
    doc,
    { key, producer, signature: "local", origin: "monitor", envelope },
    now,
  );
  return [after, outcome];
}

/** A fire. One that would only move the expiry a little is left out: else every poll would rewrite the inbox. */
function fireOnce(
  doc: Document,
  key: string,
  verdict: Verdict,
  severity: Severity,
  by: Reporter,
  now: Time,
): readonly [Document, Outcome] {
  const { producer, interval } = by;
  // Longer than usual, so that who looks once a day does not find it expired, and tells it as new.
  const lasts = Math.max(1.1 * configOf(doc).expire_after, 3 * interval);
  const [after, outcome] = fire(
    doc,
    {
      key,
      severity,
      envelope: envelopeOf(key, verdict, by),
      producer,
      signature: "local",
      origin: "monitor",
      hints: by.asked ?? verdict.hints ?? by.hints,
      one_shot: verdict.once,
      expires_at: plus(now, lasts),
    },
    now,
  );
  if (outcome !== "extended") return [after, outcome];
  const [was, is] = [findSignal(doc, key), findSignal(after, key)];
  const left = was ? between(now, was.expires_at) : 0;
  const isEnough = was?.reports === is?.reports && left > 0.9 * lasts;
  return [isEnough ? doc : after, outcome];
}

function envelopeOf(key: string, verdict: Verdict, by: Reporter): Envelope {
  const { identity, kind = "condition", summary, source_url, at } = verdict;
  const time = at === undefined ? undefined : parseTime(at);
  return parseEnvelope({
    schema: "harn.triage_event.v1",
    provider: by.provider,
    source_kind: kind,
    source_id: identity.join(" ").slice(0, LONGEST_ID),
    source_url: source_url !== undefined && isLink(source_url) ? source_url : here(),
    summary: summary || "It says nothing of itself",
    why_it_matters: verdict.why ?? by.why,
    proposed_action: verdict.action ?? by.action,
    dedupe_key: key,
    ...(time && { source_timestamp: time }),
  });
}

/** For people; the key holds all of it. */
const LONGEST_ID = 200;

/** Where the monitor runs, for what has no link. */
function here(): string {
  return pathToFileURL(attempt(() => process.cwd()) ?? "/").href;
}
