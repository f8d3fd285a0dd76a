import * as z from "zod/mini";
import type { Severity } from "../document.ts";
import { attempt } from "../errors.ts";

/** How Alertmanager's alerts become signals, whichever way they come: the API lists them, a webhook sends them. */

export const KIND = "alert";

const Texts = z.record(z.string(), z.string());

/** One alert, as far as both ways have the same of it. */
export const Alert = z.object({
  labels: Texts,
  annotations: z.optional(Texts),
  /** Empty, or missing, when nobody set it. */
  generatorURL: z.optional(z.string()),
  /** Missing in what old versions send. */
  fingerprint: z.optional(z.string()),
});
export type Alert = z.infer<typeof Alert>;

/** The parts that make the identity of the signal. */
export function identityOf(receiver: string, alert: Alert): readonly string[] {
  return [receiver, alert.fingerprint || fingerprintOf(alert.labels)];
}

/**
 * The fingerprint that Alertmanager gives a set of labels: FNV-1a of all names and values in the order of the names,
 * each followed by a byte that no UTF-8 has.
 */
export function fingerprintOf(labels: Alert["labels"]): string {
  const names = Object.keys(labels).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const parts = names.flatMap((name) => [name, labels[name] ?? ""]);
  let hash = 0xcbf29ce484222325n;
  for (const byte of parts.flatMap((part) => [...Buffer.from(part), 0xff]))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}

const SEVERITIES: Record<string, Severity> = {
  critical: "urgent",
  page: "urgent",
  info: "info",
  none: "info",
};

/** By the label that the field agreed on. A word that is not known, or none, is a warning. */
export function severityOf({ labels }: Alert): Severity {
  const word = labels["severity"]?.trim().toLowerCase() ?? "";
  return Object.hasOwn(SEVERITIES, word) ? (SEVERITIES[word] ?? "warning") : "warning";
}

/** What its author wrote in one line, after its name, else that name with the labels that tell which one it is. */
export function summaryOf({ labels, annotations = {} }: Alert): string {
  const written = [annotations["summary"], annotations["title"]].find((text) => text?.trim());
  const { alertname, severity: _, ...others } = labels;
  if (written) return !alertname || written.includes(alertname) ? written : `${alertname}: ${written}`;
  const which = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  const name = alertname || "An alert without a name";
  return which.length > 0 ? `${name} (${which.sort().join(", ")})` : name;
}

/** Where to look: the graph of the rule, else Alertmanager's own address. Undefined when neither is an http(s) link. */
export function linkOf({ generatorURL }: Alert, alertmanager?: string): string | undefined {
  for (const text of [generatorURL, alertmanager]) {
    const url = attempt(() => new URL(text ?? ""));
    if (!text || !url || !/^https?:$/.test(url.protocol)) continue;
    if (!url.username && !url.password) return text;
    url.username = url.password = "";
    return url.href;
  }
  return undefined;
}
