import { createHash } from "node:crypto";
import * as z from "zod/mini";
import type { Envelope, Hints, Origin, Severity, Signature } from "./document.ts";
import { SignalsError } from "./errors.ts";
import type { FireReport } from "./lifecycle.ts";
import { clean } from "./text.ts";
import { parseTime, type Time } from "./time.ts";

/** The limits of one envelope: a card, not a log. Anything above is refused, and nothing is stored. */
export const MAX_SUMMARY = 2_000;
export const MAX_ENTRIES = 32;
export const MAX_ENVELOPE_BYTES = 32 * 1024;
export const MAX_KEY = 512;

const text = z.string();
const required = z.string().check(z.refine((value) => value.trim() !== "", "is empty"));
const link = required.check(z.refine(isLink, "is not an http(s) or file: URL"));
const instant = z
  .string()
  .check(z.refine((value) => parseTime(value) !== undefined, "is not an RFC 3339 time with a zone"));
const few = <T extends z.ZodMiniType>(item: T) =>
  z._default(z.array(item).check(z.maxLength(MAX_ENTRIES, `has more than ${MAX_ENTRIES} entries`)), []);

const EnvelopeSchema = z.object({
  schema: z.literal("harn.triage_event.v1", "is not harn.triage_event.v1"),
  id: z.optional(text),
  provider: required,
  source_kind: required,
  source_id: z._default(text, ""),
  source_url: link,
  source_timestamp: z.optional(instant),
  received_at: z.optional(instant),
  actors: few(z.object({ kind: text, id: text, display_name: z.optional(text), url: z.optional(text) })),
  summary: required.check(z.maxLength(MAX_SUMMARY, `is longer than ${MAX_SUMMARY} characters`)),
  why_it_matters: z._default(text, ""),
  proposed_action: required,
  urgency: z._default(z.enum(["critical", "high", "normal", "low"]), "normal"),
  priority: z._default(z.enum(["p0", "p1", "p2", "p3", "p4"]), "p2"),
  confidence: z._default(z.number(), 1),
  related_refs: few(z.object({ kind: text, label: z.optional(text), url: text })),
  dedupe_key: z.optional(text),
  privacy: z._default(
    z.object({
      redacted: z._default(z.boolean(), false),
      raw_payload_retained: z._default(z.boolean(), false),
      contains_sensitive: z._default(z.boolean(), false),
      flags: z._default(z.array(text), []),
    }),
    { redacted: false, raw_payload_retained: false, contains_sensitive: false, flags: [] },
  ),
  action_intents: few(
    z
      .object({
        kind: text,
        label: text,
        target: text,
        effect: text,
        requires_approval: z.boolean(),
        default_duration: z.optional(text),
      })
      .check(
        z.refine(
          ({ effect, requires_approval }) => effect === "navigation" || requires_approval,
          "has an effect and needs requires_approval: true",
        ),
      ),
  ),
});

/**
 * A `harn.triage_event.v1` as somebody wrote it, checked, with defaults and computed fields filled in. Its raw
 * payload is dropped here, before anything could store it. Throws `SignalsError` that names the field and the value.
 */
export function parseEnvelope(input: unknown): Envelope {
  const bare = withoutPayload(input);
  const parsed = EnvelopeSchema.safeParse(bare);
  if (!parsed.success) throw refused(parsed.error.issues[0], bare);

  const card = parsed.data;
  const key = card.dedupe_key ?? provenanceKey(card);
  checkKey(key);
  const source_id = card.source_id.trim() || card.source_url.trim();
  const envelope: Envelope = {
    ...card,
    source_url: card.source_url.trim(),
    source_id,
    dedupe_key: key,
    id: eventId(key),
    privacy: { ...card.privacy, raw_payload_retained: false },
  };
  const bytes = Buffer.byteLength(JSON.stringify(envelope));
  if (bytes > MAX_ENVELOPE_BYTES) {
    throw new SignalsError(
      `envelope: refused: ${bytes} bytes without the raw payload; at most ${MAX_ENVELOPE_BYTES} are stored, shorten it`,
    );
  }
  return envelope;
}

function withoutPayload(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const { raw_payload: _, ...rest } = input as Record<string, unknown>;
  return rest;
}

/**
 * The key of a signal whose producer names none. It hashes provenance, never a delivery id, so a redelivered
 * webhook is the same signal.
 */
export function provenanceKey(source: {
  provider: string;
  source_kind: string;
  source_url: string;
  source_id?: string | undefined;
}): string {
  const provider = source.provider.trim().toLowerCase();
  const url = source.source_url.trim();
  const id = source.source_id?.trim() || url;
  const hash = sha256([provider, source.source_kind.trim().toLowerCase(), url, id].join("\n"));
  return `triage:${provider}:${hash.slice(0, 32)}`;
}

/**
 * The key that a monitor or normalizer names: of the parts that make the identity, not of a run's URL, which
 * differs from report to report. A poller and a webhook that use the same parts meet in one signal.
 */
export function identityKey(provider: string, kind: string, parts: readonly string[]): string {
  return `triage:${provider}:${sha256(JSON.stringify([kind, ...parts])).slice(0, 32)}`;
}

/** Throws `SignalsError` for a key that cannot name a signal. */
export function checkKey(key: string): void {
  const fault =
    key.trim() === ""
      ? "is empty"
      : key.length > MAX_KEY
        ? `has ${key.length} characters, at most ${MAX_KEY} are allowed`
        : /\p{Cc}/u.test(key)
          ? "holds a control character"
          : undefined;
  if (fault) throw new SignalsError(`key: refused: ${show(key)} ${fault}; choose another`);
}

/** Whether a text is a link that a report may carry. */
export function isLink(text: string): boolean {
  return /^(https?|file):/i.test(text.trim()) && URL.canParse(text.trim());
}

/** The severity of a report that states none. */
export function severityOf(urgency: Envelope["urgency"]): Severity {
  return urgency === "critical" ? "urgent" : urgency === "high" ? "warning" : "info";
}

/** What a producer says around an envelope. */
export interface Provenance {
  producer: string;
  signature: Signature;
  origin: Origin;
  severity?: Severity | undefined;
  hints?: Hints;
  expires_at?: Time | undefined;
  one_shot?: boolean;
}

/**
 * A fire report around an envelope that somebody else made. An unverified one gets a key of its own, so that it
 * cannot squat another producer's.
 */
export function reportOf(envelope: Envelope, provenance: Provenance): FireReport {
  const { severity = severityOf(envelope.urgency), hints = {}, ...rest } = provenance;
  const own = provenance.signature === "unverified" ? "envelope:" : "";
  const key = own + envelope.dedupe_key;
  checkKey(key);
  return { ...rest, key, envelope: { ...envelope, dedupe_key: key, id: eventId(key) }, severity, hints };
}

function eventId(key: string): string {
  return `triage_evt_${sha256(key).slice(0, 24)}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** One line for the first thing that is wrong: field, value, way out. */
function refused(issue: z.core.$ZodIssue | undefined, input: unknown): SignalsError {
  const path = issue?.path ?? [];
  const name = path.reduce<string>(
    (name, part) =>
      typeof part === "number" ? `${name}[${part}]` : name ? `${name}.${String(part)}` : String(part),
    "",
  );
  const value = path.reduce<unknown>(
    (value, part) => (value as Record<PropertyKey, unknown> | undefined)?.[part],
    input,
  );
  const what = value === undefined && path.length > 0 ? "is missing" : wording(issue);
  const shown = value === undefined || path.length === 0 ? "" : `: ${show(value)}`;
  return new SignalsError(`envelope: ${name || "it"} ${what}${shown}; nothing was stored, correct it`);
}

/** Our checks bring their own words; for the library's, which have none here, these. */
function wording(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === "invalid_type")
    return `is not ${/^[aeo]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
  if (issue?.code === "invalid_value" && issue.values.length > 1)
    return `is not one of ${issue.values.join(", ")}`;
  return issue?.message ?? "is not valid";
}

/** Only named when it has parts: whoever nests it deep enough could make printing it fail. */
function show(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  const chars = Array.from(clean(value));
  return JSON.stringify(chars.length > 80 ? `${chars.slice(0, 80).join("")}…` : chars.join(""));
}
