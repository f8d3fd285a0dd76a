#!/usr/bin/env tsx
/**
 * When the person interrupts a turn: the session is idle from here on, and nothing of it is about to come.
 *
 *   event    Interrupt of Codex, which then fires no Stop
 *   try it   npx tsx hooks/codex/interrupt.mts --dir "$(mktemp -d)" < fixtures/codex/Interrupt.json
 *
 * Reads    one hook event as JSON on stdin; --dir DIR names another inbox.
 * Prints   nothing: there is no turn any more that could take it.
 * Exits    0, always. Trouble is kept for signals doctor.
 * Needs    ambient-signals in a folder at or above this file's.
 */
import { runHook } from "ambient-signals";

await runHook(import.meta.url, "codex", (hook) => hook.checkIn("idle"), { silent: true });
