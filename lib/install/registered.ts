import { closeSync, openSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Harness } from "../client.ts";
import { claudeCodeSettings } from "./claude-code-settings.ts";
import { codexSettings } from "./codex-settings.ts";
import { homeOf, installationOf, NAME, type Scope, type Situation, sameFile } from "./paths.ts";
import { type Handler, handlersOf, lookAt } from "./settings-file.ts";

/** A settings file that the client reads, whether or not it is there. */
export interface SettingsFile {
  scope: Scope;
  path: string;
  exists: boolean;
  /** Why the client passes over the whole of it, with the line. */
  fault?: string;
  /** It switches hooks off: the client runs none, from whichever file. */
  hooksOff: boolean;
  handlers: Handler[];
}

/** A hook of ours that the client runs at an event. */
export interface Registered {
  /** The client in whose settings it is. */
  harness: Harness;
  event: string;
  /** The entry file's name, such as `post-tool-use`. */
  hook: string;
  /** The same as the package has it, such as `hooks/codex/stop`, where it can be told: it may be another client's. */
  entry?: string;
  /** As it is written there, arguments included. */
  command: string;
  from: Scope | "plugin";
  /** The settings file, or the plugin's own. */
  file: string;
  line: number;
  /**
   * `installed`: by our launcher; `launcher`: by one of an installation elsewhere; `copy`: a copied bundle, or a
   * source file; `plugin`: by this package as a plugin.
   */
  kind: "installed" | "launcher" | "copy" | "plugin";
  /** Of the file that runs, where it can be told. */
  version?: string;
}

/** This package as a plugin of the client, enabled. */
export interface Plugin {
  /** Such as `ambient-signals@acme`. */
  id: string;
  /** What it was installed for; where that is not known, whose settings enable it. */
  scope: Scope;
  /** Where it is, when the client's own list says so. */
  path?: string;
  /** The file that names its hooks. */
  hooksFile?: string;
  version?: string;
}

/**
 * Which hooks of ours a client runs: reads its settings of every scope and its enabled plugins, as the client run in
 * `cwd` would. Hooks that only a flag or the machine's managed settings name are not seen.
 */
export function registeredHooks(
  harness: Harness,
  situation: Situation,
): { files: SettingsFile[]; hooks: Registered[]; plugins: Plugin[] } {
  const { files, plugins } = READERS[harness](situation);
  const hooks = files.flatMap(({ scope: from, path: file, handlers }) =>
    handlers.flatMap((handler): Registered[] => {
      const known = hookOf(handler, situation);
      return known ? [{ harness, ...place(handler), from, file, ...known }] : [];
    }),
  );
  return {
    files,
    hooks: [...hooks, ...plugins.flatMap((plugin) => hooksOfPlugin(harness, plugin, situation))],
    plugins,
  };
}

const READERS = { "claude-code": claudeCodeSettings, codex: codexSettings };

function hooksOfPlugin(
  harness: Harness,
  { path, hooksFile: file, version }: Plugin,
  situation: Situation,
): Registered[] {
  if (path === undefined || file === undefined) return [];
  const env = { ...situation.env, CLAUDE_PLUGIN_ROOT: path, PLUGIN_ROOT: path };
  return handlersOf(lookAt(file).settings ?? { root: undefined }).flatMap((handler): Registered[] => {
    const known = hookOf(handler, { ...situation, env });
    return known
      ? [
          {
            harness,
            ...place(handler),
            from: "plugin",
            file,
            ...versioned(version),
            ...known,
            kind: "plugin",
          },
        ]
      : [];
  });
}

function place({ event, command, args = [], line }: Handler) {
  return { event, command: [command, ...args].join(" "), line };
}

// ---------------------------------------------------------------- what a command runs

/** Which hook of ours a handler runs, and how; undefined for one that runs none. */
export function hookOf(
  { command, args }: Handler,
  situation: Situation,
): Pick<Registered, "entry" | "hook" | "kind" | "version"> | undefined {
  const words = args
    ? [command, ...args].map((word) => expanded(word, situation))
    : wordsOf(command, situation);
  const { launcher } = installationOf(situation.env);
  for (const [i, written] of words.entries()) {
    const word = resolve(situation.cwd, written);
    const [entry, hook] = /^hooks\/(?:.+\/)?([\w-]+)$/.exec(words[i + 1] ?? "") ?? [];
    if (hook && basename(word) === "launch" && basename(dirname(word)) === NAME) {
      const kind = sameFile(word, launcher) ? "installed" : "launcher";
      return { hook, entry, kind, ...versioned(entryIn(join(dirname(word), `${entry}.mjs`))?.version) };
    }
    const copy = /\.m[jt]s$/.test(word) ? entryIn(word) : undefined;
    if (copy) return { ...copy, kind: "copy" };
  }
  return undefined;
}

function versioned(version: string | undefined): { version?: string } {
  return version === undefined ? {} : { version };
}

/** The hook that a file is, by what a bundle or a source of ours says at its beginning. */
function entryIn(file: string): Pick<Registered, "entry" | "hook" | "version"> | undefined {
  const head = headOf(file);
  const [, name, version] = /^\/\/ (hooks\/\S+)\.mts of ambient-signals (\S+) as one file/m.exec(head) ?? [];
  if (name && version) return { hook: basename(name), entry: name, version };
  if (!/from "ambient-signals"/.test(head)) return undefined;
  const hook = basename(file).replace(/\.m[jt]s$/, "");
  const [, harness] = /\brunHook\(\s*import\.meta\.url,\s*"([\w-]+)"/.exec(head) ?? [];
  return { hook, ...(harness && { entry: `hooks/${harness}/${hook}` }) };
}

/** The inbox that a command names; undefined when it leaves that to its environment. */
export function inboxIn(command: string, situation: Situation): string | undefined {
  const words = wordsOf(command, situation);
  const given = words.flatMap((word, i) => {
    const [, value] = /^(?:--dir|HARN_EXT_SIGNALS_DIR)=(.+)$/s.exec(word) ?? [];
    return value ?? (word === "--dir" ? (words[i + 1] ?? []) : []);
  });
  return given.at(-1);
}

/** The words of a shell command, as far as quotes, backslashes and variables make them. */
export function wordsOf(command: string, situation: Situation): string[] {
  const words = command.match(/(?:'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|[^\s'"\\;&|()<>])+/g) ?? [];
  return words.map((word) =>
    word
      .replace(/^~(?=\/|$)/, () => homeOf(situation.env))
      .replace(
        /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|[^'"\\]+/g,
        (bare: string, raw?: string, quoted?: string, escaped?: string) =>
          raw ?? escaped ?? expanded(quoted?.replace(/\\(["\\$`])/g, "$1") ?? bare, situation),
      ),
  );
}

/** With the variables of the client and the environment put in. */
function expanded(text: string, { cwd, env }: Situation): string {
  const known: NodeJS.ProcessEnv = { ...env, HOME: homeOf(env), CLAUDE_PROJECT_DIR: cwd };
  return text.replace(/\$(?:(\w+)|\{(\w+)\})/g, (all, a?: string, b?: string) => known[a ?? b ?? ""] ?? all);
}

// ---------------------------------------------------------------- files

/** The first 4 KiB, which hold all of a source file of ours, and what a bundle says of itself. */
function headOf(file: string): string {
  try {
    if (!statSync(file).isFile()) return "";
    const handle = openSync(file, "r");
    try {
      const buffer = Buffer.alloc(4096);
      return buffer.toString("utf8", 0, readSync(handle, buffer));
    } finally {
      closeSync(handle);
    }
  } catch {
    return "";
  }
}
