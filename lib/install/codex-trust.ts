import { chmodSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { type CodexHook, listHooks, withAppServer } from "../codex-app-server.ts";
import { SignalsError } from "../errors.ts";
import { changeSettings, makeChange, requireWritable } from "./change.ts";
import { hookStates } from "./codex-settings.ts";
import { hashOf, manifestText, readManifest, type TrustRecord } from "./manifest.ts";
import { clientFolder, installationOf, realPath, type Situation, sameFile } from "./paths.ts";
import { hookOf } from "./registered.ts";
import { readSettings } from "./settings-file.ts";
import { isAsWritten } from "./settings-plan.ts";
import type { Target } from "./targets.ts";

/** What is asked of Codex itself, beside the changes of files: to trust hooks, or to trust them no more. */
export interface Trust {
  /** As a person is told of it before. */
  says: string;
  /** Codex's own settings, in which it writes that. */
  config: string;
  /** How many hooks it is about. */
  hooks: number;
  run(): Promise<Trusted>;
}

/** What came of it. */
export interface Trusted {
  /** How many hooks it newly trusts, or no longer. */
  hooks: number;
  notes: string[];
}

const WRITTEN = z.object({ filePath: z.string() });

// ---------------------------------------------------------------- to trust

/**
 * Lets Codex trust the hooks of ours in a settings file, and no other, once they are there. Throws `SignalsError` when
 * its own settings cannot be written.
 */
export function planTrust(target: Target, hooks: number, situation: Situation): Trust {
  const config = join(clientFolder("codex", situation.env), "config.toml");
  requireWritable({ path: config }, "leave out --trust-codex-hooks");
  return {
    says: `also let Codex trust these hooks, in ${config}`,
    config,
    hooks,
    run: async () => {
      try {
        return await trust(target, config, situation);
      } catch (error) {
        if (!(error instanceof SignalsError)) throw error;
        const text = `trust: the hooks are installed, and Codex was not told to trust them: ${error.message}`;
        throw new SignalsError(text, { cause: error });
      }
    },
  };
}

/** Throws `SignalsError` when Codex refuses, or does not find them, or does not trust them after all. */
function trust({ path, scope }: Target, config: string, situation: Situation): Promise<Trusted> {
  return withAppServer(situation, async (ask) => {
    const list = async () => {
      const { hooks, warnings } = await listHooks(ask, situation.cwd);
      const there = hooks.filter(
        ({ pluginId, sourcePath }) => pluginId === null && sameFile(sourcePath, path),
      );
      return { there, ours: there.filter(isOurs), warnings };
    };
    const isOurs = ({ command = "" }: CodexHook) => isAsWritten("codex", command, situation);
    const { there, ours, warnings } = await list();
    if (there.length === 0) {
      const why = warnings.find((warning) => [path, realPath(path)].some((known) => warning.includes(known)));
      const mend =
        scope === "project"
          ? "start codex here and say that you trust this directory, then run this again"
          : "see whether it has them switched off: codex features list";
      throw new SignalsError(`${path}: Codex finds no hook there${why ? ` (${why})` : ""}; ${mend}`);
    }
    const wanted = ours.filter((hook) => !isTrusted(hook));
    if (wanted.length > 0) {
      // First: what is not known to be ours could not be taken back.
      keepRecord(wanted, path, config, situation);
      const value = Object.fromEntries(
        wanted.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]),
      );
      const edit = { keyPath: "hooks.state", mergeStrategy: "upsert", value };
      await ask("config/batchWrite", { edits: [edit] }, WRITTEN);
      const left = (await list()).ours.filter((hook) => !isTrusted(hook));
      if (left.length > 0) {
        const which = left.map(({ eventName }) => eventName).join(", ");
        throw new SignalsError(`${config}: it still does not trust ${which}; type /hooks there`);
      }
    }
    return { hooks: wanted.length, notes: notesOn(there, isOurs, situation) };
  });
}

function isTrusted({ trustStatus }: CodexHook): boolean {
  return trustStatus === "trusted" || trustStatus === "managed";
}

/** Of the hooks in our file, those that go on not to run. */
function notesOn(
  hooks: readonly CodexHook[],
  isOurs: (hook: CodexHook) => boolean,
  situation: Situation,
): string[] {
  return hooks.flatMap((hook) => {
    const { eventName, command = "", enabled } = hook;
    const handler = { event: eventName, command, args: undefined, line: 1 };
    const isChanged = !isOurs(hook) && hookOf(handler, situation)?.kind === "installed";
    if (isChanged && !isTrusted(hook))
      return [
        `${eventName} is for you to trust, since the command was changed (${command}); type /hooks in codex`,
      ];
    return isOurs(hook) && !enabled
      ? [`${eventName} is switched off in Codex; /hooks there switches it on`]
      : [];
  });
}

/** Notes in the manifest what is about to be trusted, and what there was before. */
function keepRecord(hooks: readonly CodexHook[], settings: string, config: string, { env }: Situation): void {
  const { manifest: file } = installationOf(env);
  const was = readSettings(file);
  const manifest = readManifest(file);
  if (manifest === undefined) throw new SignalsError(`${file}: was changed meanwhile; run this again`);
  const earlier = manifest.trust?.[config];
  const states = hookStates(config);
  const records = hooks.map(({ key, currentHash: hash }) => {
    const known = earlier?.hooks[key];
    const found = states?.[key]?.["trusted_hash"];
    // What we wrote ourselves is nobody's own.
    const own = found === known?.hash ? known?.was : found;
    return [key, { settings, hash, ...(typeof own === "string" && { was: own }) }];
  });
  const record: TrustRecord = {
    before: earlier ? earlier.before : stateOf(config, states !== undefined),
    hooks: { ...earlier?.hooks, ...Object.fromEntries(records) },
  };
  const text = manifestText({ ...manifest, trust: { ...manifest.trust, [config]: record } });
  makeChange({ path: file, was, text, mode: 0o644 });
}

function stateOf(config: string, states: boolean): TrustRecord["before"] {
  const text = readSettings(config);
  return text === undefined ? null : { hash: hashOf(text), mode: statSync(config).mode & 0o7777, states };
}

// ---------------------------------------------------------------- to trust no more

/** Takes back that Codex trusts some of the hooks in a record, as far as that is still what was written. */
export function planUntrust(
  config: string,
  record: TrustRecord,
  keys: readonly string[],
  situation: Situation,
): Trust {
  return {
    says: `also take back that Codex trusts ${keys.length} hooks, in ${config}`,
    config,
    hooks: keys.length,
    run: async () => {
      try {
        const hooks = await untrust(config, record, keys, situation);
        if (keys.length === Object.keys(record.hooks).length) restoreForm(config, record.before);
        return { hooks, notes: [] };
      } catch (error) {
        if (!(error instanceof SignalsError)) throw error;
        // It does no harm, and is no reason to keep the rest.
        return { hooks: 0, notes: [`${stays(config, keys)} (${error.message})`] };
      }
    },
  };
}

/** What is left when Codex cannot be asked. */
export function stays(config: string, keys: readonly string[]): string {
  const tables = keys.map((key) => `[hooks.state.${JSON.stringify(key)}]`).join(", ");
  return `${config} goes on to trust hooks that are gone; take out ${tables}`;
}

async function untrust(
  config: string,
  { before, hooks }: TrustRecord,
  keys: readonly string[],
  { cwd, env }: Situation,
): Promise<number> {
  const states = hookStates(config) ?? {};
  const held = keys.filter((key) => states[key]?.["trusted_hash"] === hooks[key]?.hash);
  if (held.length === 0) return 0;
  const edits = held.map((key) => {
    const { was = null } = hooks[key] ?? {};
    const keyPath = `hooks.state.${JSON.stringify(key)}`;
    const alone = was === null && Object.keys(states[key] ?? {}).length === 1;
    return { keyPath: alone ? keyPath : `${keyPath}.trusted_hash`, mergeStrategy: "replace", value: was };
  });
  await withAppServer({ cwd, env: { ...env, CODEX_HOME: dirname(config) } }, async (ask) => {
    await ask("config/batchWrite", { edits }, WRITTEN);
    const isEmpty = Object.keys(hookStates(config) ?? {}).length === 0;
    if (before?.states || !isEmpty) return;
    const table = { keyPath: "hooks.state", mergeStrategy: "replace", value: null };
    await ask("config/batchWrite", { edits: [table] }, WRITTEN);
  });
  return held.length;
}

/**
 * Puts back the very bytes that a config.toml had before, where what Codex made of it says the same: it ends the last
 * line, puts a header over the tables of hooks, and gives up a byte order mark, other line ends and the file's mode.
 */
function restoreForm(config: string, before: TrustRecord["before"]): void {
  const text = readSettings(config);
  if (text === undefined) return;
  if (before === null) {
    if (text.trim() === "") rmSync(realPath(config));
    return;
  }
  const forms = [text]
    .flatMap((form) => [form, form.replace(/^\[hooks\.state\]\n/m, "")])
    .flatMap((form) => [form, form.replace(/\n$/, "")])
    .flatMap((form) => [form, form.replaceAll("\n", "\r\n")])
    .flatMap((form) => [form, `\ufeff${form}`]);
  const form = forms.find((form) => hashOf(form) === before.hash);
  if (form === undefined) return;
  if (form !== text) changeSettings({ path: config, was: text, text: form, mode: before.mode });
  chmodSync(config, before.mode);
}
