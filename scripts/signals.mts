#!/usr/bin/env tsx
/**
 * The one command: runs a script or a monitor of the package, or lists what there is.
 *
 *   usage    signals VERB [flags]
 *            signals            lists all there is; signals monitor lists the monitors
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
    const [first, ...more] = args;
    const isMonitors = first === "monitor" && more.length === 0;
    if (first !== undefined && !isMonitors) throw unknownCommand(args);
    const all = commands().filter(({ name }) => !isMonitors || name.startsWith("monitor "));
    if (json) return printJson(all);
    for (const { name, does } of all) line(`${name}: ${does}`);
  });
}
