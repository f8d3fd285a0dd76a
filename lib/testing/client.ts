import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname } from "node:path";
import type { StandIn } from "./stand-in.ts";

/** Where a client runs, and what it is given. */
export type ClientOptions = {
  /** The home directory, which keeps sessions and settings. */
  home: string;
  cwd: string;
  /** Further arguments. */
  args?: readonly string[];
  /** Further variables; nothing but `PATH` is inherited. */
  env?: Record<string, string>;
  /** The beginning of a command line that runs the rest of it, such as `unshare`; without it the client itself. */
  under?: readonly string[];
};

/** One line that a client printed. */
export type ClientEvent = { type: string; [key: string]: unknown };

export type ClientRun<Event = ClientEvent> = {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The lines that are events. */
  events: Event[];
};

/** An interactive client, as the driver of a terminal has to know it. */
export type InTerminal = {
  /** The command line, once all is written that a person would have answered or set. */
  prepare(options: { home: string; cwd: string; url: string }): Promise<string[]>;
  environment(home: string, url: string): Record<string, string>;
  /** What the screen shows when the client takes input, and before what is typed. */
  prompt: RegExp;
  mark: string;
};

/** Only a broken test takes that long. */
const LIMIT_MS = 120_000;
/** How long a client that is told to end has for ending its hooks. */
const GRACE_MS = 3_000;

/** All that a client inherits: a home of its own, and no way to reach anything but the stand-in at `url`. */
export function loopbackEnvironment(home: string, url: string): Record<string, string> {
  const { PATH = "" } = process.env;
  return {
    // First the node that runs the tests, so that hooks run on it too.
    PATH: [dirname(process.execPath), PATH].join(delimiter),
    HOME: home,
    LANG: "C.UTF-8",
    SHELL: "/bin/bash",
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
  };
}

/**
 * Runs a client to its end against a stand-in, which is closed then. Every proxy variable of `env` points at the
 * stand-in, which refuses, so the client reaches nothing else; only a hook that pays no heed to proxies could.
 *
 * Throws what a step threw, when the client tried to reach anything else, and when the time limit is over.
 */
export async function runAgainst<Event = ClientEvent>(
  api: StandIn,
  commandLine: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<ClientRun<Event>> {
  try {
    const { timedOut, ...run } = await runInGroup(commandLine, cwd, env);
    const [problem] = api.problems;
    if (problem) throw problem;
    if (timedOut)
      throw new Error(`${commandLine[0]}: not done after ${LIMIT_MS} ms: ${run.stderr.slice(-2000)}`);
    const lines = run.stdout.split("\n").filter((line) => line.startsWith("{"));
    return { ...run, events: lines.map((line) => JSON.parse(line) as Event) };
  } finally {
    await api.close();
  }
}

/** Runs a program in a process group of its own. Past the limit it is told to end, and so made to a little later. */
async function runInGroup(
  [program = "", ...args]: readonly string[],
  cwd: string,
  env: Record<string, string>,
) {
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const end = (signal: NodeJS.Signals) => {
    try {
      if (child.pid) process.kill(-child.pid, signal);
    } catch {
      // The group is gone already.
    }
  };
  let timedOut = false;
  const timers = [
    setTimeout(() => {
      timedOut = true;
      end("SIGTERM");
    }, LIMIT_MS),
    setTimeout(end, LIMIT_MS + GRACE_MS, "SIGKILL"),
  ];
  try {
    // Rejects when the program cannot be started.
    const [code] = (await once(child, "close")) as [number | null];
    return { code, stdout, stderr, timedOut };
  } finally {
    timers.forEach(clearTimeout);
  }
}
