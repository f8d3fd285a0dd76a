#!/usr/bin/env tsx
/**
 * Watches a Prometheus Alertmanager: every alert that it would send is a signal.
 *
 *   usage      signals monitor alertmanager URL [--receiver R] [--every 60s] [flags]
 *   URL        where Alertmanager is, with its path and with user:password@ if it has them
 *   receiver   exactly that one, as in Alertmanager's configuration; without it every alert once, by its first receiver
 *   verdict    CRITICAL for the label severity=critical or page, else WARNING; info and none fire with severity info
 *   held back  what is silenced, inhibited or muted there fires nothing new; what is fired already goes on. A mute time
 *              is known (from version 0.28 on) once the group was due: --polls 2 waits for that.
 *   over       what is not listed for two polls and two minutes: a restarted Alertmanager knows of none until
 *              Prometheus, each minute, sends them again
 *   signal     one for each receiver and fingerprint, the same as that of a webhook to this receiver
 *
 * Reads     Alertmanager's API: URL/api/v2/alerts, alerts/groups and receivers.
 * Prints    one line with the status, how many alerts are active, and the worst; --json for the whole report.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: it could not be read.
 * Needs     an Alertmanager of version 0.16 or later; nothing has to reach this machine.
 */
import { runMonitor } from "ambient-signals/monitor";
import { lookAtAlerts } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: { receiver: { type: "string" } },
  required: ["URL"],
  provider: "alertmanager",
  why: "A rule that somebody wrote for this system says that something is wrong with it now.",
  action:
    "If the work at hand may have caused it or depends on it, look at the link before going on; else go on.",
  // Two minutes: Prometheus repeats itself each minute, and at its next evaluation after that.
  resolve: { polls: 2, over: 120_000 },
  check: ({ source, args: [url = ""], flags }) => lookAtAlerts({ source }, url, flags.receiver),
});
