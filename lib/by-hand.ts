import { readFileSync, statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { locate } from "./checkout.ts";
import { type Document, type Envelope, type Hints, SEVERITIES, type Signal } from "./document.ts";
import { checkKey, isLink, MAX_KEY, MAX_SUMMARY, parseEnvelope, severityOf } from "./envelope.ts";
import { codeOf, messageOf, SignalsError, UsageError } from "./errors.ts";
import type { FireReport } from "./lifecycle.ts";
import { sessionNamed } from "./registry.ts";
import { repositoryOf } from "./repository.ts";
import { oneOf } from "./script.ts";
import { isSessionId } from "./session.ts";
import { parseDuration, parseTime, plus, type Time } from "./time.ts";

/** The flags of `fire.mts`, for the shared parser. */
export const FIRE_FLAGS = {
  summary: { type: "string" },
  "source-url": { type: "string" },
  why: { type: "string" },
  action: { type: "string" },
  severity: { type: "string" },
  key: { type: "string" },
  provider: { type: "string" },
  kind: { type: "string" },
  id: { type: "string" },
  repo: { type: "string" },
  cwd: { type: "string" },
  session: { type: "string" },
  "no-hint": { type: "boolean" },
  expires: { type: "string" },
  producer: { type: "string" },
  "one-shot": { type: "boolean" },
  event: { type: "string" },
} as const;

export type FireFlags = {
  [name in keyof typeof FIRE_FLAGS]?: (typeof FIRE_FLAGS)[name]["type"] extends "boolean" ? boolean : string;
};

const WHY = "It was reported on this machine, by a person or a script, for work in this place.";
const ACTION = "Consider whether it bears on the work at hand, and look at the source if it does.";

/**
 * A fire report from flags and, if there is one, an envelope; flags win over the envelope's values. What is typed on
 * this machine is `local`. Throws `UsageError` for a flag and `SignalsError` for an envelope that cannot be used.
 */
export function fireReport(flags: FireFlags, now: Time, event?: Record<string, unknown>): FireReport {
  if (flags.summary === undefined && event === undefined) {
    throw new UsageError("--summary: is missing; say what happened, or give an envelope with --event");
  }
  checkFlags(flags);
  const envelope = envelopeFrom(flags, event);
  const { severity } = flags;
  return {
    key: envelope.dedupe_key,
    envelope,
    severity:
      severity !== undefined
        ? oneOf("--severity", severity, SEVERITIES)
        : event !== undefined
          ? severityOf(envelope.urgency)
          : "warning",
    producer: flags.producer ?? "manual",
    signature: "local",
    origin: "human",
    hints: hintsFrom(flags),
    expires_at: flags.expires === undefined ? undefined : expiryFrom(flags.expires, now),
    one_shot: flags["one-shot"] ?? false,
  };
}

/** What a flag's text may measure; what these do not name is short. */
const LONGEST: Partial<Record<keyof FireFlags, number>> = {
  summary: MAX_SUMMARY,
  "source-url": 4_000,
  why: MAX_SUMMARY,
  action: MAX_SUMMARY,
  key: MAX_KEY,
  id: MAX_SUMMARY,
  cwd: 4_000,
  event: 4_000,
};

/** An empty value is mostly a variable that was not set, and never what was meant. */
function checkFlags(flags: FireFlags): void {
  for (const [name, value] of Object.entries(flags)) {
    if (!(name in FIRE_FLAGS) || typeof value !== "string") continue;
    const longest = LONGEST[name as keyof FireFlags] ?? 200;
    if (value.trim() === "") throw new UsageError(`--${name}: is empty; give it a value, or leave it out`);
    if (value.length > longest) {
      throw new UsageError(
        `--${name}: has ${value.length} characters; at most ${longest} are stored, shorten it`,
      );
    }
  }
  const { session, "source-url": url } = flags;
  if (session !== undefined && !isSessionId(session)) {
    throw new UsageError(`--session: ${session}: is no session id; signals sessions lists them`);
  }
  if (url !== undefined && !isLink(url)) {
    throw new UsageError(`--source-url: ${url}: is no http(s) or file: URL; write it whole`);
  }
}

function envelopeFrom(flags: FireFlags, event: Record<string, unknown> | undefined): Envelope {
  const given = definedOnly({
    summary: flags.summary,
    source_url: flags["source-url"],
    why_it_matters: flags.why,
    proposed_action: flags.action,
    provider: flags.provider,
    source_kind: flags.kind,
    source_id: flags.id,
    dedupe_key: flags.key,
  });
  if (flags.key !== undefined) checkKey(flags.key);
  if (event !== undefined) return parseEnvelope({ ...event, ...given });
  return parseEnvelope({
    schema: "harn.triage_event.v1",
    provider: "manual",
    source_kind: "note",
    source_url: pathToFileURL(process.cwd()).href,
    // Two notes from one directory are two signals.
    source_id: flags.summary,
    why_it_matters: WHY,
    proposed_action: ACTION,
    ...given,
  });
}

/** The object in a file, or on stdin for `-`; undefined for no file. Throws `SignalsError` for anything else. */
export async function readEnvelope(file: string | undefined): Promise<Record<string, unknown> | undefined> {
  if (file === undefined) return undefined;
  let content: string;
  try {
    // As a stream: another process may have left this stdin in a mode that a plain read fails in.
    content = file === "-" ? await text(process.stdin) : readFileSync(file, "utf8");
  } catch (error) {
    throw new SignalsError(`--event: cannot read ${file} (${codeOf(error)}); give a file, or - for stdin`);
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new SignalsError(`--event: ${file} is not JSON (${messageOf(error)}); nothing was stored`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SignalsError(`--event: ${file} holds no object; give one harn.triage_event.v1 envelope`);
  }
  return value as Record<string, unknown>;
}

/**
 * The text of a resolving report: an envelope's, or the signal's own with another summary. Undefined when the report
 * brings none.
 */
export function resolvingText(
  flags: { summary?: string | undefined },
  event: Envelope | undefined,
  signal: Signal | undefined,
): Envelope | undefined {
  const named = event && signal ? { ...event, dedupe_key: signal.key } : event;
  const { source_timestamp: _, ...own } = signal?.envelope ?? {};
  const base = named ?? (flags.summary === undefined ? undefined : signal && own);
  return base && parseEnvelope({ ...base, ...definedOnly({ summary: flags.summary }) });
}

/** Where the signal wants to go: what was said, else this directory and its repository. Throws `UsageError`. */
export function hintsFrom(flags: Pick<FireFlags, "repo" | "cwd" | "session" | "no-hint">): Hints {
  const { repo, cwd, session } = flags;
  const silent = flags["no-hint"] === true;
  const hints: Hints = definedOnly({
    repository: repo === undefined ? undefined : repositoryFrom(repo),
    session,
  });
  if (cwd !== undefined && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--cwd: ${cwd}: is no directory; name one that exists`);
  }
  const place =
    cwd !== undefined ? cwd : silent || repo !== undefined || session !== undefined ? undefined : ".";
  if (place === undefined) return hints;
  const found = locate(place);
  const repository = hints.repository ?? (silent ? undefined : found.repository);
  return definedOnly({ ...hints, cwd: found.cwd, repository });
}

/** The report with its session by the whole id, where a person wrote as much of it as they are shown. */
export function withSession(doc: Document, report: FireReport): FireReport {
  const { session } = report.hints;
  return session === undefined
    ? report
    : { ...report, hints: { ...report.hints, session: sessionNamed(doc, session) } };
}

/** A repository as a person writes it, a URL too. Throws `UsageError`. */
export function repositoryFrom(text: string): string {
  const name = repositoryOf(text) ?? text.replace(/^\/+|\/+$|\.git$/g, "");
  if (!/^[^\s/]+(\/[^\s/]+)+$/.test(name)) {
    throw new UsageError(`--repo: ${text}: is no repository; write OWNER/NAME or HOST/OWNER/NAME`);
  }
  return name;
}

function expiryFrom(text: string, now: Time): Time {
  const duration = parseDuration(text);
  const time = duration === undefined ? parseTime(text) : plus(now, duration);
  if (time === undefined) {
    throw new UsageError(`--expires: ${text}: is no duration or time; write 2h, or 2026-12-01T08:00:00Z`);
  }
  if (time <= now) throw new UsageError(`--expires: ${text}: is not in the future; write a later time`);
  return time;
}

function definedOnly<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
