#!/usr/bin/env tsx
/**
 * At the end of a session: takes it out of the registry; what it was not told goes to another.
 *
 *   event    SessionEnd of Codex, which the shared daemon sends late or never
 *   try it   npx tsx hooks/codex/session-end.mts --dir "$(mktemp -d)" < fixtures/codex/SessionEnd.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   nothing: nobody reads it any more.
 * Exits    0, always. A missing end is no harm: the session goes stale.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { runHook } from "ambient-signals";

await runHook(import.meta.url, "codex", (hook) => hook.leave(), { silent: true });
