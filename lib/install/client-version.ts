import { execFile } from "node:child_process";
import { promisify } from "node:util";

const LIMIT_MS = 5_000;

/** The version that a program says it is of, by path or on PATH; undefined when there is none, or none that answers. */
export async function versionOf(program: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(program, ["--version"], { env, timeout: LIMIT_MS });
    return /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}
