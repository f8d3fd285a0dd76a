import { join, relative } from "node:path";
import { CLIENTS, hookPoints } from "../client.ts";
import { home } from "../entries.ts";
import { SignalsError, UsageError } from "../errors.ts";
import { packageVersion } from "../header.ts";
import { harnessFlag, installCommand, scopeFlag } from "./again.ts";
import { missingFolder } from "./change.ts";
import { versionOf } from "./client-version.ts";
import { planTrust } from "./codex-trust.ts";
import { contentsOf, fileChange, leftovers, planCommand, removal } from "./files.ts";
import { damagedFiles, hashOf, type Manifest, manifestText, readManifest, recordOf } from "./manifest.ts";
import { HOOKS_OFF, NO_CLIENT, NONE_THERE, notesOn, projectNote, stillOff } from "./notes.ts";
import { clientFolder, defaultInbox, installationOf, realPath, type Situation, sameFile } from "./paths.ts";
import type { Plan, Request } from "./plan.ts";
import { clientsThere, onPath } from "./presence.ts";
import { inboxIn, type Plugin, registeredHooks, type SettingsFile } from "./registered.ts";
import { planService } from "./service.ts";
import { monitorsIn } from "./service-found.ts";
import { readSettings } from "./settings-file.ts";
import { planEntries } from "./settings-plan.ts";
import { inboxFor, namedInbox, type Target, targetsOf } from "./targets.ts";

/**
 * What installing would do. Throws `UsageError` for what cannot be asked for, and `SignalsError` when something stands
 * in the way.
 */
export async function planInstall(request: Request, situation: Situation): Promise<Plan> {
  const { env } = situation;
  const { folder, launcher, manifest: file } = installationOf(env);
  const { targets, leftOut } = targetsOf(request, situation);
  const found = targets.map((target) => ({ target, ...registeredHooks(target.harness, situation) }));
  for (const { target, plugins } of found) refusePlugin(target, plugins);
  const codex = found.find(({ target }) => target.harness === "codex");
  if (request.trust) requireTrustable(codex, request, env);
  // First of all: another installation may note something of itself from here on.
  const was = readSettings(file);
  const earlier = readManifest(file);
  const isOwnSource = sameFile(home(), folder);
  const harnesses = targets.map(({ harness }) => harness);
  const scope = targets[0]?.scope ?? "user";
  const flags = `${harnessFlag(harnesses, env)}${scopeFlag(scope)}`;
  if (earlier && isOwnSource) requireWhole(folder, earlier, flags);

  // A shell that does not find the client is no reason to do without what it knows.
  const client = (await versionOf(CLIENTS["claude-code"].program, env)) ?? earlier?.client;
  const parts = found.map(({ target, files, hooks }) => {
    const version = target.harness === "claude-code" ? client : undefined;
    const points = hookPoints(CLIENTS[target.harness], version);
    const record = recordOf(earlier, target.path);
    const inbox = inboxFor(target, request, situation);
    const plan = planEntries(target, points, inbox, record?.before, situation);
    return { target, inbox, files, hooks, record, events: points.map(({ event }) => event), ...plan };
  });

  const contents = await contentsOf(folder, launcher);
  const changed = contents.flatMap(({ path, text, mode }) => fileChange(path, text, mode));
  const command = planCommand(launcher, situation);
  const [told] = parts.flatMap(({ wanted }) =>
    wanted.flatMap((one) => inboxIn(one.command, situation) ?? []),
  );
  const named = told ?? namedInbox(env);
  const wish = { asked: request.service, dir: parts[0]?.inbox.all, named, hasNewCode: changed.length > 0 };
  const service = await planService(wish, earlier?.service, situation);
  const manifest: Manifest = {
    version: packageVersion(),
    node: process.execPath,
    ...(client !== undefined && { client }),
    command: command.path,
    files: Object.fromEntries(contents.map(({ path, text }) => [relative(folder, path), hashOf(text)])),
    again: (isOwnSource && earlier?.again) || installCommand(),
    made: [
      ...new Set([
        ...(earlier?.made ?? []),
        ...foldersMade(launcher, command.path, service?.record.path ?? null),
      ]),
    ],
    settings: {
      ...earlier?.settings,
      ...Object.fromEntries(
        parts.map(({ target: { path, harness, scope }, record, before }) => {
          const folderMade = missingFolder(realPath(path)) ?? record?.folder;
          return [
            record?.path ?? path,
            { harness, scope, ...(folderMade && { folder: folderMade }), before },
          ];
        }),
      ),
    },
    ...(service && { service: service.record }),
    ...(earlier?.trust && { trust: earlier.trust }),
  };
  const stale = Object.entries(earlier?.files ?? {}).filter(([name]) => !(name in manifest.files));
  const kept = (what: Manifest) =>
    manifestText(what) === was ? [] : [{ path: file, was, text: manifestText(what), mode: 0o644 }];
  return {
    scope,
    folder,
    settings: parts.flatMap(({ settings }) => settings),
    earlier: [
      ...changed,
      ...command.change,
      // Until they are gone, the old ones have to be known.
      ...kept({ ...manifest, files: { ...manifest.files, ...Object.fromEntries(stale) } }),
      ...(service?.plan.change ?? []),
    ],
    later: [
      ...stale.map(([name]) => removal(join(folder, name), folder)),
      ...(stale.length > 0 ? kept(manifest) : []),
      ...leftovers(folder, [
        ...targets.map(({ path }) => path),
        ...(command.path === null ? [] : [command.path]),
        ...(service ? [service.plan.path] : []),
      ]),
    ],
    clients: parts.map(({ target: { harness, scope }, events }) => ({ harness, scope, events })),
    trust: {
      first: [],
      last: parts.flatMap(({ target, inbox, wanted }) =>
        request.trust && target.harness === "codex"
          ? [planTrust(target, wanted.length, inbox, situation)]
          : [],
      ),
    },
    service: service?.plan,
    stillOff: stillOff(
      monitorsIn(service?.record.dir ?? named ?? defaultInbox(env)),
      service !== undefined,
      flags,
    ),
    question: request.trust ? "Write this, and let Codex trust its hooks?" : "Write this?",
    notes: [
      ...leftOut,
      ...(request.harness === undefined && clientsThere(env).length === 0 ? [NONE_THERE] : []),
      ...(client === undefined && harnesses.includes("claude-code") ? [NO_CLIENT] : []),
      ...parts.flatMap((part) => notesOn(part, earlier, situation)),
      ...(scope === "project" ? [projectNote(harnesses)] : []),
      ...(earlier && isOwnSource
        ? [
            `this is the installed copy, whose files stay as they are; to update it, run: ${earlier.again}${flags}`,
          ]
        : []),
      ...command.notes,
      ...(service?.plan.notes ?? []),
    ],
  };
}

function refusePlugin({ harness }: Target, [plugin]: readonly Plugin[]): void {
  if (plugin === undefined) return;
  const { id, scope } = plugin;
  const command =
    harness === "codex" ? `codex plugin remove ${id}` : `claude plugin uninstall ${id}${scopeFlag(scope)}`;
  throw new SignalsError(`plugin: ${id}: is enabled, and every hook would run twice; first run: ${command}`);
}

/** Throws when Codex cannot be told to trust what is about to be written. */
function requireTrustable(
  found: { target: Target; files: SettingsFile[] } | undefined,
  { harness }: Request,
  env: NodeJS.ProcessEnv,
): void {
  const flag = "--trust-codex-hooks";
  if (harness !== "claude-code" && onPath(CLIENTS.codex.program, env) === undefined)
    throw new SignalsError(`${flag}: there is no codex on PATH to ask; put it there, or leave the flag out`);
  if (found === undefined)
    throw new UsageError(
      `${flag}: nothing is installed for Codex here; use --harness codex, or leave the flag out`,
    );
  const { target, files } = found;
  const config = join(clientFolder("codex", env), "config.toml");
  for (const { path, fault, hooksOff } of files) {
    if (![target.path, config].some((known) => sameFile(path, known))) continue;
    if (fault) throw new SignalsError(`${flag}: ${path}: ${fault}; mend that first`);
    if (hooksOff) throw new SignalsError(`${flag}: ${path}: ${HOOKS_OFF[target.harness]}; do that first`);
  }
}

/** The outermost folders that have to be made for these files. */
function foldersMade(...files: readonly (string | null)[]): string[] {
  return files.flatMap((file) => (file === null ? [] : (missingFolder(file) ?? [])));
}

/** What is installed can install itself again, but only while it is all there. */
function requireWhole(folder: string, manifest: Manifest, flags: string): void {
  const [damaged] = damagedFiles(folder, manifest);
  if (damaged === undefined) return;
  throw new SignalsError(
    `installation: ${join(folder, damaged)}: is gone, or not as it was written; run: ${manifest.again}${flags}`,
  );
}
