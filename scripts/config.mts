#!/usr/bin/env tsx
/**
 * Shows the effective configuration, where each value comes from, and what is wrong with the file.
 *
 *   usage    signals config
 *
 * Reads    config.toml in the inbox directory, which need not exist.
 * Prints   one line a setting; --json for {file, exists, fault, values}.
 * Exits    0 valid, 1 not valid, 2 wrong arguments.
 * Needs    nothing.
 */
import { line, note, printJson, runScript, settingsOf } from "ambient-signals/cli";

await runScript(import.meta.url, {}, async ({ dir, json }) => {
  const report = settingsOf(dir);
  if (json) printJson(report);
  else {
    line(`${report.file}${report.exists ? "" : ": no such file, so these are the defaults"}`);
    for (const [name, { value, from }] of Object.entries(report.values)) {
      line(`${name} = ${typeof value === "string" ? value : JSON.stringify(value)} (${from})`);
    }
    if (report.fault) note(`error: ${report.fault}`);
  }
  return report.fault ? 1 : 0;
});
