import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type FireFlags, fireReport } from "../by-hand.ts";
import type { Harness } from "../client.ts";
import { type Document, findSession, findSignal, type Session } from "../document.ts";
import { type Options, readDocument, transact } from "../inbox.ts";
import { fire, resolve } from "../lifecycle.ts";
import { timeOf } from "../time.ts";
import { ROOT, TSX, tempDirectory } from "./process.ts";

/** Hooks as a client meets them: real processes, with the payloads of real runs on stdin. */

export type Payload = Record<string, unknown>;

/** The session of each client's fixtures. */
export const SESSIONS: Record<Harness, string> = {
  "claude-code": "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37",
  codex: "019e5510-7a1e-7c0d-9b1f-2f6c1d0a9e37",
};

const KEEP: Options = { onConfigFault: "keep" };

const root = realpathSync(tempDirectory("hooks"));
const children = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

/** An inbox, a checkout, and the hooks of one client that run there. */
export class Bench {
  readonly harness: Harness;
  readonly #bundles: string | undefined;
  readonly home = mkdtempSync(join(root, "shop-"));
  readonly dir = join(this.home, "signals");
  readonly api = this.checkout("api", "git@github.com:acme/api.git");

  /** Runs the hooks from source, or, which is faster, the bundles in a folder. */
  constructor(config?: string, harness: Harness = "claude-code", bundles?: string) {
    this.harness = harness;
    this.#bundles = bundles;
    mkdirSync(this.dir, { mode: 0o700 });
    if (config !== undefined) this.write("config.toml", config);
  }

  checkout(name: string, remote: string): string {
    const dir = join(this.home, name);
    mkdirSync(join(dir, ".git"), { recursive: true });
    writeFileSync(join(dir, ".git", "HEAD"), "ref: refs/heads/main\n");
    writeFileSync(join(dir, ".git", "config"), `[remote "origin"]\n\turl = ${remote}\n`);
    return dir;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.dir, name), text);
  }

  /** Fires signals for the checkout, one after the other. */
  async fire(keys: readonly string[], flags: FireFlags = {}): Promise<void> {
    for (const key of keys) {
      const given = { key, summary: `${key} is red`, repo: "acme/api", "source-url": "https://ci.example/1" };
      const change = (doc: Document, now: string) => fire(doc, fireReport({ ...given, ...flags }, now), now);
      await transact(this.dir, { change }, KEEP);
      // The order of delivery goes by the millisecond.
      await sleep(2);
    }
  }

  /** Resolves a signal, as the script that fired it would. */
  async resolve(key: string): Promise<void> {
    const report = { key, producer: "human", signature: "local", origin: "human" } as const;
    const change = (doc: Document, now: string) => [resolve(doc, report, now)[0], undefined] as const;
    await transact(this.dir, { change }, KEEP);
  }

  /** A real payload, in a directory that exists here. */
  payload(fixture: string, fields: Payload = {}): Payload {
    const text = readFileSync(join(ROOT, "fixtures", this.harness, `${fixture}.json`), "utf8");
    return { ...JSON.parse(text), cwd: this.api, ...fields };
  }

  /** Starts a hook and leaves its streams to the test. */
  start(name: string, { env = {}, stdout = "pipe" as "pipe" | number, args = [] as string[] } = {}): Hook {
    const { PATH = "" } = process.env;
    const words =
      this.#bundles === undefined
        ? [...TSX, join(ROOT, "hooks", this.harness, `${name}.mts`)]
        : [join(this.#bundles, "hooks", this.harness, `${name}.mjs`)];
    const child = spawn(process.execPath, [...words, ...args], {
      cwd: this.home,
      env: { PATH, HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir, ...env },
      stdio: ["pipe", stdout, "pipe"],
    });
    children.add(child);
    return new Hook(child);
  }

  /** Runs a hook on one event, a fixture's name or whole, to its end. */
  hook(name: string, event: string | Payload, options: Parameters<Bench["start"]>[1] = {}): Promise<Said> {
    const payload = typeof event === "string" ? this.payload(event) : event;
    return this.start(name, options).ends(JSON.stringify(payload));
  }

  get doc(): Document {
    return readDocument(this.dir, timeOf(Date.now()));
  }

  get session(): Session | undefined {
    return findSession(this.doc, SESSIONS[this.harness]);
  }

  /** Per key, whether the session is known to have been told. */
  isAcked(key: string): boolean {
    return findSignal(this.doc, key)?.acked !== undefined;
  }
}

/** What a hook said, to whom. */
export interface Said {
  /** What the model is shown. */
  text: string;
  /** The keys in it, in order. */
  told: string[];
  event: string | undefined;
  /** What the person is shown. */
  message: string | undefined;
  stdout: string;
  stderr: string;
}

export class Hook {
  readonly child: ChildProcess;
  #stdout = "";
  #stderr = "";
  readonly #closed: Promise<unknown[]>;

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    // A hook may end without having read all of its input.
    child.stdin?.on("error", () => {});
    this.#closed = once(child, "close");
  }

  write(part: string | Buffer): void {
    this.child.stdin?.write(part);
  }

  /** Waits for the end, after the rest of the input if one is given, and holds every hook to its contract. */
  async ends(rest?: string | Buffer): Promise<Said> {
    if (rest !== undefined) this.child.stdin?.end(rest);
    const [code, signal] = await this.#closed;
    children.delete(this.child);
    assert.deepEqual([code, signal], [0, null], `a hook exits 0, always: ${this.#stderr}`);
    return said(this.#stdout, this.#stderr);
  }

  async isKilled(): Promise<void> {
    this.child.kill("SIGKILL");
    const [, signal] = await this.#closed;
    children.delete(this.child);
    assert.equal(signal, "SIGKILL");
  }
}

/** Takes one output apart; it must be one object of the shape that the client accepts, or nothing. */
export function said(stdout: string, stderr: string): Said {
  const nothing = { text: "", told: [], event: undefined, message: undefined, stdout, stderr };
  if (stdout === "") return nothing;
  const { hookSpecificOutput, systemMessage, ...others } = JSON.parse(stdout) as {
    hookSpecificOutput?: { hookEventName: string; additionalContext: string };
    systemMessage?: string;
  };
  assert.deepEqual(others, {}, "the client knows no other fields");
  if (hookSpecificOutput === undefined) return { ...nothing, message: systemMessage };
  const { hookEventName: event, additionalContext: text, ...more } = hookSpecificOutput;
  assert.deepEqual(more, {});
  assert.notEqual(text, "", "empty context is never printed");
  const told = [...text.matchAll(/^signal: (.*)$/gm)].map(([, key]) => key ?? "");
  return { text, told, event, message: systemMessage, stdout, stderr };
}

/** Waits until something holds, with a bound that only a broken test reaches. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await holds()); ) {
    assert.ok(Date.now() < end, `waited in vain: ${what}`);
    await sleep(10);
  }
}
