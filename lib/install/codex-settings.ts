import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { parse, TomlError, type TomlTable } from "smol-toml";
import { isAtLeast } from "../client.ts";
import { attempt, messageOf, SignalsError } from "../errors.ts";
import { clientFolder, NAME, type Scope, type Situation, sameFile, workTrees } from "./paths.ts";
import type { Plugin, SettingsFile } from "./registered.ts";
import {
  type Handler,
  handlersOf,
  lineOf,
  lookAt,
  membersOf,
  nameOf,
  plain,
  readSettings,
  type SettingsText,
  valueAt,
} from "./settings-file.ts";

/** What Codex, run in `cwd`, reads of settings, and this package as a plugin of it, enabled. */
export function codexSettings(situation: Situation): { files: SettingsFile[]; plugins: Plugin[] } {
  const all = foldersOf(situation).map(({ scope, folder }): Read => {
    const { file, config } = configAt(join(folder, "config.toml"));
    const files = [hooksAt(join(folder, "hooks.json")), file].map((one) => ({ scope, ...one }));
    return { scope, files, config };
  });
  const isTrusted = trusts(all[0]?.config, situation.cwd);
  const read = all.map((one) => (one.scope === "user" || isTrusted ? one : unread(one)));
  return { files: read.flatMap(({ files }) => files), plugins: pluginsIn(read, situation) };
}

/** A folder of settings. */
interface Read {
  scope: Scope;
  files: SettingsFile[];
  config: TomlTable;
}

/** The person's own folder of settings, and those of a project. */
function foldersOf({ cwd, env }: Situation): { scope: Scope; folder: string }[] {
  const user = clientFolder("codex", env);
  const projects = projectFolders(cwd).filter((folder) => !sameFile(folder, user));
  return [
    { scope: "user", folder: user },
    ...projects.map((folder) => ({ scope: "project" as const, folder })),
  ];
}

/**
 * One in each directory from the root of the work tree down to `cwd`. What stands in those of a second work tree is not
 * read: only that they are there, and then the first one's in their place.
 */
function projectFolders(cwd: string): string[] {
  const trees = workTrees(cwd);
  if (trees === undefined) return [join(cwd, ".codex")];
  const names = relative(trees.own, trees.cwd).split(sep);
  const steps = ["", ...names.map((_, i) => join(...names.slice(0, i + 1)))];
  return [...new Set(steps.map((step) => join(step, ".codex")))]
    .filter((folder) => trees.own === trees.first || existsSync(join(trees.own, folder)))
    .map((folder) => join(trees.first, folder));
}

/** Whether the person has said, in their own config.toml, that a project is to be trusted. */
function trusts(config: TomlTable | undefined, cwd: string): boolean {
  const trees = workTrees(cwd);
  return [cwd, trees?.cwd, trees?.own, trees?.first].some(
    (folder) => folder !== undefined && at(config, "projects", folder, "trust_level") === "trusted",
  );
}

/** Of a project that is not trusted, Codex reads nothing: it switches nothing off, and no fault in it matters. */
function unread({ scope, files }: Read): Read {
  const quiet = files.map(({ fault: _, ...file }) => ({ ...file, hooksOff: false }));
  return { scope, files: quiet, config: {} };
}

// ---------------------------------------------------------------- hooks.json

function hooksAt(path: string): Omit<SettingsFile, "scope"> {
  const { settings, ...found } = lookAt(path);
  const fault = found.fault ?? (settings && faultIn(settings));
  const handlers = settings ? handlersOf(settings) : [];
  return { path, ...found, ...(fault !== undefined && { fault }), hooksOff: false, handlers };
}

const KEYS = ["description", "hooks"];
const TYPES = ["command", "mcp_tool", "prompt", "agent"];
/** What stands under any other name it does not look at. */
const EVENTS =
  /^(Session(Start|End)|UserPromptSubmit|(Pre|Post)(ToolUse|Compact|ModelRequest)|PermissionRequest|Subagent(Start|Stop)|Stop|Interrupt)$/;

/** Why Codex runs nothing of a hooks file that is JSON, with the line; seen in runs of 0.171.0. */
function faultIn({ text, root }: SettingsText): string | undefined {
  if (text.startsWith("\ufeff")) return "line 1: begins with a byte order mark, which Codex does not read";
  const other = membersOf(root).find((member) => !KEYS.includes(nameOf(member)));
  if (other) {
    const name = JSON.stringify(nameOf(other));
    return `line ${lineOf(other)}: has the key ${name}, where Codex takes only "description" and "hooks"`;
  }
  for (const event of membersOf(valueAt(root, "hooks"))) {
    if (!EVENTS.test(nameOf(event)) || event.value.type !== "Array") continue;
    const handlers = event.value.elements.flatMap(({ value: group }) => {
      const list = valueAt(group, "hooks");
      return list?.type === "Array" ? list.elements.map((element) => element.value) : [];
    });
    for (const handler of handlers) {
      const type = plain(valueAt(handler, "type"));
      if (TYPES.includes(String(type))) continue;
      const what = type === undefined ? "without a type" : `of the type ${JSON.stringify(type)}`;
      return `line ${lineOf(handler)}: has a hook ${what}, where Codex takes only ${TYPES.join(", ")}`;
    }
  }
  return undefined;
}

// ---------------------------------------------------------------- config.toml

/** A config.toml: as a file that may hold hooks, and what it says. */
function configAt(path: string): { file: Omit<SettingsFile, "scope">; config: TomlTable } {
  try {
    const text = readSettings(path);
    const config = configIn(text);
    const hooksOff = at(config, "features", "hooks") === false;
    const handlers = Object.entries(Object(config["hooks"])).flatMap(([event, groups]) =>
      handlersIn(event, groups, text ?? ""),
    );
    return { file: { path, exists: text !== undefined, hooksOff, handlers }, config };
  } catch (error) {
    const file = { path, exists: true, fault: messageOf(error), hooksOff: false, handlers: [] };
    return { file, config: {} };
  }
}

/** What a config.toml says. Throws `SignalsError` that begins with the line. */
function configIn(text: string | undefined): TomlTable {
  try {
    return parse(text ?? "");
  } catch (error) {
    const [what = ""] = messageOf(error).replace("Invalid TOML document: ", "").split("\n");
    const line = error instanceof TomlError ? error.line : 1;
    throw new SignalsError(`line ${line}: is not TOML: ${what}`, { cause: error });
  }
}

/** The commands of one event. What is not of the right shape is passed over. */
function handlersIn(event: string, groups: unknown, text: string): Handler[] {
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  return list(groups).flatMap((group) =>
    list(Object(group).hooks).flatMap((handler) => {
      const { type, command } = Object(handler);
      if (type !== "command" || typeof command !== "string") return [];
      // The parser keeps no places.
      const line = text.split("\n").findIndex((line) => line.includes(command)) + 1;
      return [{ event, command, args: undefined, line: Math.max(line, 1) }];
    }),
  );
}

/** A value below a table, whatever stands in between. */
function at(table: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce((value: unknown, key) => Object(value)[key], table);
}

/**
 * What Codex keeps of each hook, by its key, in the person's own config.toml; undefined when there is no table for
 * that. Throws `SignalsError` when the file cannot be read.
 */
export function hookStates(path: string): Record<string, Record<string, unknown>> | undefined {
  const states = at(configIn(readSettings(path)), "hooks", "state");
  return states === undefined ? undefined : Object(states);
}

// ---------------------------------------------------------------- plugins

/** This package, from whichever marketplace, where the strongest settings that speak of it enable it. */
function pluginsIn(read: readonly Read[], { env }: Pick<Situation, "env">): Plugin[] {
  const said = new Map<string, { enabled: boolean; scope: Scope }>();
  let areOn = true;
  for (const { scope, config } of read) {
    areOn = (at(config, "features", "plugins") ?? areOn) !== false;
    for (const [id, plugin] of Object.entries(Object(config["plugins"]))) {
      if (id.startsWith(`${NAME}@`)) said.set(id, { enabled: at(plugin, "enabled") !== false, scope });
    }
  }
  return [...said].flatMap(([id, { enabled, scope }]) => {
    const market = id.slice(NAME.length + 1);
    const cache = join(clientFolder("codex", env), "plugins", "cache", market, NAME);
    // One that is enabled and not installed does nothing. Of several, the newest counts.
    const version = (attempt(() => readdirSync(cache)) ?? [])
      .sort((a, b) => (isAtLeast(a, b) ? 1 : -1))
      .at(-1);
    if (!areOn || !enabled || version === undefined) return [];
    const path = join(cache, version);
    return [{ id, scope, path, hooksFile: hooksFileOf(path), version }];
  });
}

/** The file of a plugin's hooks: where it says so, else where they are by default. */
function hooksFileOf(path: string): string {
  const manifest = attempt(() =>
    JSON.parse(readFileSync(join(path, ".codex-plugin", "plugin.json"), "utf8")),
  );
  const named = at(manifest, "hooks");
  return join(path, typeof named === "string" ? named : join("hooks", "hooks.json"));
}
