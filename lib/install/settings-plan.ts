import { CLIENTS, type Harness, type HookPoint } from "../client.ts";
import { SignalsError } from "../errors.ts";
import { shellWord } from "../text.ts";
import type { Change } from "./change.ts";
import { installationOf, type Situation } from "./paths.ts";
import { hookOf, inboxIn } from "./registered.ts";
import {
  addEntries,
  type Before,
  changeCommands,
  type Entry,
  type Handler,
  handlersOf,
  parseSettings,
  readSettings,
  removeHandlers,
} from "./settings-file.ts";
import type { InboxOfEntries, Target } from "./targets.ts";

/** An entry that is to be there. */
export interface Wanted extends Entry {
  /** Such as `hooks/codex/stop`. */
  entry: string;
}

function wantedEntries(
  harness: Harness,
  points: readonly HookPoint[],
  launcher: string,
  dir: string | undefined,
): Wanted[] {
  const { label } = CLIENTS[harness];
  return points.map(({ event, hook, timeout }) => {
    const entry = `hooks/${harness}/${hook}`;
    return { event, entry, command: commandOf(launcher, entry, dir), timeout, label };
  });
}

/** It is the same for every version: a client may have been told to trust exactly that. */
function commandOf(launcher: string, entry: string, dir: string | undefined): string {
  return `${shellWord(launcher)} ${entry}${dir === undefined ? "" : ` --dir ${shellWord(dir)}`}`;
}

/** Whether a command of a client is one that is written here for an inbox, and nobody has put anything else in. */
export function isAsWritten(
  harness: Harness,
  command: string,
  dir: string | undefined,
  { env }: Situation,
): boolean {
  const { launcher } = installationOf(env);
  return wantedEntries(harness, CLIENTS[harness].points, launcher, dir).some(
    (entry) => entry.command === command,
  );
}

/**
 * The settings with an entry for each point. Entries of ours that are there stay as a person left them, but for an
 * inbox that is to be that of all, and new ones are for the same inbox.
 */
export function planEntries(
  { harness, path }: Target,
  points: readonly HookPoint[],
  inbox: InboxOfEntries,
  known: Before | undefined,
  situation: Situation,
): { settings: Change[]; before: Before; wanted: Wanted[] } {
  const { launcher } = installationOf(situation.env);
  const isOurs = isInstalled(situation);
  return reading(path, (was) => {
    const ours = handlersIn(was).filter(isOurs);
    const [theirs] = ours.flatMap(({ command }) => inboxIn(command, situation) ?? []);
    const dir = inbox.all ?? (ours.length > 0 ? theirs : inbox.first);
    const wanted = wantedEntries(harness, points, launcher, dir);
    const isFor = ({ event, entry }: Wanted, handler: Handler) =>
      event === handler.event && entry === hookOf(handler, situation)?.entry;
    /** The entry that a handler of ours is already. */
    const entryOf = (handler: Handler) =>
      wanted.find(
        (entry) => isFor(entry, handler) && (inbox.all === undefined || entry.command === handler.command),
      );
    const there = ours.map(entryOf);
    const missing = wanted.filter((entry) => !there.includes(entry));
    // Where it stands: Codex trusts a hook, also one of others behind ours, only in its place.
    const changed = changeCommands(was, (handler) => {
      const place = missing.findIndex((entry) => isFor(entry, handler));
      if (place < 0 || !isOurs(handler) || handler.args) return undefined;
      return missing.splice(place, 1)[0]?.command;
    });
    const left = removeHandlers(changed, (handler) => isOurs(handler) && !entryOf(handler), known);
    // What is known of a file that holds nothing of ours any more is of another time.
    const { text, before } = addEntries(left.text, missing, ours.length > 0 ? left.before : {});
    return { settings: settingsChange(path, was, text), before, wanted };
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
