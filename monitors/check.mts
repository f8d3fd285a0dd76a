#!/usr/bin/env tsx
/**
 * Fires while a command fails: any Nagios-compatible plugin, or with --any-failure any command at all.
 *
 *   usage     signals monitor check [--name N] [--any-failure] [flags] -- COMMAND [ARGS]
 *   plugin    signals monitor check --name disk -- /usr/lib/nagios/plugins/check_disk -w 10% -c 5%
 *   command   signals monitor check --name tests --any-failure --timeout 10m -- npm test
 *   cron      @hourly ~/.local/bin/signals monitor check --repo acme/api --any-failure -- ~/bin/check-deployment
 *
 * Reads     the exit status, and never the words, of COMMAND. It runs without a shell and without stdin, in a process
 *           group that is ended as a whole when it takes longer than --timeout 60s: SIGTERM, 2 seconds later SIGKILL.
 *           A plugin: 0 OK, 1 WARNING, 2 CRITICAL, anything else UNKNOWN. With --any-failure: 0 OK, 126 and 127
 *           UNKNOWN, anything else WARNING. One signal per name and work tree (without one, directory); the name is
 *           the command line unless --name says otherwise, which keeps what is secret in it out of the signal.
 * Prints    CHECK, the status, and what it said: a plugin's first line up to the |, as plugins put it there; of any
 *           other command the last line of stdout, and of stderr, where most commands say how it went. --json for all.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: it could not be started, took too long, or was called wrong.
 * Needs     the command. Debian's plugins are in monitoring-plugins-basic.
 */
import { runMonitor } from "ambient-signals/monitor";
import { CHECK_FLAGS, checkCommand } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: CHECK_FLAGS,
  required: ["COMMAND"],
  rest: true,
  advice: "write -- before the command, so that its flags are its own",
  timeout: "60s",
  why: "A check that somebody set up on this machine fails, so what it checks may not work.",
  action: "Run the check by hand to see whether it still fails; if what it names is yours, mend it.",
  check: checkCommand,
});
