#!/usr/bin/env tsx
/**
 * The one command: runs a script or a monitor of the package, or lists what there is.
 *
 *   usage    signals VERB [flags]
 *            signals
 *
 * Reads    what the script reads; signals help VERB says it.
 * Prints   what the script prints; alone, one line a command; --json for an array of {name, does}.
 * Exits    as the script does; 0 listed, 2 no such command.
 * Needs    the package's other files beside it.
 */
import { pathToFileURL } from "node:url";
import { commands, line, printJson, runScript, takeCommand, unknownCommand } from "ambient-signals/cli";

const entry = takeCommand(process.argv);
if (entry) await import(pathToFileURL(entry.file).href);
else {
  await runScript(import.meta.url, { optional: ["VERB", "NAME"] }, async ({ args, json }) => {
    if (args.length > 0) throw unknownCommand(args);
    const all = commands();
    if (json) return printJson(all);
    for (const { name, does } of all) line(`${name}: ${does}`);
  });
}
