import { type Document, type Signal, severityRank } from "./document.ts";
import type { Time } from "./time.ts";
import type { Severity } from "./document.ts";

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
};
