import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { SignalsError } from "../errors.ts";
import type { Change } from "./change.ts";
import { fileChange, removal } from "./files.ts";
import { hashOf } from "./manifest.ts";
import { installationOf, type Situation } from "./paths.ts";
import { managerHere, managerOf, type ServiceRecord, serviceIn } from "./service-found.ts";
import { type Served, type Step, shellPath, take, typed, typedAll } from "./service-manager.ts";

/** What becomes of the service that runs the monitors. */
export interface ServicePlan {
  /** The file that describes it to its manager. */
  path: string;
  change: Change[];
  /** What else of it goes. */
  traces: Change[];
  /** What its manager is told: before the files change when it is to go, after that when it is to run. */
  first: Command[];
  last: Command[];
  notes: string[];
  /** What a person is told when all is done. */
  lines: string[];
}

/** Something that a service manager is told. */
export interface Command {
  /** As a person types it. */
  says: string;
  /** Returns what a person should know of it. Throws `SignalsError` when it failed. */
  run(): Promise<string[]>;
}

const NO_MANAGER =
  "there is no systemd and no launchd here to run it; leave it out, and start signals poll in a terminal, or by cron";

// ---------------------------------------------------------------- to install

export interface Wish {
  /** It is asked for; else what is there is kept as it should be. */
  asked: boolean;
  /** The inbox that was named for all. */
  dir: string | undefined;
  /** The one that the hooks, or this environment, name. */
  named: string | undefined;
  /** The files that it runs are about to change. */
  hasNewCode: boolean;
}

/**
 * What installing means for the service, and what is to be noted of it. Undefined when there is none, and none is asked
 * for. Throws `SignalsError` when something of somebody else is in its place.
 */
export async function planService(
  { asked, dir, named, hasNewCode }: Wish,
  earlier: ServiceRecord | undefined,
  situation: Situation,
): Promise<{ plan: ServicePlan; record: ServiceRecord } | undefined> {
  if (!asked && earlier === undefined) return undefined;
  const { env } = situation;
  const manager = earlier ? managerOf(earlier) : managerHere(situation);
  if (manager === undefined) throw new SignalsError(`--service: ${NO_MANAGER}`);
  const path = earlier?.path ?? manager.fileIn(env);
  const found = serviceIn(earlier, situation);
  const isThere = found?.text !== undefined;
  if (asked && isThere && !found.isOurs)
    throw new SignalsError(`--service: ${path}: is none of ours; move it away, or leave --service out`);

  const served = {
    launcher: installationOf(env).launcher,
    dir: dir ?? (asked ? named : undefined) ?? earlier?.dir,
    path: asked || earlier === undefined ? shellPath(env) : earlier.PATH,
  };
  const text = manager.textOf(served, env);
  const stays = !asked && isThere && !found.isAsWritten;
  const change = stays ? [] : fileChange(path, text, 0o644);
  const changed = change.length > 0;
  const isOld = hasNewCode && found?.isOurs === true;
  const state = asked || changed || isOld ? await manager.look(env) : undefined;
  const isOn = typeof state === "object" && state.isUp && state.isKept;
  const starts = asked ? changed || !isOn : changed && !isThere;
  // Where it cannot be asked, it may well be up.
  const isUp = typeof state === "string" || state?.isUp === true;
  const renewed = changed || isOld ? manager.refresh(path, { changed, isUp }) : [];
  const steps = starts ? manager.start(path) : renewed;
  const missed = typeof state === "string" && steps.length > 0 ? state : undefined;
  const said = missed === undefined ? told(steps, env) : untold(steps, starts, missed);
  const runs = missed === undefined && (asked || starts);
  const notes = [
    ...(stays
      ? [`${path} was changed by hand and stays so; to write it anew: signals install --service`]
      : []),
    ...said.notes,
    ...(starts ? await manager.notes(env) : []),
  ];
  return {
    record: stays && earlier ? earlier : recordOf(path, text, served),
    plan: {
      ...NOTHING,
      path,
      change,
      ...said,
      notes,
      lines: runs ? [`the service runs the monitors; its log: ${manager.log(env)}`] : said.lines,
    },
  };
}

const NOTHING = { change: [], traces: [], first: [], last: [], notes: [], lines: [] };

function told(steps: readonly Step[], env: NodeJS.ProcessEnv) {
  const failed = (says: string, why: string) => {
    throw new SignalsError(
      `service: all is written, but ${says} failed: ${why}; mend that, and type it yourself`,
    );
  };
  return {
    last: steps.map((step) => commandOf(step, env, failed)),
    notes: [],
    lines: [],
  };
}

/** What is left to the person, where the manager cannot be reached. */
function untold(steps: readonly Step[], starts: boolean, why: string) {
  const so = starts ? "does not run yet" : "goes on as it was";
  return {
    last: [],
    notes: [`the service manager cannot be reached from here: ${why}`],
    lines: [`the service ${so}; in a session of yours: ${typedAll(steps)}`],
  };
}

function recordOf(path: string, text: string, { dir, path: PATH }: Served): ServiceRecord {
  return { path, hash: hashOf(text), PATH, ...(dir !== undefined && { dir }) };
}

function commandOf(
  step: Step,
  env: NodeJS.ProcessEnv,
  failed: (says: string, why: string) => string[],
): Command {
  const says = typed(step);
  return {
    says,
    run: async () => {
      const why = await take(step, env);
      return why === undefined ? [] : failed(says, why);
    },
  };
}

// ---------------------------------------------------------------- to uninstall

/** What uninstalling means for it; undefined when there is none. */
export async function planNoService(
  record: ServiceRecord | undefined,
  made: readonly string[],
  situation: Situation,
): Promise<ServicePlan | undefined> {
  const { env } = situation;
  const found = serviceIn(record, situation);
  if (found === undefined) return undefined;
  const { manager, path, text, isOurs } = found;
  const isThere = text !== undefined;
  if (isThere && !isOurs)
    return record && { ...NOTHING, path, notes: [`${path} is none of ours any more, and stays`] };

  const state = await manager.look(env);
  const isUp = typeof state === "object" && state.isUp;
  const steps = typeof state === "object" && (isThere || isUp) ? manager.stop(isThere) : [];
  // What fails here keeps nothing from being taken back.
  const failed = (says: string, why: string) => [`${says} failed: ${why}; type it yourself`];
  const after = steps.length > 0 ? manager.forget : [];
  const upTo = made.find((folder) => path.startsWith(`${folder}/`));
  return {
    ...NOTHING,
    path,
    change: isThere ? [{ ...removal(path, upTo), was: text }] : [],
    traces: [
      ...manager.traces(path, env).map((trace) => removal(trace.path, trace.upTo)),
      // Without its file, the folders that were made for it are still to go.
      ...(!isThere && upTo !== undefined && existsSync(dirname(path)) ? [removal(path, upTo)] : []),
    ],
    first: steps.map((step) => commandOf(step, env, failed)),
    last: after.map((step) => commandOf(step, env, failed)),
    notes:
      typeof state === "string" && isThere
        ? [
            `the service manager cannot be reached from here (${state}); what runs goes on until: ${typedAll(manager.stop(false))}`,
          ]
        : [],
  };
}
