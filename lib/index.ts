/** The core: what a hook needs, and no more. Scripts find theirs in `ambient-signals/cli`. */
export { SignalsError } from "./errors.ts";
export { type Hook, type HookEvent, runHook } from "./hook.ts";
export { renderReminders } from "./render.ts";
