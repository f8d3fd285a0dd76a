import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bundleOf } from "./bundle.ts";
import { HOOK_TIMEOUT, pointsOf } from "./claude-code.ts";
import { type Entry, entries } from "./entries.ts";
import { codeOf, SignalsError } from "./errors.ts";
import { replaceFile } from "./file.ts";
import { headerOf } from "./header.ts";
import { safeJson, shellWord } from "./text.ts";

/** What a bundle says of itself below its doc comment; a file without it is none of ours. */
const MARK = / of ambient-signals \d[^\n]* as one file /;

/**
 * Writes an entry as one self-contained file into a folder, over an earlier copy too. Returns its absolute path.
 * Throws `SignalsError` when the folder is not there, when a file of that name is not a copy of ours, and for the
 * few entries that only work beside the others.
 */
export async function copyEntry(entry: Entry, folder: string): Promise<string> {
  if (/^Needs .*other files/m.test(headerOf(pathToFileURL(entry.file).href))) {
    throw new SignalsError(
      `NAME: ${entry.name}: works only beside the package's other files; run it where they are: ` +
        `signals ${basename(entry.name)}`,
    );
  }
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new SignalsError(`FOLDER: ${folder}: is no folder; run: mkdir -p ${shellWord(folder)}`);
  }
  const file = join(resolve(folder), `${basename(entry.name)}.mjs`);
  if (existsSync(file) && !MARK.test(readFileSync(file, "utf8"))) {
    throw new SignalsError(`FOLDER: ${file}: is there already and is no copy of ours; move it away first`);
  }
  const text = await bundleOf(entry);
  try {
    replaceFile(file, text, 0o755);
  } catch (error) {
    throw new SignalsError(`FOLDER: ${file}: cannot be written (${codeOf(error)}); nothing was changed`);
  }
  return file;
}

/** For a hook: what to paste into the client's settings, and what each of the others would add. Else nothing. */
export function settingsFor(entry: Entry, file: string): string[] {
  const [folder, client, hook = ""] = entry.name.split("/");
  if (folder !== "hooks") return [];
  // Installed alone it is for every event that it knows; an absolute path, since hooks run in the session's directory.
  const handler = { type: "command", command: `node ${shellWord(file)}`, timeout: HOOK_TIMEOUT };
  const points = pointsOf(hook).map(({ event }) => [event, [{ hooks: [handler] }]]);
  const others = entries().filter(({ name }) => name.startsWith(`hooks/${client}/`) && name !== entry.name);
  return [
    "to run it, put this into ~/.claude/settings.json:",
    ...safeJson({ hooks: Object.fromEntries(points) }, 2).split("\n"),
    ...versionNotes(hook),
    "one hook alone is enough; what the others would add:",
    ...others.map(
      ({ name, file }) => `  ${basename(name)}: ${headerOf(pathToFileURL(file).href).split("\n")[0]}`,
    ),
  ];
}

/** An event that a client does not know opens a warning at every start. */
function versionNotes(hook: string): string[] {
  return pointsOf(hook).flatMap(({ event, since }) =>
    since === undefined ? [] : [`leave out ${event} if your claude --version is older than ${since}`],
  );
}
