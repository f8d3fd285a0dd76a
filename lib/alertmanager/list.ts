import * as z from "zod/mini";
import type { Reading, Verdict } from "../monitor/verdict.ts";
import { Alert, identityOf, KIND, linkOf, severityOf, summaryOf } from "./alert.ts";

const few = z.optional(z.nullable(z.array(z.string())));
const Named = z.object({ name: z.string() });
/** Who keeps an alert from being sent, if anybody does. `mutedBy` is told by version 0.28 and later, in groups only. */
const Status = z.object({ state: z.string(), silencedBy: few, inhibitedBy: few, mutedBy: few });

/** An alert that Alertmanager lists, with who is told of it, in the order of its routes. */
export const Listed = z.extend(Alert, { receivers: z.array(Named), status: Status });
export type Listed = z.infer<typeof Listed>;

/** The alerts that go to a receiver together, in one route. */
export const Group = z.object({ receiver: Named, alerts: z.array(Listed) });
export type Group = z.infer<typeof Group>;

export interface Asked {
  /** Only what goes to this one. */
  receiver?: string | undefined;
  /** Alertmanager's own address. */
  link: string;
}

/** What a list of alerts comes to: one verdict for each of them, under its first receiver if none is asked for. */
export function readingFrom(
  alerts: readonly Listed[],
  groups: readonly Group[],
  { receiver, link }: Asked,
): Reading {
  const verdicts = alerts.flatMap((alert): Verdict[] => {
    const to = alert.receivers.find(({ name }) => receiver === undefined || name === receiver);
    if (!to) return [];
    const severity = severityOf(alert);
    return [
      {
        status: severity === "urgent" ? "CRITICAL" : "WARNING",
        kind: KIND,
        identity: identityOf(to.name, alert),
        summary: summaryOf(alert),
        source_url: linkOf(alert, link),
        ...(severity === "info" && { severity }),
        held: suppressed(alert, alerts) ?? muted(alert, groups, receiver),
      },
    ];
  });
  return { verdicts, summary: lineOn(verdicts), gone: "Alertmanager lists it no longer" };
}

/** Whether it would be sent, as far as the list itself tells. */
export function isActive(alert: Listed): boolean {
  return suppressed(alert, []) === undefined;
}

function suppressed({ status }: Listed, alerts: readonly Listed[]): string | undefined {
  const { state, silencedBy, inhibitedBy, mutedBy } = status;
  if (silencedBy?.length) return "silenced in Alertmanager";
  if (inhibitedBy?.length) {
    const source = alerts.find(({ fingerprint }) => fingerprint && inhibitedBy.includes(fingerprint));
    return `inhibited by ${source?.labels["alertname"] || "another alert"}`;
  }
  if (mutedBy?.length) return `muted by ${mutedBy.join(", ")}`;
  return state === "suppressed" ? "suppressed in Alertmanager" : undefined;
}

/** By a time interval, in every route by which it goes to whom it is asked for. */
function muted(alert: Listed, groups: readonly Group[], receiver: string | undefined): string | undefined {
  const [id] = identityOf("", alert).slice(1);
  const routed = groups
    .filter((group) => receiver === undefined || group.receiver.name === receiver)
    .flatMap((group) => group.alerts.filter((one) => identityOf("", one)[1] === id));
  const by = routed.map(({ status }) => status.mutedBy ?? []);
  if (by.length === 0 || by.some((names) => names.length === 0)) return undefined;
  return `muted by ${[...new Set(by.flat())].join(", ")}`;
}

function lineOn(verdicts: readonly Verdict[]): string {
  const sent = verdicts.filter(({ held }) => held === undefined);
  const held = verdicts.length - sent.length;
  // Many have one that is always there, to show that alerts get through.
  const first =
    sent.find(({ status }) => status === "CRITICAL") ??
    sent.find(({ severity }) => severity === undefined) ??
    sent[0];
  const also = held > 0 ? `, ${held} held back` : "";
  return first ? `${sent.length} active${also}: ${first.summary}` : `none active${also}`;
}
