import type { Document } from "./document.ts";
import { shortKey } from "./key.ts";
import { indented, line } from "./script.ts";
import { relative, type Time } from "./time.ts";
import type { Delivery, SignalView, sessionView } from "./view.ts";
import { sessionLabel } from "./view.ts";

/** How people are shown times: how long ago, or with `-v` on their own clock. */
export function timeShown(time: Time, now: Time, verbose: boolean): string {
  // This locale is the one that writes year, month and day in that order.
  return verbose ? new Date(time).toLocaleString("sv-SE", { timeZoneName: "short" }) : relative(time, now);
}

/** Prints one line on each signal, and one on what happened. Only a condition that still holds has a colour. */
export function printSignals(doc: Document, views: readonly SignalView[], now: Time, verbose: boolean): void {
  for (const view of views) {
    const { state, severity, key, generation, changed_at, delivery, summary } = view;
    const when = timeShown(changed_at, now, verbose);
    const colour = state !== "fired" ? "dim" : COLOURS[severity];
    line(
      `${state} ${severity} ${shortKey(key)}#${generation}, ${when}: ${deliveryShown(doc, delivery, now, verbose)}`,
      colour,
    );
    indented(summary);
  }
}

const COLOURS = { urgent: "red", warning: "yellow", info: undefined } as const;

/** Where the news stands, in words. */
export function deliveryShown(doc: Document, delivery: Delivery, now: Time, verbose = false): string {
  const to = delivery.session === undefined ? "" : sessionLabel(doc, delivery.session);
  const at = (time: Time | undefined) => (time === undefined ? "" : ` ${timeShown(time, now, verbose)}`);
  switch (delivery.status) {
    case "owed":
      return `-> ${to}: at its next safe point`;
    case "leased":
      return `-> ${to}: taken${at(delivery.leased_at)}, not confirmed yet`;
    case "delivered":
      return `delivered to ${to}${at(delivery.acked_at)}`;
    case "held":
      return `held: ${delivery.reason}; ${delivery.release}`;
    case "none":
      return "nobody is owed this";
  }
}

/** One line on a session. */
export function sessionLine(
  doc: Document,
  view: ReturnType<typeof sessionView>,
  now: Time,
  verbose: boolean,
): string {
  const where = view.repository ? `${view.cwd} (${view.repository})` : view.cwd;
  const role = view.role ? `, role ${view.role}` : "";
  const heard = timeShown(view.last_seen, now, verbose);
  return `${view.state} ${sessionLabel(doc, view.id)} in ${where}${role}, last seen ${heard}`;
}
