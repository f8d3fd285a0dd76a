/** What monitors are made of: `ambient-signals/monitor`. */

export { SignalsError, UsageError } from "../errors.ts";
export type { Look } from "./poll.ts";
export { type Asked, type Monitor, runMonitor } from "./run.ts";
export { type Answer, Source, Unreadable } from "./source.ts";
export type { Found, Reading, Status, Verdict } from "./verdict.ts";
