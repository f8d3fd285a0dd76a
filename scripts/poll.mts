#!/usr/bin/env tsx
/**
 * Polls the monitors of config.toml side by side, each on its own schedule, until it is told to stop.
 *
 *   usage    signals poll [--once]
 *   config   [[monitor]]
 *            run = "github-ci"         # a monitor by its name, or a program with the exit codes of Nagios:
 *                                      # a path that starts at config.toml, or a name on PATH
 *            every = "60s"             # the default
 *            args = ["acme/api"]       # as they are: there is no shell
 *            repository = "acme/api"   # whose sessions hear of it, when the monitor itself does not know
 *
 * Reads    config.toml in the inbox directory, again whenever it changes, and the sources of the monitors.
 * Prints   a line a monitor, in place on a terminal, else a line a change; --json for one object a poll, in a line.
 * Exits    0 told to stop; with --once 0 each source was read, 1 one was not; 1 failed, 2 wrong arguments.
 * Needs    the package's other files beside it, and what the monitors need.
 */
import { pollMonitors, runScript } from "ambient-signals/cli";

await runScript(import.meta.url, { flags: { once: { type: "boolean" } } }, ({ flags, dir, json }) =>
  pollMonitors(dir, { once: flags.once ?? false, json }),
);
