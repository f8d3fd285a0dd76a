import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CLIENTS, hookPoints, isAtLeast, pointsOf } from "../client.ts";
import { packageVersion } from "../header.ts";
import { scopeFlag } from "../install/install.ts";
import { installationOf } from "../install/paths.ts";
import {
  hookOf,
  inboxIn,
  type Plugin,
  type Registered,
  registeredHooks,
  wordsOf,
} from "../install/registered.ts";
import { handlersOf, parseSettings } from "../install/settings-file.ts";
import { shellWord } from "../text.ts";
import { againOf, isProgram } from "./check-client.ts";
import { count, type Finding, fault, noted, ok, type Place, signals, usualInbox } from "./check-finding.ts";

/** What is told, or known, at each event. */
const TOLD: Record<string, string> = {
  SessionStart: "news at a session's start",
  UserPromptSubmit: "news with a prompt",
  PostToolBatch: "news after tool calls",
  PostToolUse: "news after a tool call",
  PostToolUseFailure: "news after a failed tool call",
  Stop: "urgent news before the agent stops",
  SessionEnd: "the end of a session",
};

/** The hooks of ours that Claude Code runs: at every safe point, once, whole, of this version, on this inbox. */
export function checkHooks(place: Place): Finding[] {
  const { hooks, files, plugins } = registeredHooks(place);
  const scene = { ...place, hooks, plugins };
  const missing = files.flatMap(({ path, exists, fault }) =>
    exists && !fault ? missingFiles(path, place) : [],
  );
  if (hooks.length + plugins.length + missing.length === 0) {
    const found = "none is registered here, so no session hears of anything";
    return [noted(found, signals(place, "install"))];
  }
  const found = [
    ...missing,
    ...brokenHooks(scene),
    ...unknownEvents(scene),
    ...lostPoints(scene),
    ...perCall(scene),
    ...twice(scene),
    ...otherVersions(scene),
    ...otherInboxes(scene),
  ];
  return found.length > 0 ? found : [ok(`${count(hooks.length, "hook")}, at every safe point, each once`)];
}

interface Scene extends Place {
  hooks: readonly Registered[];
  plugins: readonly Plugin[];
}

// ---------------------------------------------------------------- files

/** Entries that name a file of ours where none is. Such a file cannot say whose it is; its name and event do. */
function missingFiles(path: string, place: Place): Finding[] {
  return handlersOf(parseSettings(readFileSync(path, "utf8"))).flatMap((handler) => {
    const { event, command, args, line } = handler;
    const words = args ? [command, ...args] : wordsOf(command, place);
    return words.flatMap((word) => {
      const hook = /([\w-]+)\.m[jt]s$/.exec(word)?.[1] ?? "";
      const isOurs = pointsOf(`hooks/claude-code/${hook}`).some((point) => point.event === event);
      // With a variable in it, only the client knows where it is.
      if (!isOurs || word.includes("$") || existsSync(resolve(place.cwd, word)) || hookOf(handler, place))
        return [];
      const folder = shellWord(dirname(resolve(place.cwd, word)));
      const mend = `copy it there again: signals copy ${hook} ${folder}; or remove the entry`;
      return [fault(`${path}:${line} runs ${word}, which is not there`, mend)];
    });
  });
}

/** Entries whose launcher or bundle is gone, and plugins that were never built, or are not to be found. */
function brokenHooks({ hooks, plugins, env }: Scene): Finding[] {
  const { launcher } = installationOf(env);
  const [installed] = hooks.filter(({ kind }) => kind === "installed");
  if (installed && !isProgram(launcher)) {
    return [
      fault(`${launcher}, which is to run the hooks, is not there or no program`, again(installed, env)),
    ];
  }
  const lost = hooks.filter(({ kind, version }) => kind !== "copy" && version === undefined);
  const unseen = plugins.filter(({ path }) => path === undefined);
  const empty = plugins.filter(
    ({ path }) => path !== undefined && !hooks.some(({ file }) => isBelow(file, path)),
  );
  return [
    ...byFile(lost).map((group) => {
      const names = group.map(({ hook }) => hook).join(", ");
      return fault(`${group[0].file} runs ${names}, of which there is no file`, renewal(group, env));
    }),
    ...empty.map(({ id, path }) =>
      fault(
        `plugin ${id}, in ${path}, has no hook that could run`,
        "build it there: npm ci && npm run build",
      ),
    ),
    ...unseen.map(({ id }) =>
      noted(`plugin ${id} is enabled, and is not where the client keeps plugins`, "claude plugin list"),
    ),
  ];
}

// ---------------------------------------------------------------- events

function unknownEvents({ hooks, client }: Scene): Finding[] {
  if (client === undefined) return [];
  const isUnknown = ({ hook, event }: Registered) =>
    pointsOf(`hooks/claude-code/${hook}`).some(
      (point) => point.event === event && point.since && !isAtLeast(client, point.since),
    );
  return byFile(hooks.filter(isUnknown)).map((group) => {
    const events = group.map(({ event }) => event).join(", ");
    const found = `Claude Code ${client} does not know ${events}, in ${group[0].file}: it warns at every start`;
    return fault(found, group[0].kind === "plugin" ? "update Claude Code: claude update" : mendOf(group));
  });
}

/** Where nothing is told, for want of a hook. One copied hook is an installation too. */
function lostPoints(scene: Scene): Finding[] {
  const { hooks, client } = scene;
  const events = hooks.map(({ event }) => event);
  const hasPerCall = (event: string) => event === "PostToolBatch" && events.includes("PostToolUse");
  const covered = hooks.flatMap(({ hook, event }) =>
    pointsOf(`hooks/claude-code/${hook}`).flatMap((point) =>
      point.event === event ? (point.insteadOf ?? []) : [],
    ),
  );
  const lost = hookPoints(CLIENTS["claude-code"], client).filter(
    ({ event }) => ![...events, ...covered].includes(event) && !hasPerCall(event),
  );
  if (lost.length === 0 || hooks.length === 0) return [];
  const named = lost.map(({ event }) => `${TOLD[event] ?? "news"} (${event})`).join(", ");
  return [noted(`not registered, and so missing: ${named}`, signals(scene, "install"))];
}

/** Hooks for each call where the client knows an event for several. A plugin's events are the same for every client. */
function perCall({ hooks, client }: Scene): Finding[] {
  const batch = hookPoints(CLIENTS["claude-code"], client).find(({ insteadOf }) => insteadOf);
  if (batch === undefined) return [];
  const replaced = hooks.filter(({ event, kind }) => batch.insteadOf?.includes(event) && kind !== "plugin");
  return byFile(replaced).map((group) => {
    const events = group.map(({ event }) => event).join(" and ");
    const found = `${events} in ${group[0].file} run at each tool call; ${batch.event} would run once for several`;
    const hasBatch = hooks.some(({ event }) => event === batch.event);
    const other = hasBatch
      ? remove(group)
      : `register ${batch.hook} for ${batch.event} instead: signals copy ${batch.hook} FOLDER`;
    return noted(found, group[0].kind === "installed" ? install(group[0]) : other);
  });
}

/** The same hook at one event by several entries. The client itself runs entries whose commands are equal once. */
function twice(scene: Scene): Finding[] {
  const order = ["installed", "copy", "launcher", "plugin"];
  const hooks = [...scene.hooks].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const isSame = (a: Registered, b: Registered) => a.event === b.event && a.hook === b.hook;
  const second = hooks.filter((hook, i) => {
    const before = hooks.slice(0, i).filter((other) => isSame(other, hook));
    return before.length > 0 && before.every(({ command }) => command !== hook.command);
  });
  return byFile(second).map((group) => {
    const [one] = group;
    const first = hooks.find((other) => isSame(other, one)) ?? one;
    const events = group.map(({ event }) => event).join(", ");
    const found = `the hooks of ${one.file} for ${events} run beside those of ${first.file}: all is done twice`;
    const id = pluginOf(one, scene);
    return noted(found, id ? `claude plugin uninstall ${id}` : remove(group));
  });
}

// ---------------------------------------------------------------- versions and inboxes

/** Entries that run a file of another version than this one. */
function otherVersions(scene: Scene): Finding[] {
  const own = packageVersion();
  const others = scene.hooks.filter(({ version }) => version !== undefined && version !== own);
  return byFile(others).map((group) => {
    const [{ file, version = "" }] = group;
    const isOlder = isAtLeast(own, version);
    const found = `the hooks of ${file} are of ${version}, ${isOlder ? "older" : "newer"} than this, ${own}`;
    if (!isOlder) return noted(found, "update this copy of ambient-signals");
    const id = pluginOf(group[0], scene);
    const copies = `copy again: ${group.map(({ hook }) => `signals copy ${hook} FOLDER`).join("; ")}`;
    const other = group[0].kind === "copy" ? copies : renewal(group, scene.env);
    return noted(found, id ? `claude plugin update ${id}` : other);
  });
}

/** Entries that work on another inbox than the one that is looked at. */
function otherInboxes({ hooks, dir, cwd, env }: Scene): Finding[] {
  const usual = usualInbox(env);
  const inboxOf = ({ command }: Registered) => inboxIn(command, { cwd, env }) ?? usual;
  const others = hooks.filter((hook) => resolve(inboxOf(hook)) !== resolve(dir));
  return byFile(others).map((group) => {
    const other = inboxOf(group[0]);
    const found = `the hooks of ${group[0].file} work on the inbox in ${other}, and this one is in ${dir}`;
    return noted(found, signals({ dir: other, env }, "doctor"));
  });
}

// ---------------------------------------------------------------- words

type Group = [Registered, ...Registered[]];

/** Together what one file runs in one way. */
function byFile(hooks: readonly Registered[]): Group[] {
  const groups = new Map<string, Group>();
  for (const hook of hooks) {
    const name = `${hook.kind} ${hook.version} ${hook.file}`;
    const group = groups.get(name);
    if (group) group.push(hook);
    else groups.set(name, [hook]);
  }
  return [...groups.values()];
}

/** How entries become as they should be: by the installer that made them, or by whoever put them there. */
function mendOf(group: Group): string {
  return group[0].kind === "installed" ? install(group[0]) : remove(group);
}

/** Installs once more for the scope of this entry; its inbox stays. */
function install({ from }: Registered): string {
  return `signals install --yes${from === "plugin" ? "" : scopeFlag(from)}`;
}

/** The same when what is installed cannot do that any more. */
function again({ from }: Registered, env: NodeJS.ProcessEnv): string {
  return againOf({ env }, from === "plugin" ? "user" : from);
}

/** How entries get files that work. */
function renewal(group: Group, env: NodeJS.ProcessEnv): string {
  return group[0].kind === "installed" ? again(group[0], env) : remove(group);
}

function remove(group: Group): string {
  const lines = group.map(({ line }) => line).join(", ");
  return `take these entries out of ${group[0].file}: line ${lines}`;
}

function pluginOf({ kind, file }: Registered, { plugins }: Scene): string | undefined {
  if (kind !== "plugin") return undefined;
  return plugins.find(({ path }) => path !== undefined && isBelow(file, path))?.id;
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}
