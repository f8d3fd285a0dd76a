/** What monitors are made of: `ambient-signals/monitor`. */

export { lookAtAlerts } from "../alertmanager/poll.ts";
export { CHECK_FLAGS, checkCommand } from "../check/check.ts";
export { SignalsError, UsageError } from "../errors.ts";
export { GITHUB_CI_FLAGS, lookAtGithubCi } from "../github/ci.ts";
export { lookAtRunners, RUNNER_FLAGS } from "../github/runner-poll.ts";
export { lookAtPipelines } from "../gitlab/ci.ts";
export { HTTP_FLAGS } from "../http/expect.ts";
export { HTTP_TIMEOUT, lookAtHttp } from "../http/poll.ts";
export { FILE_FLAGS, lookAtFiles } from "../watched-file/poll.ts";
export type { Look } from "./poll.ts";
export { type Asked, type Monitor, runMonitor } from "./run.ts";
export { type Answer, Source, Unreadable } from "./source.ts";
export type { Found, Reading, Status, Verdict } from "./verdict.ts";
