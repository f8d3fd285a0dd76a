#!/usr/bin/env tsx
/**
 * Takes the hooks out of the settings of Claude Code again, and removes what was installed; the inbox stays.
 *
 *   usage    signals uninstall [--scope user|project|local] [--yes | --dry-run]
 *   scope    only the user's settings, or those of this directory; without it, wherever they were installed
 *
 * Reads    the client's settings, and an answer on stdin, which --yes gives; --harness claude-code is the only one.
 * Prints   the change of the settings, then what was done; --json for {scope, settings, changed, events, files, notes}.
 * Exits    0 taken out, or nothing to do; 1 refused, failed or answered no; 2 wrong arguments.
 * Needs    nothing.
 */
import {
  carryOut,
  inboxLeft,
  line,
  note,
  PLAN_FLAGS,
  planReport,
  planUninstall,
  printJson,
  runScript,
  scopeFrom,
  situation,
} from "ambient-signals/cli";

await runScript(import.meta.url, { flags: PLAN_FLAGS }, async ({ flags, json, dir }) => {
  const plan = planUninstall(scopeFrom(flags, json), situation());
  const outcome = await carryOut(plan, "Remove this?", flags, json);
  if (json) return printJson(planReport(plan));
  if (outcome === "nothing") line("nothing to do: there is no installation");
  if (outcome === "shown") note("nothing was removed: this was a dry run");
  if (outcome === "refused") note("nothing was changed; --yes removes without asking");
  if (outcome === "done") {
    line(`uninstalled: ${plan.events.length} hooks are out of the settings of Claude Code`);
    for (const text of inboxLeft(dir)) line(text);
  }
  return outcome === "refused" ? 1 : 0;
});
