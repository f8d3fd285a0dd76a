import type { Document, Signal } from "./document.ts";
import { SignalsError } from "./errors.ts";
import { clean } from "./text.ts";

/** A key that was computed from what makes the identity, by a producer that named none. */
const COMPUTED = /:([0-9a-f]{32})$/;

/** A signal's name for people: eight digits of a computed key, any other key whole. */
export function shortKey(key: string): string {
  const digits = COMPUTED.exec(key)?.[1];
  return digits ? digits.slice(0, 8) : clean(key);
}

/**
 * The signal that a person means: the whole key, as it is or as people are shown it, or the beginning of its last
 * `:` part where only one signal has it. Undefined when there is none. Throws `SignalsError` that lists the
 * candidates when there are several.
 *
 * With `forChange`, only the digits of a computed key may be shortened. A script that resolves its own `build` at
 * every green run must not end somebody's `build-nightly`, and must not fail because there are two of them.
 */
export function signalNamed(doc: Document, name: string, forChange = false): Signal | undefined {
  const shown = clean(name);
  const exact =
    doc.signals.find(({ key }) => key === name) ?? doc.signals.find(({ key }) => clean(key) === shown);
  if (exact || shown === "") return exact;
  const found = doc.signals.filter(
    ({ key }) => lastPart(key).startsWith(shown) && (!forChange || COMPUTED.test(key)),
  );
  if (found.length > 1) {
    const keys = found.slice(0, 5).map(({ key }) => clean(key));
    throw new SignalsError(`KEY: ${name}: could be any of ${keys.join(", ")}; write more of it`);
  }
  return found[0];
}

/** The same, for scripts that need one. Throws `SignalsError` when there is none. */
export function requireSignal(doc: Document, name: string): Signal {
  const signal = signalNamed(doc, name);
  if (signal) return signal;
  throw new SignalsError(`KEY: ${name}: no such signal; signals list --all shows them`);
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf(":") + 1);
}
