#!/usr/bin/env tsx
/**
 * Lists the agent sessions that have announced themselves; adds or removes one by hand.
 *
 *   usage    signals sessions
 *            signals sessions --register ID --harness NAME --cwd DIR [--role ROLE]
 *            signals sessions --end ID
 *
 * Reads    the inbox.
 * Prints   one line a session; --json for an array; -v for exact times.
 * Exits    0 done, 1 no such session, 2 wrong arguments.
 * Needs    nothing. What waited for a session that ends goes to another.
 */
import {
  endByHand,
  line,
  look,
  note,
  printJson,
  registerByHand,
  runScript,
  sessionLine,
  sessionView,
  transact,
} from "ambient-signals/cli";

const FLAGS = {
  register: { type: "string" },
  harness: { type: "string" },
  cwd: { type: "string" },
  role: { type: "string" },
  end: { type: "string" },
} as const;

await runScript(import.meta.url, { flags: FLAGS }, async ({ flags, dir, json, verbose }) => {
  const change = flags.end !== undefined ? endByHand(flags.end, flags) : registerByHand(flags);
  const { doc, now } = change ? await transact(dir, change, { onConfigFault: "throw" }) : await look(dir);

  const views = doc.sessions.map((session) => sessionView(doc, session, now));
  if (json) return printJson(views);
  if (views.length === 0) note("no sessions");
  for (const view of views) line(sessionLine(doc, view, now, verbose), view.live ? undefined : "dim");
});
