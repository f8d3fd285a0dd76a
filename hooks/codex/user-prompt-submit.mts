#!/usr/bin/env tsx
/**
 * On a prompt: the session is busy from here on, and hears what waited while it was idle.
 *
 *   event    UserPromptSubmit of Codex
 *   try it   npx tsx hooks/codex/user-prompt-submit.mts --dir "$(mktemp -d)" < fixtures/codex/UserPromptSubmit.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   one JSON object when a reminder is due, else nothing.
 * Exits    0, always: any other status would throw the person's prompt away.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { renderReminders, runHook } from "ambient-signals";

await runHook(import.meta.url, "codex", async (hook) => {
  const { reminders, waiting } = await hook.checkIn("busy", "any");
  if (reminders.length === 0) return;

  hook.print(renderReminders(reminders, waiting));
  // Only now has the model been told. A crash above loses nothing: the lease lapses and the reminder comes again.
  await hook.ack(reminders);
});
