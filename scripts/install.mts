#!/usr/bin/env tsx
/**
 * Installs the hooks into the settings of Claude Code, and the signals command.
 *
 *   usage    signals install [--scope user|project|local] [--yes | --dry-run]
 *            signals install --dir DIR   the hooks use that inbox, whatever their environment says
 *   scope    user is for every session of yours (the default); project and local are for this directory
 *
 * Reads    the client's settings, and an answer on stdin, which --yes gives; --harness claude-code is the only one.
 * Prints   the change of the settings, then what was done; --json for {scope, settings, changed, events, files, notes}.
 * Exits    0 installed, or nothing to do; 1 refused, failed or answered no; 2 wrong arguments.
 * Needs    the package's other files beside it.
 */
import {
  carryOut,
  line,
  note,
  PLAN_FLAGS,
  planInstall,
  planReport,
  printJson,
  runScript,
  STILL_OFF,
  scopeFrom,
  situation,
} from "ambient-signals/cli";

await runScript(import.meta.url, { flags: PLAN_FLAGS }, async ({ flags, json }) => {
  const plan = await planInstall(scopeFrom(flags, json) ?? "user", flags.dir, situation());
  const outcome = await carryOut(plan, "Write this?", flags, json);
  if (json) return printJson(planReport(plan));
  const hooks = `Claude Code runs ${plan.events.length} hooks of ambient-signals`;
  if (outcome === "nothing") line(`nothing to do: ${hooks} already`);
  if (outcome === "shown") note("nothing was written: this was a dry run");
  if (outcome === "refused") note("nothing was changed; --yes writes without asking");
  if (outcome === "done") {
    line(`installed: ${hooks}, in open sessions too`);
    for (const text of STILL_OFF) line(text);
    line("to take it all back: signals uninstall");
  }
  return outcome === "refused" ? 1 : 0;
});
