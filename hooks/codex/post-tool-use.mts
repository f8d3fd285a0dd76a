#!/usr/bin/env tsx
/**
 * After a tool call: adds the reminders that are due to what the model reads next.
 *
 *   event    PostToolUse of Codex, failed commands included
 *   try it   npx tsx hooks/codex/post-tool-use.mts --dir "$(mktemp -d)" < fixtures/codex/PostToolUse.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   one JSON object when a reminder is due, else nothing.
 * Exits    0, always: trouble is one line for the person, never for the model.
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
