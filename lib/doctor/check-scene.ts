import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CLIENTS, type Client, HARNESSES, hookPoints, pointsOf } from "../client.ts";
import { SignalsError } from "../errors.ts";
import { onPath } from "../install/presence.ts";
import {
  hookOf,
  type Plugin,
  type Registered,
  registeredHooks,
  type SettingsFile,
  wordsOf,
} from "../install/registered.ts";
import { planEntries } from "../install/settings-plan.ts";
import type { Place } from "./check-finding.ts";

/** One client as it is seen from a place. */
export interface Scene extends Place {
  client: Client;
  /** Of the client, when it says so. */
  version: string | undefined;
  /** Whether its program is on PATH. */
  isThere: boolean;
  files: readonly SettingsFile[];
  /** The person's own file of hooks, when the client reads it and `signals install` refuses to change it: why. */
  refused: { path: string; why: string } | undefined;
  hooks: readonly Registered[];
  plugins: readonly Plugin[];
  missing: readonly Missing[];
}

/** An entry in a settings file that names a hook of ours where there is none. */
export interface Missing {
  path: string;
  line: number;
  word: string;
  hook: string;
}

/** The clients that are worth a word: each that is on PATH or has hooks of ours, else the first one. */
export function scenesOf(place: Place): Scene[] {
  const all = HARNESSES.map((harness) => sceneOf(CLIENTS[harness], place));
  const some = all.filter((scene) => scene.isThere || hasHooks(scene));
  return some.length > 0 ? some : all.slice(0, 1);
}

/** Whether a settings file has to be mended before more can be registered. */
export function isAtFault({ files, refused }: Scene): boolean {
  return refused !== undefined || files.some(({ fault }) => fault !== undefined);
}

/** Whether anything of ours is registered with the client, be it that it is gone. */
export function hasHooks({ hooks, plugins, missing }: Scene): boolean {
  return hooks.length + plugins.length + missing.length > 0;
}

function sceneOf(client: Client, place: Place): Scene {
  const { harness, program } = client;
  const { files, hooks, plugins } = registeredHooks(harness, place);
  const version = place.versions[harness];
  return {
    ...place,
    client,
    version,
    isThere: onPath(program, place.env) !== undefined,
    files,
    refused: refusal(files, client, version, place),
    hooks,
    plugins,
    missing: files.flatMap((file) => missingFrom(file, client, place)),
  };
}

/** What installing for the user would say of the file that it is to change. */
function refusal(
  files: readonly SettingsFile[],
  client: Client,
  version: string | undefined,
  place: Place,
): Scene["refused"] {
  const own = files.find(({ scope }) => scope === "user");
  if (own === undefined || own.fault !== undefined) return undefined;
  const { harness } = client;
  try {
    const inbox = { all: undefined, first: undefined };
    planEntries({ harness, ...own }, hookPoints(client, version), inbox, undefined, place);
    return undefined;
  } catch (error) {
    // Which speaks of no change that was asked for.
    const { cause } = error as Error;
    if (!(cause instanceof SignalsError)) throw error;
    return { path: own.path, why: cause.message };
  }
}

/** A file that is not there cannot say whose it is; its name and event do. */
function missingFrom({ path, fault, handlers }: SettingsFile, { harness }: Client, place: Place): Missing[] {
  if (fault !== undefined) return [];
  return handlers.flatMap((handler) => {
    const { event, command, args, line } = handler;
    const words = args ? [command, ...args] : wordsOf(command, place);
    return words.flatMap((word) => {
      const hook = /([\w-]+)\.m[jt]s$/.exec(word)?.[1] ?? "";
      const isOurs = pointsOf(`hooks/${harness}/${hook}`).some((point) => point.event === event);
      // With a variable in it, only the client knows where it is.
      if (!isOurs || word.includes("$") || existsSync(resolve(place.cwd, word)) || hookOf(handler, place))
        return [];
      return [{ path, line, word, hook }];
    });
  });
}
