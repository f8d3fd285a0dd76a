import { dirname } from "node:path";
import { CLIENTS, HARNESSES, type Harness, isAtLeast } from "../client.ts";
import { home } from "../entries.ts";
import { attempt } from "../errors.ts";
import { harnessFlag, insideOf, installCommand, scopeFlag } from "../install/again.ts";
import { versionOf } from "../install/client-version.ts";
import { clientsIn, damagedFiles, type Manifest, readManifest } from "../install/manifest.ts";
import { HOOKS_OFF } from "../install/notes.ts";
import { installationOf, type Scope, sameFile } from "../install/paths.ts";
import { isProgram, onPath } from "../install/presence.ts";
import type { SettingsFile } from "../install/registered.ts";
import { shellWord } from "../text.ts";
import { count, type Finding, fault, noted, ok, type Place } from "./check-finding.ts";
import { hasHooks, type Scene, scenesOf } from "./check-scene.ts";
import { makeReadable } from "./check-store.ts";

const LEAST_NODE = "20";

/** Node: new enough, and the one that the launcher remembers still there. */
export async function checkNode({ env }: Place): Promise<Finding[]> {
  const { node } = process.versions;
  const own = isAtLeast(node, LEAST_NODE)
    ? ok(`${node} runs this`)
    : fault(`${node} is too old: hooks need ${LEAST_NODE}`, "install a newer one: https://nodejs.org");
  return [own, ...(await launchersNode(env))];
}

async function launchersNode(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const manifest = readManifest(installationOf(env).manifest);
  const remembered = manifest?.node;
  if (remembered === undefined || isProgram(remembered)) return [];
  const other = onPath("node", env);
  const gone = `${remembered}, which hooks were installed with, is gone`;
  const again = `signals install --yes${harnessFlag(clientsIn(manifest), env)}`;
  if (other === undefined)
    return [fault(`${gone}, and no node is on PATH: no hook runs`, `install node, then: ${again}`)];
  return isAtLeast(await versionOf(other, env), LEAST_NODE)
    ? [noted(`${gone}; they run with ${other}, the one on PATH`, again)]
    : [
        fault(
          `${gone}, and ${other}, the one on PATH, is not ${LEAST_NODE} or newer`,
          `put one that is first on PATH, then: ${again}`,
        ),
      ];
}

/** What was installed: all there, and as it was written. Nothing to say where nothing is. */
export function checkInstallation({ env }: Place): Finding[] {
  const { folder, manifest: file } = installationOf(env);
  const manifest = readManifest(file);
  if (manifest === undefined) return [];
  const damaged = damagedFiles(folder, manifest);
  const [first = "", ...more] = damaged;
  const notes = commandNotes(manifest, env);
  if (damaged.length === 0) return [ok(`${manifest.version}, in ${folder}`), ...notes];
  const which =
    more.length > 0
      ? `${first} and ${more.length} more are gone, or not as they were written`
      : `${first} is gone, or not as it was written`;
  return [fault(`in ${folder}, ${which}`, mendFor(manifest, env)), ...notes];
}

/** Most of what mends something begins with that command. */
function commandNotes({ command }: Manifest, env: NodeJS.ProcessEnv): Finding[] {
  if (command === null || !isProgram(command) || onPath("signals", env)) return [];
  const found = `signals is in ${dirname(command)}, which is not on PATH of this shell`;
  return [noted(found, `export PATH=${shellWord(dirname(command))}:"$PATH"`)];
}

/** Installs again where it was installed, so that nothing is registered elsewhere. */
function mendFor(manifest: Manifest, env: NodeJS.ProcessEnv): string {
  const all = Object.entries(manifest.settings);
  const [path, { scope }] = all.find(([, { scope }]) => scope === "user") ??
    all[0] ?? ["", { scope: "user" }];
  return `${insideOf(scope, path)}${againOf({ env }, scope, clientsIn(manifest, scope))}`;
}

/** How to install once more for a scope: from this copy, or from where it came when it is the installed one. */
export function againOf({ env }: Pick<Place, "env">, scope: Scope, harnesses: readonly Harness[]): string {
  const { folder, manifest } = installationOf(env);
  const isInstalled = attempt(() => sameFile(home(), folder)) ?? true;
  const again = isInstalled ? readManifest(manifest)?.again : installCommand();
  const command = again ?? "in a clone of the repository: npx tsx scripts/install.mts --yes";
  return `${command}${harnessFlag(harnesses, env)}${scopeFlag(scope)}`;
}

/** The clients: there, so that it is known which events they know. */
export function checkClient(place: Place): Finding[] {
  const scenes = scenesOf(place);
  if (scenes.some((scene) => scene.isThere || hasHooks(scene))) return scenes.map(versionFinding);
  const programs = HARNESSES.map((harness) => CLIENTS[harness].program);
  const found = `neither ${programs.join(" nor ")} is on PATH, so it is not known which hook events they know`;
  const mend = programs.map((program) => `${program} --version`).join("; ");
  return [noted(found, `try it in this shell: ${mend}`)];
}

function versionFinding({ client: { name, program, points }, version, isThere }: Scene): Finding {
  if (version) return ok(`${name} ${version}`);
  const found = isThere ? `${program} does not tell its version` : `${program} is not on PATH`;
  const isKnown = points.every(({ since }) => since === undefined);
  const so = isKnown ? "" : ", so it is not known which hook events it knows";
  return noted(`${found}${so}`, `try it in this shell: ${program} --version`);
}

/** The clients' settings files: readable, and with hooks switched on. */
export function checkSettings(place: Place): Finding[] {
  return scenesOf(place).flatMap(({ client, files, refused }, _, { length }) => {
    const faults = files.flatMap((file) => settingsFaults(file, client.harness));
    if (refused) faults.push(fault(`${refused.path}: ${refused.why}: signals install refuses it`, CORRECT));
    if (faults.length > 0) return faults;
    const there = files.filter(({ exists }) => exists).length;
    const whose = length > 1 ? client.name : "the client";
    return [ok(`${count(there, "settings file")} of ${whose}, all readable`)];
  });
}

function settingsFaults({ path, fault: what, hooksOff }: SettingsFile, harness: Harness): Finding[] {
  // Codex has its hooks in a file of their own; with this one, all of it stands or falls.
  const effect = path.endsWith(".toml") ? "Codex does not start" : "the client passes it over";
  const isKey = what !== undefined && /^line \d+: has the key /.test(what);
  const mend = what && /\bE[A-Z]+\b/.test(what) ? makeReadable(path) : isKey ? "take that key out" : CORRECT;
  return [
    ...(what === undefined ? [] : [fault(`${path}: ${what}: ${effect}`, mend)]),
    ...(hooksOff ? [fault(`${path} ${HOOKS_OFF[harness]}`, "take that line out of it")] : []),
  ];
}

const CORRECT = "correct that line";

/** The environment, which sessions that are started here inherit. */
export function checkEnvironment({ env }: Place): Finding[] {
  if (env["HARN_EXT_SIGNALS_OFF"] !== "1") return [ok("hooks are not switched off")];
  const found = "HARN_EXT_SIGNALS_OFF=1 is set: hooks of sessions that are started here do nothing";
  return [noted(found, "unset HARN_EXT_SIGNALS_OFF")];
}
