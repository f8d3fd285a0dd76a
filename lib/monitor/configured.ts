import { accessSync, constants, statSync } from "node:fs";
import { resolve } from "node:path";
import { type Entry, entries, runnerOf } from "../entries.ts";
import { codeOf } from "../errors.ts";
import { onPath } from "../install/presence.ts";
import type { MonitorEntry } from "../policy.ts";
import { nearest, shellWord } from "../text.ts";
import { formatDuration } from "../time.ts";
import { HOME_REPOSITORY, POLLED_EVERY } from "./run.ts";
import { labelOf, type Watch, watchOf } from "./state.ts";

/** A `[[monitor]]` of config.toml, and what it takes to run it. */
export interface Configured {
  entry: MonitorEntry;
  watch: Watch;
  label: string;
  /** The same for two entries exactly when they watch the same. */
  id: string;
}

/** One poll of it, as a process. */
export interface Command {
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
}

const FOLDER = "monitors/";
/** The monitor that runs whatever is no monitor itself. */
const CHECK = "check";

/** What the entries of the config.toml in `dir` watch. Of several that watch the same there is only the first. */
export function configuredIn(dir: string, monitors: readonly MonitorEntry[]): Configured[] {
  const all = monitors.map((entry): Configured => {
    const { args } = entry;
    const isOurs = monitorNamed(entry.run) !== undefined;
    // A monitor knows itself by its command line and its directory.
    const watch = isOurs ? watchOf(entry.run, args, dir) : watchOf(CHECK, ["--", entry.run, ...args], dir);
    return { entry, watch, label: labelOf(watch), id: JSON.stringify(watch) };
  });
  return all.filter(({ id }, i) => all.findIndex((other) => other.id === id) === i);
}

/** What a poll of it runs: node's arguments, which begin with the file. It prints one report as JSON. */
export function commandOf({ entry }: Configured, dir: string, env: NodeJS.ProcessEnv): Command {
  const { run, args, every, repository = "" } = entry;
  const own = monitorNamed(run);
  const file = own ?? monitorNamed(CHECK);
  if (file === undefined) throw new Error(`${FOLDER}${CHECK} is missing`);
  // Ours first: what follows may hold a `--`.
  const ours = ["--json", "--dir", dir];
  return {
    args: [...runnerOf(file), ...ours, ...(own ? args : ["--", withHome(run, env), ...args])],
    cwd: dir,
    env: { ...env, [HOME_REPOSITORY]: repository, [POLLED_EVERY]: formatDuration(every) },
  };
}

/** Why it cannot be run at all; undefined when it can be tried. */
export function faultOf({ entry }: Configured, dir: string, env: NodeJS.ProcessEnv): string | undefined {
  const { run, args } = entry;
  if (monitorNamed(run)) {
    const end = args.indexOf("--");
    const flags = end < 0 ? args : args.slice(0, end);
    const isAgain = flags.some((flag) => /^--every(=|$)/.test(flag));
    return isAgain ? "args: --every: stands in a line of its own; write every = there" : undefined;
  }
  if (!run.includes("/")) {
    if (onPath(run, env)) return undefined;
    const known = monitors().map(nameOf);
    const meant = nearest(run, known);
    const help = meant ? `did you mean ${meant}?` : `the monitors are ${known.join(", ")}`;
    return `run: ${run}: is no monitor, and no program on PATH; ${help}`;
  }
  return pathFault(resolve(dir, withHome(run, env)), run);
}

function pathFault(file: string, run: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return `run: ${run}: is no file; name a program`;
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    const path = shellWord(file);
    if (code === "ENOENT") return `run: ${run}: there is no such file; put it at ${path}`;
    return `run: ${run}: cannot be run (${code}); chmod +x ${path}`;
  }
}

function withHome(path: string, env: NodeJS.ProcessEnv): string {
  return path.startsWith("~/") ? `${env["HOME"] ?? "~"}${path.slice(1)}` : path;
}

function monitors(): Entry[] {
  return entries().filter(({ name }) => name.startsWith(FOLDER));
}

function nameOf({ name }: Entry): string {
  return name.slice(FOLDER.length);
}

function monitorNamed(name: string): Entry | undefined {
  return monitors().find((entry) => nameOf(entry) === name);
}
