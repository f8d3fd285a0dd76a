import { statSync } from "node:fs";
import { locate } from "./checkout.ts";
import { findSession } from "./document.ts";
import { SignalsError, UsageError } from "./errors.ts";
import { endSession, isSessionId, LONGEST_ID } from "./session.ts";
import type { Transaction } from "./transaction.ts";

/** The flags of `sessions.mts` that describe a session. */
interface ByHand {
  register?: string | undefined;
  harness?: string | undefined;
  cwd?: string | undefined;
  role?: string | undefined;
}

/**
 * The transaction that adds a session by hand, or undefined when `--register` was not given. It counts as heard
 * from now, and goes stale like any other. Throws `UsageError`.
 */
export function registerByHand({ register: id, harness, cwd, role }: ByHand): Transaction<void> | undefined {
  if (id === undefined) {
    const stray = harness ?? cwd ?? role;
    if (stray !== undefined) throw new UsageError("--register: is missing; it names the session to add");
    return undefined;
  }
  if (!isSessionId(id))
    throw new UsageError(`--register: ${id}: is no session id; use up to ${LONGEST_ID} letters`);
  if (!harness) throw new UsageError("--harness: is missing; name the client, such as claude-code");
  if (!cwd) throw new UsageError("--cwd: is missing; name the directory that the session works in");
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--cwd: ${cwd}: is no directory; name the one that the session works in`);
  }
  const place = locate(cwd);
  return { checkIn: { id, harness, ...place, role, state: "idle", registers: true, subagent: false } };
}

/**
 * The transaction that ends a session by hand. Throws `SignalsError` when it is not registered, and `UsageError`
 * when another was to be added in the same breath.
 */
export function endByHand(id: string, { register, harness, cwd, role }: ByHand): Transaction<void> {
  if ((register ?? harness ?? cwd ?? role) !== undefined) {
    throw new UsageError(`--end: ${id}: stands alone; leave out the flags of --register`);
  }
  return {
    change: (doc, now) => {
      if (!findSession(doc, id)) {
        throw new SignalsError(`--end: ${id}: no such session; signals sessions lists them`);
      }
      return [endSession(doc, id, now), undefined];
    },
  };
}
