import { HARNESSES, type Harness } from "../client.ts";
import { UsageError } from "../errors.ts";
import { line, note, oneOf } from "../script.ts";
import {
  type Change,
  changeSettings,
  isConfirmed,
  makeChange,
  printDiff,
  requireUnchanged,
  requireWritable,
} from "./change.ts";
import type { Trust, Trusted } from "./codex-trust.ts";
import { SCOPES, type Scope } from "./paths.ts";
import type { Command, ServicePlan } from "./service.ts";

/** What an installation, or the end of one, would do, before anything of it is done. */
export interface Plan {
  /** Undefined: wherever there is something of ours. */
  scope: Scope | undefined;
  /** Of the installation. */
  folder: string;
  settings: Change[];
  /** The other files, parted so that the client works wherever it is broken off. */
  earlier: Change[];
  later: Change[];
  /** By client, the events at which a hook of ours is to run, or did. */
  clients: { harness: Harness; scope: Scope | undefined; events: string[] }[];
  /** What Codex is asked for: after all changes when it is to trust hooks, before them when no longer. */
  trust: { first: Trust[]; last: Trust[] };
  /** What becomes of the service; its file is among the others. Undefined where there is none. */
  service: ServicePlan | undefined;
  /** What the person should know besides. */
  notes: string[];
  /** What is still off, and the command for each. */
  stillOff: string[];
  /** What a person says yes to. */
  question: string;
}

/** What became of a plan. */
export interface Outcome {
  what: "done" | "nothing" | "shown" | "refused";
  /** What Codex was asked for, when it was. */
  trusted: (Trusted & { config: string })[];
  /** What the person should know of how it went. */
  notes: string[];
}

/** The flags of `uninstall`. */
export const UNINSTALL_FLAGS = {
  scope: { type: "string" },
  harness: { type: "string" },
  yes: { type: "boolean" },
  "dry-run": { type: "boolean" },
} as const;

/** The flags of `install`. */
export const INSTALL_FLAGS = {
  ...UNINSTALL_FLAGS,
  service: { type: "boolean" },
  "trust-codex-hooks": { type: "boolean" },
} as const;

interface Flags {
  scope?: string | undefined;
  harness?: string | undefined;
  yes?: boolean | undefined;
  "dry-run"?: boolean | undefined;
  service?: boolean | undefined;
  "trust-codex-hooks"?: boolean | undefined;
  dir?: string | undefined;
}

/** What is to be installed or taken out. */
export interface Request {
  /** Undefined: every client that is there. */
  harness: Harness | undefined;
  scope: Scope | undefined;
  /** The inbox that hooks are to be told of, instead of the one that their environment names. */
  dir: string | undefined;
  /** A service is to run the monitors. */
  service: boolean;
  /** Codex is to trust the hooks. */
  trust: boolean;
}

/** What the flags ask for. Throws `UsageError` for flags that are wrong, or do not go together. */
export function requestFrom(flags: Flags, json: boolean): Request {
  const { scope, harness, dir, yes, "dry-run": dryRun, service = false } = flags;
  if (yes && dryRun) throw new UsageError("--yes: not with --dry-run, which writes nothing; leave one out");
  if (json && !yes && !dryRun) throw new UsageError("--json: cannot ask; add --yes, or --dry-run");
  return {
    harness: harness === undefined ? undefined : oneOf("--harness", harness, HARNESSES),
    scope: scope === undefined ? undefined : oneOf("--scope", scope, SCOPES),
    dir,
    service,
    trust: flags["trust-codex-hooks"] ?? false,
  };
}

/**
 * Shows a plan, asks if `--yes` does not answer, and carries it out. Says what became of it: nothing is done when there
 * is nothing to do, when it is only to be shown, or when the answer is no. Throws `SignalsError` when a file cannot be
 * written, or is no longer what was shown, or when Codex refuses.
 */
export async function carryOut(plan: Plan, flags: Flags, json: boolean): Promise<Outcome> {
  const { settings, earlier, later, trust, service, notes, question } = plan;
  const asks = [...trust.first, ...trust.last];
  const commands = commandsOf(plan);
  const ended = (what: Outcome["what"]): Outcome => ({ what, trusted: [], notes: [] });
  for (const change of settings) requireWritable(change);
  if (!json) {
    for (const change of [...settings, ...(service?.change ?? [])]) printDiff(change);
    for (const text of [...otherFiles(plan), ...asks.map(({ says }) => says)]) line(text);
    for (const text of commands) line(`also run: ${text}`);
    for (const text of notes) note(`note: ${text}`);
  }
  if (settings.length + earlier.length + later.length + asks.length + commands.length === 0)
    return ended("nothing");
  if (flags["dry-run"]) return ended("shown");
  if (!flags.yes && !(await isConfirmed(question))) return ended("refused");
  for (const change of [...settings, ...earlier, ...(service?.change ?? [])]) requireUnchanged(change);
  const said = await runAll(service?.first);
  const trusted = await askAll(trust.first);
  for (const change of earlier) {
    // Another installation may be under way: what it has noted of itself must not be lost.
    requireUnchanged(change);
    makeChange(change);
  }
  for (const change of settings) changeSettings(change);
  for (const change of later) makeChange(change);
  said.push(...(await runAll(service?.last)));
  trusted.push(...(await askAll(trust.last)));
  return { what: "done", trusted, notes: [...said, ...trusted.flatMap((one) => one.notes)] };
}

/** What the service's manager is told, as a person types it. */
function commandsOf({ service }: Plan): string[] {
  return [...(service?.first ?? []), ...(service?.last ?? [])].map(({ says }) => says);
}

/** One after the other; says what a person should know of it. */
async function runAll(commands: readonly Command[] = []): Promise<string[]> {
  const said: string[] = [];
  for (const { run } of commands) said.push(...(await run()));
  return said;
}

/** One after the other, since each writes the same file. */
async function askAll(asks: readonly Trust[]): Promise<Outcome["trusted"]> {
  const done: Outcome["trusted"] = [];
  for (const { config, run } of asks) done.push({ config, ...(await run()) });
  return done;
}

/** The files besides the settings: those of the installation as a number, since they are many. */
function otherFiles({ folder, earlier, later, service }: Plan): string[] {
  const all = new Map([...earlier, ...later].map((change) => [change.path, change]));
  for (const { path } of service?.change ?? []) all.delete(path);
  return (["write", "remove"] as const).flatMap((verb) => {
    const some = [...all.values()].filter(({ text }) => (text === undefined) === (verb === "remove"));
    const inside = some.filter(({ path }) => path.startsWith(`${folder}/`));
    const others = some.filter((change) => !inside.includes(change));
    return [
      ...(inside.length > 0
        ? [`also ${verb} ${inside.length} ${inside.length > 1 ? "files" : "file"} in ${folder}`]
        : []),
      ...others.map(({ path }) => `also ${verb} ${path}`),
    ];
  });
}

/** A plan, and what became of it, as `--json` prints it. */
export function planReport(plan: Plan, { what, trusted, notes: said }: Outcome) {
  const { scope, settings, earlier, later, clients, service, notes } = plan;
  const commands = commandsOf(plan);
  const files = [...new Set([...earlier, ...later].map(({ path }) => path))];
  const asked = what === "done" ? trusted : [...plan.trust.first, ...plan.trust.last];
  const trust = asked.map(({ config, hooks }) => ({ config, hooks }));
  return {
    scope: scope ?? null,
    settings: settings.map(({ path }) => path),
    changed: settings.length + files.length + commands.length > 0 || trust.some(({ hooks }) => hooks > 0),
    events: [...new Set(clients.flatMap(({ events }) => events))],
    clients: clients.map(({ harness, scope, events }) => ({ harness, scope: scope ?? null, events })),
    files,
    trust,
    service: service ? { path: service.path, commands } : null,
    notes: [...notes, ...said],
  };
}
