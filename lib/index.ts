/** The core: what a hook needs, and no more. Scripts find theirs in `ambient-signals/cli`. */
export { SignalsError } from "./errors.ts";
export type { HookEvent } from "./event.ts";
export { type Hook, runHook } from "./hook.ts";
export { renderReminders } from "./render.ts";
