import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Hints } from "../document.ts";
import { attempt, cannotWrite } from "../errors.ts";
import { replaceFile } from "../file.ts";
import { checkDirectory } from "../inbox.ts";
import { clean, shellWord } from "../text.ts";
import { between, type Time } from "../time.ts";
import { MONITOR_FLAGS } from "./flags.ts";
import type { Track } from "./steady.ts";
import type { Status } from "./verdict.ts";

/** Which monitor this is: a program, what it is asked, and from where. */
export interface Watch {
  /** The name of its file, such as `github-ci`. */
  name: string;
  /** Its arguments without those that do not change what it watches. */
  args: readonly string[];
  cwd: string;
}

/** What a monitor keeps from poll to poll, one file each: it survives restarts, and one-shot runs from cron go on with it. */
export interface State extends Watch {
  /** How often it is run, when it knows: milliseconds. */
  every?: number | undefined;
  polled_at?: Time | undefined;
  /** When it last read its source. */
  read_at?: Time | undefined;
  /** Polls in a row that could not read it, and what the last one met. */
  failures: number;
  error?: string | undefined;
  /** It read a part of it. */
  partial?: true | undefined;
  /** The source asked not to be asked before. */
  not_before?: Time | undefined;
  status: Status;
  summary: string;
  /** Of its signals, and where the last of them was at home. */
  provider?: string | undefined;
  home?: Hints | undefined;
  /** By the key of the signal. */
  tracks: Record<string, Track>;
  /** What the monitor itself remembers. */
  memory: Record<string, unknown>;
}

/** Flags that say how a monitor runs and whom it tells, and not what it watches: `--repo` may say that too. */
const { repo: _, ...TELLING } = MONITOR_FLAGS;
const RUNNING = {
  ...TELLING,
  json: { type: "boolean" },
  dir: { type: "string" },
  verbose: { type: "boolean", short: "v" },
} as const;

/** The monitor that this command line, without node and the file, is. */
export function watchOf(name: string, argv: readonly string[], cwd: string): Watch {
  const { tokens } = parseArgs({ args: [...argv], options: RUNNING, strict: false, tokens: true });
  const args = tokens.flatMap((token): string[] => {
    if (token.kind === "option-terminator") return ["--"];
    if (token.kind === "positional") return [token.value];
    if (token.name in RUNNING) return [];
    return [token.value === undefined ? token.rawName : `${token.rawName}=${token.value}`];
  });
  return { name, args, cwd: attempt(() => realpathSync.native(cwd)) ?? cwd };
}

/** The monitor for people: its name and arguments, without what may be secret in them, of a readable length. */
export function labelOf({ name, args }: Pick<Watch, "name" | "args">): string {
  const words = commandLine(name === "check" ? checkWords(args) : [name, ...args.map(discreet)]);
  const chars = Array.from(words);
  return chars.length > LONGEST_LABEL ? `${chars.slice(0, LONGEST_LABEL - 1).join("")}…` : words;
}

/** A check by the name that a person gave it; of a program that is run as it is, its own command line says enough. */
function checkWords(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  const flags = end < 0 ? args : args.slice(0, end);
  const at = flags.indexOf("--name");
  const named =
    at < 0 ? flags.find((arg) => arg.startsWith("--name="))?.slice("--name=".length) : flags[at + 1];
  if (named) return ["check", named];
  return end === 0 ? args.slice(1).map(discreet) : ["check", ...args.map(discreet)];
}

/** Words as one line that a shell would take, without passwords in URLs. */
export function commandLine(words: readonly string[]): string {
  return clean(words.map(shellWord).join(" ")).replace(/(:\/\/)[^/?#\s]*@/g, "$1");
}

/** An argument without the query of a URL, and without the value of a header. */
function discreet(arg: string, index: number, args: readonly string[]): string {
  if (args[index - 1] === "--header" || arg.startsWith("--header=")) return arg.replace(/:.*/s, ": …");
  return arg.replace(/^(https?:\/\/[^?#]*)\?.*/is, "$1?…");
}

const LONGEST_LABEL = 80;
const FOLDER = "monitors";

/** The file of a monitor, in the inbox directory. */
function fileOf(dir: string, { name, args, cwd }: Watch): string {
  const id = createHash("sha256")
    .update(JSON.stringify([name, args, cwd]))
    .digest("hex")
    .slice(0, 16);
  return join(dir, FOLDER, `${encodeURIComponent(name).replace(/^\./, "%2E")}.${id}.json`);
}

/** What is known of a monitor. One that was never run, or whose file was damaged, begins anew. */
export function readState(dir: string, watch: Watch): State {
  const fresh: State = { ...watch, failures: 0, status: "UNKNOWN", summary: "", tracks: {}, memory: {} };
  const stored = attempt(() => JSON.parse(readFileSync(fileOf(dir, watch), "utf8")));
  return isState(stored) ? { ...fresh, ...stored, ...watch } : fresh;
}

/** Throws `SignalsError` when it cannot be written; then the old one is there. */
export function writeState(dir: string, state: State): void {
  checkDirectory(dir, { make: true });
  try {
    mkdirSync(join(dir, FOLDER), { recursive: true, mode: 0o700 });
    replaceFile(fileOf(dir, state), `${JSON.stringify(state)}\n`, 0o600);
  } catch (error) {
    throw cannotWrite(join(dir, FOLDER), error);
  }
}

/** Forgets all that is known of a monitor. Throws the system's error. */
export function forget(dir: string, watch: Watch): void {
  rmSync(fileOf(dir, watch), { force: true });
}

/** All monitors that polled within a week, the newest first. What cannot be read is left out. */
export function monitorsOf(dir: string, now: Time): State[] {
  return stored(dir)
    .flatMap(({ state }) => (state.polled_at && between(state.polled_at, now) <= LATELY_MS ? [state] : []))
    .sort((a, b) => (String(a.polled_at) > String(b.polled_at) ? -1 : 1));
}

/** Writes it, and forgets monitors that were not run for long: some look once a month. Throws like `writeState`. */
export function keep(dir: string, state: State, now: Time): void {
  writeState(dir, state);
  for (const { path, state } of stored(dir))
    if (state.polled_at && between(state.polled_at, now) > FORGET_MS)
      attempt(() => rmSync(path, { force: true }));
}

const DAY_MS = 24 * 3_600_000;
const LATELY_MS = 7 * DAY_MS;
const FORGET_MS = 90 * DAY_MS;

function stored(dir: string): { path: string; state: State }[] {
  const names = attempt(() => readdirSync(join(dir, FOLDER))) ?? [];
  return names.flatMap((name) => {
    const path = join(dir, FOLDER, name);
    const state = name.endsWith(".json") ? attempt(() => JSON.parse(readFileSync(path, "utf8"))) : undefined;
    return isState(state) ? [{ path, state }] : [];
  });
}

/** Enough to work with; whoever edits it by hand loses what it knew. */
function isState(value: unknown): value is State {
  const { name, args, cwd, failures, tracks, memory } = (value ?? {}) as Partial<State>;
  const isObject = (part: unknown) => typeof part === "object" && part !== null && !Array.isArray(part);
  return (
    typeof name === "string" &&
    Array.isArray(args) &&
    typeof cwd === "string" &&
    Number.isInteger(failures) &&
    isObject(tracks) &&
    Object.values(tracks ?? {}).every((track) => isObject(track) && isObject(track.streaks)) &&
    isObject(memory)
  );
}
