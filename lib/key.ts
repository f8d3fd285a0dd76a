import type { Document, Signal } from "./document.ts";
import { SignalsError } from "./errors.ts";
import { clean } from "./text.ts";

/** A signal's name for people: eight digits of a computed key, any other key whole. */
export function shortKey(key: string): string {
  const digits = /:([0-9a-f]{32})$/.exec(key)?.[1];
  return digits ? digits.slice(0, 8) : clean(key);
}

/**
 * The signal that a person means: the whole key, or the beginning of its last `:` part where only one signal has
 * it. Undefined when there is none. Throws `SignalsError` that lists the candidates when there are several.
 */
export function signalNamed(doc: Document, name: string): Signal | undefined {
  const exact = doc.signals.find(({ key }) => key === name);
  if (exact || name === "") return exact;
  const found = doc.signals.filter(({ key }) => lastPart(key).startsWith(name));
  if (found.length > 1) {
    const keys = found.slice(0, 5).map(({ key }) => key);
    throw new SignalsError(`KEY: ${name}: could be any of ${keys.join(", ")}; write more of it`);
  }
  return found[0];
}

/** The same, for scripts that need one. Throws `SignalsError` when there is none. */
export function requireSignal(doc: Document, name: string): Signal {
  const signal = signalNamed(doc, name);
  if (signal) return signal;
  throw new SignalsError(`KEY: ${name}: no such signal; scripts/list.mts --all shows them`);
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}
