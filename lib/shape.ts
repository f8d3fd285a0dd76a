import { SCHEMA, SEVERITIES, VERSION } from "./document.ts";

/**
 * What a stored document must have for the rules to work on it, checked by hand: only we write it, and a hook cannot
 * afford a schema library. What it does not name is left alone, for newer versions. Returns the path of the first
 * thing that is wrong, undefined when nothing is.
 */
export function structuralFault(value: unknown): string | undefined {
  const fault = document(value);
  if (fault !== undefined) return fault || "no object";
  const { signals } = value as { signals: { key: string }[] };
  const twice = new Set(signals.map(({ key }) => key)).size < signals.length;
  return twice ? "signals: a key is there twice" : undefined;
}

/** The path of what is wrong with a value, "" for the value itself, undefined when nothing is. */
type Check = (value: unknown) => string | undefined;

const is =
  (test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? undefined : "";
const text = is((value) => typeof value === "string");
const number = is((value) => Number.isFinite(value));
const flag = is((value) => typeof value === "boolean");
const time = is(
  (value) => typeof value === "string" && value.length === 24 && !Number.isNaN(Date.parse(value)),
);
const oneOf = (...words: readonly unknown[]) => is((value) => words.includes(value));

const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);

const list =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) return "";
    for (const [i, item] of value.entries()) {
      const fault = check(item);
      if (fault !== undefined) return `[${i}]${fault && `.${fault}`}`;
    }
    return undefined;
  };

const record =
  (fields: Record<string, Check>): Check =>
  (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "";
    for (const name in fields) {
      const fault = fields[name]?.((value as Record<string, unknown>)[name]);
      if (fault !== undefined) return `${name}${fault && !fault.startsWith("[") ? "." : ""}${fault}`;
    }
    return undefined;
  };

const severity = oneOf(...SEVERITIES);
const state = oneOf("fired", "resolved", "expired");
const signature = oneOf("unverified", "verified", "local");
const lease = record({
  token: text,
  session: text,
  generation: number,
  attempt: number,
  leased_at: time,
  lapses_at: time,
});

const signal = record({
  key: text,
  state,
  severity,
  generation: number,
  producer: text,
  signature,
  trust: signature,
  envelope: record({
    provider: text,
    source_url: text,
    summary: text,
    why_it_matters: text,
    proposed_action: text,
  }),
  worded: number,
  hints: record({ repository: optional(text), cwd: optional(text), session: optional(text) }),
  fired_at: time,
  changed_at: time,
  expires_at: time,
  reports: list(record({ provider: text, at: time, kinds: list(text) })),
  news: flag,
  follow_up: optional(text),
  assigned: optional(record({ session: text, generation: number })),
  attempt: number,
  lease: optional(lease),
  acked: optional(record({ session: text, at: time })),
  past: list(lease),
  told: list(
    record({
      session: text,
      generation: number,
      state,
      at: time,
      shown: optional(record({ generation: number, at: time })),
    }),
  ),
});

const document = record({
  schema: oneOf(SCHEMA),
  version: oneOf(VERSION),
  stamped_at: time,
  signals: list(signal),
  sessions: list(
    record({
      id: text,
      harness: text,
      cwd: text,
      work_tree: optional(text),
      repository: optional(text),
      role: optional(text),
      state: text,
      last_seen: time,
      last_hook: time,
    }),
  ),
  ended: list(record({ id: text, at: time })),
  policy: optional(
    record({
      stamp: text,
      config: record({
        min_severity: severity,
        lease: number,
        stale_after: number,
        expire_after: number,
        retain: number,
        max_signals: number,
        max_bytes: number,
        fallback_role: text,
        mute: list(record({ until: optional(time) })),
        monitor: optional(list(record({ run: text, every: number, args: list(text) }))),
      }),
    }),
  ),
  grace: optional(record({ from: time, until: time })),
});
