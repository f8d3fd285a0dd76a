import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleOf, writeBundles } from "./bundle.ts";
import { CLIENTS, type Client, type Harness, pointsOf } from "./client.ts";
import { type Entry, entries, home } from "./entries.ts";
import { attempt, codeOf, SignalsError } from "./errors.ts";
import { replaceFile } from "./file.ts";
import { headerOf } from "./header.ts";
import { homeOf, settingsPath, situation } from "./install/paths.ts";
import { shellWord } from "./text.ts";

/**
 * Writes an entry as one self-contained file into a folder, over an earlier copy too. Returns its absolute path.
 * Throws `SignalsError` when the folder is not there, when a file of that name is no copy of this entry, and for the
 * few entries that only work beside the others.
 */
export async function copyEntry(entry: Entry, folder: string): Promise<string> {
  if (/^Needs .*other files/m.test(helpOf(entry))) {
    throw new SignalsError(
      `NAME: ${entry.name}: works only beside the package's other files; copy them together: ` +
        `signals copy --all ${shellWord(folder)}`,
    );
  }
  if (!isFolder(folder)) {
    throw new SignalsError(`FOLDER: ${folder}: is no folder; run: mkdir -p ${shellWord(folder)}`);
  }
  const file = join(resolve(folder), `${basename(entry.name)}.mjs`);
  refuseOther(entry, file);
  const text = await bundleOf(entry);
  // A person's link to where they keep it stays a link.
  await writing(file, () => replaceFile(existsSync(file) ? realpathSync(file) : file, text, 0o755));
  return file;
}

/**
 * Writes every entry with what it plays, in the package's layout, into a folder, which is made when it is not there.
 * Returns their absolute paths. Throws `SignalsError`, before it writes anything when a file there is no copy of ours.
 */
export async function copyAll(folder: string): Promise<string[]> {
  const place = resolve(folder);
  if (isFolder(place) && realpathSync(place) === realpathSync(home())) {
    throw new SignalsError(`FOLDER: ${folder}: is where they are already; choose another`);
  }
  for (const entry of entries()) refuseOther(entry, join(place, `${entry.name}.mjs`));
  return writing(place, () => writeBundles(place));
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Throws when the place of a copy is taken by anything but an earlier one, which its opening says. */
function refuseOther({ name }: Entry, file: string): void {
  let text = "";
  try {
    lstatSync(file);
  } catch {
    return;
  }
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // A folder, or a link that leads nowhere: whatever it is, it is not ours.
  }
  if (!text.includes(`\n// ${name}.mts of ambient-signals `)) {
    throw new SignalsError(`FOLDER: ${file}: is there already and is no copy of ${name}; move it away first`);
  }
}

/** What the system says of a failed write is no sentence. */
async function writing<T>(path: string, write: () => T | Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new SignalsError(
      `FOLDER: ${path}: cannot be written (${codeOf(error)}); choose another, or make room`,
      {
        cause: error,
      },
    );
  }
}

/** What a person is told of a hook that was copied. */
export interface Advice {
  /** The client's own settings file, as people write its path. */
  into: string;
  /** What to paste into it. */
  settings: object;
  /** Which event a client may not know, what it asks of a person, and what each of the other hooks would add. */
  notes: string[];
}

/** Undefined for what is no hook. */
export function adviceOn(entry: Entry, file: string): Advice | undefined {
  const client = Object.values(CLIENTS).find(({ harness }) => entry.name.startsWith(`hooks/${harness}/`));
  if (client === undefined) return undefined;
  // Installed alone it is for every event that it knows; an absolute path, since hooks run in the session's directory.
  const command = `node ${shellWord(file)}`;
  const points = pointsOf(entry.name).map(({ event, timeout }) => [
    event,
    [{ hooks: [{ type: "command", command, timeout, ...client.label }] }],
  ]);
  const successors = successorsOf(client);
  const own = basename(entry.name);
  // Of two that do the same, one is no addition to the other.
  const same = successors.flatMap(({ hook, places }) => (hook === own ? places : [hook]));
  const others = entries().filter(
    ({ name }) => name.startsWith(`hooks/${client.harness}/`) && ![own, ...same].includes(basename(name)),
  );
  const isSilent = /^Prints +nothing\b/m.test(helpOf(entry));
  const alone = isSilent ? "it tells nothing by itself" : "one hook alone is enough";
  const notes = [
    ...versionNotes(entry, client),
    ...ASKS[client.harness],
    `${alone}; what the others would add:`,
    ...others.map((other) => `  ${basename(other.name)}: ${helpOf(other).split("\n")[0]}`),
    ...successors.map(
      ({ hook, places, since }) =>
        `${hook} takes the place of ${places.join(" and ")} from ${client.name} ${since} on; an older one does not know it`,
    ),
  ];
  return { into: settingsOf(client), settings: { hooks: Object.fromEntries(points) }, notes };
}

function helpOf({ file }: Entry): string {
  return headerOf(pathToFileURL(file).href);
}

/** The hooks that take the place of others, of which ones, and from which version of the client on. */
function successorsOf({ points }: Client): { hook: string; places: string[]; since: string }[] {
  return points.flatMap(({ hook, since, insteadOf }) => {
    if (insteadOf === undefined || since === undefined) return [];
    const places = points.flatMap((point) => (insteadOf.includes(point.event) ? point.hook : []));
    return [{ hook, places: [...new Set(places)], since }];
  });
}

/** What a client asks of a person before it runs what stands in its settings. */
const ASKS: Record<Harness, string[]> = {
  "claude-code": [],
  codex: [
    "Codex runs it once you trust it: start codex, which asks, or type /hooks; till then codex exec skips it in silence",
  ],
};

/** The person's own settings file, as people write its path; its client's name where there is no home directory. */
function settingsOf({ harness, name }: Client): string {
  const here = situation();
  const path = attempt(() => settingsPath(harness, "user", here));
  if (path === undefined) return `the settings of ${name}`;
  const folder = `${attempt(() => homeOf(here.env))}/`;
  return path.startsWith(folder) ? `~/${path.slice(folder.length)}` : path;
}

/** An event that a client does not know may open a warning at every start. Of one that replaces others all is said. */
function versionNotes({ name }: Entry, { program }: Client): string[] {
  return pointsOf(name).flatMap(({ event, since, insteadOf }) =>
    since === undefined || insteadOf
      ? []
      : [`leave out ${event} if your ${program} --version is older than ${since}`],
  );
}
