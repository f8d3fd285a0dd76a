import { chmodSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod/mini";
import { type CodexHook, listHooks, withAppServer } from "../codex-app-server.ts";
import { SignalsError } from "../errors.ts";
import { changeSettings, makeChange, requireWritable } from "./change.ts";
import { hookStates } from "./codex-settings.ts";
import { hashOf, manifestText, readManifest, type TrustRecord } from "./manifest.ts";
import { clientFolder, installationOf, realPath, type Situation, sameFile } from "./paths.ts";
import { hookOf, inboxIn } from "./registered.ts";
import { readSettings } from "./settings-file.ts";
import { isAsWritten } from "./settings-plan.ts";
import type { InboxOfEntries, Target } from "./targets.ts";

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
  /** How many of ours in the file it runs then; not said of hooks that go. */
  running?: number;
  notes: string[];
}

const WRITTEN = z.object({ filePath: z.string() });

// ---------------------------------------------------------------- to trust

/**
 * Lets Codex trust the hooks of ours in a settings file, and no other, once they are there. Throws `SignalsError` when
 * its own settings cannot be written.
 */
export function planTrust(target: Target, hooks: number, inbox: InboxOfEntries, situation: Situation): Trust {
  const config = join(clientFolder("codex", situation.env), "config.toml");
  requireWritable({ path: config }, "leave out --trust-codex-hooks");
  return {
    says: `also let Codex trust these hooks, in ${config}`,
    config,
    hooks,
    run: async () => {
      try {
        return await trust(target, config, inbox, situation);
      } catch (error) {
        if (!(error instanceof SignalsError)) throw error;
        const text = `trust: the hooks are installed, and Codex was not told to trust them: ${error.message}`;
        throw new SignalsError(text, { cause: error });
      }
    },
  };
}

/** Throws `SignalsError` when Codex refuses, or does not find them, or does not trust them after all. */
function trust(
  { path, scope }: Target,
  config: string,
  { all, first }: InboxOfEntries,
  situation: Situation,
): Promise<Trusted> {
  // What a project has comes with it, from whoever wrote it, so there the inbox has to be the person's own choice.
  const inboxOf = (command: string) => (scope === "project" ? (all ?? first) : inboxIn(command, situation));
  const isOurs = ({ command = "" }: CodexHook) => isAsWritten("codex", command, inboxOf(command), situation);
  return withAppServer(situation, async (ask) => {
    const list = async () => {
      // In its own folder, no settings of a project have a say in what the person's own file is.
      const { hooks, warnings } = await listHooks(ask, scope === "user" ? dirname(path) : situation.cwd);
      return { there: hooks.filter(({ sourcePath }) => sameFile(sourcePath, path)), warnings };
    };
    let { there, warnings } = await list();
    if (there.length === 0) {
      const why = warnings.find((warning) => [path, realPath(path)].some((known) => warning.includes(known)));
      const mend =
        scope === "project"
          ? "start codex here and say that you trust this directory, then run this again"
          : "see whether it has them switched off: codex features list";
      throw new SignalsError(`${path}: Codex finds no hook there${why ? ` (${why})` : ""}; ${mend}`);
    }
    const wanted = there.filter((hook) => isOurs(hook) && !isTrusted(hook));
    if (wanted.length > 0) {
      // First: what is not known to be ours could not be taken back.
      keepRecord(wanted, path, config, situation);
      const value = Object.fromEntries(
        wanted.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]),
      );
      const edit = { keyPath: "hooks.state", mergeStrategy: "upsert", value };
      await ask("config/batchWrite", { edits: [edit] }, WRITTEN);
      ({ there } = await list());
      const left = there.filter((hook) => isOurs(hook) && !isTrusted(hook));
      if (left.length > 0) {
        const which = left.map(({ eventName }) => eventName).join(", ");
        throw new SignalsError(`${config}: it still does not trust ${which}; type /hooks there`);
      }
    }
    const installed = there.filter(
      ({ eventName: event, command = "" }) =>
        hookOf({ event, command, args: undefined, line: 1 }, situation)?.kind === "installed",
    );
    return {
      hooks: wanted.length,
      running: installed.filter((hook) => isTrusted(hook) && hook.enabled).length,
      notes: installed.flatMap((hook) => noteOn(hook, isOurs(hook), situation)),
    };
  });
}

function isTrusted({ trustStatus }: CodexHook): boolean {
  return trustStatus === "trusted" || trustStatus === "managed";
}

/** That a hook in our file goes on not to run. */
function noteOn(hook: CodexHook, isOurs: boolean, situation: Situation): string[] {
  const { eventName, command = "", enabled } = hook;
  if (!isOurs && !isTrusted(hook)) {
    return [
      isAsWritten("codex", command, inboxIn(command, situation), situation)
        ? `${eventName} is for you to trust, since its command names another inbox (${command}); --dir DIR makes it yours`
        : `${eventName} is for you to trust, since the command was changed (${command}); type /hooks in codex`,
    ];
  }
  return enabled ? [] : [`${eventName} is switched off in Codex; /hooks there switches it on`];
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
  if (text === undefined) return null;
  return { hash: hashOf(text), says: sayingOf(text), mode: statSync(config).mode & 0o7777, states };
}

/** Tells what a config.toml says, in whichever form. */
export function sayingOf(text: string): string {
  return hashOf(JSON.stringify(parse(text)));
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
        const isLast = keys.length === Object.keys(record.hooks).length;
        return { hooks, notes: isLast ? restoreForm(config, record.before) : [] };
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
  const states = hookStates(config);
  if (states === undefined) return 0;
  const held = keys.filter((key) => states[key]?.["trusted_hash"] === hooks[key]?.hash);
  const whole = held.filter(
    (key) => hooks[key]?.was === undefined && Object.keys(states[key] ?? {}).length === 1,
  );
  // At once: broken off in between, an empty table of all would stay.
  const all = !before?.states && Object.keys(states).every((key) => whole.includes(key));
  if (held.length === 0 && !all) return 0;
  const edits = held.map((key) => {
    const keyPath = `hooks.state.${JSON.stringify(key)}`;
    return {
      keyPath: whole.includes(key) ? keyPath : `${keyPath}.trusted_hash`,
      mergeStrategy: "replace",
      value: hooks[key]?.was ?? null,
    };
  });
  const table = { keyPath: "hooks.state", mergeStrategy: "replace", value: null };
  await withAppServer({ cwd, env: { ...env, CODEX_HOME: dirname(config) } }, (ask) =>
    ask("config/batchWrite", { edits: all ? [table] : edits }, WRITTEN),
  );
  return held.length;
}

/** What Codex puts over the tables of hooks, as it stands to the lines around. */
const HEADERS = ["[hooks.state]\n", "[hooks.state]\n\n", "\n[hooks.state]\n"];

/**
 * Puts back the very bytes that a config.toml had before, where what Codex made of it says the same: it ends the last
 * line, puts a header over the tables of hooks, and gives up a byte order mark, other line ends and the file's mode.
 * Returns a note when it made more of it.
 */
function restoreForm(config: string, before: TrustRecord["before"]): string[] {
  const text = readSettings(config);
  if (text === undefined) return [];
  if (before === null) {
    if (text.trim() === "") rmSync(realPath(config));
    return [];
  }
  const forms = [text]
    .flatMap((form) => [form, ...HEADERS.map((header) => form.replace(header, ""))])
    .flatMap((form) => [form, form.replace(/\n$/, "")])
    .flatMap((form) => [form, form.replaceAll("\n", "\r\n")])
    .flatMap((form) => [form, `\ufeff${form}`]);
  const form = forms.find((form) => hashOf(form) === before.hash);
  if (form === undefined && sayingOf(text) !== before.says) return [];
  if (form !== undefined && form !== text)
    changeSettings({ path: config, was: text, text: form, mode: before.mode });
  chmodSync(config, before.mode);
  return form === undefined ? [`${config} says the same as before, in Codex's own form`] : [];
}
