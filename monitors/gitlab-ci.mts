#!/usr/bin/env tsx
/**
 * Watches the pipelines of a GitLab project: red is a branch whose newest verdict is a failure.
 *
 *   usage      signals monitor gitlab-ci PROJECT [--branch B] [--every 2m] [flags]
 *   PROJECT    GROUP/NAME with all its groups, or the project's id; without --branch, its default branch
 *   verdict    failed is red and success is well, with warnings too; canceled, skipped, manual and whatever still runs
 *              have none: it looks further back. One that runs again keeps the verdict that it had.
 *   left out   pipelines of merge requests, child pipelines (their parent tells), chat, scans
 *   signal     one for each project and branch: WARNING, or what --severity says
 *   hints      --repo, --cwd, --session or --no-hint, else the project's own repository
 *
 * Reads     GitLab's REST API: the project, and its newest pipelines on the branch.
 * Prints    one line with the status and the newest verdict; --json for the whole report.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: it could not be read, or there is no verdict yet.
 * Needs     CI_SERVER_URL, unless it is https://gitlab.com. GITLAB_TOKEN or GITLAB_ACCESS_TOKEN, with the scope
 *           read_api, of somebody who may see the project's pipelines; those that are public need none.
 */
import { runMonitor } from "ambient-signals/monitor";
import { lookAtPipelines } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: { branch: { type: "string" } },
  required: ["PROJECT"],
  provider: "gitlab",
  why: "Whoever builds on this branch builds on something broken, and cannot tell their own failures from it.",
  action:
    "If the work at hand touches this branch, see behind the link which jobs failed, and whether it is the cause.",
  check: ({ flags, args: [project = ""], source, memory }) =>
    lookAtPipelines({ source, memory }, { project, branch: flags.branch }),
});
