import type { Document } from "./document.ts";
import { shortKey } from "./key.ts";
import { relative, type Time } from "./time.ts";
import type { Delivery, SignalView, sessionView } from "./view.ts";
import { sessionLabel } from "./view.ts";

/** How people are shown times: how long ago, or with `-v` as they are. */
export function timeShown(time: Time, now: Time, verbose: boolean): string {
  return verbose ? time : relative(time, now);
}

/** One line on a signal, and one on what happened; the caller prints them. */
export function signalLines(
  doc: Document,
  view: SignalView,
  now: Time,
  verbose: boolean,
): { head: string; detail: string } {
  const { state, severity, key, generation, changed_at } = view;
  const when = timeShown(changed_at, now, verbose);
  return {
    head: `${state} ${severity} ${shortKey(key)}#${generation}, ${when}: ${deliveryShown(doc, view.delivery, now, verbose)}`,
    detail: view.summary,
  };
}

/** The colour of a signal's first line: only a condition that still holds has one. */
export function severityColour({ state, severity }: SignalView): "red" | "yellow" | "dim" | undefined {
  if (state !== "fired") return "dim";
  return severity === "urgent" ? "red" : severity === "warning" ? "yellow" : undefined;
}

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
