#!/usr/bin/env tsx
/**
 * Installs the hooks into the settings of Claude Code and of Codex, and the signals command.
 *
 *   usage    signals install [--harness claude-code|codex] [--scope user|project|local] [--yes | --dry-run]
 *            signals install --dir DIR   the hooks use that inbox, whatever their environment says
 *            signals install --service   a systemd user unit or a launchd agent runs signals poll, with this PATH
 *            signals install --trust-codex-hooks   Codex trusts them too, and does not ask you
 *   harness  one of them; without it, each that you have
 *   scope    user is for every session of yours (the default); project, and local of Claude Code, for this directory
 *
 * Reads    the clients' settings, and an answer on stdin, which --yes gives.
 * Prints   the change of the settings, then what was done; --json for {scope, settings, changed, events, clients,
 *          files, trust, service, notes}.
 * Exits    0 installed, or nothing to do; 1 refused, failed or answered no; 2 wrong arguments.
 * Needs    the package's other files beside it; codex on PATH for --trust-codex-hooks; systemctl or launchctl on PATH
 *          for --service.
 */
import {
  carryOut,
  INSTALL_FLAGS,
  installedLines,
  line,
  note,
  planInstall,
  planReport,
  printJson,
  requestFrom,
  runScript,
  situation,
} from "ambient-signals/cli";

await runScript(import.meta.url, { flags: INSTALL_FLAGS }, async ({ flags, json }) => {
  const plan = await planInstall(requestFrom(flags, json), situation());
  const outcome = await carryOut(plan, flags, json);
  if (json) return printJson(planReport(plan, outcome));
  if (outcome.what === "shown") note("nothing was written: this was a dry run");
  if (outcome.what === "refused") note("nothing was changed; --yes writes without asking");
  for (const text of outcome.notes) note(`note: ${text}`);
  for (const text of installedLines(plan, outcome)) line(text);
  return outcome.what === "refused" ? 1 : 0;
});
