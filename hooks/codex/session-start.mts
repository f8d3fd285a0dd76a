#!/usr/bin/env tsx
/**
 * At the start of a session: registers it, and tells it what is wrong already.
 *
 *   event    SessionStart of Codex, which comes with the first prompt, and in mid-turn after a compaction
 *   try it   npx tsx hooks/codex/session-start.mts --dir "$(mktemp -d)" < fixtures/codex/SessionStart.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   one JSON object when a reminder is due, else nothing.
 * Exits    0, always: trouble is one line for the person, never for the model.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { renderReminders, runHook } from "ambient-signals";

await runHook(import.meta.url, "codex", async (hook) => {
  // There is no start without a turn under way. What a compaction or its absence made it lose, it is shown again.
  const { source } = hook.event;
  const { reminders, recalled, waiting, omitted } = await hook.checkIn("busy", "any", source);
  const shown = [...reminders, ...recalled];
  if (shown.length === 0) return;

  hook.print(renderReminders(shown, waiting, omitted));
  // Only now has the model been told. A crash above loses nothing: the lease lapses and the reminder comes again.
  await hook.ack(shown);
});
