import { existsSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { locate } from "../checkout.ts";
import type { Harness } from "../client.ts";
import { attempt, codeOf, SignalsError } from "../errors.ts";

/** From the weakest to the strongest: where two say different things, the later one stands. */
export const SCOPES = ["user", "project", "local"] as const;
export type Scope = (typeof SCOPES)[number];

/** Where a client keeps its settings. */
interface Settings {
  /** Names the folder of the user's own. */
  variable: string;
  /** In the home directory, and in a project. */
  folder: string;
  /** The file that holds hooks; the user's own has the name of a project's. */
  files: Readonly<{ project: string; local?: string }>;
}

const SETTINGS: Readonly<Record<Harness, Settings>> = {
  "claude-code": {
    variable: "CLAUDE_CONFIG_DIR",
    folder: ".claude",
    files: { project: "settings.json", local: "settings.local.json" },
  },
  codex: { variable: "CODEX_HOME", folder: ".codex", files: { project: "hooks.json" } },
};

/** Where a client is run. */
export interface Situation {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Of the machine; that of this process where it is not said. */
  platform?: NodeJS.Platform | undefined;
}

/** Where this runs. */
export function situation(): Situation {
  const { env } = process;
  try {
    return { cwd: process.cwd(), env };
  } catch {
    // It was deleted; there is no project in it any more.
    return { cwd: homeOf(env), env };
  }
}

/** Where an installation keeps what it has. */
export interface Installation {
  folder: string;
  /** What the settings name: `launch hooks/claude-code/stop` runs that bundle. */
  launcher: string;
  /** What was written, where, and by which version. */
  manifest: string;
}

/** Of the person whose environment this is, whether or not anything is installed. */
export function installationOf(env: NodeJS.ProcessEnv): Installation {
  const xdg = env["XDG_DATA_HOME"];
  // A relative one is to be ignored, says the XDG base directory specification.
  const data = xdg && isAbsolute(xdg) ? xdg : join(homeOf(env), ".local", "share");
  const folder = join(data, NAME);
  return { folder, launcher: join(folder, "launch"), manifest: join(folder, "installed.json") };
}

/** Of the package, of its folders, and of it as a plugin. */
export const NAME = "ambient-signals";

/** The home directory: `HOME`, as the client takes it too. Throws `SignalsError` for an empty one. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  const home = env["HOME"] ?? homedir();
  if (!isAbsolute(home)) throw new SignalsError("HOME: is empty or no absolute path; set it");
  return home;
}

/** The inbox of an environment that names none. */
export function defaultInbox(env: NodeJS.ProcessEnv): string {
  return join(homeOf(env), ".harn", "signals");
}

/** The folder of a person's own settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`; `CODEX_HOME`, else `~/.codex`. */
export function clientFolder(harness: Harness, env: NodeJS.ProcessEnv): string {
  const { variable, folder } = SETTINGS[harness];
  const named = env[variable];
  return named ? resolve(named) : join(homeOf(env), folder);
}

/** Whether the variable that names that folder is set, or the folder there. */
export function hasSettings(harness: Harness, env: NodeJS.ProcessEnv): boolean {
  return Boolean(env[SETTINGS[harness].variable]) || existsSync(clientFolder(harness, env));
}

/** The file of a scope that holds hooks, a project's in `cwd`; undefined where a client has none such. */
export function settingsPath(harness: Harness, scope: "user" | "project", situation: Situation): string;
export function settingsPath(harness: Harness, scope: Scope, situation: Situation): string | undefined;
export function settingsPath(harness: Harness, scope: Scope, { cwd, env }: Situation): string | undefined {
  const { folder, files } = SETTINGS[harness];
  if (scope === "user") return join(clientFolder(harness, env), files.project);
  const file = files[scope];
  return file === undefined ? undefined : join(cwd, folder, file);
}

/**
 * The work tree around a directory, and the first one of its repository, which is another where git has made several,
 * with the real path of the directory. Undefined outside of any.
 */
export function workTrees(cwd: string): { own: string; first: string; cwd: string } | undefined {
  const { work_tree: own, cwd: real } = locate(cwd);
  if (own === undefined) return undefined;
  const read = (path: string) => attempt(() => readFileSync(path, "utf8")) ?? "";
  // In a second one `.git` is a file that leads to a folder, in which `commondir` leads to the first one's.
  const [, gitDir] = /^gitdir: (.+)$/m.exec(read(join(own, ".git"))) ?? [];
  const common = gitDir && read(join(resolve(own, gitDir), "commondir")).trim();
  return { own, first: common ? dirname(resolve(own, gitDir, common)) : own, cwd: real };
}

/** Whether two paths lead to one file, also where it is not there yet. */
export function sameFile(a: string, b: string): boolean {
  return realPath(a) === realPath(b);
}

/** Where a path leads: without symbolic links, also those that lead to a file that is not there. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    const above = dirname(path);
    if (above === path) return path;
    const link = codeOf(error) === "ENOENT" ? attempt(() => readlinkSync(path)) : undefined;
    return link === undefined ? join(realPath(above), basename(path)) : realPath(resolve(above, link));
  }
}
