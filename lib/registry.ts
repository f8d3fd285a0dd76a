import { statSync } from "node:fs";
import { locate } from "./checkout.ts";
import { type Document, findSession } from "./document.ts";
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

/** An id of the form that clients give theirs, of which people are shown the first eight digits. */
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/**
 * The id of the registered session that a person means: the whole id, or an unambiguous beginning of one such as
 * people are shown. One that is not registered is taken as it is. Throws `SignalsError` when there are several.
 */
export function sessionNamed(doc: Document, name: string): string {
  if (name === "" || findSession(doc, name)) return name;
  const found = doc.sessions.filter(({ id }) => UUID.test(id) && id.startsWith(name.toLowerCase()));
  if (found.length > 1) {
    const ids = found.slice(0, 5).map(({ id }) => id);
    throw new SignalsError(`session: ${name}: could be any of ${ids.join(", ")}; write more of it`);
  }
  return found[0]?.id ?? name;
}

/**
 * The transaction that ends a session by hand. Throws `SignalsError` when it is not registered, and `UsageError`
 * when another was to be added in the same breath.
 */
export function endByHand(name: string, { register, harness, cwd, role }: ByHand): Transaction<void> {
  if ((register ?? harness ?? cwd ?? role) !== undefined) {
    throw new UsageError(`--end: ${name}: stands alone; leave out the flags of --register`);
  }
  return {
    change: (doc, now) => {
      const id = sessionNamed(doc, name);
      if (!findSession(doc, id)) {
        throw new SignalsError(`--end: ${name}: no such session; signals sessions lists them`);
      }
      return [endSession(doc, id, now), undefined];
    },
  };
}
