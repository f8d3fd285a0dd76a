import { dirname, resolve } from "node:path";
import { type Client, type HookPoint, hookPoints, isAtLeast, pointsOf } from "../client.ts";
import { packageVersion } from "../header.ts";
import { harnessFlag, insideOf, scopeFlag } from "../install/again.ts";
import { defaultInbox, installationOf, NAME } from "../install/paths.ts";
import { isProgram } from "../install/presence.ts";
import { inboxIn, type Registered } from "../install/registered.ts";
import { shellWord } from "../text.ts";
import { againOf } from "./check-client.ts";
import { count, type Finding, fault, noted, ok, type Place, signals, usualInbox } from "./check-finding.ts";
import { hasHooks, isAtFault, type Missing, type Scene, scenesOf } from "./check-scene.ts";

/** What is told, or known, at each event; where clients differ, at that of the client. */
const TOLD: Record<string, string> = {
  SessionStart: "news at a session's start",
  UserPromptSubmit: "news with a prompt",
  PostToolBatch: "news after tool calls",
  PostToolUse: "news after a tool call",
  PostToolUseFailure: "news after a failed tool call",
  Stop: "urgent news before the agent stops",
  "codex Stop": "that a session is idle",
  SessionEnd: "the end of a session",
};

/** The hooks of ours that each client runs: at every safe point, once, whole, of this version, on this inbox. */
export function checkHooks(place: Place): Finding[] {
  const scenes = scenesOf(place);
  if (!scenes.some((scene) => hasHooks(scene) || isAtFault(scene))) {
    const found = "none is registered here, so no session hears of anything";
    return [noted(found, signals(place, "install"))];
  }
  const all = scenes.flatMap((scene) => hooksOf(scene, scenes.length > 1));
  // A launcher that is gone is gone for all.
  return all.filter(({ found }, i) => all.findIndex((other) => other.found === found) === i);
}

/** Of one client, which is named where there is another one. */
function hooksOf(scene: Scene, isNamed: boolean): Finding[] {
  const { client, hooks } = scene;
  const { name } = client;
  if (!hasHooks(scene)) {
    if (isAtFault(scene)) return [];
    const found = `none is registered with ${name}, so no session of it hears of anything`;
    return [noted(found, installMore(scene))];
  }
  const isOwn = ({ entry }: Registered) => entry?.startsWith(`hooks/${client.harness}/`) ?? true;
  const own = { ...scene, hooks: hooks.filter(isOwn) };
  const found = [
    ...scene.missing.map((missing) => missingFile(missing, scene)),
    ...foreign({ ...scene, hooks: hooks.filter((hook) => !isOwn(hook)) }),
    ...brokenHooks(scene),
    ...unknownEvents(own),
    ...lostPoints(own, isNamed),
    ...perCall(own),
    ...twice(own),
    ...otherVersions(own),
    ...otherInboxes(own),
    ...strayInboxes(own),
  ];
  const whose = isNamed ? ` of ${name}` : "";
  return found.length > 0
    ? found
    : [ok(`${count(hooks.length, "hook")}${whose}, at every safe point, each once`)];
}

// ---------------------------------------------------------------- files

function missingFile({ path, line, word, hook }: Missing, { client, cwd }: Scene): Finding {
  const folder = shellWord(dirname(resolve(cwd, word)));
  const mend = `copy it there again: ${copyOf(hook, client)} ${folder}; or remove the entry`;
  return fault(`${path}:${line} runs ${word}, which is not there`, mend);
}

/** Hooks that read and say what another client does. */
function foreign(scene: Scene): Finding[] {
  const { client, hooks } = scene;
  return byFile(hooks).map((group) => {
    const [one] = group;
    const names = distinct(group.map(({ entry = "" }) => entry)).join(", ");
    const copies = distinct(group.map(({ hook }) => `${copyOf(hook, client)} FOLDER`)).join("; ");
    const mends = {
      installed: install(one, scene),
      plugin: pluginMend(one, scene, "update"),
      copy: `${remove(group)}; ${client.name} has its own: ${copies}`,
      launcher: remove(group),
    };
    return fault(`${one.file} runs ${names}, which is not for ${client.name}`, mends[one.kind]);
  });
}

/** Entries whose launcher or bundle is gone, and plugins that were never built, or are not to be found. */
function brokenHooks(scene: Scene): Finding[] {
  const { client, hooks, plugins, env } = scene;
  const { launcher } = installationOf(env);
  const [installed] = hooks.filter(({ kind }) => kind === "installed");
  if (installed && !isProgram(launcher)) {
    return [
      fault(`${launcher}, which is to run the hooks, is not there or no program`, again(installed, scene)),
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
      return fault(`${group[0].file} runs ${names}, of which there is no file`, renewal(group, scene));
    }),
    ...empty.map(({ id, path }) =>
      fault(
        `plugin ${id}, in ${path}, has no hook that could run`,
        "build it there: npm ci && npm run build",
      ),
    ),
    ...unseen.map(({ id }) =>
      noted(
        `plugin ${id} is enabled, and is not where the client keeps plugins`,
        `${client.program} plugin list`,
      ),
    ),
  ];
}

// ---------------------------------------------------------------- events

function unknownEvents(scene: Scene): Finding[] {
  const {
    client: { name, program },
    hooks,
    version,
  } = scene;
  if (version === undefined) return [];
  const isUnknown = (hook: Registered) => {
    const { since } = pointAt(hook) ?? {};
    return since !== undefined && !isAtLeast(version, since);
  };
  return byFile(hooks.filter(isUnknown)).map((group) => {
    const events = group.map(({ event }) => event).join(", ");
    const found = `${name} ${version} does not know ${events}, in ${group[0].file}: it warns at every start`;
    const mend = group[0].kind === "plugin" ? `update ${name}: ${program} update` : mendOf(group, scene);
    return fault(found, mend);
  });
}

/** What a hook of ours is for at its event; undefined for an event that is none of its own. */
function pointAt({ harness, hook, event }: Registered) {
  return pointsOf(`hooks/${harness}/${hook}`).find((point) => point.event === event);
}

/** Where nothing is told, for want of a hook. One copied hook is an installation too. */
function lostPoints(scene: Scene, isNamed: boolean): Finding[] {
  const { client, hooks, version } = scene;
  const events = hooks.map(({ event }) => event);
  const hasPerCall = (event: string) => event === "PostToolBatch" && events.includes("PostToolUse");
  const covered = hooks.flatMap((hook) => pointAt(hook)?.insteadOf ?? []);
  const lost = hookPoints(client, version).filter(
    ({ event }) => ![...events, ...covered].includes(event) && !hasPerCall(event),
  );
  if (lost.length === 0 || hooks.length === 0) return [];
  const told = (event: string) => TOLD[`${client.harness} ${event}`] ?? TOLD[event] ?? "news";
  const named = lost.map(({ event }) => `${told(event)} (${event})`).join(", ");
  const found = `not registered${isNamed ? ` with ${client.name}` : ""}, and so missing: ${named}`;
  const mend = hooks.every(({ kind }) => kind === "copy") ? copyMore(lost, scene) : installMore(scene);
  return [noted(found, isAtFault(scene) ? `mend the settings first, then: ${mend}` : mend)];
}

/** Hooks for each call where the client knows an event for several. A plugin's events are the same for every client. */
function perCall(scene: Scene): Finding[] {
  const { client, hooks, version } = scene;
  const batch = hookPoints(client, version).find(({ insteadOf }) => insteadOf);
  if (batch === undefined) return [];
  const replaced = hooks.filter(({ event, kind }) => batch.insteadOf?.includes(event) && kind !== "plugin");
  return byFile(replaced).map((group) => {
    const events = group.map(({ event }) => event).join(" and ");
    const found = `${events} in ${group[0].file} run at each tool call; ${batch.event} would run once for several`;
    const hasBatch = hooks.some(({ event }) => event === batch.event);
    const other = hasBatch
      ? remove(group)
      : `register ${batch.hook} for ${batch.event} instead: ${copyOf(batch.hook, client)} FOLDER`;
    return noted(found, group[0].kind === "installed" ? install(group[0], scene) : other);
  });
}

/** The same hook at one event by several entries. Claude Code itself runs entries whose commands are equal once. */
function twice(scene: Scene): Finding[] {
  const order = ["installed", "copy", "launcher", "plugin"];
  const hooks = [...scene.hooks].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  const isSame = (a: Registered, b: Registered) => a.event === b.event && a.hook === b.hook;
  const isOnce = (a: Registered, b: Registered) => a.harness === "claude-code" && a.command === b.command;
  const second = hooks.filter((hook, i) => {
    const before = hooks.slice(0, i).filter((other) => isSame(other, hook));
    return before.length > 0 && !before.some((other) => isOnce(other, hook));
  });
  const firstFile = (hook: Registered) => (hooks.find((other) => isSame(other, hook)) ?? hook).file;
  const isBeside = (hook: Registered) => firstFile(hook) !== hook.file;
  return [
    ...byFile(second.filter(isBeside)).map((group) => {
      const [one] = group;
      const events = distinct(group.map(({ event }) => event)).join(", ");
      const found = `the hooks of ${one.file} for ${events} run beside those of ${firstFile(one)}: all is done twice`;
      return noted(found, one.kind === "plugin" ? pluginMend(one, scene, "remove") : remove(group));
    }),
    ...grouped(
      second.filter((hook) => !isBeside(hook)),
      ({ file }) => file,
    ).map((group) => {
      const [{ file }] = group;
      const runs = group.map((hook) => {
        const all = hooks.filter((other) => other.file === file && isSame(other, hook));
        const lines = all.map(({ line }) => line).sort((a, b) => a - b);
        return `${hook.hook} at ${hook.event} by lines ${lines.join(" and ")}`;
      });
      return noted(`${file} runs ${distinct(runs).join(", ")}: all is done twice`, remove(group));
    }),
  ];
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
    const copies = distinct(group.map(({ hook }) => `${copyOf(hook, scene.client)} FOLDER`));
    const mends = {
      installed: renewal(group, scene),
      plugin: pluginMend(group[0], scene, "update"),
      copy: `copy again: ${copies.join("; ")}`,
      launcher: renewal(group, scene),
    };
    return noted(found, mends[group[0].kind]);
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

/**
 * Entries of Codex that leave the inbox to their environment, which is that of whichever shell was the first to start
 * its daemon.
 */
function strayInboxes(scene: Scene): Finding[] {
  const { client, hooks, cwd, env } = scene;
  const named = env["HARN_EXT_SIGNALS_DIR"];
  if (client.harness !== "codex" || !named || resolve(cwd, named) === defaultInbox(env)) return [];
  const flag = `--dir ${shellWord(resolve(cwd, named))}`;
  return byFile(hooks.filter(({ command }) => inboxIn(command, scene) === undefined)).map((group) => {
    const [one] = group;
    const found = `the hooks of ${one.file} name no inbox, and Codex may run them where HARN_EXT_SIGNALS_DIR is not set`;
    const again = `${insideOf(one.from, one.file, cwd)}signals install --yes --harness codex${scopeOf(one)} ${flag}`;
    const mends = {
      installed: again,
      plugin: `${pluginMend(one, scene, "remove")} && ${again}`,
      copy: `end these commands in ${one.file} with ${flag}: line ${linesOf(group)}`,
      launcher: remove(group),
    };
    return noted(found, mends[one.kind]);
  });
}

// ---------------------------------------------------------------- words

type Group = [Registered, ...Registered[]];

/** Together what one file runs in one way. */
function byFile(hooks: readonly Registered[]): Group[] {
  return grouped(hooks, ({ kind, version, file }) => `${kind} ${version} ${file}`);
}

function grouped(hooks: readonly Registered[], nameOf: (hook: Registered) => string): Group[] {
  const groups = new Map<string, Group>();
  for (const hook of hooks) {
    const name = nameOf(hook);
    const group = groups.get(name);
    if (group) group.push(hook);
    else groups.set(name, [hook]);
  }
  return [...groups.values()];
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/** The command that copies a hook of this client, but for the folder. */
function copyOf(hook: string, { harness }: Client): string {
  return `signals copy ${harness}/${hook}`;
}

/** How a person adds what is not registered yet. */
function installMore(scene: Scene): string {
  return signals(scene, `install${harnessFlag([scene.client.harness], scene.env)}`);
}

/** The same of one who copies hooks: an installation beside the copies would do what they do once more. */
function copyMore(lost: readonly HookPoint[], scene: Scene): string {
  const [first, ...more] = distinct(lost.map(({ hook }) => `${copyOf(hook, scene.client)} FOLDER`));
  const which = more.length > 0 ? "copy more of them, such as" : "copy it too";
  return `${which}: ${first}; or take the copies out of the settings, then: ${installMore(scene)}`;
}

/** How entries become as they should be: by the installer that made them, or by whoever put them there. */
function mendOf(group: Group, scene: Scene): string {
  return group[0].kind === "installed" ? install(group[0], scene) : remove(group);
}

/** Installs once more for the client and the scope of this entry; its inbox stays. */
function install(hook: Registered, { cwd, env }: Scene): string {
  const { harness, from, file } = hook;
  return `${insideOf(from, file, cwd)}signals install --yes${harnessFlag([harness], env)}${scopeOf(hook)}`;
}

function scopeOf({ from }: Registered): string {
  return from === "plugin" ? "" : scopeFlag(from);
}

/** The same when what is installed cannot do that any more. */
function again({ harness, from, file }: Registered, { cwd, env }: Scene): string {
  const command = againOf({ env }, from === "plugin" ? "user" : from, [harness]);
  return `${insideOf(from, file, cwd)}${command}`;
}

/** How entries get files that work. */
function renewal(group: Group, scene: Scene): string {
  return group[0].kind === "installed" ? again(group[0], scene) : remove(group);
}

function remove(group: Group): string {
  return `take these entries out of ${group[0].file}: line ${linesOf(group)}`;
}

function linesOf(group: Group): string {
  return group.map(({ line }) => line).join(", ");
}

/** What the client's own command for plugins has to do with the plugin that this entry is of. */
function pluginMend({ file }: Registered, { client, plugins }: Scene, what: "update" | "remove"): string {
  const plugin = plugins.find(({ path }) => path !== undefined && isBelow(file, path));
  const verbs =
    client.harness === "codex"
      ? { update: "add", remove: "remove" }
      : { update: "update", remove: "uninstall" };
  return `${client.program} plugin ${verbs[what]} ${plugin?.id ?? NAME}`;
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}
