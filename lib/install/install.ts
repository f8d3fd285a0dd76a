import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { bundleOf } from "../bundle.ts";
import { HOOK_TIMEOUT, type HookPoint, hookPoints } from "../claude-code.ts";
import { entries, home } from "../entries.ts";
import { SignalsError } from "../errors.ts";
import { BUNDLE, packageVersion } from "../header.ts";
import { shellWord } from "../text.ts";
import { type Change, missingFolder } from "./change.ts";
import { clientVersion } from "./client-version.ts";
import { commandText, launcherText } from "./launcher.ts";
import { damagedFiles, hashOf, type Manifest, manifestText, readManifest, recordOf } from "./manifest.ts";
import type { Plan } from "./plan.ts";
import {
  homeOf,
  hookOf,
  installationOf,
  type Registered,
  realPath,
  registeredHooks,
  type Scope,
  type Situation,
  sameFile,
  settingsPath,
} from "./registered.ts";
import {
  addEntries,
  type Before,
  type Entry,
  type Handler,
  handlersOf,
  parseSettings,
  readSettings,
  removeHandlers,
} from "./settings-file.ts";

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
  scope: Scope,
  dir: string | undefined,
  situation: Situation,
): Promise<Plan> {
  const { env } = situation;
  const { folder, launcher, manifest: manifestFile } = installationOf(env);
  const registered = registeredHooks(situation);
  for (const { id, scope: from } of registered.plugins) {
    const command = `claude plugin uninstall ${id}${from === "user" ? "" : ` --scope ${from}`}`;
    throw new SignalsError(
      `plugin: ${id}: is enabled, and every hook would run twice; first run: ${command}`,
    );
  }
  const manifest = readManifest(manifestFile);
  // A shell that does not find the client is no reason to do without what it knows.
  const client = (await clientVersion(env)) ?? manifest?.client;
  const points = hookPoints(client);
  const path = settingsPath(scope, situation);
  const record = recordOf(manifest, path);
  const wanted = wantedEntries(points, launcher, dir && resolve(situation.cwd, dir));
  const { settings, before } = planEntries(path, wanted, dir !== undefined, record?.before, situation);

  const isOwnSource = sameFile(home(), folder);
  if (manifest && isOwnSource) requireWhole(folder, manifest);
  const contents = await contentsOf(folder, launcher);
  const command = planCommand(launcher, env);
  const files = Object.fromEntries(contents.map(({ path, text }) => [relative(folder, path), hashOf(text)]));
  const stale = Object.entries(manifest?.files ?? {}).filter(([file]) => !(file in files));
  const folderMade = missingFolder(realPath(path)) ?? record?.folder;
  const made = [launcher, ...(command.path === null ? [] : [command.path])].flatMap(
    (file) => missingFolder(file) ?? [],
  );
  const next: Manifest = {
    version: packageVersion(),
    node: process.execPath,
    ...(client !== undefined && { client }),
    command: command.path,
    files,
    again: manifest && isOwnSource ? manifest.again : installCommand(),
    made: [...new Set([...(manifest?.made ?? []), ...made])],
    settings: {
      ...manifest?.settings,
      [record?.path ?? path]: {
        harness: "claude-code",
        scope,
        ...(folderMade && { folder: folderMade }),
        before,
      },
    },
  };
  const kept = (what: Manifest) => fileChange(manifestFile, manifestText(what), 0o644);
  return {
    scope,
    folder,
    settings,
    earlier: [
      ...contents.flatMap(({ path, text, mode }) => fileChange(path, text, mode)),
      ...command.change,
      // Until they are gone, the old ones have to be known.
      ...kept({ ...next, files: { ...files, ...Object.fromEntries(stale) } }),
    ],
    later:
      stale.length === 0
        ? []
        : [...stale.map(([file]) => removal(join(folder, file), folder)), ...kept(next)],
    events: points.map(({ event }) => event),
    notes: [
      ...(client === undefined ? [NO_CLIENT] : []),
      ...registered.files.flatMap(({ path, hooksOff }) => (hooksOff ? [`${path}: ${HOOKS_OFF}`] : [])),
      ...registered.hooks.filter((hook) => !isOne(hook, path, wanted)).map(twice),
      ...(scope === "project" ? [PROJECT] : []),
      ...command.notes,
    ],
  };
}

/** What is installed can install itself again, but only while it is all there. */
function requireWhole(folder: string, manifest: Manifest): void {
  const [damaged] = damagedFiles(folder, manifest);
  if (damaged === undefined) return;
  throw new SignalsError(
    `installation: ${join(folder, damaged)}: is gone, or not as it was written; run: ${manifest.again}`,
  );
}

/** The command line that does what is done here once more. */
function installCommand(): string {
  return BUNDLE
    ? `node ${shellWord(join(home(), "scripts", "install.mjs"))} --yes`
    : `cd ${shellWord(home())} && npx tsx scripts/install.mts --yes`;
}

const NO_CLIENT =
  "claude is not on PATH: only events that every version of it knows are used; install again when it is";
const HOOKS_OFF = "says disableAllHooks: no hook runs until that line is taken out";
const PROJECT =
  "others who work in this project get these settings too, and not the files; --scope local is for you alone";

/**
 * Whether what is registered already is no second run: it is in the file that is to be changed, or is the same command
 * in another one, which the client runs once.
 */
function isOne({ kind, file, event, command }: Registered, path: string, wanted: readonly Wanted[]): boolean {
  const same = wanted.some((entry) => entry.event === event && entry.command === command);
  return kind === "installed" && (same || sameFile(file, path));
}

/** A hook of ours that runs already, from elsewhere. */
function twice({ hook, file, line, kind, from, command }: Registered): string {
  const mend = kind === "installed" ? `run: signals uninstall --scope ${from}` : "take that entry out";
  return `${file}:${line}: runs ${hook} as well (${command}); ${mend}`;
}

interface Wanted extends Entry {
  hook: string;
}

function wantedEntries(points: readonly HookPoint[], launcher: string, dir: string | undefined): Wanted[] {
  const flags = dir === undefined ? "" : ` --dir ${shellWord(dir)}`;
  return points.map(({ event, hook }) => ({
    event,
    hook,
    command: `${shellWord(launcher)} hooks/claude-code/${hook}${flags}`,
    timeout: HOOK_TIMEOUT,
  }));
}

/** The settings with our entries. Those that are there stay, unless `exactly`, with what a person added to them. */
function planEntries(
  path: string,
  wanted: readonly Wanted[],
  exactly: boolean,
  known: Before | undefined,
  situation: Situation,
): { settings: Change[]; before: Before } {
  const isOurs = isInstalled(situation);
  /** The entry that a handler of ours is already. */
  const entryOf = (handler: Handler) =>
    wanted.find(
      ({ event, hook, command }) =>
        event === handler.event &&
        hook === hookOf(handler, situation)?.hook &&
        (!exactly || command === handler.command),
    );
  return reading(path, (was) => {
    const ours = handlersIn(was).filter(isOurs);
    const there = ours.map(entryOf);
    const left = removeHandlers(was, (handler) => isOurs(handler) && !entryOf(handler), known);
    // What is known of a file that holds nothing of ours any more is of another time.
    const { text, before } = addEntries(
      left.text,
      wanted.filter((entry) => !there.includes(entry)),
      ours.length > 0 ? left.before : {},
    );
    return { settings: settingsChange(path, was, text), before };
  });
}

/** Tells the handlers that run by our launcher. */
export function isInstalled(situation: Situation): (handler: Handler) => boolean {
  return (handler) => hookOf(handler, situation)?.kind === "installed";
}

export function handlersIn(text: string | undefined): Handler[] {
  return handlersOf(parseSettings(text ?? ""));
}

/** Works on the text of a settings file; what is wrong with it is said with its path. */
export function reading<T>(path: string, work: (text: string | undefined) => T): T {
  try {
    return work(readSettings(path));
  } catch (error) {
    if (!(error instanceof SignalsError)) throw error;
    const text = `settings: ${path}: ${error.message}; nothing was changed, mend that first`;
    throw new SignalsError(text, { cause: error });
  }
}

/** None when the text is to stay. */
export function settingsChange(
  path: string,
  was: string | undefined,
  text: string | undefined,
  upTo?: string,
): Change[] {
  return was === text ? [] : [{ path, was, text, mode: 0o644, upTo }];
}

/** None when the file is as it is to be. */
export function fileChange(path: string, text: string, mode: number): Change[] {
  const was = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  return was === text && (statSync(path).mode & 0o777) === mode ? [] : [{ path, was, text, mode }];
}

export function removal(path: string, upTo?: string): Change {
  return { path, was: "", text: undefined, mode: 0, upTo };
}

/** What an installation consists of: the package as bundles, in its own layout, and the launcher. */
async function contentsOf(folder: string, launcher: string) {
  const bundles = entries().map(async (entry) => ({
    path: join(folder, `${entry.name}.mjs`),
    text: await bundleOf(entry),
    mode: 0o755,
  }));
  const fixtures = fixtureFiles().map((file) => ({
    path: join(folder, file),
    text: readFileSync(join(home(), file), "utf8"),
    mode: 0o644,
  }));
  const launch = { path: launcher, text: launcherText(folder, process.execPath), mode: 0o755 };
  return [...(await Promise.all(bundles)), ...fixtures, launch];
}

function fixtureFiles(): string[] {
  const all = readdirSync(join(home(), "fixtures"), { recursive: true, encoding: "utf8" }).sort();
  return all.map((file) => join("fixtures", file)).filter((file) => statSync(join(home(), file)).isFile());
}

// ---------------------------------------------------------------- the command

/** The `signals` command in `~/.local/bin`, unless something else has that name. */
function planCommand(launcher: string, env: NodeJS.ProcessEnv) {
  const path = commandPath(env);
  if (isTaken(path) && !isOurCommand(path, launcher)) {
    const instead = `${shellWord(launcher)} scripts/signals`;
    return {
      path: null,
      change: [],
      notes: [`${path} is none of ours and stays; for signals type ${instead}`],
    };
  }
  const onPath = (env["PATH"] ?? "").split(delimiter).some((folder) => sameFile(folder, dirname(path)));
  const notes = onPath
    ? []
    : [`${dirname(path)} is not on your PATH; add it, or for signals type ${shellWord(path)}`];
  return { path, change: fileChange(path, commandText(launcher), 0o755), notes };
}

/** By a link that leads nowhere, too. */
function isTaken(path: string): boolean {
  try {
    return lstatSync(path) !== undefined;
  } catch {
    return false;
  }
}

export function commandPath(env: NodeJS.ProcessEnv): string {
  return join(homeOf(env), ".local", "bin", "signals");
}

export function isOurCommand(path: string, launcher: string): boolean {
  try {
    return readFileSync(path, "utf8") === commandText(launcher);
  } catch {
    return false;
  }
}
