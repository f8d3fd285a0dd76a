import { accessSync, constants } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { isAtLeast } from "../client.ts";
import { home } from "../entries.ts";
import { attempt } from "../errors.ts";
import { versionOf } from "../install/client-version.ts";
import { installCommand, scopeFlag } from "../install/install.ts";
import { damagedFiles, type Manifest, readManifest } from "../install/manifest.ts";
import { installationOf, type Scope, sameFile } from "../install/paths.ts";
import { registeredHooks } from "../install/registered.ts";
import { shellWord } from "../text.ts";
import { count, type Finding, fault, noted, ok, type Place } from "./check-finding.ts";
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
  const remembered = readManifest(installationOf(env).manifest)?.node;
  if (remembered === undefined || isProgram(remembered)) return [];
  const other = onPath("node", env);
  const gone = `${remembered}, which hooks were installed with, is gone`;
  if (other === undefined)
    return [
      fault(`${gone}, and no node is on PATH: no hook runs`, "install node, then: signals install --yes"),
    ];
  return isAtLeast(await versionOf(other, env), LEAST_NODE)
    ? [noted(`${gone}; they run with ${other}, the one on PATH`, "signals install --yes")]
    : [
        fault(
          `${gone}, and ${other}, the one on PATH, is not ${LEAST_NODE} or newer`,
          "put one that is first on PATH, then: signals install --yes",
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
  if (damaged.length === 0) return [ok(`${manifest.version}, in ${folder}`)];
  const which =
    more.length > 0
      ? `${first} and ${more.length} more are gone, or not as they were written`
      : `${first} is gone, or not as it was written`;
  return [fault(`in ${folder}, ${which}`, mendFor(manifest, env))];
}

/** Installs again where it was installed, so that nothing is registered elsewhere. */
function mendFor(manifest: Manifest, env: NodeJS.ProcessEnv): string {
  const all = Object.entries(manifest.settings);
  const [path, { scope }] = all.find(([, { scope }]) => scope === "user") ??
    all[0] ?? ["", { scope: "user" }];
  const project = scope === "user" ? "" : `cd ${shellWord(dirname(dirname(path)))} && `;
  return `${project}${againOf({ env }, scope)}`;
}

/** How to install once more for a scope: from this copy, or from where it came when it is the installed one. */
export function againOf({ env }: Pick<Place, "env">, scope: Scope): string {
  const { folder, manifest } = installationOf(env);
  const isInstalled = attempt(() => sameFile(home(), folder)) ?? true;
  const again = isInstalled ? readManifest(manifest)?.again : installCommand();
  return `${again ?? "in a clone of the repository: npx tsx scripts/install.mts --yes"}${scopeFlag(scope)}`;
}

function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const folders = (env["PATH"] ?? "").split(delimiter).filter(isAbsolute);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Whether a file is there and may be run. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Claude Code: there, so that it is known which events it knows. */
export function checkClient({ env, client }: Place): Finding[] {
  if (client) return [ok(`Claude Code ${client}`)];
  const found = onPath("claude", env) ? "claude does not tell its version" : "claude is not on PATH";
  return [
    noted(
      `${found}, so it is not known which hook events it knows`,
      "try it in this shell: claude --version",
    ),
  ];
}

/** The client's settings files: readable, and with hooks switched on. */
export function checkSettings(place: Place): Finding[] {
  const { files } = registeredHooks(place);
  const faults = files.flatMap(({ path, fault: what, hooksOff }): Finding[] => [
    ...(what === undefined
      ? []
      : [
          fault(
            `${path}: ${what}: the client passes it over`,
            /\bE[A-Z]+\b/.test(what) ? makeReadable(path) : "correct that line",
          ),
        ]),
    ...(hooksOff ? [fault(`${path} says disableAllHooks: no hook runs`, "take that line out of it")] : []),
  ]);
  const there = files.filter(({ exists }) => exists).length;
  return faults.length > 0 ? faults : [ok(`${count(there, "settings file")} of the client, all readable`)];
}

/** The environment, which sessions that are started here inherit. */
export function checkEnvironment({ env }: Place): Finding[] {
  if (env["HARN_EXT_SIGNALS_OFF"] !== "1") return [ok("hooks are not switched off")];
  const found = "HARN_EXT_SIGNALS_OFF=1 is set: hooks of sessions that are started here do nothing";
  return [noted(found, "unset HARN_EXT_SIGNALS_OFF")];
}
