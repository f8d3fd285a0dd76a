import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt } from "../errors.ts";
import { isRunning } from "../process.ts";
import {
  type ClientEvent,
  type ClientOptions,
  type ClientRun,
  type InTerminal,
  loopbackEnvironment,
  runAgainst,
} from "./client.ts";
import { pinnedProgram } from "./pinned.ts";
import { type ResponsesRequest, type Script, startResponsesApi } from "./responses-api.ts";

/** The client that the hooks are tested with. */
export const CODEX_VERSION = "0.171.0";

/** The path of the real client: `CODEX_BIN`, or the pinned version. */
export function codexBinary(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  const architecture = process.arch === "arm64" ? "aarch64" : "x86_64";
  const system = process.platform === "darwin" ? "apple-darwin" : "unknown-linux-musl";
  return pinnedProgram({
    name: "codex",
    version: CODEX_VERSION,
    // The package that people install only starts this one, which has the program for one platform.
    spec: `codex@npm:@openai/codex@${CODEX_VERSION}-${platform}`,
    program: join("codex", "vendor", `${architecture}-${system}`, "bin", "codex"),
    variable: "CODEX_BIN",
  });
}

export type CodexOptions = Script &
  ClientOptions & {
    /** The session to go on with, instead of a new one. */
    resume?: string | undefined;
    /** Settings for this run, such as `{ model_auto_compact_token_limit: 1000 }`. */
    settings?: Record<string, string | number | boolean>;
  };

/** One line that the client printed: `thread.started`, `item.completed`, `turn.completed`, `error`, … */
export type CodexEvent = ClientEvent & { thread_id?: string };

export type CodexRun = ClientRun<CodexEvent> & {
  sessionId: string | undefined;
  /** The requests of the main thread in this run. */
  requests: ResponsesRequest[];
  /** Those of its subagents. */
  subagentRequests: ResponsesRequest[];
  /** Those for the summary of a compaction. */
  compactions: ResponsesRequest[];
};

/** The settings that lead to the stand-in, beside the person's own ones. */
const PROFILE = "stand-in";

/**
 * One headless session of the real client (`codex exec`), or one more turn of an earlier one, against a stand-in for
 * the API, with a home and an environment of its own. Throws as `runAgainst` does.
 */
export async function runCodex(options: CodexOptions): Promise<CodexRun> {
  const { home, cwd, args = [], env, under = [], resume, settings = {} } = options;
  const codex = await codexBinary();
  const api = await startResponsesApi(options);
  await prepare(home, cwd, api.url, `${PROFILE}.config.toml`);
  const set = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${JSON.stringify(value)}`]);
  const what = [...(resume === undefined ? [] : ["resume", resume]), "hello"];
  const commandLine = [codex, "exec", "-p", PROFILE, "--json", ...set, ...args, ...what];
  const variables = { ...clientEnvironment(home, api.url), ...env };
  const run = await runAgainst<CodexEvent>(api, [...under, ...commandLine], cwd, variables);
  const { requests, subagentRequests, compactions } = api;
  const started = run.events.find(({ type }) => type === "thread.started");
  return { ...run, sessionId: started?.thread_id, requests, subagentRequests, compactions };
}

/** Writes the settings into a file of the client's folder, before what it holds, and makes the folders it is to use. */
async function prepare(home: string, cwd: string, url: string, name: string): Promise<void> {
  await mkdir(join(home, ".codex"), { recursive: true });
  await mkdir(temporaryFolder(home), { recursive: true });
  const file = join(home, ".codex", name);
  const own = name === "config.toml" && existsSync(file) ? await readFile(file, "utf8") : "";
  await writeFile(file, settingsText(cwd, url) + own);
}

/** What a person sets or answers once, and nothing that would make the client look beyond 127.0.0.1. */
function settingsText(cwd: string, url: string): string {
  return `model = "a-model"
model_provider = "stand-in"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
# Who types as fast as a driver does would be taken for pasting, and Enter for a part of that.
disable_paste_burst = true

[model_providers.stand-in]
name = "stand-in"
base_url = "${url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[tui]
show_tooltips = false

[analytics]
enabled = false

[features]
enable_request_compression = false
plugins = false

[projects.${JSON.stringify(cwd)}]
trust_level = "trusted"

`;
}

function clientEnvironment(home: string, url: string): Record<string, string> {
  return { ...loopbackEnvironment(home, url), TMPDIR: temporaryFolder(home) };
}

/** Not one above the home directory: there the client does without its daemon. */
function temporaryFolder(home: string): string {
  return join(home, "tmp");
}

const inTerminal = { environment: clientEnvironment, prompt: /^› Ask Codex to do anything$/m, mark: "›" };

/** The interactive client by itself. */
export const codexInTerminal: InTerminal = {
  ...inTerminal,
  // With settings of a profile it does without its daemon.
  async prepare({ home, cwd, url }) {
    await prepare(home, cwd, url, `${PROFILE}.config.toml`);
    return [await codexBinary(), "-p", PROFILE];
  },
};

/**
 * The interactive client as it is by default: its sessions run in a daemon of the home directory, which it starts and
 * leaves running. Who starts it ends that with `endDaemon`; at the latest it goes with this process.
 */
export const codexWithDaemon: InTerminal = {
  ...inTerminal,
  async prepare({ home, cwd, url }) {
    if (!daemons.has(home)) {
      await prepare(home, cwd, url, "config.toml");
      // Before the home directory goes, which the daemon would make again.
      const atExit = () => {
        const end = Date.now() + EXIT_MS;
        while (signalDaemon(home).some(isRunning) && Date.now() < end) wait(50);
      };
      process.prependListener("exit", atExit);
      daemons.set(home, atExit);
    }
    return [await codexBinary()];
  },
};

/** The home directories that may have one, and what ends it with this process. */
const daemons = new Map<string, () => void>();
/** How long this process, at its own end, waits for that of a daemon. */
const EXIT_MS = 3_000;

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Ends the daemon of a home directory, and the process that would renew it. Returns when both are gone. */
export async function endDaemon(home: string): Promise<void> {
  while (signalDaemon(home).some(isRunning)) await sleep(50);
  process.off("exit", daemons.get(home) ?? (() => {}));
  daemons.delete(home);
}

/** Tells them to end. Returns their process ids. */
function signalDaemon(home: string): number[] {
  return ["daemon-updater", "daemon"].flatMap((name) => {
    const file = join(home, ".codex", "app-server-daemon", `${name}.pid`);
    const pid = attempt(() => Number(JSON.parse(readFileSync(file, "utf8")).pid));
    if (!pid) return [];
    attempt(() => process.kill(pid, "SIGTERM"));
    return [pid];
  });
}

/**
 * What a person's shell has for the client's own commands: the client on PATH, and nothing to reach but a port that
 * nobody listens on.
 */
export async function codexShell(home: string): Promise<Record<string, string>> {
  const { PATH, ...others } = clientEnvironment(home, "http://127.0.0.1:9");
  await mkdir(temporaryFolder(home), { recursive: true });
  return { ...others, PATH: [dirname(await codexBinary()), PATH].join(delimiter) };
}
