#!/usr/bin/env tsx
/**
 * At the start of a session: registers it, and tells it what is wrong already.
 *
 *   event    SessionStart of Claude Code: startup, resume, clear, compact, fork
 *   try it   npx tsx hooks/claude-code/session-start.mts --dir "$(mktemp -d)" < fixtures/claude-code/SessionStart.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   one JSON object when a reminder is due, else nothing.
 * Exits    0, always: trouble is one line for the person, never for the model.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { renderReminders, runHook } from "ambient-signals";

await runHook(import.meta.url, "claude-code", async (hook) => {
  const { source } = hook.event;
  // A compaction may come in the middle of a turn; else nothing runs before the next prompt.
  const state = source === "compact" ? "unchanged" : "idle";
  // What a compaction or its absence made it lose, it is shown again.
  const { reminders, recalled, waiting, omitted } = await hook.checkIn(state, "any", source);
  const shown = [...reminders, ...recalled];
  if (shown.length > 0) {
    hook.print(renderReminders(shown, waiting, omitted));
    // Only now has the model been told. A crash above loses nothing: the lease lapses and the reminder comes again.
    await hook.ack(shown);
  }
  // A script that the model runs in its shell can then say which session it speaks for.
  hook.shareSessionId();
});
