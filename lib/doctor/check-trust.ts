import { dirname } from "node:path";
import { type CodexHook, type CodexHooks, codexHooks } from "../codex-app-server.ts";
import { SignalsError } from "../errors.ts";
import { insideOf, scopeFlag } from "../install/again.ts";
import { realPath, sameFile } from "../install/paths.ts";
import { inboxIn, type Registered } from "../install/registered.ts";
import { isAsWritten } from "../install/settings-plan.ts";
import { shellWord } from "../text.ts";
import { count, type Finding, fault, noted, ok, type Place } from "./check-finding.ts";
import { type Scene, scenesOf } from "./check-scene.ts";

/** Whether Codex runs the hooks of ours that are registered with it: it runs none that it was not told to trust. */
export async function checkTrust(place: Place): Promise<Finding[]> {
  const scene = scenesOf(place).find(({ client }) => client.harness === "codex");
  if (scene === undefined || scene.hooks.length === 0) return [];
  // Only then: with plugins, Codex looks on the network for more of them.
  const plugins = scene.hooks.some(({ kind }) => kind === "plugin");
  try {
    return compare(scene, await codexHooks(place, { plugins }));
  } catch (error) {
    if (!(error instanceof SignalsError)) throw error;
    const [, what = error.message, mend] = /^(.*); (.*)$/s.exec(error.message) ?? [];
    return [noted(`whether Codex trusts our hooks cannot be read: ${what}`, mend)];
  }
}

/** What is registered, beside what Codex knows. Of what is wrong with the settings themselves, another check tells. */
function compare(scene: Scene, { hooks: known, warnings, errors }: CodexHooks): Finding[] {
  const { files, hooks } = scene;
  const isSaid = (path: string) => files.some((file) => file.path === path && file.fault !== undefined);
  const ours = [...new Set(hooks.map(({ file }) => file))].filter((file) => !isSaid(file));
  const isRun = files.every(({ path, fault, hooksOff }) => !hooksOff && !(fault && path.endsWith(".toml")));
  if (ours.length === 0 || !isRun) return [];
  const found = ours.flatMap((file) => {
    const complaints = warnings.filter((warning) => isAbout(file, warning));
    const refusal = complaints.find((warning) => warning.startsWith("failed "));
    if (refusal !== undefined)
      return [fault(`Codex says: ${refusal}: it runs nothing of it`, "correct that line")];
    return [
      ...complaints.map((warning) => noted(`Codex warns at every start: ${warning}`)),
      ...statesIn(file, scene, known),
    ];
  });
  const all = [...errors.map(({ message }) => fault(`Codex says: ${message}`, "mend that")), ...found];
  return all.length > 0 ? all : [ok(`${count(hooks.length, "hook")}, all trusted by Codex`)];
}

/** Codex has resolved links on the way to its own folder. */
function isAbout(file: string, text: string): boolean {
  return text.includes(file) || text.includes(realPath(file));
}

/** Hooks of ours in one file that Codex does not run. */
function statesIn(file: string, scene: Scene, known: readonly CodexHook[]): Finding[] {
  const { hooks } = scene;
  const inState = (state: State, why: string, mendOf: (hook: Registered) => string) => {
    const some = hooks.filter((hook) => hook.file === file && stateOf(hook, known) === state);
    const found = `Codex does not run ${count(some.length, "hook")} of ${file}: ${why}`;
    return some.slice(0, 1).map((one) => fault(found, mendOf(one)));
  };
  return [
    ...inState("lost", "it does not find that there", mendLost),
    ...inState("untrusted", "not trusted, and codex exec says nothing of that", (one) =>
      mendUntrusted(one, scene),
    ),
    ...inState("off", "switched off by hand", () => "start codex, type /hooks, and switch it on"),
  ];
}

type State = "lost" | "untrusted" | "off" | "well";

function stateOf({ event, file, command, kind }: Registered, known: readonly CodexHook[]): State {
  const found = known.find(
    (other) =>
      other.eventName.toLowerCase() === event.toLowerCase() &&
      sameFile(other.sourcePath, file) &&
      // In that of a plugin, Codex has put in where the plugin is.
      (other.command === command || kind === "plugin"),
  );
  if (found === undefined) return "lost";
  if (found.trustStatus !== "trusted" && found.trustStatus !== "managed") return "untrusted";
  return found.enabled ? "well" : "off";
}

function mendLost({ from, file }: Registered): string {
  if (from === "plugin") return "see whether it is enabled: codex plugin list";
  return from === "project"
    ? `start codex in ${shellWord(dirname(dirname(file)))}, and say that you trust that directory`
    : "see what it says of itself: codex doctor";
}

/** By hand always; by the installer, what it has written itself. */
function mendUntrusted({ from, file, kind, command }: Registered, place: Place): string {
  const { cwd } = place;
  const hand = "start codex and choose Review hooks, or type /hooks in a session";
  const isOurs = kind === "installed" && isAsWritten("codex", command, inboxIn(command, place), place);
  if (!isOurs || from === "plugin") return hand;
  return `${hand}; or: ${insideOf(from, file, cwd)}signals install --harness codex${scopeFlag(from)} --trust-codex-hooks`;
}
