import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../config.ts";
import { attempt } from "../errors.ts";
import { readDocument } from "../inbox.ts";
import { type Configured, configuredIn, faultOf } from "../monitor/configured.ts";
import { isOverdue, lastRead } from "../monitor/last-read.ts";
import { readState } from "../monitor/state.ts";
import type { MonitorEntry } from "../policy.ts";
import { between, formatDuration, relative } from "../time.ts";
import { count, type Finding, fault, noted, ok, type Place, signals } from "./check-finding.ts";

/** As many of one kind as are worth a line each. */
const MOST = 5;

/** The `[[monitor]]` of config.toml: whether each can be run, is polled, and reads its source. Nothing to say where there is none. */
export function checkMonitors(place: Place): Finding[] {
  const { dir, env, now } = place;
  const entries = entriesIn(place);
  if (entries.length === 0) return [];
  const all = attempt(() => configuredIn(dir, entries, env));
  if (all === undefined) return [noted("of monitors a copy that stands alone knows nothing")];
  const shown = (time: string) => relative(time, now);
  const states = all.map((monitor) => ({
    monitor,
    state: readState(dir, monitor.watch),
    fault: faultOf(monitor, dir, env),
  }));

  const broken = states.flatMap(({ monitor: { label }, fault }) => (fault ? [`${label}: ${fault}`] : []));
  const able = states.filter(({ fault }) => !fault);
  const silent = able.filter(({ monitor, state }) => isOverdue(state, monitor.entry.every, now));
  const polled = able.filter((one) => !silent.includes(one));
  const failing = polled.filter(({ state }) => state.failures > 0);
  const found = [
    ...broken.slice(0, MOST).map((says) => {
      const [, what = says, mend = "correct it"] = /^(.*); (.*?)$/s.exec(says) ?? [];
      return fault(what, `in ${join(dir, "config.toml")}: ${mend}`);
    }),
    ...(silent.length > 0
      ? [
          unpolled(
            silent.map(({ monitor }) => monitor),
            all.length,
            place,
          ),
        ]
      : []),
    ...failing
      .slice(0, MOST)
      .map(({ monitor, state }) => noted(`${monitor.label} ${lastRead(state, now, shown)}`)),
  ];
  if (found.length > 0) return found;
  const [oldest = now] = polled.map(({ state }) => state.read_at ?? now).sort();
  const minutes = Math.max(1, Math.ceil(between(oldest, now) / 60_000));
  return [
    ok(`${count(all.length, "monitor")}, all read their sources within ${formatDuration(minutes * 60_000)}`),
  ];
}

/** Those that hold: of a file that is not valid, those of the last one that was. */
function entriesIn({ dir, now }: Place): readonly MonitorEntry[] {
  const file = join(dir, "config.toml");
  const config = attempt(() => parseConfig(readFileSync(file, "utf8"), file));
  const kept = attempt(() => readDocument(dir, now).policy?.config);
  return (config ?? kept)?.monitor ?? [];
}

function unpolled(silent: readonly Configured[], all: number, place: Place): Finding {
  const names = silent.slice(0, MOST).map(({ label }) => label);
  const some = `${names.join(", ")}${silent.length > MOST ? ", …" : ""}`;
  const who = silent.length < all ? some : count(all, "monitor");
  const found = `${who}: not polled for three times as long as config.toml says, so signals poll may not run`;
  const mend = `in a terminal: ${signals(place, "poll")}; or at every login: ${signals(place, "install --service")}`;
  return noted(found, mend);
}
