import type { Document } from "../document.ts";
import type { Time } from "../time.ts";
import { type Delivery, deliveryOf } from "../view.ts";
import type { Outcome, Reported } from "./report.ts";
import { labelOf, type State } from "./state.ts";
import type { Decision } from "./steady.ts";
import { keyOf, type Status } from "./verdict.ts";

/** One condition in a report of a poll. */
export interface VerdictReport {
  status: Status;
  key: string;
  summary: string;
  source_url: string | null;
  /** Why nothing was reported, though it is bad: `1 of 3 polls`, `silenced by …`. */
  waits?: string | undefined;
  outcome?: Outcome | undefined;
  reason?: string | undefined;
  generation?: number | undefined;
  delivery?: Delivery | undefined;
}

/** What one poll came to, as `--json` prints it. */
export interface PollReport {
  monitor: string;
  label: string;
  at: Time;
  /** Whether all of the source was read; else `error` is what kept it from being. */
  read: boolean;
  error?: string | undefined;
  /** A part of it was read, and is reported. */
  partial?: true | undefined;
  status: Status;
  summary: string;
  verdicts: VerdictReport[];
  /** Polls in a row that could not read it. */
  failures: number;
  read_at: Time | null;
  /** The source asked not to be asked before. */
  not_before: Time | null;
  /** What is wrong with config.toml. */
  config_fault?: string | undefined;
}

/** One poll: what it came to, and the inbox as it was then, where it was opened. */
export interface Polled {
  report: PollReport;
  doc: Document | undefined;
}

/** What became of the decisions of a poll in a transaction; nothing of all that when there was none. */
export interface Told {
  reported: readonly Reported[];
  doc?: Document | undefined;
  now?: Time | undefined;
  configFault?: Document["config_fault"] | undefined;
}

export const NOTHING_TOLD: Told = { reported: [] };

/** What a poll that left this state came to. */
export function polledOf(
  state: State,
  at: Time,
  decisions: readonly Decision[],
  told: Told,
  provider: string,
): Polled {
  const { name, error, partial, status, summary, failures, read_at = null, not_before = null } = state;
  const { doc, configFault } = told;
  const report: PollReport = {
    monitor: name,
    label: labelOf(state),
    at,
    read: error === undefined,
    ...(error !== undefined && { error }),
    ...(partial && { partial }),
    status,
    summary,
    verdicts: verdictsOf(decisions, told, provider),
    failures,
    read_at,
    not_before,
    ...(configFault && { config_fault: configFault.message }),
  };
  return { report, doc };
}

/** Once more may be enough: see `pollOnce`. */
const STALE = "an older report than the one that is known; it counts at the next look";

function verdictsOf(
  decisions: readonly Decision[],
  { reported, doc, now }: Told,
  provider: string,
): VerdictReport[] {
  const outcomes = new Map(reported.map((one) => [one.key, one]));
  const signals = new Map(doc?.signals.map((signal) => [signal.key, signal]));
  return decisions.map(({ verdict, waits }) => {
    const key = keyOf(provider, verdict);
    const { outcome, reason } = outcomes.get(key) ?? {};
    const signal = outcome && signals.get(key);
    const why = outcome === "stale" ? STALE : waits;
    return {
      status: verdict.status,
      key,
      summary: verdict.summary,
      source_url: verdict.source_url ?? null,
      ...(why !== undefined && { waits: why }),
      ...(outcome && { outcome }),
      ...(reason && { reason }),
      ...(signal && doc && now && { generation: signal.generation, delivery: deliveryOf(doc, signal, now) }),
    };
  });
}
