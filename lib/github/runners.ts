import * as z from "zod/mini";
import type { Status, Verdict } from "../monitor/verdict.ts";

/** A self-hosted runner, as it is listed. Old servers leave some of it out. */
export const RunnerSchema = z.object({
  id: z.number(),
  name: z.string(),
  /** `online` or `offline`, by its last contact. */
  status: z.string(),
  busy: z.optional(z.boolean()),
  /** It takes one job, and is gone. */
  ephemeral: z.optional(z.boolean()),
  labels: z._default(z.array(z.object({ name: z.string(), type: z.optional(z.string()) })), []),
});
export type Runner = z.infer<typeof RunnerSchema>;

/** A job of a workflow run. */
export const JobSchema = z.object({
  id: z.number(),
  name: z.string(),
  status: z.string(),
  /** What its `runs-on` asks for. */
  labels: z._default(z.array(z.string()), []),
  created_at: z.optional(z.string()),
  /** The same while it is queued; old servers know no `created_at`. */
  started_at: z.optional(z.nullable(z.string())),
  html_url: z.optional(z.nullable(z.string())),
});
export type Job = z.infer<typeof JobSchema>;

/** Whose runners they are. */
export interface Owner {
  /** `acme`, or `acme/api`. */
  name: string;
  /** The same with its server, in lower case: two owners may have a pool of the same labels. */
  scope: string;
  /** Where the runners are set up. */
  url: string;
}

/** What was read. */
export interface Seen {
  /** All runners of the owner. */
  runners: readonly Runner[];
  /** The jobs that have been queued for too long. */
  late: readonly Job[];
  /** There may be more such jobs. */
  isPart?: boolean;
  /** How long is too long, where it is not the usual: another patience finds other pools red. */
  patience?: string | undefined;
}

/** Labels that say what a runner is by itself; all others were given to it. */
const READ_ONLY = ["self-hosted", "linux", "windows", "macos", "x64", "x86", "arm", "arm64"];

/** Labels as the server compares them: whatever their case and order, each once. */
export function labelSet(labels: readonly string[]): string[] {
  return [...new Set(labels.map((label) => label.trim().toLowerCase()))].sort();
}

/**
 * One verdict for each pool, which is the set of labels that somebody gave to a runner or that a late job asks for, and
 * one for each runner without such labels; with `watched`, only for the pool of these labels. A pool is red when none
 * of its runners is online or busy, or when a job has waited for it for too long: one that seems online may take none.
 * Ephemeral runners make no pool: the list keeps them when they are gone.
 */
export function runnerVerdicts(owner: Owner, seen: Seen, watched?: readonly string[]): Verdict[] {
  if (watched) {
    const labels = labelSet(watched);
    return [poolVerdict(owner, labels, seen, (job) => hasAll(job.labels, labels), true)];
  }
  const late = seen.late.filter((job) => isForThese(job, seen.runners));
  const lasting = seen.runners.filter(isLasting);
  const ofRunners = lasting.map(poolOfRunner).filter((labels) => labels.length > 0);
  const pools = new Map([...ofRunners, ...late.map(poolOfJob)].map((labels) => [labels.join("\n"), labels]));
  return [
    ...[...pools].map(([id, labels]) =>
      poolVerdict(owner, labels, { ...seen, late }, (job) => poolOfJob(job).join("\n") === id),
    ),
    ...lasting
      .filter((runner) => poolOfRunner(runner).length === 0)
      .map((runner) => runnerVerdict(owner, runner, lasting)),
  ];
}

function poolVerdict(
  { name, scope, url }: Owner,
  labels: readonly string[],
  { runners, late, isPart = false, patience }: Seen,
  isForIt: (job: Job) => boolean,
  isWatched = false,
): Verdict {
  const registered = runners.filter((runner) => hasAll(namesOf(runner), labels));
  const lasting = registered.filter(isLasting);
  const members = lasting.length > 0 ? lasting : registered;
  const which =
    labels.length > 0 ? ` with the label${labels.length > 1 ? "s" : ""} ${labels.join(", ")}` : "";
  const count =
    members.length > 0
      ? `${members.filter(isAlive).length} of ${members.length} runners${which} online`
      : `no runner${which} is registered`;
  const [job, ...more] = late.filter(isForIt).sort((a, b) => (queuedAt(a) < queuedAt(b) ? -1 : 1));
  const others = more.length > 0 ? `, and ${more.length} more` : "";
  const waits = job && `the job ${job.name} is queued for a runner${which} since ${queuedAt(job)}${others}`;
  const state = stateOfPool(registered, isWatched);
  const isDown = state === "WARNING";
  return {
    status: waits ? "WARNING" : state === "OK" && isPart ? "UNKNOWN" : state,
    // Each asks for something else, and must not end what the other said.
    kind: isWatched ? "runner_labels" : "runner_pool",
    identity: [scope, ...labels, ...(patience === undefined ? [] : [`queued for ${patience}`])],
    summary: `${name}: ${waits && isDown ? `${count}; ${waits}` : (waits ?? count)}`,
    source_url: (!isDown && job?.html_url) || url,
  };
}

/** A pool that nobody has a runner in is only red for whoever asks for it: ephemeral ones come and go. */
function stateOfPool(registered: readonly Runner[], isWatched: boolean): Status {
  const lasting = registered.filter(isLasting);
  if (lasting.length > 0) return stateOf(lasting);
  if (registered.length === 0) return isWatched ? "WARNING" : "UNKNOWN";
  return registered.some(isAlive) ? "OK" : "UNKNOWN";
}

/** A runner that no label tells from others stands for itself, under whichever number it is registered. */
function runnerVerdict({ name, scope, url }: Owner, runner: Runner, lasting: readonly Runner[]): Verdict {
  const status = stateOf(lasting.filter((other) => other.name === runner.name));
  const says = { OK: "online", WARNING: "offline" }[status as string] ?? runner.status;
  return {
    status,
    kind: "runner",
    identity: [scope, String(runner.id)],
    summary: `${name}: the runner ${runner.name} is ${says}`,
    source_url: url,
  };
}

function stateOf(runners: readonly Runner[]): Status {
  if (runners.some(isAlive)) return "OK";
  return runners.every(({ status }) => status === "offline") ? "WARNING" : "UNKNOWN";
}

/** One that works is there, even when the list says that it is offline. */
function isAlive({ status, busy }: Runner): boolean {
  return status === "online" || busy === true;
}

function isLasting({ ephemeral }: Runner): boolean {
  return ephemeral !== true;
}

function namesOf({ labels }: Runner): string[] {
  return labels.map(({ name }) => name);
}

function poolOfRunner({ labels }: Runner): string[] {
  const given = labels.filter(({ type = "custom" }) => type === "custom").map(({ name }) => name);
  return labelSet(given).filter((label) => !READ_ONLY.includes(label));
}

function poolOfJob({ labels }: Job): string[] {
  return labelSet(labels).filter((label) => !READ_ONLY.includes(label));
}

/** A job of the server's own machines, such as `ubuntu-latest`, waits for none of these; one that asks for nothing neither. */
function isForThese({ labels }: Job, runners: readonly Runner[]): boolean {
  if (labelSet(labels).includes("self-hosted")) return true;
  return labels.length > 0 && runners.some((runner) => hasAll(namesOf(runner), labels));
}

function hasAll(labels: readonly string[], wanted: readonly string[]): boolean {
  const there = labelSet(labels);
  return labelSet(wanted).every((label) => there.includes(label));
}

/** Since when a job has been queued. */
export function queuedAt({ created_at, started_at }: Job): string {
  return created_at ?? started_at ?? "";
}
