import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { CLIENTS, HARNESSES } from "../client.ts";
import { attempt } from "../errors.ts";
import { shellWord } from "../text.ts";
import { hookStates } from "./codex-settings.ts";
import { planUntrust, stays, type Trust } from "./codex-trust.ts";
import { commandPath, fileChange, isOurCommand, leftovers, removal } from "./files.ts";
import { type Manifest, manifestText, readManifest, recordOf } from "./manifest.ts";
import {
  clientFolder,
  installationOf,
  realPath,
  type Scope,
  type Situation,
  sameFile,
  settingsPath,
} from "./paths.ts";
import type { Outcome, Plan, Request } from "./plan.ts";
import { onPath } from "./presence.ts";
import { registeredHooks } from "./registered.ts";
import { planNoService } from "./service.ts";
import { type Handler, readSettings, removeHandlers } from "./settings-file.ts";
import { handlersIn, isInstalled, reading, settingsChange } from "./settings-plan.ts";
import type { Target } from "./targets.ts";

/**
 * What uninstalling would do: for a scope, or wherever there is something of ours; of one client, or of all. The files
 * and the service go with the last entry that names them. Throws `SignalsError` when something stands in the way.
 */
export async function planUninstall({ scope, harness }: Request, situation: Situation): Promise<Plan> {
  const installation = installationOf(situation.env);
  const manifest = readManifest(installation.manifest);
  const registered = HARNESSES.flatMap((harness) => registeredHooks(harness, situation).hooks);
  const isOurs = isInstalled(situation);
  const known = distinct([
    ...Object.entries(manifest?.settings ?? {}).map(([path, { harness }]) => ({ harness, path })),
    ...HARNESSES.map((harness) => ({ harness, path: settingsPath(harness, "user", situation) })),
    ...registered.flatMap(({ kind, harness, file: path }) =>
      kind === "installed" ? [{ harness, path }] : [],
    ),
  ]);
  const targets = (scope === undefined ? known : ofScope(scope, situation)).filter(
    (target) => harness === undefined || target.harness === harness,
  );
  const removed = targets.map(({ harness, path }) => {
    const record = recordOf(manifest, path);
    return reading(path, (was) => {
      const ours = handlersIn(was).filter(isOurs);
      const { text } = removeHandlers(was, isOurs, record?.before);
      const asked = harness === "codex" && ours.length > 0;
      const notes = asked
        ? [
            ...movedNotes(path, handlersIn(was), isOurs),
            ...(handlersIn(text).length === 0 ? ownTrust(path, manifest, situation) : []),
          ]
        : [];
      const events = ours.map(({ event }) => event);
      return { harness, events, notes, change: settingsChange(path, was, text, record?.folder) };
    });
  });
  const others = known.filter(({ path }) => !isAmong(targets, path) && holds(path, isOurs));
  const kept = manifest && without(manifest, (path) => !isAmong(others, path));
  const next = kept === undefined ? [] : fileChange(installation.manifest, manifestText(kept), 0o644);
  const made = manifest?.made ?? [];
  const service = others.length > 0 ? undefined : await planNoService(manifest?.service, made, situation);
  const trust = untrusting(manifest, (settings) => isAmong(targets, settings), situation);
  return {
    scope,
    folder: installation.folder,
    settings: removed.flatMap(({ change }) => change),
    earlier: [],
    later: [
      ...leftovers(installation.folder, [
        ...targets.map(({ path }) => path),
        manifest?.command ?? commandPath(situation.env),
        ...(service ? [service.path] : []),
      ]),
      ...(service ? [...service.traces, ...service.change] : []),
      ...(others.length > 0 ? next : allFiles(installation, manifest, situation)),
    ],
    clients: HARNESSES.map((harness) => {
      const events = removed.flatMap((one) => (one.harness === harness ? one.events : []));
      return { harness, scope, events: [...new Set(events)] };
    }).filter(({ events }) => events.length > 0),
    trust: { first: trust.asks, last: [] },
    service,
    stillOff: [],
    question: "Remove this?",
    notes: [
      ...others.map(
        ({ path }) =>
          `${path} still has entries, so the files stay; without --scope or --harness all of it goes`,
      ),
      ...trust.notes,
      ...(service?.notes ?? []),
      ...removed.flatMap(({ notes }) => notes),
      ...registered
        .filter(({ kind }) => kind === "copy" || kind === "launcher")
        .map(({ file, line, hook, command }) => `${file}:${line}: goes on to run ${hook} (${command})`),
    ],
  };
}

/** A settings file of a client. */
type File = Omit<Target, "scope">;

function ofScope(scope: Scope, situation: Situation): File[] {
  return HARNESSES.flatMap((harness) => {
    const path = settingsPath(harness, scope, situation);
    return path === undefined ? [] : [{ harness, path }];
  });
}

/** The manifest when these settings files hold nothing of ours any more. */
function without(manifest: Manifest, isGone: (settings: string) => boolean): Manifest {
  const { trust, settings, ...rest } = manifest;
  const left = Object.entries(trust ?? {}).flatMap(([config, { before, hooks }]) => {
    const some = Object.entries(hooks).filter(([, hook]) => !isGone(hook.settings));
    return some.length > 0 ? [[config, { before, hooks: Object.fromEntries(some) }] as const] : [];
  });
  return {
    ...rest,
    settings: Object.fromEntries(Object.entries(settings).filter(([path]) => !isGone(path))),
    ...(left.length > 0 && { trust: Object.fromEntries(left) }),
  };
}

/** What Codex is asked to trust no more, and what stays when there is no Codex to ask. */
function untrusting(
  manifest: Manifest | undefined,
  isTarget: (settings: string) => boolean,
  situation: Situation,
): { asks: Trust[]; notes: string[] } {
  const records = Object.entries(manifest?.trust ?? {}).flatMap(([config, record]) => {
    const keys = Object.keys(record.hooks).filter((key) => isTarget(record.hooks[key]?.settings ?? ""));
    return keys.length > 0 ? [{ config, record, keys }] : [];
  });
  const isThere = onPath(CLIENTS.codex.program, situation.env) !== undefined;
  // What cannot be read cannot be taken back, and once the rest is gone nobody would know of it.
  if (isThere) for (const { config } of records) reading(config, () => hookStates(config));
  return !isThere
    ? { asks: [], notes: records.map(({ config, keys }) => `no codex is on PATH, so ${stays(config, keys)}`) }
    : {
        asks: records.map(({ config, record, keys }) => planUntrust(config, record, keys, situation)),
        notes: [],
      };
}

/** Trust is bound to a hook's place among those of its event. */
function movedNotes(
  path: string,
  handlers: readonly Handler[],
  isOurs: (handler: Handler) => boolean,
): string[] {
  const moved = handlers.filter(
    (handler, i) =>
      !isOurs(handler) &&
      handlers.slice(0, i).some((other) => isOurs(other) && other.event === handler.event),
  );
  return moved.map(
    ({ event, line }) => `${path}:${line}: moves up, so Codex may ask once more to trust it (${event})`,
  );
}

/** What Codex keeps of a settings file by the person's own word, once no hook is in it. */
function ownTrust(path: string, manifest: Manifest | undefined, { env }: Situation): string[] {
  const config = join(clientFolder("codex", env), "config.toml");
  const ours = manifest?.trust?.[config]?.hooks ?? {};
  const states = Object.entries(attempt(() => hookStates(config)) ?? {});
  const own = states.filter(
    ([key, { trusted_hash: hash }]) =>
      [path, realPath(path)].some((known) => key.startsWith(`${known}:`)) &&
      hash !== undefined &&
      hash !== ours[key]?.hash,
  );
  return own.length === 0
    ? []
    : [
        `${config} keeps the trust that you gave ${own.length} hooks by hand; it does no harm, and holds again if you install again`,
      ];
}

/** The lines that say what became of it. */
export function uninstalledLines(plan: Plan, { what, trusted }: Outcome, dir: string): string[] {
  const { clients, service } = plan;
  if (what === "nothing") return ["nothing to do: nothing of ambient-signals was found there"];
  if (what !== "done") return [];
  const out = clients.map(
    ({ harness, events }) => `${events.length} hooks are out of the settings of ${CLIENTS[harness].name}`,
  );
  if (service && service.change.length > 0) out.push("the service is gone");
  return [
    `uninstalled: ${out.join(", ") || "the files, which no settings named"}`,
    ...trusted.flatMap(({ hooks, config }) =>
      hooks > 0 ? [`Codex trusts ${hooks} of them no longer: ${config}`] : [],
    ),
    ...(clients.some(({ harness }) => harness === "codex")
      ? ["open sessions of Codex go on to call them, and say that a hook failed; new ones do not"]
      : []),
    ...inboxLeft(dir),
  ];
}

/** What to do about the inbox, which is the person's own; nothing when there is none. */
function inboxLeft(dir: string): string[] {
  return existsSync(dir) ? [`the inbox stays at ${dir}; to remove it too: rm -r ${shellWord(dir)}`] : [];
}

/** Everything that an installation wrote besides the settings; the manifest last, as long as anything else is there. */
function allFiles(
  { folder, launcher, manifest: file }: ReturnType<typeof installationOf>,
  manifest: ReturnType<typeof readManifest>,
  situation: Situation,
) {
  const command = manifest?.command ?? commandPath(situation.env);
  const files = manifest ? Object.keys(manifest.files) : [relative(folder, launcher), ...foundIn(folder)];
  const inside = [...files.map((name) => join(folder, name)), file].filter((path) => existsSync(path));
  const made = [...(manifest?.made ?? []), folder];
  const withFolders = (path: string) =>
    removal(
      path,
      made.find((folder) => path.startsWith(`${folder}/`)),
    );
  return [...(isOurCommand(command, launcher, situation) ? [command] : []), ...inside].map(withFolders);
}

/** What is ours in an installation without a manifest: bundles, which say so, and what they play. */
function foundIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return all.filter((name) => {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
    return (
      name.startsWith("fixtures/") ||
      /^\/\/ \S+ of ambient-signals \S+ as one file/m.test(readFileSync(path, "utf8"))
    );
  });
}

function holds(path: string, isOurs: (handler: Handler) => boolean): boolean {
  try {
    return handlersIn(readSettings(path)).some(isOurs);
  } catch {
    // It cannot be told; then the files had better be there.
    return true;
  }
}

function isAmong(files: readonly File[], path: string): boolean {
  return files.some((other) => sameFile(other.path, path));
}

/** Without other paths to the same file. */
function distinct(files: readonly File[]): File[] {
  return files.filter(({ path }, i) => files.findIndex((other) => sameFile(other.path, path)) === i);
}
