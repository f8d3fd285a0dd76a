import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export { tempDirectory } from "./temp.ts";

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** How an entry file is run from source: node's first arguments. One process less than the `tsx` command. */
export const TSX = ["--import", import.meta.resolve("tsx")] as const;

export interface Run {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** What the process reads on stdin, which then ends. */
  stdin?: string | undefined;
  cwd?: string | undefined;
  /** Added to an environment that holds nothing but PATH and HOME. */
  env?: Record<string, string> | undefined;
}

/** Runs an entry file of the repository as its own process, as a person or a client would. */
export function runFile(file: string, args: readonly string[] = [], options: RunOptions = {}): Promise<Run> {
  return run(process.execPath, [...TSX, join(ROOT, file), ...args], options);
}

/** Runs a program to its end. */
export async function run(
  program: string,
  args: readonly string[],
  { stdin = "", cwd = ROOT, env = {} }: RunOptions = {},
): Promise<Run> {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(program, args, { cwd, env: { PATH, HOME, ...env }, stdio: "pipe" });
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
    });
  }
  // A process may end without having read all of its input.
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...output };
}
