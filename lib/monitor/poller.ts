import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MonitorEntry } from "../policy.ts";
import { timeOf } from "../time.ts";
import { type Configured, configuredIn, idOf } from "./configured.ts";
import { fatesOf, pollConfigured } from "./one-poll.ts";
import { type Output, outputFor } from "./output.ts";
import type { PollReport } from "./poll-report.ts";
import { pauseAfter } from "./run.ts";
import { Schedule } from "./schedule.ts";
import { monitorsOf, type Watch, watchOf } from "./state.ts";
import type { Standing } from "./status-lines.ts";
import { retire } from "./tell.ts";
import { Wanted } from "./wanted.ts";

const OWN_FILE = fileURLToPath(import.meta.url);

/** How long a change of config.toml, or a leap of the clock, may go unnoticed. */
const LONGEST_REST_MS = 1_000;

/**
 * Polls the monitors of the config.toml in `dir`, each on its own schedule, until it is told to stop; with `once` each
 * of them once. Returns the exit status. Throws `SignalsError` when there is no valid config.toml to begin with.
 */
export async function pollMonitors(
  dir: string,
  { once, json }: { once: boolean; json: boolean },
): Promise<number> {
  return new Poller(dir, once, outputFor({ once, json })).run();
}

class Poller {
  readonly #dir: string;
  readonly #once: boolean;
  readonly #output: Output;
  readonly #alarm = new Alarm();
  readonly #schedule = new Schedule();
  /** By id, in the order of config.toml. */
  #monitors = new Map<string, Configured>();
  /** What the last poll of each came to. */
  readonly #reports = new Map<string, PollReport>();
  /** The polls that go on now. */
  readonly #running = new Map<string, { stop: AbortController; ended: Promise<void> }>();
  #isStopped = false;

  constructor(dir: string, once: boolean, output: Output) {
    this.#dir = dir;
    this.#once = once;
    this.#output = output;
  }

  async run(): Promise<number> {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => this.#stop());
    process.stdout.on("resize", () => this.#alarm.ring());
    const wanted = new Wanted(this.#dir, this.#output.says);
    await this.#take((await wanted.changed()) ?? []);
    const isDone = () => this.#once && this.#reports.size === this.#monitors.size;
    while (!this.#isStopped && !isDone()) {
      // Nothing that it runs would be there either.
      if (!existsSync(OWN_FILE)) return this.#giveUp();
      const entries = this.#once ? undefined : await wanted.changed();
      if (entries) await this.#take(entries);
      for (const id of this.#schedule.take(Date.now())) this.#begin(id);
      this.#output.stand([...this.#monitors.values()].map((monitor) => this.#standingOf(monitor)));
      const next = this.#schedule.next(Date.now()) ?? LONGEST_REST_MS;
      await this.#alarm.rest(Math.min(next, LONGEST_REST_MS));
    }
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    this.#output.end();
    return this.#once && [...this.#reports.values()].some(({ read }) => !read) ? 1 : 0;
  }

  async #giveUp(): Promise<number> {
    this.#output.says(`error: ${OWN_FILE}: was removed; install again, and start signals poll again`);
    this.#stop();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    this.#output.end();
    return 1;
  }

  #stop(): void {
    this.#isStopped = true;
    for (const { stop } of this.#running.values()) stop.abort();
    this.#alarm.ring();
  }

  // ---------------------------------------------------------------- polls

  #begin(id: string): void {
    const monitor = this.#monitors.get(id);
    if (!monitor) return;
    const stop = new AbortController();
    const ended = this.#poll(monitor, stop.signal).finally(() => {
      this.#running.delete(id);
      this.#alarm.ring();
    });
    this.#running.set(id, { stop, ended });
  }

  async #poll(monitor: Configured, stop: AbortSignal): Promise<void> {
    const { id, entry, watch } = monitor;
    const before = this.#reports.get(id);
    const report = await pollConfigured(monitor, this.#dir, before, stop);
    const pause = report ? pauseAfter(report, entry.every) : 0;
    this.#schedule.done(id, Date.now(), this.#once ? Number.POSITIVE_INFINITY : pause);
    if (!this.#monitors.has(id)) return this.#retire(watch);
    if (!report) return;
    const fates = await fatesOf(report, before, this.#dir);
    this.#reports.set(id, report);
    this.#output.polled(id, this.#standingOf(monitor), report, fates);
  }

  #standingOf({ id, label }: Configured): Standing {
    const report = this.#reports.get(id);
    if (!report) return { label, status: undefined, readAt: undefined, text: "is polled for the first time" };
    const { status, read_at, summary } = report;
    // A check says first what it is a check of.
    const text = summary.startsWith(`${label}: `) ? summary.slice(label.length + 2) : summary;
    return { label, status, readAt: read_at ?? undefined, text };
  }

  // ---------------------------------------------------------------- config.toml

  /** From now on these are the monitors. Only what is new or changed begins anew. */
  async #take(entries: readonly MonitorEntry[]): Promise<void> {
    const before = this.#monitors;
    const all = configuredIn(this.#dir, entries, process.env);
    this.#monitors = new Map(all.map((monitor) => [monitor.id, monitor]));
    const changed = all.filter(({ id, entry }) => {
      const old = before.get(id);
      return old && JSON.stringify(old.entry) !== JSON.stringify(entry);
    });
    const again = changed.map(({ id }) => id);
    this.#schedule.set([...this.#monitors.keys()], Date.now(), again);
    for (const id of this.#reports.keys()) if (!this.#monitors.has(id)) this.#reports.delete(id);
    for (const [id, { stop }] of this.#running) if (!this.#monitors.has(id)) stop.abort();
    this.#sayTaken(before, again.length, entries.length);
    await this.#retireOthers();
  }

  #sayTaken(before: ReadonlyMap<string, Configured>, changed: number, entries: number): void {
    const { says } = this.#output;
    const file = join(this.#dir, "config.toml");
    const fresh = [...this.#monitors.keys()].filter((id) => !before.has(id)).length;
    const gone = [...before.keys()].filter((id) => !this.#monitors.has(id)).length;
    if (before.size > 0 && fresh + changed + gone > 0)
      says(`${file}: read again: ${fresh} new, ${changed} changed, ${gone} gone`);
    const twice = entries - this.#monitors.size;
    if (twice > 0) says(`${file}: left out ${twice} [[monitor]] that another one says already`);
    if (entries > 0) return;
    says(`${file}: has no [[monitor]]${this.#once ? "" : " yet"}; write one, such as:`);
    for (const text of EXAMPLE) says(`  ${text}`);
  }

  /** What was polled from here once, and is not to be any more. */
  async #retireOthers(): Promise<void> {
    const { cwd } = watchOf("", [], this.#dir);
    const others = monitorsOf(this.#dir, timeOf(Date.now())).filter((watch) => watch.cwd === cwd);
    for (const watch of others) {
      const id = idOf(watch);
      // One that is just being stopped is retired when it has ended.
      if (!this.#monitors.has(id) && !this.#running.has(id)) await this.#retire(watch);
    }
  }

  /** Who cannot be told in an inbox that is gone is told nothing. */
  #retire(watch: Watch): Promise<void> {
    return retire(this.#dir, watch).catch(() => {});
  }
}

const EXAMPLE = ["[[monitor]]", 'run = "http"', 'every = "60s"', 'args = ["https://example.test/health"]'];

/** A rest that something can end early. */
class Alarm {
  #isRung = false;
  #wake = () => {};

  ring(): void {
    this.#isRung = true;
    this.#wake();
  }

  async rest(ms: number): Promise<void> {
    if (!this.#isRung)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    this.#wake = () => {};
    this.#isRung = false;
  }
}
