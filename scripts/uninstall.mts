#!/usr/bin/env tsx
/**
 * Takes the hooks out of the settings of Claude Code and Codex again, and removes what was installed; the inbox stays.
 *
 *   usage    signals uninstall [--harness claude-code|codex] [--scope user|project|local] [--yes | --dry-run]
 *   harness  only the settings of that client
 *   scope    only the user's settings, or those of this directory; without it, wherever they were installed
 *
 * Reads    the clients' settings, and an answer on stdin, which --yes gives.
 * Prints   the change of the settings, then what was done; --json for {scope, settings, changed, events, clients,
 *          files, trust, service, notes}.
 * Exits    0 taken out, or nothing to do; 1 refused, failed or answered no; 2 wrong arguments.
 * Needs    codex on PATH to take back what --trust-codex-hooks made it trust.
 */
import {
  carryOut,
  line,
  note,
  planReport,
  planUninstall,
  printJson,
  requestFrom,
  runScript,
  situation,
  UNINSTALL_FLAGS,
  uninstalledLines,
} from "ambient-signals/cli";

await runScript(import.meta.url, { flags: UNINSTALL_FLAGS }, async ({ flags, json, dir }) => {
  const plan = await planUninstall(requestFrom(flags, json), situation());
  const outcome = await carryOut(plan, flags, json);
  if (json) return printJson(planReport(plan, outcome));
  if (outcome.what === "shown") note("nothing was removed: this was a dry run");
  if (outcome.what === "refused") note("nothing was changed; --yes removes without asking");
  for (const text of outcome.notes) note(`note: ${text}`);
  for (const text of uninstalledLines(plan, outcome, dir)) line(text);
  return outcome.what === "refused" ? 1 : 0;
});
