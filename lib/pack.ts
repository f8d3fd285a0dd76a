/** How each monitor of the pack looks at its source: `ambient-signals/pack`. What they are made of is in `/monitor`. */

export { lookAtAlerts } from "./alertmanager/poll.ts";
export { CHECK_FLAGS, checkCommand } from "./check/check.ts";
export { GITHUB_CI_FLAGS, lookAtGithubCi } from "./github/ci.ts";
export { lookAtRunners, RUNNER_FLAGS } from "./github/runner-poll.ts";
export { lookAtPipelines } from "./gitlab/ci.ts";
export { HTTP_FLAGS } from "./http/expect.ts";
export { HTTP_TIMEOUT, lookAtHttp } from "./http/poll.ts";
export { FILE_FLAGS, lookAtFiles } from "./watched-file/poll.ts";
