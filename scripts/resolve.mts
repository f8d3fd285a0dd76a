#!/usr/bin/env tsx
/**
 * Resolves a signal: its condition is over, and who was told of it is told so.
 *
 *   usage    signals resolve KEY [--summary TEXT] [--producer NAME]
 *            signals resolve [KEY] --event FILE (- for stdin)
 *
 * Reads    KEY: the whole key, or the first digits of a computed one, as people are shown it.
 * Prints   what became of it; --json for {key, outcome, generation}.
 * Exits    0 done, also when the key is unknown: a first green run must not fail; 1 refused, 2 wrong arguments.
 * Needs    nothing.
 */
import {
  findSignal,
  line,
  note,
  parseEnvelope,
  printJson,
  readEnvelope,
  resolve,
  resolvingText,
  runScript,
  shortKey,
  signalNamed,
  transact,
  UsageError,
} from "ambient-signals/cli";

const FLAGS = {
  summary: { type: "string" },
  producer: { type: "string" },
  event: { type: "string" },
} as const;

await runScript(import.meta.url, { flags: FLAGS, optional: ["KEY"] }, async ({ flags, args, dir, json }) => {
  const given = await readEnvelope(flags.event);
  const event = given && parseEnvelope(given);
  const name = args[0] ?? event?.dedupe_key;
  if (!name) throw new UsageError("KEY: is missing; signals list shows the keys");

  const { value } = await transact(
    dir,
    {
      change: (doc, now) => {
        // An envelope names its key whole.
        const signal = args[0] === undefined ? findSignal(doc, name) : signalNamed(doc, name, true);
        const key = signal?.key ?? name;
        const envelope = resolvingText(flags, event, signal);
        const producer = flags.producer ?? "manual";
        const report = { key, producer, signature: "local", origin: "human", envelope } as const;
        const [next, outcome, after] = resolve(doc, report, now);
        return [next, { key, outcome, generation: after?.generation ?? null }];
      },
    },
    { onConfigFault: "throw" },
  );

  if (value?.outcome === "unknown") note(`${name}: no such signal; nothing to resolve`);
  if (json) return printJson(value);
  if (value?.generation)
    line(`${value.outcome.replace("_", " ")} ${shortKey(value.key)}#${value.generation}`);
});
