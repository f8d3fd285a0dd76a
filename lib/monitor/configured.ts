import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Entry, entries, runnerOf } from "../entries.ts";
import { attempt, codeOf } from "../errors.ts";
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
  id: string;
  /** Node's arguments up to the file that runs it, and what that is given. */
  runner: readonly string[];
  args: readonly string[];
  /** It is a program that is no monitor, which that file runs. */
  isForeign: boolean;
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

/**
 * What the entries of the config.toml in `dir` watch. Of several that watch the same there is only the first. Throws
 * `SignalsError` in a copy that stands alone.
 */
export function configuredIn(
  dir: string,
  monitors: readonly MonitorEntry[],
  env: NodeJS.ProcessEnv,
): Configured[] {
  const pack = monitorFiles();
  const all = monitors.flatMap((entry): Configured[] => {
    const path = resolve(dir, withHome(entry.run, env));
    const known = pack.find((file) => nameOf(file) === entry.run) ?? ownMonitor(entry.run, path);
    const file = known ?? pack.find((file) => nameOf(file) === CHECK);
    if (file === undefined) return [];
    const isForeign = known === undefined;
    const args = isForeign ? ["--", withHome(entry.run, env), ...entry.args] : entry.args;
    // As the monitor, in its own process, tells itself from others.
    const watch = watchOf(nameOf(file), args, dir);
    const runner = pack.includes(file) ? runnerOf(file) : ownRunner(path);
    return [{ entry, watch, label: labelOf(watch), id: idOf(watch), runner, args, isForeign }];
  });
  return all.filter(({ id }, i) => all.findIndex((other) => other.id === id) === i);
}

/** A person's own monitor, or a copy of one of ours: a module that makes itself one. */
function ownMonitor(run: string, path: string): Entry | undefined {
  if (!run.includes("/") || !/\.m[jt]s$/.test(run)) return undefined;
  const text = attempt(() => readFileSync(path, "utf8")) ?? "";
  const name = `${FOLDER}${basename(path).replace(/\.m[jt]s$/, "")}`;
  return /\brunMonitor\(/.test(text) ? { name, file: path } : undefined;
}

/** Node runs what is JavaScript; the rest tsx, which is where the package is that the module imports. */
function ownRunner(path: string): string[] {
  if (path.endsWith(".mjs")) return [path];
  const tsx = attempt(() => {
    const ours = createRequire(path).resolve("ambient-signals/package.json");
    return pathToFileURL(createRequire(ours).resolve("tsx")).href;
  });
  return [...(tsx ? ["--import", tsx] : []), path];
}

/** The same for two monitors exactly when they watch the same. */
export function idOf({ name, args, cwd }: Watch): string {
  return JSON.stringify([name, args, cwd]);
}

/** What a poll of it runs: node's arguments, which begin with the file. It prints one report as JSON. */
export function commandOf({ entry, runner, args }: Configured, dir: string, env: NodeJS.ProcessEnv): Command {
  const { every, repository = "" } = entry;
  return {
    // Ours first: what follows may hold a `--`.
    args: [...runner, "--json", "--dir", dir, ...args],
    cwd: dir,
    env: { ...env, [HOME_REPOSITORY]: repository, [POLLED_EVERY]: formatDuration(every) },
  };
}

/** Why it cannot be run at all; undefined when it can be tried. */
export function faultOf(
  { entry, isForeign }: Configured,
  dir: string,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const { run, args } = entry;
  if (!isForeign) {
    const end = args.indexOf("--");
    const flags = end < 0 ? args : args.slice(0, end);
    const isAgain = flags.some((flag) => /^--every(=|$)/.test(flag));
    return isAgain ? "args: --every: has a line of its own; write every there" : undefined;
  }
  if (run.includes("/")) return pathFault(resolve(dir, withHome(run, env)), run);
  if (onPath(run, env)) return undefined;
  const known = monitorFiles().map(nameOf);
  const meant = nearest(run, known);
  const help = meant ? `did you mean ${meant}?` : `the monitors are ${known.join(", ")}`;
  return `run: ${run}: is no monitor, and no program on PATH; ${help}`;
}

function pathFault(file: string, run: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return `run: ${run}: is no file; name a program`;
    accessSync(file, constants.X_OK);
    return undefined;
  } catch (error) {
    const path = shellWord(file);
    return codeOf(error) === "EACCES"
      ? `run: ${run}: may not be run; chmod +x ${path}`
      : `run: ${run}: there is no such file; put it at ${path}`;
  }
}

function withHome(path: string, env: NodeJS.ProcessEnv): string {
  return path.startsWith("~/") ? `${env["HOME"] ?? "~"}${path.slice(1)}` : path;
}

function monitorFiles(): Entry[] {
  return entries().filter(({ name }) => name.startsWith(FOLDER));
}

function nameOf({ name }: Entry): string {
  return name.slice(FOLDER.length);
}
