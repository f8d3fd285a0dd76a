import assert from "node:assert/strict";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { writeBundles } from "../bundle.ts";
import type { SignalView } from "../view.ts";
import {
  CLAUDE_CODE_VERSION,
  type ClaudeCodeOptions,
  type ClaudeCodeRun,
  claudeInTerminal,
  runClaudeCode,
  runClaudeCommand,
} from "./claude-code.ts";
import type { InTerminal } from "./client.ts";
import { type CodexOptions, type CodexRun, codexShell, runCodex } from "./codex.ts";
import { type Cut, cutting } from "./cut.ts";
import type { Answer, Step } from "./messages-api.ts";
import { type Run, run } from "./process.ts";
import type { Answer as CodexAnswer, Step as CodexStep } from "./responses-api.ts";
import { type Shown, timesShown } from "./shown.ts";
import type { StandIn } from "./stand-in.ts";
import { tempDirectory } from "./temp.ts";
import { Terminal } from "./terminal.ts";

/** For `describe`: each test waits a lot. The time limit is one that only a broken test reaches. */
export const PARALLEL = { concurrency: 2, timeout: 300_000 };

/** The key and the summary of a signal, and the line that tells it. */
export const RED = ["ci:main", "CI on main is failing"] as const;
export const RED_TOLD = `what happened: ${RED[1]}`;

let made: Promise<string> | undefined;

/** The folder of the bundles, made once per process. */
export function bundles(): Promise<string> {
  made ??= (async () => {
    const folder = tempDirectory("bundles");
    await writeBundles(folder);
    return folder;
  })();
  return made;
}

/** A home directory with a checkout of acme/api in it, and the scripts to act on its inbox while the model "thinks". */
export class Workshop {
  /** With a space, as a person may have it. */
  readonly home = join(realpathSync(tempDirectory("client")), "ada lovelace");
  readonly project = join(this.home, "api");
  readonly inbox = join(this.home, ".harn", "signals");
  readonly settings = join(this.home, ".claude", "settings.json");

  constructor() {
    mkdirSync(join(this.project, ".git"), { recursive: true });
    writeFileSync(join(this.project, ".git", "HEAD"), "ref: refs/heads/main\n");
    const remote = '[remote "origin"]\n\turl = git@github.com:acme/api.git\n';
    writeFileSync(join(this.project, ".git", "config"), remote);
  }

  /**
   * One with the hooks installed as a client of this version gets them, and a lease so short that a reminder which
   * nobody confirmed comes again within the test.
   */
  static async installed({ version = CLAUDE_CODE_VERSION, lease = "3s" } = {}): Promise<Workshop> {
    const shop = new Workshop();
    const claude = join(tempDirectory("path"), "claude");
    writeFileSync(claude, `#!/bin/sh\necho '${version} (Claude Code)'\n`, { mode: 0o755 });
    await shop.install(claude);
    shop.#shortenLease(lease);
    return shop;
  }

  /** The same for Codex, with hooks that are trusted, as they have to be. */
  static async installedForCodex({ lease = "3s", trusted = true } = {}): Promise<Workshop> {
    const shop = new Workshop();
    await shop.installForCodex({ trusted });
    shop.#shortenLease(lease);
    return shop;
  }

  #shortenLease(lease: string): void {
    mkdirSync(this.inbox, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.inbox, "config.toml"), `lease = "${lease}"\n`, { mode: 0o600 });
  }

  /** Installs the hooks for Codex, and has it trust them: without that it runs none, and says nothing of it. */
  async installForCodex({ trusted = true, flags = [] as string[] } = {}): Promise<void> {
    const trust = trusted ? ["--trust-codex-hooks"] : [];
    const env = await codexShell(this.home);
    const { code, stderr } = await this.run(
      "install",
      ["--harness", "codex", "--yes", ...trust, ...flags],
      env,
    );
    assert.equal(code, 0, stderr);
  }

  /** Installs the hooks for the client at this path. */
  async install(claude: string): Promise<string> {
    const PATH = [dirname(claude), process.env["PATH"]].join(delimiter);
    const { code, stdout, stderr } = await this.run("install", ["--harness", "claude-code", "--yes"], {
      PATH,
    });
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** Runs a script as the person would, in the checkout. */
  async run(name: string, args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const file = join(await bundles(), "scripts", `${name}.mjs`);
    return run(process.execPath, [file, ...args], { cwd: this.project, env: { HOME: this.home, ...env } });
  }

  /** The same for one that has to succeed; returns what it printed. */
  async script(name: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(name, args);
    assert.equal(code, 0, `${name}: ${stderr}`);
    return stdout;
  }

  /** Fires a signal for the checkout. */
  async fire(key: string, summary: string, ...flags: string[]): Promise<void> {
    await this.script("fire", "--key", key, "--summary", summary, ...flags);
  }

  async list(): Promise<SignalView[]> {
    return JSON.parse(await this.script("list", "--all", "--json"));
  }

  /** Of each signal: its key and state, where the news of it stands, and at which attempt; by key. */
  async standing(): Promise<(string | number | undefined)[][]> {
    const all = await this.list();
    return all.map(({ key, state, delivery: { status, attempt } }) => [key, state, status, attempt]).sort();
  }

  async sessions(): Promise<{ id: string; harness: string; state: string }[]> {
    return JSON.parse(await this.script("sessions", "--json"));
  }

  /** One headless session in the checkout, which has to end well. */
  async session(script: readonly Step[], options: Partial<ClaudeCodeOptions> = {}): Promise<ClaudeCodeRun> {
    const { home, project: cwd } = this;
    const result = await runClaudeCode({ home, cwd, script, ...options });
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  /** The same with Codex. */
  async codex(script: readonly CodexStep[], options: Partial<CodexOptions> = {}): Promise<CodexRun> {
    const { home, project: cwd } = this;
    const result = await runCodex({ home, cwd, script, ...options });
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  /** An interactive client in the checkout. Who opens it closes it, and the API after it. */
  terminal(
    api: StandIn,
    client: InTerminal = claudeInTerminal,
    env?: Record<string, string>,
  ): Promise<Terminal> {
    return Terminal.start({ client, home: this.home, cwd: this.project, api, env });
  }

  /** One of the client's own commands. */
  claude(args: readonly string[], env: Record<string, string> = {}): ReturnType<typeof runClaudeCommand> {
    return runClaudeCommand(args, { home: this.home, cwd: this.project, env });
  }

  /** Makes the hook of one event come to a bad end once. Returns what tells whether it has. */
  cut(event: string, how: Cut): () => boolean {
    const { preload, happened } = cutting(how);
    const { hooks, ...others } = JSON.parse(readFileSync(this.settings, "utf8"));
    for (const handler of hooks[event][0].hooks) {
      handler.command = `NODE_OPTIONS=--import=${preload} ${handler.command}`;
      if (how.startsWith("stuck")) handler.timeout = 2;
    }
    writeFileSync(this.settings, JSON.stringify({ ...others, hooks }));
    return happened;
  }

  /** The inbox as it is on disk. */
  get stored(): string {
    return readFileSync(join(this.inbox, "inbox.json"), "utf8");
  }
}

/** What the model says to run commands, all at once. */
export function bash(...commands: string[]): Exclude<Answer, string> {
  const call = (command: string) => ({ name: "Bash", input: { command, description: "look" } });
  return { text: "Let me look.", tools: commands.map(call) };
}

/** The same with Codex, which waits ten seconds for each. */
export function exec(...commands: string[]): Exclude<CodexAnswer, string> {
  return { tools: commands.map((cmd) => ({ name: "exec_command", input: { cmd, yield_time_ms: 10_000 } })) };
}

/** What the model says to go on until it has been shown this text, a second more each time, ten at most. */
export function until(text: string): Step[] {
  const step: Step = (request) => (timesShown([request], text)[0] ? "Done." : bash("sleep 1"));
  return Array<Step>(10).fill(step);
}

/** How often each request newly shows an output of ours that came at this event, such as `PostToolUse:Bash`. */
export function added(event: string, requests: readonly Shown[]): number[] {
  return timesShown(requests, `${event} hook additional context: Ambient signals:`);
}
