import { readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { attempt, codeOf, SignalsError } from "../errors.ts";

/** From the weakest to the strongest: where two say different things, the later one stands. */
export const SCOPES = ["user", "project", "local"] as const;
export type Scope = (typeof SCOPES)[number];

/** Where a client is run. */
export interface Situation {
  cwd: string;
  env: NodeJS.ProcessEnv;
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

/** The folder of the client's own settings: `CLAUDE_CONFIG_DIR`, else `~/.claude`. */
export function clientFolder(env: NodeJS.ProcessEnv): string {
  const named = env["CLAUDE_CONFIG_DIR"];
  return named ? resolve(named) : join(homeOf(env), ".claude");
}

/** The settings file of a scope; project and local ones are those of `cwd`. */
export function settingsPath(scope: Scope, { cwd, env }: Situation): string {
  if (scope === "user") return join(clientFolder(env), "settings.json");
  return join(cwd, ".claude", scope === "local" ? "settings.local.json" : "settings.json");
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
