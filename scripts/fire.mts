#!/usr/bin/env tsx
/**
 * Fires a signal: a condition holds that a running session should hear of.
 *
 *   usage     signals fire --summary TEXT [flags], or --event FILE (- for stdin) [flags]
 *   content   --summary --source-url --why --action --severity info|warning|urgent --expires 2h|TIME --one-shot
 *   identity  --key, or --provider --kind --id; --producer says who reports
 *   hints     --repo OWNER/NAME --cwd DIR --session ID, else the current directory; --no-hint for none
 *
 * Reads     flags; with --event an envelope (harn.triage_event.v1), whose values they win over.
 * Prints    what became of it and which session will hear; --json for {key, outcome, generation, delivery}.
 * Exits     0 done, 1 refused, 2 wrong arguments.
 * Needs     nothing. Firing what is fired already is no news: it only moves the expiry.
 */
import {
  deliveryOf,
  deliveryShown,
  FIRE_FLAGS,
  findSession,
  fire,
  fireReport,
  line,
  note,
  printJson,
  readEnvelope,
  requireSignal,
  runScript,
  shortKey,
  transact,
  withSession,
} from "ambient-signals/cli";

await runScript(import.meta.url, { flags: FIRE_FLAGS }, async ({ flags, dir, json }) => {
  const report = fireReport(flags, new Date().toISOString(), await readEnvelope(flags.event));
  const { key } = report;
  const {
    doc,
    value: outcome,
    now,
  } = await transact(
    dir,
    { change: (doc, now) => fire(doc, withSession(doc, report), now) },
    { onConfigFault: "throw" },
  );

  const signal = requireSignal(doc, key);
  const { generation } = signal;
  const delivery = deliveryOf(doc, signal, now);
  if (json) return printJson({ key, outcome, generation, delivery });
  if (outcome === "extended" && signal.envelope.summary !== report.envelope.summary) {
    note("it is fired already, so its text stays as it was; resolve it first, or use another --key");
  }
  if (flags.session && !findSession(doc, signal.hints.session ?? "")) {
    note(`--session: ${flags.session}: is not registered; signals sessions lists those that are`);
  }
  const fate =
    signal.state === "fired"
      ? deliveryShown(doc, delivery, now)
      : "and expired at once: its session has ended";
  line(`${outcome} ${shortKey(key)}#${generation} ${fate}`);
});
