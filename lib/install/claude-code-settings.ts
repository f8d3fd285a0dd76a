import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../errors.ts";
import {
  clientFolder,
  homeOf,
  NAME,
  SCOPES,
  type Scope,
  type Situation,
  sameFile,
  settingsPath,
  workTrees,
} from "./paths.ts";
import type { Plugin, SettingsFile } from "./registered.ts";
import { handlersOf, lookAt, plain, type SettingsText, valueAt } from "./settings-file.ts";

/** What Claude Code, run in `cwd`, reads of settings, and this package as a plugin of it, enabled. */
export function claudeCodeSettings(situation: Situation): { files: SettingsFile[]; plugins: Plugin[] } {
  const read = filesOf(situation).map(({ scope, path }) => ({ scope, path, ...lookAt(path) }));
  return {
    files: read.map(({ settings, ...file }) => ({
      ...file,
      hooksOff: plain(valueAt(settings?.root, "disableAllHooks")) === true,
      handlers: settings ? handlersOf(settings) : [],
    })),
    plugins: pluginsIn(read, situation),
  };
}

/** The settings files in the client's order. Two paths to one file are one file: the home directory as project. */
function filesOf(situation: Situation): { scope: Scope; path: string }[] {
  const file = (scope: Scope, cwd = situation.cwd) => {
    const path = settingsPath("claude-code", scope, { ...situation, cwd });
    return path === undefined ? [] : [{ scope, path }];
  };
  // The client also reads the local ones at the root of the repository, not of a second work tree.
  const root = workTrees(situation.cwd)?.first;
  const isProject = root !== undefined && !sameFile(root, homeOf(situation.env));
  const files = [...SCOPES.flatMap((scope) => file(scope)), ...(isProject ? file("local", root) : [])];
  return files.filter(({ path }, i) => files.findIndex((other) => sameFile(other.path, path)) === i);
}

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
    const {
      scope: installedFor = scope,
      installPath: path,
      version,
    } = here ?? all.find(({ projectPath }) => !projectPath) ?? {};
    const hooksFile = path && join(path, "hooks", "hooks.json");
    return [{ id, scope: installedFor, ...(path && { path, hooksFile }), ...(version && { version }) }];
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
  const file = join(clientFolder("claude-code", env), "plugins", "installed_plugins.json");
  const { version, plugins } = attempt(() => JSON.parse(readFileSync(file, "utf8"))) ?? {};
  return version === 2 ? plugins : undefined;
}
