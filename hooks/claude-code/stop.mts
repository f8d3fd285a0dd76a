#!/usr/bin/env tsx
/**
 * When the agent is about to stop: only an urgent signal keeps it going; else the session is idle from here on.
 *
 *   event    Stop of Claude Code
 *   try it   npx tsx hooks/claude-code/stop.mts --dir "$(mktemp -d)" < fixtures/claude-code/Stop.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   one JSON object when an urgent reminder is due, which continues the turn; else nothing.
 * Exits    0, always: trouble is one line for the person, never for the model.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { renderReminders, runHook } from "ambient-signals";

await runHook(import.meta.url, "claude-code", async (hook) => {
  const { background_tasks, session_crons } = hook.event;
  const expectsMore = [background_tasks, session_crons].some(
    (list) => Array.isArray(list) && list.length > 0,
  );

  const { reminders, waiting } = await hook.checkIn(expectsMore ? "waiting" : "idle", "urgent");
  if (reminders.length === 0) return;

  hook.print(renderReminders(reminders, waiting));
  // Only now has the model been told. A crash above loses nothing: the lease lapses and the reminder comes again.
  await hook.ack(reminders);
});
