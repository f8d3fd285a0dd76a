#!/usr/bin/env tsx
/**
 * Shows one signal in full, and the exact reminder that a session would see.
 *
 *   usage    signals show KEY
 *
 * Reads    KEY: the whole key, or an unambiguous beginning of its last part, as people are shown it.
 * Prints   every field, then the reminder; --json for one signal with its reminder.
 * Exits    0 done, 1 no such signal, 2 wrong arguments.
 * Needs    nothing.
 */
import {
  deliveryShown,
  line,
  look,
  previewReminder,
  printJson,
  requireSignal,
  runScript,
  signalView,
  timeShown,
} from "ambient-signals/cli";

await runScript(import.meta.url, { required: ["KEY"] }, async ({ args, dir, json }) => {
  const { doc, now } = await look(dir);
  const signal = requireSignal(doc, args[0] ?? "");
  const { hints, delivery, ...fields } = signalView(doc, signal, now);
  const reminder = previewReminder(signal, now);
  if (json) return printJson({ ...fields, hints, delivery, reminder });

  for (const [name, value] of Object.entries(fields)) {
    line(`${name}: ${name.endsWith("_at") ? timeShown(String(value), now, true) : value}`);
  }
  for (const [name, value] of Object.entries(hints)) line(`wants to go to ${name}: ${value}`);
  line(`delivery: ${deliveryShown(doc, delivery, now, true)}`);
  line("");
  for (const text of reminder.split("\n")) line(text);
});
