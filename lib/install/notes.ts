import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CLIENTS, type Harness } from "../client.ts";
import { shellWord } from "../text.ts";
import { insideOf, scopeFlag } from "./again.ts";
import { clientsIn, type Manifest } from "./manifest.ts";
import { type Scope, type Situation, sameFile } from "./paths.ts";
import type { Outcome, Plan } from "./plan.ts";
import { type Registered, type SettingsFile, wordsOf } from "./registered.ts";
import type { Wanted } from "./settings-plan.ts";
import type { Target } from "./targets.ts";

export const NO_CLIENT =
  "claude is not on PATH: only events that every version of it knows are used; install again when it is";
export const NONE_THERE =
  "no client was found here, so it is installed for all of them; --harness is for one";
export const HOOKS_OFF: Record<Harness, string> = {
  "claude-code": "says disableAllHooks: no hook runs until that line is taken out",
  codex: "says hooks = false under [features]: Codex runs no hook until that line is taken out",
};

/** What installing into a project means for others. */
export function projectNote(harnesses: readonly Harness[]): string {
  const alone = harnesses.includes("claude-code") ? "local" : "user";
  const others =
    "whoever gets these settings with the project gets none of the files in your home that they name";
  return `${others}; --scope ${alone} is for you alone`;
}

interface Part {
  target: Target;
  files: readonly SettingsFile[];
  hooks: readonly Registered[];
  wanted: readonly Wanted[];
}

/** What a person should know of one client. */
export function notesOn(
  { target, files, hooks, wanted }: Part,
  earlier: Manifest | undefined,
  situation: Situation,
): string[] {
  const { harness, path, scope } = target;
  return [
    ...files.flatMap(({ path, hooksOff }) => (hooksOff ? [`${path}: ${HOOKS_OFF[harness]}`] : [])),
    ...(harness === "codex" ? notesOnCodex(target, files) : []),
    ...(harness === "codex" && scope === "project"
      ? [`Codex reads ${path} only where it trusts the project; it asks at its first start there`]
      : []),
    ...twice(
      hooks.filter((hook) => !isOne(hook, path, wanted)),
      earlier,
      situation,
    ),
  ];
}

/** What is wrong with its hooks.json, and what stands in the config.toml beside it. */
function notesOnCodex({ path }: Target, files: readonly SettingsFile[]): string[] {
  const config = join(dirname(path), "config.toml");
  return files.flatMap((file) => {
    if (file.fault && sameFile(file.path, path))
      return [`${path}: ${file.fault}: it runs nothing of this file until that is mended`];
    return file.handlers.length > 0 && sameFile(file.path, config)
      ? [`${config} has hooks as well: Codex runs both, and warns of that at every start`]
      : [];
  });
}

/** How an installation elsewhere is taken back by what it has there; undefined for a copy, or when that is gone. */
function uninstallBy(command: string, situation: Situation): string | undefined {
  const launcher = wordsOf(command, situation).find((word) => basename(word) === "launch");
  if (launcher === undefined || !existsSync(launcher)) return undefined;
  return `XDG_DATA_HOME=${shellWord(dirname(dirname(launcher)))} ${shellWord(launcher)} scripts/uninstall`;
}

/**
 * Whether what is registered already is no second run: it is in the file that is to be changed, or is the same command
 * in another one, which Claude Code runs once.
 */
function isOne(
  { harness, kind, file, event, command }: Registered,
  path: string,
  wanted: readonly Wanted[],
): boolean {
  const same = wanted.some((entry) => entry.event === event && entry.command === command);
  return kind === "installed" && ((same && harness === "claude-code") || sameFile(file, path));
}

/** Hooks of ours that run already, from elsewhere: a note for each file and what ends it. */
function twice(hooks: readonly Registered[], earlier: Manifest | undefined, situation: Situation): string[] {
  const groups = new Map<string, { file: string; mend: string; entries: string[] }>();
  for (const hook of hooks) {
    const { hook: name, file, line, kind, command } = hook;
    const uninstall =
      kind === "installed" ? uninstallFrom(hook, earlier, situation) : uninstallBy(command, situation);
    const mend = uninstall ? `run: ${uninstall}` : `take out line ${line}`;
    const group = groups.get(`${file} ${mend}`) ?? { file, mend, entries: [] };
    group.entries.push(`${name} (line ${line})`);
    groups.set(`${file} ${mend}`, group);
  }
  return [...groups.values()].map(
    ({ file, mend, entries }) => `${file} runs ${entries.join(", ")} as well; ${mend}`,
  );
}

function uninstallFrom(
  { harness, from, file }: Registered,
  earlier: Manifest | undefined,
  { cwd }: Situation,
) {
  if (from === "plugin") return undefined;
  const others = clientsIn(earlier, from).some((other) => other !== harness);
  return `${insideOf(from, file, cwd)}signals uninstall --scope ${from}${others ? ` --harness ${harness}` : ""}`;
}

/** The lines that say what became of an installation: at their end, what is still off and the command for each. */
export function installedLines(plan: Plan, { what, trusted }: Outcome): string[] {
  const { clients, settings, trust, service } = plan;
  if (what !== "done" && what !== "nothing") return [];
  const asked = trust.last.length > 0;
  const runs = clients.map(({ harness, events }) => {
    const [{ running = events.length } = {}] = harness === "codex" ? trusted : [];
    const count = running < events.length ? `${running} of ${events.length}` : running;
    const hooks = `${CLIENTS[harness].name} runs ${count} hooks of ambient-signals`;
    if (harness === "codex") return `${hooks}, ${asked ? "in new sessions" : "as far as you trust them"}`;
    return `${hooks}${what === "done" ? ", in open sessions too" : " already"}`;
  });
  const lines = service?.lines ?? [];
  if (what === "nothing") return [`nothing to do: ${runs.join("; ")}`, ...lines];
  const codex = clients.find(({ harness }) => harness === "codex");
  const isNew = codex && settings.some(({ path }) => basename(path) === "hooks.json");
  return [
    `installed: ${runs.join("; ")}`,
    ...trusted.flatMap(({ hooks, config, notes }) => {
      if (hooks > 0) return [`Codex was told to trust ${hooks} of them: ${config}`];
      return notes.length > 0 ? [] : ["Codex trusts them already"];
    }),
    ...(isNew && !asked ? untrusted(codex.scope ?? "user") : []),
    ...lines,
    ...plan.stillOff,
    "nothing was tried yet; to check the whole path: signals doctor",
    "to take it all back: signals uninstall",
  ];
}

function untrusted(scope: Scope): string[] {
  return [
    "Codex runs only hooks that you trust: it asks about new ones when it starts in a terminal, codex exec does not",
    `to trust exactly these now: signals install --harness codex${scopeFlag(scope)} --trust-codex-hooks`,
  ];
}

/** What keeps monitors from watching, and the command for it. */
export function stillOff(monitors: number | undefined, hasService: boolean, flags: string): string[] {
  if (monitors === 0)
    return [
      "nothing watches anything yet; how monitors do: signals poll --help; how a script of yours fires: signals fire --help",
    ];
  if (monitors === undefined || hasService) return [];
  return [`no service runs the monitors of config.toml; to have one: signals install --service${flags}`];
}
