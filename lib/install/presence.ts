import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { CLIENTS, HARNESSES, type Harness } from "../client.ts";
import { hasSettings } from "./paths.ts";

/** The clients that a person has: each that is on PATH, or has a folder of settings or a variable that names one. */
export function clientsThere(env: NodeJS.ProcessEnv): Harness[] {
  return HARNESSES.filter(
    (harness) => onPath(CLIENTS[harness].program, env) !== undefined || hasSettings(harness, env),
  );
}

/** Where a program is that runs by its name alone. */
export function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Whether a file is there and may be run. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
