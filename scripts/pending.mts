#!/usr/bin/env tsx
/**
 * Lists what is still owed: news that no session has confirmed yet.
 *
 *   usage    signals pending [--session ID]
 *
 * Reads    the inbox, and changes nothing in it.
 * Prints   two lines a signal, in the order of delivery; --json for an array; -v for exact times.
 * Exits    0 done, 1 failed, 2 wrong arguments.
 * Needs    nothing.
 */
import {
  findSession,
  isOwed,
  leaseOrder,
  look,
  note,
  printJson,
  printSignals,
  runScript,
  signalView,
} from "ambient-signals/cli";

const FLAGS = { session: { type: "string" } } as const;

await runScript(import.meta.url, { flags: FLAGS }, async ({ flags, dir, json, verbose }) => {
  const { doc, now } = await look(dir);
  const views = doc.signals
    .filter(isOwed)
    .sort(leaseOrder)
    .map((signal) => signalView(doc, signal, now))
    .filter(({ delivery }) => flags.session === undefined || delivery.session === flags.session);

  if (json) return printJson(views);
  const { session } = flags;
  if (session !== undefined && !findSession(doc, session)) note(`--session: ${session}: is not registered`);
  if (views.length === 0) note("nothing is pending");
  printSignals(doc, views, now, verbose);
});
