#!/usr/bin/env tsx
/**
 * Watches the CI of a GitHub repository: red is what failed in its newest finished run on a branch.
 *
 *   usage      signals monitor github-ci [OWNER/REPO | --live] [--branch B | --pr N] [--workflow W] [flags]
 *   what       the repository and branch that are checked out here; with OWNER/REPO its default branch; with --live
 *              what is checked out in every session that is heard from, so that one monitor serves them all
 *   --branch   another branch; --pr the newest commit of a pull request
 *   --workflow only this one, by its name, file or id; else all, and the checks and statuses of other services too
 *   verdict    failure, timed_out, startup_failure and error are red, success is well. cancelled, skipped and the like
 *              have none, nor have pull requests of forks: it looks further back
 *   signal     one for each workflow, check or status and branch: WARNING, or what --severity says
 *   at home    in the repository, and in the work tree that it was seen in, unless a hint says otherwise
 *   cron       0,5,10,15,20,25,30,35,40,45,50,55 * * * * ~/.local/bin/signals monitor github-ci acme/api
 *
 * Reads     GitHub's REST API; what has not changed costs nothing of the rate limit with a token. With --live, the
 *           inbox's sessions. No git: only .git/HEAD and .git/config.
 * Prints    one line with the status, how many are red and which; --json for the whole report.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: it could not be read, or nothing has finished yet.
 * Needs     for private repositories a token that may read Actions, checks, statuses and pull requests, in GH_TOKEN or
 *           GITHUB_TOKEN, or gh where somebody is logged in; 60 requests an hour are free without one, and a look takes
 *           five or more. GITHUB_API_URL names a GitHub Enterprise Server: https://HOST/api/v3.
 */
import { runMonitor } from "ambient-signals/monitor";
import { GITHUB_CI_FLAGS, lookAtGithubCi } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: GITHUB_CI_FLAGS,
  optional: ["OWNER/REPO"],
  provider: "github",
  why: "Whoever builds on this branch builds on something broken, and cannot tell their own failures from it.",
  action:
    "If the work at hand touches this branch, look at the failed run, and whether a change of yours is among the causes.",
  timeout: "60s",
  check: lookAtGithubCi,
});
