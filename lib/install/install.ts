import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CLIENTS, hookPoints } from "../client.ts";
import { home } from "../entries.ts";
import { SignalsError } from "../errors.ts";
import { BUNDLE, packageVersion } from "../header.ts";
import { shellWord } from "../text.ts";
import { missingFolder } from "./change.ts";
import { clientVersion } from "./client-version.ts";
import { contentsOf, fileChange, leftovers, planCommand, removal } from "./files.ts";
import { damagedFiles, hashOf, type Manifest, manifestText, readManifest, recordOf } from "./manifest.ts";
import { installationOf, realPath, type Scope, type Situation, sameFile, settingsPath } from "./paths.ts";
import type { Plan } from "./plan.ts";
import { type Plugin, type Registered, registeredHooks, wordsOf } from "./registered.ts";
import { readSettings } from "./settings-file.ts";
import { planEntries, type Wanted } from "./settings-plan.ts";

/** What is still off after an installation, and the command for each: its last lines. */
export const STILL_OFF: readonly string[] = [
  "nothing watches anything yet; how a script of yours fires: signals fire --help",
  "nothing was tried yet; to check the whole path: signals doctor",
];

/**
 * What installing for a scope would do. `dir` is the inbox that the hooks are to be told of, instead of the one that
 * their environment names. Throws `SignalsError` when something stands in the way.
 */
export async function planInstall(
  wantedScope: Scope,
  dir: string | undefined,
  situation: Situation,
): Promise<Plan> {
  const { env } = situation;
  const { folder, launcher, manifest: file } = installationOf(env);
  const registered = registeredHooks(situation);
  refusePlugin(registered.plugins);
  // First of all: another installation may note something of itself from here on.
  const was = readSettings(file);
  const earlier = readManifest(file);
  const isOwnSource = sameFile(home(), folder);
  const scope = scopeOf(wantedScope, situation);
  if (earlier && isOwnSource) requireWhole(folder, earlier, scope);

  // A shell that does not find the client is no reason to do without what it knows.
  const client = (await clientVersion(env)) ?? earlier?.client;
  const points = hookPoints(CLIENTS["claude-code"], client);
  const path = settingsPath(scope, situation);
  const record = recordOf(earlier, path);
  const inbox = dir === undefined ? undefined : resolve(situation.cwd, dir);
  const { settings, before, wanted } = planEntries(path, points, inbox, record?.before, situation);

  const contents = await contentsOf(folder, launcher);
  const command = planCommand(launcher, situation);
  const folderMade = missingFolder(realPath(path)) ?? record?.folder;
  const manifest: Manifest = {
    version: packageVersion(),
    node: process.execPath,
    ...(client !== undefined && { client }),
    command: command.path,
    files: Object.fromEntries(contents.map(({ path, text }) => [relative(folder, path), hashOf(text)])),
    again: (isOwnSource && earlier?.again) || installCommand(),
    made: [...new Set([...(earlier?.made ?? []), ...foldersMade(launcher, command.path)])],
    settings: {
      ...earlier?.settings,
      [record?.path ?? path]: {
        harness: "claude-code",
        scope,
        ...(folderMade && { folder: folderMade }),
        before,
      },
    },
  };
  const stale = Object.entries(earlier?.files ?? {}).filter(([name]) => !(name in manifest.files));
  const kept = (what: Manifest) =>
    manifestText(what) === was ? [] : [{ path: file, was, text: manifestText(what), mode: 0o644 }];
  return {
    scope,
    folder,
    settings,
    earlier: [
      ...contents.flatMap(({ path, text, mode }) => fileChange(path, text, mode)),
      ...command.change,
      // Until they are gone, the old ones have to be known.
      ...kept({ ...manifest, files: { ...manifest.files, ...Object.fromEntries(stale) } }),
    ],
    later: [
      ...stale.map(([name]) => removal(join(folder, name), folder)),
      ...(stale.length > 0 ? kept(manifest) : []),
      ...leftovers(folder, [path]),
    ],
    events: points.map(({ event }) => event),
    notes: [
      ...(client === undefined ? [NO_CLIENT] : []),
      ...registered.files.flatMap(({ path, hooksOff }) => (hooksOff ? [`${path}: ${HOOKS_OFF}`] : [])),
      ...registered.hooks.filter((hook) => !isOne(hook, path, wanted)).map((hook) => twice(hook, situation)),
      ...(scope === "project" ? [PROJECT] : []),
      ...(earlier && isOwnSource
        ? [`this is what is installed; to update it, run: ${earlier.again}${scopeFlag(scope)}`]
        : []),
      ...command.notes,
    ],
  };
}

function refusePlugin([plugin]: readonly Plugin[]): void {
  if (plugin === undefined) return;
  const { id, scope } = plugin;
  const command = `claude plugin uninstall ${id}${scopeFlag(scope)}`;
  throw new SignalsError(`plugin: ${id}: is enabled, and every hook would run twice; first run: ${command}`);
}

/** In the home directory, the project's settings are the user's. */
function scopeOf(wanted: Scope, situation: Situation): Scope {
  const isUsers = sameFile(settingsPath(wanted, situation), settingsPath("user", situation));
  return isUsers ? "user" : wanted;
}

/** The outermost folders that have to be made for these files. */
function foldersMade(...files: readonly (string | null)[]): string[] {
  return files.flatMap((file) => (file === null ? [] : (missingFolder(file) ?? [])));
}

/** What is installed can install itself again, but only while it is all there. */
function requireWhole(folder: string, manifest: Manifest, scope: Scope): void {
  const [damaged] = damagedFiles(folder, manifest);
  if (damaged === undefined) return;
  throw new SignalsError(
    `installation: ${join(folder, damaged)}: is gone, or not as it was written; run: ${manifest.again}${scopeFlag(scope)}`,
  );
}

/** The command line that does what is done here once more, from any directory; a scope other than the user's is added. */
export function installCommand(): string {
  const tsx = join(home(), "node_modules", ".bin", "tsx");
  const [runner, file] = BUNDLE
    ? ["node", "install.mjs"]
    : [existsSync(tsx) ? shellWord(tsx) : "npx tsx", "install.mts"];
  return `${runner} ${shellWord(join(home(), "scripts", file))} --yes`;
}

/** What makes a command one for this scope. */
export function scopeFlag(scope: Scope): string {
  return scope === "user" ? "" : ` --scope ${scope}`;
}

const NO_CLIENT =
  "claude is not on PATH: only events that every version of it knows are used; install again when it is";
const HOOKS_OFF = "says disableAllHooks: no hook runs until that line is taken out";
const PROJECT =
  "others who work in this project get these settings too, and not the files; --scope local is for you alone";

/** How an installation elsewhere is taken back by what it has there; undefined for a copy, or when that is gone. */
function uninstallBy(command: string, situation: Situation): string | undefined {
  const launcher = wordsOf(command, situation).find((word) => basename(word) === "launch");
  if (launcher === undefined || !existsSync(launcher)) return undefined;
  return `XDG_DATA_HOME=${shellWord(dirname(dirname(launcher)))} ${shellWord(launcher)} scripts/uninstall`;
}

/**
 * Whether what is registered already is no second run: it is in the file that is to be changed, or is the same command
 * in another one, which the client runs once.
 */
function isOne({ kind, file, event, command }: Registered, path: string, wanted: readonly Wanted[]): boolean {
  const same = wanted.some((entry) => entry.event === event && entry.command === command);
  return kind === "installed" && (same || sameFile(file, path));
}

/** A hook of ours that runs already, from elsewhere. */
function twice({ hook, file, line, kind, from, command }: Registered, situation: Situation): string {
  const uninstall =
    kind === "installed" ? `signals uninstall --scope ${from}` : uninstallBy(command, situation);
  const mend = uninstall ? `run: ${uninstall}` : "take that entry out";
  return `${file}:${line}: runs ${hook} as well (${command}); ${mend}`;
}
