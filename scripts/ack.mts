#!/usr/bin/env tsx
/**
 * Acks a lease by hand: the reminder with this token has reached the model.
 *
 *   usage    signals ack TOKEN
 *
 * Reads    TOKEN, of a lease that a hook took.
 * Prints   what became of it; --json for {key, generation, acked}.
 * Exits    0 known, also when acked before or replaced meanwhile; 1 unknown or lapsed; 2 wrong arguments.
 * Needs    nothing. A hook does this by itself, right after its output was read.
 */
import {
  ack,
  line,
  printJson,
  runScript,
  SignalsError,
  shortKey,
  signalNamed,
  transact,
} from "ambient-signals/cli";

await runScript(import.meta.url, { required: ["TOKEN"] }, async ({ args, dir, json }) => {
  const [token = ""] = args;
  const { doc, value } = await transact(
    dir,
    { change: (doc, now) => ack(doc, token, now) },
    { onConfigFault: "throw" },
  );

  const { outcome, key = "", generation } = value ?? { outcome: "unknown" };
  if (outcome === "unknown") {
    const signal = signalNamed(doc, token);
    throw new SignalsError(
      signal
        ? `TOKEN: ${token}: is a signal's key, not a lease's token; to silence it add a [[mute]] to config.toml, ` +
            `to end it: signals resolve ${shortKey(signal.key)}`
        : `TOKEN: ${token}: unknown, or its lease has lapsed; nothing was changed`,
    );
  }
  if (json) return printJson({ key, generation, acked: outcome !== "superseded" });
  line(`${outcome.replace("_", " ")} ${shortKey(key)}#${generation}`);
});
