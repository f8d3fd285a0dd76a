#!/usr/bin/env tsx
/**
 * Watches self-hosted GitHub runners: red is a pool without any that is online, or a job that waits for it too long.
 *
 *   usage      signals monitor github-runners --org O [--labels a,b] [--every 1m] [flags]
 *              signals monitor github-runners --repo O/R [--labels a,b] [--queued 15m] [--every 1m] [flags]
 *   pool       runners with the same labels, without those that all have (self-hosted, linux, x64 …); a runner that has
 *              no others stands for itself. --labels: only the pool of these, which is red without any runner too.
 *   offline    none of the pool is online or busy; ephemeral runners make no pool
 *   queued     a job that was queued for --queued (15m) and asks for these labels: only with --repo, as an organisation
 *              has no list of its jobs. That counts jobs for the organisation's runners too, which it does not list.
 *   patience   red after 3 polls over 2 minutes and well after 2 over 1 minute, unless --polls and --over say otherwise
 *   signal     one for each pool of an owner: WARNING, or what --severity says. --labels has one of its own, and so has
 *              another --queued
 *
 * Reads     GitHub's REST API: the runners and, of a repository, its queued runs and the jobs of 20 of them at most.
 * Prints    one line with the status and the worst pool; --json for the whole report.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: it could not be read, also for want of a permission.
 * Needs     GH_TOKEN, GITHUB_TOKEN or a login of gh, of an admin: for --org with the scope admin:org or the permission
 *           "Self-hosted runners: read", for --repo with repo, or "Administration: read" and "Actions: read".
 *           GITHUB_API_URL for GitHub Enterprise.
 */
import { runMonitor } from "ambient-signals/monitor";
import { lookAtRunners, RUNNER_FLAGS } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: RUNNER_FLAGS,
  provider: "github",
  why: "Jobs that need such a runner do not start, so no run that waits for one comes to an end.",
  action:
    "Do not wait for such a run: go on with what needs none, and tell whoever keeps the runners if nobody has yet.",
  fire: { polls: 3, over: 120_000 },
  resolve: { polls: 2, over: 60_000 },
  check: ({ flags, source, signal, now }) => lookAtRunners({ source, signal, now }, flags),
});
