import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { parseConfig } from "../config.ts";
import { type Document, emptyDocument, findSignal, ORIGINS, SEVERITIES } from "../document.ts";
import { home } from "../entries.ts";
import { parseEnvelope } from "../envelope.ts";
import { messageOf } from "../errors.ts";
import { ack, ackAll } from "../lease.ts";
import { type FireReport, fire, type ResolveReport, resolve } from "../lifecycle.ts";
import { DEFAULTS } from "../policy.ts";
import { noteRecalled, type Recall } from "../recall.ts";
import { renderReminders } from "../render.ts";
import { type CheckIn, endSession } from "../session.ts";
import { parseDuration, plus, type Time } from "../time.ts";
import { type Applied, apply, type Transaction } from "../transaction.ts";
import { deliveryOf } from "../view.ts";

const START: Time = "2026-11-30T09:00:00.000Z";
const SIGNATURES = ["unverified", "verified", "local"] as const;

const Place = {
  repository: z.string().optional(),
  cwd: z.string().optional(),
  session: z.string().optional(),
};
const Expectation = z.strictObject({
  outcome: z.string().optional(),
  /** A part of the refusal's message. */
  refused: z.string().optional(),
  /**
   * What the session is shown, in order: `key#generation`, with ` attempt 2` behind it when sent again, and ` again`
   * when it was told before and has lost it.
   */
  told: z.array(z.string()).optional(),
  waiting: z.number().optional(),
  /** How many more it was told before, and is not shown again. */
  omitted: z.number().optional(),
  /** Per key, where its news stands: `STATE#GENERATION STATUS`, then the session or the reason; or `gone`. */
  signals: z.record(z.string(), z.string()).optional(),
  /** Per session: its state, or `gone`. */
  sessions: z.record(z.string(), z.string()).optional(),
  /** Parts that the text shown to the model must hold. */
  shows: z.array(z.string()).optional(),
});

const Step = z.strictObject({
  /** Time since the beginning, as a duration. */
  at: z.string(),
  /** What the step is about, for whoever reads along. */
  note: z.string().optional(),
  // One of these: an event of a session,
  start: z.string().optional(),
  prompt: z.string().optional(),
  tool: z.string().optional(),
  stop: z.string().optional(),
  subagent: z.string().optional(),
  end: z.string().optional(),
  // a report,
  fire: z
    .strictObject({
      key: z.string(),
      severity: z.enum(SEVERITIES).optional(),
      summary: z.string().optional(),
      provider: z.string().optional(),
      producer: z.string().optional(),
      signature: z.enum(SIGNATURES).optional(),
      origin: z.enum(ORIGINS).optional(),
      source_time: z.string().optional(),
      expires: z.string().optional(),
      one_shot: z.boolean().optional(),
      ...Place,
    })
    .optional(),
  resolve: z
    .strictObject({
      key: z.string(),
      summary: z.string().optional(),
      provider: z.string().optional(),
      producer: z.string().optional(),
      signature: z.enum(SIGNATURES).optional(),
      source_time: z.string().optional(),
    })
    .optional(),
  // an ack that comes late: `key#generation`, with ` attempt 1` for one that is not the last,
  ack: z.string().optional(),
  // another config.toml, as TOML,
  config: z.string().optional(),
  // or nothing but time.
  wait: z.literal(true).optional(),

  /** With an event of a session: where it is, and what the client says of it. It stays so until said otherwise. */
  where: z
    .strictObject({
      repository: z.string().optional(),
      cwd: z.string().optional(),
      work_tree: z.string().optional(),
      role: z.string().optional(),
      harness: z.string().optional(),
      attended: z.boolean().optional(),
    })
    .optional(),
  /** With a start: that it is none, but comes after one of these. */
  source: z.enum(["compact", "resume"]).optional(),
  /** The hook is killed after it has leased and before it prints. */
  dies: z.literal(true).optional(),
  /** The session expects the end of background work of its own. */
  waiting_for_work: z.literal(true).optional(),
  expect: Expectation.optional(),
});
type Step = z.infer<typeof Step>;

const Scenario = z.strictObject({
  /** One sentence: what this shows. */
  shows: z.string().regex(/^[A-Z].*\.$/),
  /** The rows of the rules it walks, such as `lifecycle: escalated`. */
  walks: z.array(z.string()).min(1),
  config: z.string().optional(),
  steps: z.array(Step).min(2),
});

/** One scenario, as its file tells it. */
export type Scenario = z.infer<typeof Scenario> & { name: string };

/** One step, played. */
export interface Played {
  at: string;
  note: string | undefined;
  /** What happened, in one line. */
  happened: string;
  /** What the model was shown, "" when nothing. */
  shown: string;
  /** What was expected and did not come. */
  problems: string[];
}

/** All scenarios, by name. Throws an error that names the file and the place of what does not fit the format. */
export function loadScenarios(): Scenario[] {
  const folder = join(home(), "fixtures", "scenarios");
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  return files.sort().map((file) => {
    const name = basename(file, ".yaml");
    const parsed = Scenario.safeParse(parse(readFileSync(join(folder, file), "utf8")));
    if (!parsed.success) throw new Error(`fixtures/scenarios/${file}: ${z.prettifyError(parsed.error)}`);
    return { ...parsed.data, name };
  });
}

/** Plays a scenario against the rules, with a virtual clock: each step is one transaction, as a process would run it. */
export function* play(scenario: Scenario): Generator<Played> {
  let doc: Document = withPolicy(emptyDocument(START), scenario.config);
  const tokens = new Map<string, string>();
  const places = new Map<string, Step["where"]>();
  let count = 0;
  const newToken = () => `token-${++count}`;

  for (const step of scenario.steps) {
    const now = plus(START, duration(step.at));
    if (step.config !== undefined) doc = withPolicy(doc, step.config);

    const session = sessionOf(step);
    if (session && step.where) places.set(session, { ...places.get(session), ...step.where });
    const where = session ? places.get(session) : undefined;

    let applied: Applied<string> | undefined;
    let refusal = "";
    try {
      applied = apply(doc, transactionOf(step, where, tokens, now), { heartbeats: [], newToken }, now);
      doc = applied.doc;
    } catch (error) {
      refusal = messageOf(error);
    }
    const { reminders = [], recalled = [], waiting = 0, omitted = 0, value } = applied ?? {};
    for (const { signal, lease } of reminders) {
      tokens.set(`${signal.key}#${lease.generation}`, lease.token);
      tokens.set(`${signal.key}#${lease.generation} attempt ${lease.attempt}`, lease.token);
    }
    const shown = step.dies ? "" : renderReminders([...reminders, ...recalled], waiting, omitted);
    if (shown) {
      // The hook's second transaction.
      const printed = reminders.map(({ lease }) => lease.token);
      doc = apply(doc, acking(printed, recalled), { heartbeats: [], newToken }, now).doc;
    }
    const told = [
      ...reminders.map(
        ({ signal, lease }) =>
          `${signal.key}#${lease.generation}${lease.attempt > 1 ? ` attempt ${lease.attempt}` : ""}`,
      ),
      ...recalled.map(({ signal }) => `${signal.key}#${signal.generation} again`),
    ];
    const result = {
      doc,
      now,
      outcome: value,
      refusal,
      told: step.dies ? [] : told,
      waiting,
      omitted,
      shown,
    };
    yield {
      at: step.at,
      note: step.note,
      happened: describe(step, result),
      shown,
      problems: compare(step.expect ?? {}, result),
    };
  }
}

interface Outcome {
  doc: Document;
  now: Time;
  outcome: string | undefined;
  refusal: string;
  told: string[];
  waiting: number;
  omitted: number;
  shown: string;
}

function acking(tokens: readonly string[], recalled: readonly Recall[]): Transaction<undefined> {
  return { change: (doc, now) => [noteRecalled(ackAll(doc, tokens, now), recalled), undefined] };
}

function transactionOf(
  step: Step,
  where: Step["where"],
  tokens: ReadonlyMap<string, string>,
  now: Time,
): Transaction<string> {
  const session = sessionOf(step);
  if (step.fire) {
    const report = fireReportOf(step.fire, now);
    return { change: (doc, now) => fire(doc, report, now) };
  }
  if (step.resolve) {
    const report = resolveReportOf(step.resolve);
    return { change: (doc, now) => resolve(doc, report, now).slice(0, 2) as [Document, string] };
  }
  if (step.ack !== undefined) {
    const token = tokens.get(step.ack) ?? "no such token";
    return {
      change: (doc, now) => {
        const [next, { outcome }] = ack(doc, token, now);
        return [next, outcome];
      },
    };
  }
  if (step.end !== undefined) return { change: (doc, now) => [endSession(doc, session ?? "", now), "left"] };
  if (session === undefined) return {};
  const lease = step.stop ? "urgent" : "any";
  return { checkIn: checkInOf(step, session, where), lease, recall: step.source };
}

function checkInOf(step: Step, id: string, where: Step["where"]): CheckIn {
  // A compaction comes in the middle of a turn.
  const idle = (step.start !== undefined && step.source !== "compact") || step.stop !== undefined;
  return {
    id,
    harness: "claude-code",
    cwd: `/home/ada/${id}`,
    ...where,
    state: step.waiting_for_work ? "waiting" : idle ? "idle" : "busy",
    registers: step.start !== undefined || step.prompt !== undefined,
    subagent: step.subagent !== undefined,
  };
}

function sessionOf({ start, prompt, tool, stop, subagent, end }: Step): string | undefined {
  return start ?? prompt ?? tool ?? stop ?? subagent ?? end;
}

function fireReportOf(given: NonNullable<Step["fire"]>, now: Time): FireReport {
  const { key, severity = "warning", producer = "monitors/example", signature = "local" } = given;
  const { repository, cwd, session, origin = "monitor", one_shot } = given;
  return {
    key,
    severity,
    producer,
    signature,
    origin,
    one_shot,
    envelope: envelopeOf(given),
    hints: { repository, cwd, session },
    expires_at: given.expires === undefined ? undefined : plus(now, duration(given.expires)),
  };
}

function resolveReportOf(given: NonNullable<Step["resolve"]>): ResolveReport {
  const { key, producer = "monitors/example", signature = "local", summary, source_time } = given;
  // A report with nothing to say brings no text.
  const envelope = summary === undefined && source_time === undefined ? undefined : envelopeOf(given);
  return { key, producer, signature, origin: "monitor", envelope };
}

function envelopeOf(given: {
  key: string;
  summary?: string | undefined;
  provider?: string | undefined;
  source_time?: string | undefined;
}) {
  return parseEnvelope({
    schema: "harn.triage_event.v1",
    provider: given.provider ?? "example",
    source_kind: "condition",
    source_url: "https://ci.example.test/acme/api",
    source_timestamp: given.source_time === undefined ? undefined : plus(START, duration(given.source_time)),
    summary: given.summary ?? `${given.key} is failing`,
    why_it_matters: "Work on top of it may be building on something broken.",
    proposed_action: "Check whether a change of yours caused it.",
    dedupe_key: given.key,
  });
}

function compare(expected: z.infer<typeof Expectation>, result: Outcome): string[] {
  const problems: string[] = [];
  const check = (what: string, want: unknown, got: unknown) => {
    if (JSON.stringify(want) !== JSON.stringify(got)) {
      problems.push(`${what}: expected ${JSON.stringify(want)}, got ${JSON.stringify(got)}`);
    }
  };
  if (result.refusal && expected.refused === undefined) problems.push(`refused: ${result.refusal}`);
  if (expected.refused !== undefined && !result.refusal.includes(expected.refused)) {
    problems.push(`expected a refusal with "${expected.refused}", got "${result.refusal}"`);
  }
  if (expected.outcome !== undefined) check("outcome", expected.outcome, result.outcome);
  if (expected.told !== undefined) check("told", expected.told, result.told);
  if (expected.waiting !== undefined) check("waiting", expected.waiting, result.waiting);
  if (expected.omitted !== undefined) check("omitted", expected.omitted, result.omitted);
  for (const [key, want] of Object.entries(expected.signals ?? {})) check(key, want, standing(result, key));
  for (const [id, want] of Object.entries(expected.sessions ?? {})) {
    check(id, want, result.doc.sessions.find((session) => session.id === id)?.state ?? "gone");
  }
  for (const part of expected.shows ?? []) {
    if (!result.shown.includes(part)) problems.push(`the text shown lacks "${part}":\n${result.shown}`);
  }
  return problems;
}

/** `fired#1 owed to a`, `resolved#2 delivered to a`, `fired#1 held: muted`, … or `gone`. */
function standing({ doc, now }: Outcome, key: string): string {
  const signal = findSignal(doc, key);
  if (signal === undefined) return "gone";
  const { status, session, reason } = deliveryOf(doc, signal, now);
  const who = session === undefined ? "" : ` to ${session}`;
  return `${signal.state}#${signal.generation} ${status}${who}${reason === undefined ? "" : `: ${reason}`}`;
}

function describe(step: Step, result: Outcome): string {
  if (result.refusal) return result.refusal;
  const { fire, resolve, ack } = step;
  if (fire) return `${fire.producer ?? "a monitor"} fires ${fire.key}: ${result.outcome}`;
  if (resolve) return `${resolve.producer ?? "a monitor"} resolves ${resolve.key}: ${result.outcome}`;
  if (ack !== undefined) return `the ack of ${ack} arrives: ${result.outcome}`;
  if (step.config !== undefined) return "config.toml is changed";
  const session = sessionOf(step);
  if (session === undefined) return "time passes";
  const event = (["start", "prompt", "tool", "stop", "subagent", "end"] as const).find((name) => step[name]);
  const after = step.source ? ` after a ${step.source === "compact" ? "compaction" : "resumption"}` : "";
  const told = result.told.length > 0 ? `is told ${result.told.join(", ")}` : "is told nothing";
  return `session ${session}, ${event}${after}: ${step.dies ? "the hook dies before it prints" : told}`;
}

function withPolicy(doc: Document, toml: string | undefined): Document {
  const config = toml === undefined ? DEFAULTS : parseConfig(toml, "config.toml");
  return { ...doc, policy: { stamp: toml ?? "none", config } };
}

function duration(text: string): number {
  const ms = text === "0" ? 0 : parseDuration(text);
  if (ms === undefined) throw new Error(`${text}: no duration; write 0, 90s, 10m, …`);
  return ms;
}
