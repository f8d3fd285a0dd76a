import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ClientEvent,
  type ClientOptions,
  type ClientRun,
  type InTerminal,
  loopbackEnvironment,
  runAgainst,
} from "./client.ts";
import { type MessagesRequest, type Script, startMessagesApi } from "./messages-api.ts";
import { pinnedProgram } from "./pinned.ts";

/** The client that the hooks are tested with. */
export const CLAUDE_CODE_VERSION = "2.1.332";

/** The path of the real client: `CLAUDE_BIN`, or the pinned version. */
export function claudeBinary(): Promise<string> {
  const name = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  return pinnedProgram({
    name: "claude-code",
    version: CLAUDE_CODE_VERSION,
    spec: `${name}@${CLAUDE_CODE_VERSION}`,
    program: join(name, process.platform === "win32" ? "claude.exe" : "claude"),
    variable: "CLAUDE_BIN",
  });
}

export type ClaudeCodeOptions = Script & ClientOptions & { model?: string };

/** One line that the client printed: `system`, `assistant`, `user`, `result`, … */
export type ClaudeCodeEvent = ClientEvent & { subtype?: string; session_id?: string };

export type ClaudeCodeRun = ClientRun<ClaudeCodeEvent> & {
  sessionId: string | undefined;
  /** The main-loop requests of this run. */
  requests: MessagesRequest[];
  /** Those of its subagents. */
  subagentRequests: MessagesRequest[];
};

const KEY = "dummy-key";

/**
 * One headless session of the real client (`claude -p`) against a stand-in for the API, with a home and an
 * environment of its own. Throws as `runAgainst` does.
 */
export async function runClaudeCode(options: ClaudeCodeOptions): Promise<ClaudeCodeRun> {
  const { home, cwd, model, args = [] } = options;
  await answerFirstQuestions(home, cwd);
  const print = ["-p", "hello", "--output-format", "stream-json", "--verbose"];
  const flags = ["--dangerously-skip-permissions", ...(model ? ["--model", model] : []), ...args];
  const run = await runClaudeCommand([...print, ...flags], options);
  const init = run.events.find((event) => event.type === "system" && event.subtype === "init");
  return { ...run, sessionId: init?.session_id };
}

/** One of the client's own commands, such as `plugin install NAME`, in the same environment. Throws likewise. */
export async function runClaudeCommand(
  args: readonly string[],
  { home, cwd, env, under = [], ...script }: ClaudeCodeOptions,
) {
  const commandLine = [...under, await claudeBinary(), ...args];
  const api = await startMessagesApi(script);
  const variables = { ...clientEnvironment(home, api.url), ...env };
  const run = await runAgainst<ClaudeCodeEvent>(api, commandLine, cwd, variables);
  return { ...run, requests: api.requests, subagentRequests: api.subagentRequests };
}

/** What a person answers once: theme, the API key, the trust in a folder. A home that was used before is kept. */
async function answerFirstQuestions(home: string, cwd: string): Promise<void> {
  const file = join(home, ".claude.json");
  if (existsSync(file)) return;
  const answers = {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: [KEY], rejected: [] },
    projects: { [cwd]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
  };
  await writeFile(file, JSON.stringify(answers));
}

function clientEnvironment(home: string, url: string): Record<string, string> {
  return {
    ...loopbackEnvironment(home, url),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
    CLAUDE_CODE_TMPDIR: home,
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
    // Lets permissions be skipped as root, which is who tests run as in containers.
    IS_SANDBOX: "1",
  };
}

/** The second answers what the first would ask; answered for good, the client would rewrite the person's settings. */
const ARGUMENTS = [
  "--dangerously-skip-permissions",
  "--settings",
  '{"skipDangerousModePermissionPrompt":true}',
];

export const claudeInTerminal: InTerminal = {
  async prepare({ home, cwd }) {
    await answerFirstQuestions(home, cwd);
    return [await claudeBinary(), ...ARGUMENTS];
  },
  environment: clientEnvironment,
  // The box that a person types into; a dialog has its marker before a choice, and no line above it.
  prompt: /^─+.*\n❯/m,
  mark: "❯",
};
