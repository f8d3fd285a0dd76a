#!/usr/bin/env tsx
/**
 * Lists the signals that are fired or still owed to a session, and where the news of each stands.
 *
 *   usage    signals list [--all] [--state fired|resolved|expired] [--repo OWNER/NAME] [--session ID]
 *
 * Reads    the inbox, and changes nothing in it.
 * Prints   two lines a signal, newest last; --json for an array; -v for exact times; --all adds the settled ones. Then,
 *          on stderr and not with --json, when each monitor last read its source.
 * Exits    0 done, 1 failed, 2 wrong arguments.
 * Needs    nothing.
 */
import {
  findSession,
  isOwed,
  lastReads,
  look,
  note,
  oneOf,
  printJson,
  printSignals,
  repositoryFrom,
  runScript,
  sameRepository,
  sessionNamed,
  signalView,
  timeShown,
} from "ambient-signals/cli";

const FLAGS = {
  all: { type: "boolean" },
  state: { type: "string" },
  repo: { type: "string" },
  session: { type: "string" },
} as const;

await runScript(import.meta.url, { flags: FLAGS }, async ({ flags, dir, json, verbose }) => {
  const repo = flags.repo === undefined ? undefined : repositoryFrom(flags.repo);
  const state =
    flags.state === undefined ? undefined : oneOf("--state", flags.state, ["fired", "resolved", "expired"]);
  const { doc, now } = await look(dir);
  const session = flags.session === undefined ? undefined : sessionNamed(doc, flags.session);

  const views = doc.signals
    .filter((signal) => flags.all || state || signal.state === "fired" || isOwed(signal))
    .map((signal) => signalView(doc, signal, now))
    .filter((view) => state === undefined || view.state === state)
    .filter(({ hints }) => repo === undefined || sameRepository(repo, hints.repository ?? ""))
    .filter(({ delivery }) => session === undefined || delivery.session === session)
    .sort((a, b) => a.changed_at.localeCompare(b.changed_at));

  if (json) return printJson(views);
  if (session !== undefined && !findSession(doc, session)) note(`--session: ${session}: is not registered`);
  if (views.length === 0) note("no signals");
  printSignals(doc, views, now, verbose);
  for (const text of lastReads(dir, now, (time) => timeShown(time, now, verbose), flags.all)) note(text);
});
