import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { shellWord } from "../text.ts";
import { commandPath, fileChange, isOurCommand, leftovers, removal } from "./files.ts";
import { manifestText, readManifest, recordOf } from "./manifest.ts";
import { installationOf, type Scope, type Situation, sameFile, settingsPath } from "./paths.ts";
import type { Plan } from "./plan.ts";
import { registeredHooks } from "./registered.ts";
import { type Handler, readSettings, removeHandlers } from "./settings-file.ts";
import { handlersIn, isInstalled, reading, settingsChange } from "./settings-plan.ts";

/**
 * What uninstalling for a scope would do, or wherever there is something of ours. The files go with the last entry
 * that names them. Throws `SignalsError` when something stands in the way.
 */
export function planUninstall(scope: Scope | undefined, situation: Situation): Plan {
  const installation = installationOf(situation.env);
  const manifest = readManifest(installation.manifest);
  const registered = registeredHooks(situation);
  const isOurs = isInstalled(situation);
  const known = distinct([
    ...Object.keys(manifest?.settings ?? {}),
    settingsPath("user", situation),
    ...registered.hooks.flatMap(({ kind, file }) => (kind === "installed" ? [file] : [])),
  ]);
  const targets = scope === undefined ? known : [settingsPath(scope, situation)];
  const removed = targets.map((path) => {
    const record = recordOf(manifest, path);
    return reading(path, (was) => ({
      events: handlersIn(was)
        .filter(isOurs)
        .map(({ event }) => event),
      change: settingsChange(path, was, removeHandlers(was, isOurs, record?.before).text, record?.folder),
    }));
  });
  const others = known.filter((path) => !isAmong(targets, path) && holds(path, isOurs));
  const settings = Object.entries(manifest?.settings ?? {}).filter(([path]) => isAmong(others, path));
  const next = manifest && manifestText({ ...manifest, settings: Object.fromEntries(settings) });
  const kept = next === undefined ? [] : fileChange(installation.manifest, next, 0o644);
  return {
    scope,
    folder: installation.folder,
    settings: removed.flatMap(({ change }) => change),
    earlier: [],
    later: [
      ...leftovers(installation.folder, targets),
      ...(others.length > 0 ? kept : allFiles(installation, manifest, situation)),
    ],
    events: [...new Set(removed.flatMap(({ events }) => events))],
    notes: [
      ...others.map((path) => `${path} still has entries, so the files stay; without --scope all of it goes`),
      ...registered.hooks
        .filter(({ kind }) => kind === "copy" || kind === "launcher")
        .map(({ file, line, hook, command }) => `${file}:${line}: goes on to run ${hook} (${command})`),
    ],
  };
}

/** What to do about the inbox, which is the person's own; nothing when there is none. */
export function inboxLeft(dir: string): string[] {
  return existsSync(dir) ? [`the inbox stays at ${dir}; to remove it too: rm -r ${shellWord(dir)}`] : [];
}

/** Everything that an installation wrote besides the settings; the manifest last, as long as anything else is there. */
function allFiles(
  { folder, launcher, manifest: file }: ReturnType<typeof installationOf>,
  manifest: ReturnType<typeof readManifest>,
  situation: Situation,
) {
  const command = manifest?.command ?? commandPath(situation.env);
  const files = manifest ? Object.keys(manifest.files) : [relative(folder, launcher), ...foundIn(folder)];
  const inside = [...files.map((name) => join(folder, name)), file].filter((path) => existsSync(path));
  const made = [...(manifest?.made ?? []), folder];
  const withFolders = (path: string) =>
    removal(
      path,
      made.find((folder) => path.startsWith(`${folder}/`)),
    );
  return [...(isOurCommand(command, launcher, situation) ? [command] : []), ...inside].map(withFolders);
}

/** What is ours in an installation without a manifest: bundles, which say so, and what they play. */
function foundIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return all.filter((name) => {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    return (
      name.startsWith("fixtures/") ||
      /^\/\/ \S+ of ambient-signals \S+ as one file/m.test(readFileSync(path, "utf8"))
    );
  });
}

function holds(path: string, isOurs: (handler: Handler) => boolean): boolean {
  try {
    return handlersIn(readSettings(path)).some(isOurs);
  } catch {
    // It cannot be told; then the files had better be there.
    return true;
  }
}

function isAmong(paths: readonly string[], path: string): boolean {
  return paths.some((other) => sameFile(other, path));
}

/** Without other paths to the same file. */
function distinct(paths: readonly string[]): string[] {
  return paths.filter((path, i) => paths.findIndex((other) => sameFile(other, path)) === i);
}
