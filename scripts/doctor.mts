#!/usr/bin/env tsx
/**
 * Checks the whole path of a signal, and says what is wrong and how to mend it.
 *
 *   usage    signals doctor [--repair] [--canary [--session ID] [--wait 2m]]
 *   repair   moves a broken inbox aside for a new one; else nothing is changed, but what Codex writes in its folder
 *   canary   sends a harmless test to a live session, and waits until its hook confirms it
 *
 * Reads    the inbox directory, the settings of the clients, what is installed, its service, and what Codex trusts.
 * Prints   a line a check, and what mends it; --json for an array of {check, status, found, mend}.
 * Exits    0 no fault, though there may be notes; 1 a fault; 2 wrong arguments.
 * Needs    nothing.
 */
import { DOCTOR_FLAGS, diagnose, line, printCheck, printJson, runScript, verdict } from "ambient-signals/cli";

await runScript(import.meta.url, { flags: DOCTOR_FLAGS }, async ({ flags, dir, json }) => {
  const checks = [];
  for await (const check of diagnose(dir, flags)) {
    checks.push(check);
    if (!json) printCheck(check);
  }
  if (json) printJson(checks);
  else line(verdict(checks));
  return checks.some(({ status }) => status === "fault") ? 1 : 0;
});
