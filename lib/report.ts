import { readFileSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { oneOf } from "./cli.ts";
import { type Envelope, type Hints, SEVERITIES, type Signal } from "./document.ts";
import { checkKey, parseEnvelope, severityOf } from "./envelope.ts";
import { codeOf, messageOf, SignalsError, UsageError } from "./errors.ts";
import type { FireReport } from "./lifecycle.ts";
import { locate, repositoryOf } from "./repository.ts";
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
 * A fire report from flags and, with `--event`, an envelope; flags win over the envelope's values. What is typed on
 * this machine is `local`. Throws `UsageError` for a flag and `SignalsError` for an envelope that cannot be used.
 */
export function fireReport(flags: FireFlags, now: Time): FireReport {
  if (flags.summary === undefined && flags.event === undefined) {
    throw new UsageError("--summary: is missing; say what happened, or give an envelope with --event");
  }
  const envelope = envelopeFrom(flags);
  const { severity } = flags;
  return {
    key: envelope.dedupe_key,
    envelope,
    severity:
      severity !== undefined
        ? oneOf("--severity", severity, SEVERITIES)
        : flags.event !== undefined
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

function envelopeFrom(flags: FireFlags): Envelope {
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
  if (flags.event !== undefined) return parseEnvelope({ ...readEnvelope(flags.event), ...given });
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

/** The object in a file, or on stdin for `-`. */
export function readEnvelope(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new SignalsError(`--event: cannot read ${file} (${codeOf(error)}); give a file, or - for stdin`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
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
  flags: { summary?: string | undefined; event?: string | undefined },
  event: Envelope | undefined,
  signal: Signal | undefined,
): Envelope | undefined {
  const base = event ?? signal?.envelope;
  if (flags.summary === undefined || base === undefined) return event;
  const { source_timestamp: _, ...undated } = base;
  return parseEnvelope({ ...(event ?? undated), summary: flags.summary });
}

/** Where the signal wants to go: what was said, else this directory and its repository. */
function hintsFrom(flags: FireFlags): Hints {
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

function repositoryFrom(text: string): string {
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
