#!/usr/bin/env tsx
/**
 * At the end of a session: takes it out of the registry; what it was not told goes to another.
 *
 *   event    SessionEnd of Claude Code; its entry needs a timeout, the client's own is 1.5 seconds
 *   try it   npx tsx hooks/claude-code/session-end.mts --dir "$(mktemp -d)" < fixtures/claude-code/SessionEnd.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   nothing: nobody reads it any more.
 * Exits    0, always. A missing end is no harm: the session goes stale.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { runHook } from "ambient-signals";

await runHook(import.meta.url, "claude-code", (hook) => hook.leave(), { silent: true });
