import { createHash } from "node:crypto";
import { Unreadable } from "../monitor/source.ts";
import type { Reading, Verdict } from "../monitor/verdict.ts";
import { formatDuration } from "../time.ts";
import type { Answer, Fault } from "./ask.ts";
import { type Expected, isExpected } from "./expect.ts";
import { shown } from "./target.ts";

const DAY_MS = 86_400_000;

/** The words that a certificate's news comes with, and a slow answer's. */
const CERTIFICATE = {
  why: "From the day that it ends, or where it is not accepted, no client reaches this address any more.",
  action:
    "If the certificate is yours to renew, see why that did not happen by itself; else go on, and mention it.",
};
const LATENCY = {
  why: "What depends on it is slow as well, and fails once it gives up waiting.",
  action: "If the work at hand may have made it slow, look at what changed before going on; else go on.",
};

/**
 * What an answer comes to: whether the address answers as it should, how fast where that is asked, and for how long its
 * certificate is good. Each is a signal of its own, so that one of them that lasts does not hide when another is over.
 * Throws `Unreadable` when it is this machine that is offline. `now` is in milliseconds since 1970.
 */
export function readingFrom(
  url: URL,
  answer: Answer,
  expected: Expected,
  { now, isOnline }: { now: number; isOnline: boolean },
): Reading {
  const place = shown(url);
  const { fault } = answer;
  if (fault?.of === "connection" && isOffline(fault.codes, isOnline))
    throw new Unreadable(`${place}: this machine seems to be offline (${fault.codes.join(", ")})`);

  const on = (kind: string, asked: readonly unknown[], judged: Judged, words: Words = {}): Verdict => ({
    status: judged[0],
    kind,
    identity: identityOf(place, asked),
    summary: `${place} ${judged[1]}`,
    source_url: place,
    ...words,
  });
  const { slower, headers, contains, status, within, certDays } = expected;
  // The statuses decide which redirects are followed.
  const request = [url.search, Object.entries(headers), status.text];
  const itself = on("answer", [...request, contains, within], answerJudged(answer, expected));
  const isWell = itself.status === "OK";
  const verdicts = [
    itself,
    ...(slower === undefined
      ? []
      : [on("latency", [...request, slower], latencyJudged(answer.ms, slower, isWell), LATENCY)]),
    ...(url.protocol === "https:" || answer.ends !== undefined || fault?.of === "certificate"
      ? [on("certificate", [status.text, certDays], certificateJudged(answer, certDays, now), CERTIFICATE)]
      : []),
  ];
  const bad = verdicts.filter(({ status }) => status === "WARNING" || status === "CRITICAL");
  const told = (bad.length > 0 ? bad : verdicts).map(({ summary }, i) =>
    i === 0 ? summary : summary.slice(place.length + 1),
  );
  return { verdicts, summary: told.join("; ") };
}

type Words = Pick<Verdict, "why" | "action">;

/**
 * By its address and all that its verdict hangs on, or two monitors would resolve what the other fires; that only as a
 * hash, since it may be secret.
 */
function identityOf(place: string, asked: readonly unknown[]): readonly string[] {
  return [place, createHash("sha256").update(JSON.stringify(asked)).digest("hex").slice(0, 16)];
}

type Judged = readonly [Verdict["status"], string];

function answerJudged({ status, fault, holds, ms, place }: Answer, expected: Expected): Judged {
  const via = place === undefined ? "" : ` (redirected to ${place})`;
  if (fault?.of === "certificate") return ["UNKNOWN", `was not asked: its certificate is not accepted${via}`];
  if (fault) return ["CRITICAL", `${faultShown(fault, expected)}${via}`];
  if (status === undefined || !isExpected(expected, status))
    return ["CRITICAL", `answers ${status}${via}, expected is ${expected.status.text}`];
  if (expected.contains !== undefined && !holds) {
    const text = JSON.stringify(expected.contains.slice(0, 80));
    const why = holds === undefined ? "broke off, or took too long, before it held" : "does not hold";
    return ["CRITICAL", `answers ${status}${via}, but its content ${why} ${text}`];
  }
  return ["OK", `answers ${status} in ${ms}ms${via}`];
}

function latencyJudged(ms: number, slower: number, isWell: boolean): Judged {
  if (!isWell) return ["UNKNOWN", "tells nothing of how fast it answers"];
  if (ms > slower)
    return ["WARNING", `is slow: it took ${ms}ms to answer, more than ${formatDuration(slower)}`];
  return ["OK", `answers within ${formatDuration(slower)}`];
}

function certificateJudged({ fault, ends }: Answer, certDays: number, now: number): Judged {
  if (fault?.of === "certificate")
    return ["CRITICAL", `has a certificate that is not accepted: it ${refusalShown(fault.code)}`];
  if (ends === undefined) return ["UNKNOWN", "did not show its certificate"];
  const days = Math.floor((ends - now) / DAY_MS);
  const date = new Date(ends).toISOString().slice(0, 10);
  if (days < 0) return ["CRITICAL", `has a certificate that ended on ${date}`];
  const status = days < certDays ? "WARNING" : "OK";
  return [status, `has a certificate that ends in ${days} ${days === 1 ? "day" : "days"}, on ${date}`];
}

/** Codes of a machine that reaches nothing at all. */
const OFFLINE = new Set(["EAI_AGAIN", "ENETUNREACH", "ENETDOWN"]);

/** Whether it is this machine's fault. Without a network, some systems say of every name that it is not known. */
function isOffline(codes: readonly string[], isOnline: boolean): boolean {
  return codes.every((code) => OFFLINE.has(code) || (code === "ENOTFOUND" && !isOnline));
}

function faultShown(fault: Exclude<Fault, { of: "certificate" }>, { within }: Expected): string {
  if (fault.of === "time") return `does not answer within ${formatDuration(within)}`;
  if (fault.of === "redirects") return `redirects ${fault.why}`;
  const codes = fault.codes.join(", ");
  const [meaning] = FAULTS.flatMap(([pattern, words]) => (pattern.test(codes) ? [words] : []));
  return `${meaning ?? "cannot be reached"} (${codes})`;
}

const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/ENOTFOUND/, "has a name that is not known"],
  [/ECONNREFUSED/, "refuses the connection"],
  [/ECONNRESET|EPIPE/, "ends the connection without an answer"],
  [/^HPE_/, "answers with what is no HTTP"],
  [/^EPROTO|SSL|TLS/, "does not agree on TLS"],
];

function refusalShown(code: string): string {
  return REFUSALS[code] ?? `was refused (${code})`;
}

const REFUSALS: Record<string, string> = {
  CERT_HAS_EXPIRED: "has expired",
  CERT_NOT_YET_VALID: "is not valid yet",
  ERR_TLS_CERT_ALTNAME_INVALID: "is for another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "comes from an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "comes from an authority that is not known here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "comes without the certificates between it and an authority that is known here",
  CERT_REVOKED: "was revoked",
};
