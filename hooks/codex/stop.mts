#!/usr/bin/env tsx
/**
 * When the agent stops: the session is idle from here on.
 *
 *   event    Stop of Codex
 *   try it   npx tsx hooks/codex/stop.mts --dir "$(mktemp -d)" < fixtures/codex/Stop.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   nothing, whatever happens: the client would take it for words of the person, and go on with them.
 * Exits    0, always. Trouble is kept for signals doctor.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { runHook } from "ambient-signals";

await runHook(import.meta.url, "codex", (hook) => hook.checkIn("idle"), { silent: true });
