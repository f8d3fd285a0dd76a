import { execFile } from "node:child_process";
import { delimiter, isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { codeOf, messageOf } from "../errors.ts";
import { shellWord } from "../text.ts";

/** What a service runs. */
export interface Served {
  launcher: string;
  /** The inbox that it is told of; undefined for the usual one. */
  dir: string | undefined;
  /** What it has as PATH. */
  path: string;
}

/** How a service is, as far as its manager tells. */
export interface State {
  /** It runs, or is about to. */
  isUp: boolean;
  /** It runs well, and has not just failed. */
  isWell: boolean;
  /** It comes back at the next login. */
  isKept: boolean;
  /** In the manager's own words. */
  says: string;
}

/** One command for a service manager. */
export interface Step {
  words: readonly string[];
  /** It may be that there is nothing to do. */
  mayFail?: true;
  /** What it refuses, it may take once something else has ended: exit codes. */
  again?: readonly number[];
}

/** What starts a program of a person's own at login, and again when it fails. */
export interface Manager {
  /** The file that describes our service to it. */
  fileIn(env: NodeJS.ProcessEnv): string;
  textOf(served: Served, env: NodeJS.ProcessEnv): string;
  /** The launcher that a description runs; undefined for one that runs something else. */
  launcherIn(text: string): string | undefined;
  /** How the service is, or why that cannot be said: there may be nobody to ask, as in a container. */
  look(env: NodeJS.ProcessEnv): Promise<State | string>;
  /** From its file, whatever it was before. */
  start(file: string): Step[];
  /** With new code, or with a file that has changed, when it runs. */
  refresh(file: string, of: { changed: boolean; isUp: boolean }): Step[];
  /** Before its file goes, if that is still there. */
  stop(hasFile: boolean): Step[];
  /** After its file has gone. */
  forget: Step[];
  /** What else has come to be: it goes too, with the outermost folder that was made for it. */
  traces(file: string, env: NodeJS.ProcessEnv): { path: string; upTo?: string }[];
  /** The command that shows what it wrote. */
  log(env: NodeJS.ProcessEnv): string;
  /** What a person should know of when it runs. */
  notes(env: NodeJS.ProcessEnv): Promise<string[]>;
}

/** A step as a person types it. */
export function typed({ words }: Step): string {
  return words.map(shellWord).join(" ");
}

/** Several, of which each needs the one before it. */
export function typedAll(steps: readonly Step[]): string {
  return steps
    .map((step) => `${typed(step)}${step.mayFail ? ";" : " &&"}`)
    .join(" ")
    .replace(/ &&$|;$/, "");
}

/** Long enough for a service to end that takes its time. */
const PATIENCE_MS = 120_000;
const AGAIN_MS = 15_000;

/** Takes a step. Returns why it failed; undefined when it did not. */
export async function take(
  { words, mayFail, again = [] }: Step,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const until = Date.now() + AGAIN_MS;
  for (;;) {
    const { code, error } = await ask(words, env, PATIENCE_MS);
    if (code === 0 || mayFail) return undefined;
    if (!again.includes(code) || Date.now() > until) return error;
    await sleep(500);
  }
}

/** What a program answers; `code` is -1 where it does not come to an end of its own. Never throws. */
export async function ask(
  [program = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  timeout = 5_000,
): Promise<{ code: number; stdout: string; error: string }> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { env, timeout });
    return { code: 0, stdout, error: "" };
  } catch (error) {
    const { code, killed, stdout = "", stderr = "" } = error as Record<string, unknown>;
    const [said] = String(stderr)
      .split("\n")
      .filter((line) => line.trim() !== "");
    const why = killed
      ? "does not answer"
      : (codeOf(error) === "ENOENT" && "is not on PATH") || messageOf(error);
    return {
      code: typeof code === "number" ? code : -1,
      stdout: String(stdout),
      error: said ?? `${program} ${why}`,
    };
  }
}

/** The PATH of a person's shell: without what npm puts in front of it for a command that it runs. */
export function shellPath(env: NodeJS.ProcessEnv): string {
  const all = (env["PATH"] ?? "").split(delimiter);
  const own = all.slice(all.findLastIndex((folder) => folder.endsWith("/node-gyp-bin")) + 1);
  return [...new Set(own.filter(isAbsolute))].join(delimiter);
}
