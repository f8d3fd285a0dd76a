/** What monitors are made of: `ambient-signals/monitor`. */

export { lookAtAlerts } from "../alertmanager/poll.ts";
export { CHECK_FLAGS, checkCommand } from "../check/check.ts";
export { SignalsError, UsageError } from "../errors.ts";
export { lookAtPipelines } from "../gitlab/ci.ts";
export type { Look } from "./poll.ts";
export { type Asked, type Monitor, runMonitor } from "./run.ts";
export { type Answer, Source, Unreadable } from "./source.ts";
export type { Found, Reading, Status, Verdict } from "./verdict.ts";
