#!/usr/bin/env tsx
/**
 * Watches files: a crash dump that is there, a file that changed, a backup that did not happen.
 *
 *   usage     signals monitor file GLOB [--changed | --stale 26h] [flags]
 *   there     signals monitor file 'crash/*.dmp' fires while a file is there, and resolves when it is gone
 *   changed   signals monitor file --changed 'deploy/*.yml' tells once of each that differs, appeared or went since the
 *             last look; the first look only remembers. The content counts; above 4 MiB, size and time.
 *   stale     signals monitor file --repo acme/api --stale 26h '~/backup/*.tar.gz' fires while the newest is older, or there is none
 *   GLOB      in quotes; from the current directory, / or ~/; * ? [a-z] [!a-z] {a,b}, and ** for folders at any depth,
 *             but for hidden and linked ones. A name that begins with a dot has to be named with it; a backslash takes
 *             the meaning of what follows.
 *   cron      0 7 * * * ~/.local/bin/signals monitor file --repo acme/api --stale 26h '~/backup/*.tar.gz'
 *
 * Reads     names, times and, with --changed, content. A link counts as what it leads to; folders count for nothing. A
 *           folder that is missing has no files; what cannot be read is UNKNOWN, and so are more than 10000 files.
 * Prints    FILE, the status, and the newest file. Of more than 20 at once the newest 20 are told one by one, and none
 *           is resolved until there are 20 or fewer. --json for all.
 * Exits     0 OK, 1 WARNING, 2 CRITICAL (with --severity urgent), 3 UNKNOWN.
 * Needs     nothing.
 */
import { runMonitor } from "ambient-signals/monitor";
import { FILE_FLAGS, lookAtFiles } from "ambient-signals/pack";

await runMonitor(import.meta.url, {
  flags: FILE_FLAGS,
  required: ["GLOB"],
  rest: true,
  why: "Somebody asked to hear of such files: each says that something went wrong, as a crash dump does.",
  action:
    "If it may be from the work at hand, see what the file says; what is done with it is for the person to decide.",
  check: lookAtFiles,
});
