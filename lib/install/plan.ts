import { HARNESSES } from "../client.ts";
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
import { SCOPES, type Scope } from "./paths.ts";

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
  /** Of the client, at which a hook of ours is to run, or did. */
  events: string[];
  /** What the person should know besides. */
  notes: string[];
}

/** The flags of `install` and `uninstall`. */
export const PLAN_FLAGS = {
  scope: { type: "string" },
  harness: { type: "string" },
  yes: { type: "boolean" },
  "dry-run": { type: "boolean" },
} as const;

interface Flags {
  scope?: string | undefined;
  harness?: string | undefined;
  yes?: boolean | undefined;
  "dry-run"?: boolean | undefined;
}

/** The scope that the flags name. Throws `UsageError` for flags that are wrong, or do not go together. */
export function scopeFrom(flags: Flags, json: boolean): Scope | undefined {
  const { scope, harness, yes, "dry-run": dryRun } = flags;
  if (harness !== undefined) oneOf("--harness", harness, HARNESSES);
  if (yes && dryRun) throw new UsageError("--yes: not with --dry-run, which writes nothing; leave one out");
  if (json && !yes && !dryRun) throw new UsageError("--json: cannot ask; add --yes, or --dry-run");
  return scope === undefined ? undefined : oneOf("--scope", scope, SCOPES);
}

/**
 * Shows a plan, asks if `--yes` does not answer, and carries it out. Says whether it is done: not when there is
 * nothing to do, when it is only to be shown, or when the answer is no. Throws `SignalsError` when a file cannot be
 * written, or is no longer what was shown.
 */
export async function carryOut(
  plan: Plan,
  question: string,
  flags: Flags,
  json: boolean,
): Promise<"done" | "nothing" | "shown" | "refused"> {
  const { settings, earlier, later, notes } = plan;
  for (const change of settings) requireWritable(change);
  if (!json) {
    for (const change of settings) printDiff(change);
    for (const text of otherFiles(plan)) line(text);
    for (const text of notes) note(`note: ${text}`);
  }
  if (settings.length + earlier.length + later.length === 0) return "nothing";
  if (flags["dry-run"]) return "shown";
  if (!flags.yes && !(await isConfirmed(question))) return "refused";
  for (const change of [...settings, ...earlier]) requireUnchanged(change);
  for (const change of earlier) {
    // Another installation may be under way: what it has noted of itself must not be lost.
    requireUnchanged(change);
    makeChange(change);
  }
  for (const change of settings) changeSettings(change);
  for (const change of later) makeChange(change);
  return "done";
}

/** The files besides the settings: those of the installation as a number, since they are many. */
function otherFiles({ folder, earlier, later }: Plan): string[] {
  const all = new Map([...earlier, ...later].map((change) => [change.path, change]));
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

/** A plan as `--json` prints it. */
export function planReport({ scope, settings, earlier, later, events, notes }: Plan) {
  const files = [...new Set([...earlier, ...later].map(({ path }) => path))];
  return {
    scope: scope ?? null,
    settings: settings.map(({ path }) => path),
    changed: settings.length + files.length > 0,
    events,
    files,
    notes,
  };
}
