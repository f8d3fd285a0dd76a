import { type Document, type Severity, type Signal, severityRank } from "./document.ts";
import { sameRepository } from "./repository.ts";
import { formatDuration, type Time } from "./time.ts";

/** `config.toml` with every default filled in. Durations are milliseconds, sizes bytes. */
export interface Config {
  min_severity: Severity;
  lease: number;
  stale_after: number;
  expire_after: number;
  retain: number;
  max_signals: number;
  max_bytes: number;
  fallback_role: string;
  mute: readonly Mute[];
  monitor: readonly MonitorEntry[];
}

/** One monitor that `signals poll` runs. */
export interface MonitorEntry {
  /** A file of `monitors/` by its name, or an executable: a path that starts at config.toml, or a name on PATH. */
  run: string;
  /** How often, in milliseconds. */
  every: number;
  args: readonly string[];
  /** Where its news is at home when it does not say so itself. */
  repository?: string | undefined;
}

/** Holds what matches all of its given fields, in each of which `*` stands for any characters. */
export interface Mute {
  key?: string | undefined;
  producer?: string | undefined;
  provider?: string | undefined;
  repository?: string | undefined;
  /** When it ends; without it, when it is removed. */
  until?: Time | undefined;
  reason?: string | undefined;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const DEFAULTS: Config = {
  min_severity: "info",
  lease: 10 * MINUTE,
  stale_after: 30 * MINUTE,
  expire_after: DAY,
  retain: 7 * DAY,
  max_signals: 1_000,
  max_bytes: 4 * 1024 * 1024,
  fallback_role: "control",
  mute: [],
  monitor: [],
};

/** Why a generation is not routed now, and what would release it, in words for people. */
export interface Hold {
  reason: string;
  release: string;
}

/** The durations and limits in force. A broken first config.toml leaves the defaults, and holds every signal. */
export function configOf(doc: Document): Config {
  return doc.policy?.config ?? DEFAULTS;
}

/**
 * Whether the person's policy holds this generation. Held is not lost: it routes as soon as the policy allows.
 * `min_severity` looks at the signal's own severity, also when it has settled.
 */
export function policyHold(doc: Document, signal: Signal, now: Time): Hold | undefined {
  if (doc.policy === undefined) {
    return { reason: "config.toml has never been valid", release: "mend it: signals config shows where" };
  }
  const { mute, min_severity } = doc.policy.config;
  const muting = mute.find((candidate) => mutes(candidate, signal, now));
  if (muting) {
    const why = muting.reason ? ` (${muting.reason})` : "";
    return {
      reason: `muted${why}`,
      release: muting.until ? `it ends at ${muting.until}` : "remove the [[mute]] from config.toml",
    };
  }
  if (severityRank(signal.severity) < severityRank(min_severity)) {
    return {
      reason: `below min_severity ${min_severity}`,
      release: `a rise to ${min_severity}, or a lower min_severity in config.toml`,
    };
  }
  return undefined;
}

function mutes(mute: Mute, signal: Signal, now: Time): boolean {
  if (mute.until !== undefined && mute.until <= now) return false;
  const { repository } = signal.hints;
  return (
    matches(mute.key, signal.key) &&
    matches(mute.producer, signal.producer) &&
    matches(mute.provider, signal.envelope.provider) &&
    (mute.repository === undefined ||
      (repository !== undefined &&
        matchesRepository(mute.repository.toLowerCase(), repository.toLowerCase())))
  );
}

/** As with whole names, a pattern of two segments, such as `acme/*`, is at home on every host. */
function matchesRepository(pattern: string, repository: string): boolean {
  const [, ...path] = repository.split("/");
  const hostless = pattern.split("/").length === 2 && path.length > 1 ? path.join("/") : repository;
  return sameRepository(pattern, repository) || matches(pattern, repository) || matches(pattern, hostless);
}

/** A pattern in which `*` stands for any characters, none included; no pattern matches everything. */
function matches(pattern: string | undefined, text: string): boolean {
  if (pattern === undefined) return true;
  const [head = "", ...rest] = pattern.split("*");
  const tail = rest.pop();
  if (tail === undefined) return text === head;
  if (!text.startsWith(head)) return false;
  // Taking the earliest place for each part in turn is right for `*`, and cannot run away as a regex could.
  let at = head.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}

export const NO_SESSION = "no session";

/** The words for a hold that the router makes: nobody suitable is there. */
export function noSession(doc: Document, { hints }: Signal): Hold {
  const wanted = [
    hints.session && `session ${hints.session}`,
    hints.repository && `a session in ${hints.repository}`,
    hints.cwd && `a session in ${hints.cwd}`,
    `a session with role ${configOf(doc).fallback_role}`,
  ];
  return { reason: NO_SESSION, release: `it waits for ${wanted.filter(Boolean).join(", or ")}` };
}

/** The words for a generation that waits for one session that is away. */
export function waitsFor(doc: Document, session: string): Hold {
  return {
    reason: `waits for session ${session}`,
    release: `that session's return within ${formatDuration(configOf(doc).retain)}`,
  };
}
