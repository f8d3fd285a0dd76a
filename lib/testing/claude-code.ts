import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import lockfile from "lockfile";
import { messageOf } from "../errors.ts";
import { type MessagesRequest, type Script, startMessagesApi } from "./messages-api.ts";

/** The client that the hooks are tested with. */
export const CLAUDE_CODE_VERSION = "2.1.332";

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/ambient-signals/", import.meta.url));
const INSTALL_MS = 5 * 60_000;

/**
 * The path of the real client: `CLAUDE_BIN` when that is set, otherwise the pinned version under `node_modules`,
 * installed from the npm registry when it is not there yet (about 400 MB on disk).
 *
 * The install grows beside its place and is moved there when complete, so what is there is whole.
 */
export async function claudeBinary(): Promise<string> {
  const { CLAUDE_BIN } = process.env;
  if (CLAUDE_BIN) return CLAUDE_BIN;
  const name = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  const place = join(CACHE, `claude-code-${CLAUDE_CODE_VERSION}`);
  const binary = join(place, "node_modules", name, process.platform === "win32" ? "claude.exe" : "claude");
  if (existsSync(binary)) return binary;

  // The lock only saves test files that start together from fetching it twice; the rename is what makes it safe.
  await mkdir(CACHE, { recursive: true });
  const lock = `${place}.lock`;
  const patience = { wait: INSTALL_MS, pollPeriod: 200, stale: INSTALL_MS };
  await new Promise<void>((resolve, reject) => {
    lockfile.lock(lock, patience, (error) => (error ? reject(error) : resolve()));
  });
  try {
    if (!existsSync(binary)) await install(`${name}@${CLAUDE_CODE_VERSION}`, place);
  } finally {
    await promisify(lockfile.unlock)(lock);
  }
  return binary;
}

async function install(spec: string, place: string): Promise<void> {
  for (const entry of await readdir(CACHE)) {
    if (entry.endsWith(".part")) await rm(join(CACHE, entry), { recursive: true, force: true });
  }
  const part = `${place}.${process.pid}.part`;
  await mkdir(part);
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--no-package-lock"];
  try {
    await promisify(execFile)("npm", ["install", "--prefix", part, ...flags, spec], { timeout: INSTALL_MS });
  } catch (error) {
    throw new Error(`claude-code: cannot install ${spec}; set CLAUDE_BIN to a client: ${messageOf(error)}`);
  }
  await rm(place, { recursive: true, force: true });
  await rename(part, place);
}

/** Where the client runs, and what it is given. */
export type ClaudeCodeOptions = Script & {
  /** The home directory, which keeps sessions and settings. */
  home: string;
  cwd: string;
  model?: string;
  /** Further arguments, such as `["--resume", sessionId]`. */
  args?: readonly string[];
  /** Further variables; nothing but `PATH` is inherited. */
  env?: Record<string, string>;
  /** The beginning of a command line that runs the rest of it, such as `unshare`; without it the client itself. */
  under?: readonly string[];
};

/** One line that the client printed: `system`, `assistant`, `user`, `result`, … */
export type ClaudeCodeEvent = { type: string; subtype?: string; session_id?: string; [key: string]: unknown };

export type ClaudeCodeRun = {
  code: number | null;
  stdout: string;
  stderr: string;
  events: ClaudeCodeEvent[];
  sessionId: string | undefined;
  /** The main-loop requests of this run. */
  requests: MessagesRequest[];
  /** Those of its subagents. */
  subagentRequests: MessagesRequest[];
};

const KEY = "dummy-key";
/** Only a broken test takes that long. */
const LIMIT_MS = 120_000;
/** How long a client that is told to end has for ending its hooks. */
const GRACE_MS = 3_000;

/**
 * One headless session of the real client (`claude -p`) against a stand-in for the API, with a home and an
 * environment of its own. Every proxy variable points at the stand-in, which refuses, so the client reaches nothing
 * else; only a hook that pays no heed to proxies could.
 *
 * Throws what a step threw, when the client tried to reach anything else, and when the time limit is over.
 */
export async function runClaudeCode(options: ClaudeCodeOptions): Promise<ClaudeCodeRun> {
  const { home, cwd, under = [], model, args = [] } = options;
  await answerFirstQuestions(home, cwd);
  const print = ["-p", "hello", "--output-format", "stream-json", "--verbose"];
  const flags = ["--dangerously-skip-permissions", ...(model ? ["--model", model] : []), ...args];
  const run = await runClient([...under, await claudeBinary(), ...print, ...flags], options);
  const events = run.stdout.split("\n").flatMap(eventOf);
  const init = events.find((event) => event.type === "system" && event.subtype === "init");
  return { ...run, events, sessionId: init?.session_id };
}

/** One of the client's own commands, such as `plugin install NAME`, in the same environment. Throws likewise. */
export async function runClaudeCommand(args: readonly string[], options: ClaudeCodeOptions) {
  return runClient([await claudeBinary(), ...args], options);
}

async function runClient(commandLine: string[], { home, cwd, env, ...script }: ClaudeCodeOptions) {
  const api = await startMessagesApi(script);
  try {
    const variables = { ...clientEnvironment(home, api.url), ...env };
    const { timedOut, ...run } = await runInGroup(commandLine, cwd, variables);
    const [problem] = api.problems;
    if (problem) throw problem;
    if (timedOut) throw new Error(`claude-code: not done after ${LIMIT_MS} ms: ${run.stderr.slice(-2000)}`);
    return { ...run, requests: api.requests, subagentRequests: api.subagentRequests };
  } finally {
    await api.close();
  }
}

/** What a person answers once: theme, the API key, the trust in a folder. A home that was used before is kept. */
export async function answerFirstQuestions(home: string, cwd: string): Promise<void> {
  const file = join(home, ".claude.json");
  if (existsSync(file)) return;
  const answers = {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: [KEY], rejected: [] },
    projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  await writeFile(file, JSON.stringify(answers));
}

/** All that the client inherits: a home of its own, and no way to reach anything but the stand-in at `url`. */
export function clientEnvironment(home: string, url: string): Record<string, string> {
  const { PATH = "" } = process.env;
  return {
    // First the node that runs the tests, so that hooks run on it too.
    PATH: [dirname(process.execPath), PATH].join(delimiter),
    HOME: home,
    LANG: "C.UTF-8",
    SHELL: "/bin/bash",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
    CLAUDE_CODE_TMPDIR: home,
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    http_proxy: url,
    https_proxy: url,
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
    // Lets permissions be skipped as root, which is who tests run as in containers.
    IS_SANDBOX: "1",
  };
}

/** Runs a program in a process group of its own. Past the limit it is told to end, and so made to a little later. */
async function runInGroup([program = "", ...args]: string[], cwd: string, env: Record<string, string>) {
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

function eventOf(line: string): ClaudeCodeEvent[] {
  return line.startsWith("{") ? [JSON.parse(line) as ClaudeCodeEvent] : [];
}
