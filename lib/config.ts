import { parse, TomlDate, TomlError, type TomlTable } from "smol-toml";
import * as z from "zod/mini";
import { SEVERITIES } from "./document.ts";
import { messageOf, SignalsError } from "./errors.ts";
import { type Config, DEFAULTS } from "./policy.ts";
import { repositoryOf } from "./repository.ts";
import { clean, hasForbidden, nearest } from "./text.ts";
import { formatDuration, parseDuration, parseTime, type Time, timeOf } from "./time.ts";

const LONGEST_FILE = 64 * 1024;
const LONGEST_TEXT = 200;
const LONGEST_SHOWN = 80;
const BYTE_UNITS: Record<string, number> = { GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 };

// The messages go on from the value: `"10 minutes"`, then `is not a duration; …`.
const POSITIVE = z.gt(0, "is not more than zero; write a larger one");
const NO_BYTES = "is not a size; write a whole number of bytes, or one with KiB, MiB or GiB, such as 4MiB";
const NO_TIME = "is not a point in time; write date, time and zone, such as 2026-12-01T08:00:00Z";
const NO_REPOSITORY = "is no repository; write OWNER/NAME or HOST/OWNER/NAME";
const NO_ZONE = "names no time zone; add Z for UTC, or an offset such as +02:00";

const duration = z.pipe(
  z.transform((value) => (typeof value === "string" ? parseDuration(value) : undefined) ?? Number.NaN),
  z
    .number("is not a duration; write a whole number and a unit, such as 10m")
    .check(POSITIVE, z.lte(3650 * 86_400_000, "is too long; write at most 3650d")),
);
const instant = z.transform((value, context): Time => {
  if (value instanceof TomlDate && !value.isLocal()) return timeOf(value.getTime());
  const given = value instanceof TomlDate ? value.toISOString() : value;
  const text = typeof given === "string" ? given : "";
  const time = parseTime(text);
  if (time !== undefined) return time;
  const message = parseTime(`${text}Z`) ? NO_ZONE : NO_TIME;
  context.issues.push({ code: "custom", input: value, message });
  return z.NEVER;
});
const words = z.string('is not text; write it in quotes, such as "acme"').check(
  z.refine((text) => text.trim() !== "", "is empty; write something, or leave the line out"),
  z.refine((text) => !hasForbidden(text), "holds line breaks or invisible characters; leave them out"),
  z.maxLength(LONGEST_TEXT, `is too long; write at most ${LONGEST_TEXT} characters`),
);

const targets = {
  key: z.optional(words),
  producer: z.optional(words),
  provider: z.optional(words),
  repository: z.optional(words),
};
const muteFields = { ...targets, until: z.optional(instant), reason: z.optional(words) };
const mute = z.strictObject(muteFields, "is not a table; begin each entry with the line [[mute]]").check(
  z.refine((entry) => Object.keys(targets).some((name) => name in entry), {
    error: `names nothing to mute; give at least one of ${Object.keys(targets).join(", ")}`,
    // A mistyped name is the better thing to report.
    when: ({ issues }) => issues.length === 0,
  }),
);

/** Well within the week after which what a monitor knows is forgotten. */
const LONGEST_EVERY = 86_400_000;

const monitorFields = {
  run: words,
  every: z._default(
    z.pipe(
      duration,
      z
        .number()
        .check(
          z.gte(1_000, "is too short; write at least 1s"),
          z.lte(LONGEST_EVERY, `is too long; write at most ${formatDuration(LONGEST_EVERY)}`),
        ),
    ),
    60_000,
  ),
  // They go to a program as they are, and may hold anything that one can be given.
  args: z._default(
    z.array(
      z
        .string('is not text; write it in quotes, such as "80"')
        .check(z.refine((text) => !text.includes("\0"), "holds a zero byte; leave it out")),
      'is not a list; write ["acme/api"]',
    ),
    [],
  ),
  repository: z.optional(
    words.check(
      z.refine((text) => /^[^\s/]+(\/[^\s/]+)+$/.test(repositoryOf(text) ?? text), { error: NO_REPOSITORY }),
    ),
  ),
};
const monitor = z.strictObject(monitorFields, "is not a table; begin each entry with the line [[monitor]]");

const settings = {
  min_severity: z.optional(z.enum(SEVERITIES, `is not a severity; write one of ${SEVERITIES.join(", ")}`)),
  lease: z.optional(duration),
  stale_after: z.optional(duration),
  expire_after: z.optional(duration),
  retain: z.optional(duration),
  max_signals: z.optional(
    z
      .int("is not a whole number; write one, such as 1000")
      .check(POSITIVE, z.lte(100_000, "is too many; write at most 100000")),
  ),
  max_bytes: z.optional(
    z.pipe(
      z.transform(parseBytes),
      z.int(NO_BYTES).check(POSITIVE, z.lte(1024 ** 3, "is too large; write at most 1GiB")),
    ),
  ),
  fallback_role: z.optional(words),
  mute: z.optional(z.array(mute, "is not a list of tables; begin each entry with the line [[mute]]")),
  monitor: z.optional(
    z.array(monitor, "is not a list of tables; begin each entry with the line [[monitor]]"),
  ),
};
/** The fields of the entries of a list, by its name. */
const entryFields: Record<string, object> = { mute: muteFields, monitor: monitorFields };
const schema = z.strictObject(settings);

type Path = readonly PropertyKey[];

/** By name, each setting and where it comes from. */
export type Values = Record<string, { value: unknown; from: string }>;

/**
 * The configuration that `text`, the content of `file`, asks for, with every default filled in.
 * Throws a `SignalsError` of one line, `FILE:LINE: KEY: …; what to do`, about the first fault.
 */
export function parseConfig(text: string, file: string): Config {
  return read(text, file).config;
}

/**
 * Every setting as a person would write it, and where it comes from: `default` or `FILE:LINE`. Each mute and each
 * monitor is listed by itself, as `mute[0]` and on. `text` is undefined when there is no file. Throws what
 * `parseConfig` throws.
 */
export function describeConfig(text: string | undefined, file: string): { values: Values; config: Config } {
  const { config, doc } = read(text ?? "", file);
  const values = valuesOf(config, (path) => {
    const given = path.reduce(inside, doc) !== undefined;
    return given ? at(file, firstOf(text ?? "", [{ path }]).line) : "default";
  });
  return { values, config };
}

/** The settings of `config` as a person would write them, each with the source that `from` names for its path. */
export function valuesOf(config: Config, from: (path: Path) => string): Values {
  const values = Object.entries(config).flatMap(([name, value]): [Path, unknown][] => {
    if (name === "max_bytes") return [[[name], formatBytes(value)]];
    if (name in entryFields && value.length > 0)
      return (value as object[]).map((entry, index) => [[name, index], entryShown(entry)]);
    const isDuration = settings[name as keyof Config]?.def.innerType === duration;
    return [[[name], isDuration ? formatDuration(value) : value]];
  });
  return Object.fromEntries(values.map(([path, value]) => [nameOf(path), { value, from: from(path) }]));
}

function entryShown(entry: { every?: number }): unknown {
  return entry.every === undefined ? entry : { ...entry, every: formatDuration(entry.every) };
}

function read(text: string, file: string): { config: Config; doc: TomlTable } {
  const doc = parseToml(text, file);
  const parsed = schema.safeParse(doc);
  const config: Config = { ...DEFAULTS, ...parsed.data };
  const faults = parsed.success
    ? faultsAcross(config, doc)
    : parsed.error.issues.flatMap((issue) => faultsOf(issue, doc));
  if (faults.length === 0) return { config, doc };

  const { line, path, what } = firstOf(text, faults);
  throw new SignalsError(`${at(file, line)}: ${clean(`${nameOf(path)}: ${what}`)}`);
}

function parseToml(text: string, file: string): TomlTable {
  if (text.length > LONGEST_FILE) {
    throw new SignalsError(`${at(file, 1)}: the file is too long; keep it to ${LONGEST_FILE} characters`);
  }
  try {
    return parse(text);
  } catch (error) {
    // Behind the first line comes the code around the place.
    const [what = ""] = messageOf(error).replace("Invalid TOML document: ", "").split("\n");
    const line = error instanceof TomlError ? error.line : 1;
    throw new SignalsError(`${at(file, line)}: not valid TOML: ${shorten(what)}; correct this line`);
  }
}

interface Fault {
  path: Path;
  what: string;
}

function faultsOf(issue: z.core.$ZodIssue, doc: TomlTable): Fault[] {
  const { path } = issue;
  if (issue.code !== "unrecognized_keys") {
    const value = path.reduce(inside, doc);
    if (value !== undefined) return [{ path, what: `${show(value)} ${issue.message}` }];
    // What is not there is nowhere in the text.
    return [{ path: path.slice(0, -1), what: `a table lacks ${String(path.at(-1))}; add it` }];
  }
  const known = Object.keys(entryFields[String(path[0])] ?? settings);
  return issue.keys.map((key) => {
    const meant = nearest(key.slice(0, LONGEST_SHOWN), known);
    const advice = meant ? `did you mean ${meant}?` : `the known ones are ${known.join(", ")}`;
    return { path: [...path, key], what: `unknown key; ${advice}` };
  });
}

function faultsAcross(config: Config, doc: TomlTable): Fault[] {
  if (config.lease < config.stale_after) return [];
  const [lease, stale] = [formatDuration(config.lease), formatDuration(config.stale_after)];
  return "lease" in doc
    ? [{ path: ["lease"], what: `${lease} is not shorter than stale_after, ${stale}; write a shorter one` }]
    : [{ path: ["stale_after"], what: `${stale} is not longer than lease, ${lease}; write a longer one` }];
}

/** What is at `key` in a table or list of the document. Its tables have no prototype, so any key is safe. */
function inside(value: unknown, key: PropertyKey): unknown {
  return typeof value === "object" ? (value as Record<PropertyKey, unknown>)[key] : undefined;
}

// A comment, the four kinds of string, and the characters that open, close or end something.
const TOKEN =
  /#[^\n]*|"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|[[\]{}\n]/g;

/**
 * Of items whose paths are in this valid TOML text, the one that is written first, with the 1-based line where its
 * statement begins. The parser does not tell lines, but it can read the text up to the end of any statement.
 */
function firstOf<T extends { path: Path }>(text: string, items: readonly T[]): T & { line: number } {
  const statements: { line: number; end: number }[] = [];
  let [line, next, depth] = [1, 1, 0];
  for (const { 0: token, index } of `${text}\n`.matchAll(TOKEN)) {
    next += token.split("\n").length - 1;
    depth += Number(/^[[{]$/.test(token)) - Number(/^[\]}]$/.test(token));
    if (token !== "\n" || depth > 0) continue;
    statements.push({ line, end: index + 1 });
    line = next;
  }
  const upTo = (statement: number) => {
    const doc = parse(text.slice(0, statements[statement]?.end));
    return items.find(({ path }) => path.reduce(inside, doc) !== undefined);
  };
  let [low, high] = [0, statements.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (upTo(middle)) high = middle;
    else low = middle + 1;
  }
  return { ...(upTo(low) as T), line: statements[low]?.line ?? 1 };
}

function at(file: string, line: number): string {
  return `${clean(file)}:${line}`;
}

/** `mute[0].until`: entries count from 0, and a key that needs quotes has them. */
function nameOf(path: Path): string {
  const quoted = (key: PropertyKey) => (/^[\w-]{1,80}$/.test(String(key)) ? String(key) : show(key));
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${quoted(key)}`))
    .join("")
    .slice(1);
}

/** A value from the file in a message: cleaned, short, and only named when it has parts. */
function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(value));
  if (value instanceof TomlDate) return value.toISOString().replace(".000", "");
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a table" : String(value);
}

function shorten(text: string): string {
  const chars = Array.from(clean(text));
  return chars.length > LONGEST_SHOWN ? `${chars.slice(0, LONGEST_SHOWN).join("")}…` : chars.join("");
}

/** A number of bytes; anything else that is no size is left to be refused. */
function parseBytes(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const [, size, unit = "B"] = /^(\d{1,12}) ?(B|KiB|MiB|GiB)?$/.exec(value.trim()) ?? [];
  return size && Number(size) * (BYTE_UNITS[unit] ?? 1);
}

/** Bytes with the largest unit that divides them, or as a plain number. */
function formatBytes(size: number): string | number {
  const [unit, unitSize] = Object.entries(BYTE_UNITS).find(([, unitSize]) => size % unitSize === 0) ?? [];
  return unit && unitSize ? `${size / unitSize}${unit}` : size;
}
