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
  sessionNamed,
  signalView,
} from "ambient-signals/cli";

const FLAGS = { session: { type: "string" } } as const;

await runScript(import.meta.url, { flags: FLAGS }, async ({ flags, dir, json, verbose }) => {
  const { doc, now } = await look(dir);
  const session = flags.session === undefined ? undefined : sessionNamed(doc, flags.session);
  const views = doc.signals
    .filter(isOwed)
    .sort(leaseOrder)
    .map((signal) => signalView(doc, signal, now))
    .filter(({ delivery }) => session === undefined || delivery.session === session);

  if (json) return printJson(views);
  if (session !== undefined && !findSession(doc, session)) note(`--session: ${session}: is not registered`);
  if (views.length === 0) note("nothing is pending");
  printSignals(doc, views, now, verbose);
});
