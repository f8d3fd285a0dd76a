#!/usr/bin/env tsx
/**
 * Copies a hook, or any other file, as one self-contained file that plain node runs anywhere.
 *
 *   usage    signals copy NAME FOLDER
 *            signals copy --all FOLDER
 *   example  signals copy claude-code/post-tool-use ~/dotfiles/claude
 *
 * Reads    NAME: list, codex/stop or hooks/codex/stop; --all for every file, in the package's layout.
 * Prints   the path written; for a hook, on stderr, the settings to paste and what the other hooks would add.
 * Exits    0 written, 1 refused or failed, 2 wrong arguments.
 * Needs    the package's other files beside it.
 */
import {
  adviceOn,
  copyAll,
  copyEntry,
  entryNamed,
  line,
  note,
  noteJson,
  printJson,
  runScript,
  UsageError,
} from "ambient-signals/cli";

const OPTIONS = { flags: { all: { type: "boolean" } }, optional: ["NAME", "FOLDER"] } as const;

await runScript(import.meta.url, OPTIONS, async ({ flags, args, json }) => {
  if (flags.all) {
    const [folder, extra] = args;
    if (!folder || extra) throw new UsageError("--all: takes one FOLDER and no NAME");
    const files = await copyAll(folder);
    if (json) return printJson(files);
    for (const file of files) line(file);
    return;
  }
  const [name, folder] = args;
  if (!name || !folder)
    throw new UsageError(`${name ? "FOLDER" : "NAME"}: is missing; --help shows the usage`);
  const entry = entryNamed(name);
  const file = await copyEntry(entry, folder);
  if (json) return printJson(file);
  line(file);
  const advice = adviceOn(entry, file);
  if (!advice) return;
  note(`to run it, put this into ${advice.into}:`);
  noteJson(advice.settings);
  for (const text of advice.notes) note(text);
});
