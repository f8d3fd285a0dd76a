import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { locate } from "../checkout.ts";
import { attempt, messageOf } from "../errors.ts";
import {
  clientFolder,
  homeOf,
  installationOf,
  NAME,
  SCOPES,
  type Scope,
  type Situation,
  sameFile,
  settingsPath,
} from "./paths.ts";
import {
  type Handler,
  handlersOf,
  parseSettings,
  plain,
  readSettings,
  type SettingsText,
  valueAt,
} from "./settings-file.ts";

/** A settings file that the client reads, whether or not it is there. */
export interface SettingsFile {
  scope: Scope;
  path: string;
  exists: boolean;
  /** Why it cannot be used, with the line. */
  fault?: string;
  /** `disableAllHooks: true`: the client runs none, from whichever file. */
  hooksOff: boolean;
}

/** A hook of ours that the client runs at an event. */
export interface Registered {
  event: string;
  /** The entry file's name, such as `post-tool-use`. */
  hook: string;
  /** As it is written there, arguments included. */
  command: string;
  from: Scope | "plugin";
  /** The settings file, or the plugin's hooks.json. */
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
  version?: string;
}

/**
 * Which hooks of ours the client runs: reads user, project and local settings and enabled plugins, as the client run
 * in `cwd` would. Hooks that only a `--settings` flag or the machine's managed settings name are not seen.
 */
export function registeredHooks(situation: Situation): {
  files: SettingsFile[];
  hooks: Registered[];
  plugins: Plugin[];
} {
  const read = filesOf(situation).map(({ scope, path }) => ({ scope, path, ...look(path) }));
  const plugins = pluginsIn(read, situation);
  return {
    files: read.map(({ scope, path, exists, fault, settings }) => {
      const hooksOff = plain(valueAt(settings?.root, "disableAllHooks")) === true;
      return { scope, path, exists, ...(fault !== undefined && { fault }), hooksOff };
    }),
    hooks: [
      ...read.flatMap(({ scope, path, settings }) =>
        handlersOf(settings ?? { root: undefined }).flatMap((handler) => {
          const known = hookOf(handler, situation);
          return known ? [{ ...place(handler), from: scope, file: path, ...known }] : [];
        }),
      ),
      ...plugins.flatMap((plugin) => hooksOfPlugin(plugin, situation)),
    ],
    plugins,
  };
}

/** The settings files in the client's order. Two paths to one file are one file: the home directory as project. */
function filesOf(situation: Situation): { scope: Scope; path: string }[] {
  const files = SCOPES.map((scope) => ({ scope, path: settingsPath(scope, situation) }));
  // The client also reads the local ones at the root of the repository, not of a second work tree.
  const root = repositoryRoot(situation.cwd);
  if (root !== undefined && !sameFile(root, homeOf(situation.env)))
    files.push({ scope: "local", path: settingsPath("local", { ...situation, cwd: root }) });
  return files.filter(({ path }, i) => files.findIndex((other) => sameFile(other.path, path)) === i);
}

function repositoryRoot(cwd: string): string | undefined {
  const { work_tree } = locate(cwd);
  if (work_tree === undefined) return undefined;
  // In a second work tree `.git` is a file that leads to a folder, in which `commondir` leads to the first one's.
  const [, gitDir] = /^gitdir: (.+)$/m.exec(textOf(join(work_tree, ".git"))) ?? [];
  const common = gitDir && textOf(join(resolve(work_tree, gitDir), "commondir")).trim();
  return common ? dirname(resolve(work_tree, gitDir, common)) : work_tree;
}

/** One settings file; an absent one is fine. */
function look(path: string): { exists: boolean; fault?: string; settings?: SettingsText } {
  try {
    const text = readSettings(path);
    return text === undefined ? { exists: false } : { exists: true, settings: parseSettings(text) };
  } catch (error) {
    return { exists: true, fault: messageOf(error) };
  }
}

function place({ event, command, args = [], line }: Handler) {
  return { event, command: [command, ...args].join(" "), line };
}

// ---------------------------------------------------------------- what a command runs

/** Which hook of ours a handler runs, and how; undefined for one that runs none. */
export function hookOf(
  { command, args }: Handler,
  situation: Situation,
): Pick<Registered, "hook" | "kind" | "version"> | undefined {
  const words = args
    ? [command, ...args].map((word) => expanded(word, situation))
    : wordsOf(command, situation);
  const { launcher } = installationOf(situation.env);
  for (const [i, written] of words.entries()) {
    const word = resolve(situation.cwd, written);
    const [, hook] = /^hooks\/(?:.+\/)?([\w-]+)$/.exec(words[i + 1] ?? "") ?? [];
    if (hook && basename(word) === "launch" && basename(dirname(word)) === NAME) {
      const kind = sameFile(word, launcher) ? "installed" : "launcher";
      const bundle = join(dirname(word), `${words[i + 1]}.mjs`);
      return { hook, kind, ...versioned(entryIn(bundle)?.version) };
    }
    const entry = /\.m[jt]s$/.test(word) ? entryIn(word) : undefined;
    if (entry) return { hook: entry.hook, kind: "copy", ...versioned(entry.version) };
  }
  return undefined;
}

function versioned(version: string | undefined): { version?: string } {
  return version === undefined ? {} : { version };
}

/** The hook that a file is, by what a bundle or a source of ours says at its beginning. */
function entryIn(file: string): { hook: string; version?: string } | undefined {
  const head = headOf(file);
  const [, name, version] = /^\/\/ hooks\/(\S+)\.mts of ambient-signals (\S+) as one file/m.exec(head) ?? [];
  if (name && version) return { hook: basename(name), version };
  return /from "ambient-signals"/.test(head) ? { hook: basename(file).replace(/\.m[jt]s$/, "") } : undefined;
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

// ---------------------------------------------------------------- plugins

/** This package, from whichever marketplace, where the strongest settings that speak of it enable it. */
function pluginsIn(
  read: readonly { scope: Scope; settings?: SettingsText }[],
  situation: Situation,
): Plugin[] {
  const said = new Map<string, { enabled: boolean; scope: Scope }>();
  for (const { scope, settings } of read) {
    const plugins = plain(valueAt(settings?.root, "enabledPlugins"));
    for (const [id, enabled] of Object.entries(Object(plugins))) {
      if (id.startsWith(`${NAME}@`)) said.set(id, { enabled: enabled === true, scope });
    }
  }
  const list = installedPlugins(situation.env);
  return [...said].flatMap(([id, { enabled, scope }]) => {
    // One that is enabled and not installed does nothing.
    if (!enabled || (list && !(id in list))) return [];
    const all = [list?.[id] ?? []].flat();
    const here = all.find(({ projectPath }) => projectPath && sameFile(projectPath, situation.cwd));
    const found = here ?? all.find(({ projectPath }) => !projectPath);
    const path = found?.installPath;
    const installedAs = found?.scope ?? scope;
    return [{ id, scope: installedAs, ...(path && { path }), ...versioned(found?.version) }];
  });
}

/** What the client writes of a plugin, once for each place that it was installed for. */
interface InstalledPlugin {
  scope?: Scope;
  installPath?: string;
  version?: string;
  projectPath?: string;
}

/** The client's own list of plugins; undefined when it is not there, or of a form that is not known here. */
function installedPlugins(env: NodeJS.ProcessEnv): Record<string, InstalledPlugin[]> | undefined {
  try {
    const { version, plugins } = JSON.parse(
      textOf(join(clientFolder(env), "plugins", "installed_plugins.json")),
    );
    return version === 2 ? plugins : undefined;
  } catch {
    return undefined;
  }
}

function hooksOfPlugin({ path, version }: Plugin, situation: Situation): Registered[] {
  if (path === undefined) return [];
  const file = join(path, "hooks", "hooks.json");
  const { settings } = look(file);
  const env = { ...situation.env, CLAUDE_PLUGIN_ROOT: path };
  return handlersOf(settings ?? { root: undefined }).flatMap((handler) => {
    const known = hookOf(handler, { ...situation, env });
    return known
      ? [{ ...place(handler), from: "plugin", file, ...versioned(version), ...known, kind: "plugin" }]
      : [];
  });
}

// ---------------------------------------------------------------- files

function textOf(file: string): string {
  return attempt(() => readFileSync(file, "utf8")) ?? "";
}

/** The first 4 KiB, which hold the doc comment and the imports of any entry file. */
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
