#!/usr/bin/env tsx
/**
 * Shows what this is: plays the whole story with the real hooks, or one scenario against the rules.
 *
 *   usage    signals demo [SCENARIO] [--step]
 *   example  signals demo a-killed-hook-loses-nothing --step
 *
 * Reads    real payloads from fixtures/claude-code, scenarios from fixtures/scenarios; --step waits for Enter.
 * Prints   each step, and the exact text that a model is shown.
 * Exits    0 told to the end, 1 a step failed or there is no such scenario, 2 wrong arguments.
 * Needs    the package's other files beside it. The story runs in a throw-away inbox, a scenario in none.
 */
import { createInterface } from "node:readline/promises";
import { indented, line, nearest, note, runScript, SignalsError, wrap } from "ambient-signals/cli";
import { loadScenarios, play, story } from "ambient-signals/testing";

const OPTIONS = { flags: { step: { type: "boolean" } }, optional: ["SCENARIO"], forPeople: true } as const;

await runScript(import.meta.url, OPTIONS, async ({ flags, args: [name] }) => {
  const keyboard = flags.step ? createInterface({ input: process.stdin }) : undefined;
  const enters = keyboard?.[Symbol.asyncIterator]();
  const pause = async () => {
    if (enters) process.stderr.write("Enter for the next step ");
    // At the end of the input there is nobody to wait for.
    await enters?.next();
  };
  try {
    return name === undefined ? await tellStory(pause) : await playScenario(name, pause);
  } finally {
    keyboard?.close();
  }
});

async function tellStory(pause: () => Promise<void>): Promise<void> {
  let count = 0;
  for await (const { what, ran, printed } of story()) {
    line(`${++count}. ${what}`, "green");
    indented(`$ ${ran}`);
    show(printed || "(prints nothing)");
    await pause();
  }
  note("That is all of it: one reminder per real change, as data in a frame of our own.");
}

async function playScenario(name: string, pause: () => Promise<void>): Promise<number> {
  const scenarios = loadScenarios();
  const named = scenarios.filter((candidate) => candidate.name.startsWith(name));
  const scenario =
    named.find((candidate) => candidate.name === name) ?? (named.length === 1 ? named[0] : undefined);
  if (!scenario) {
    const close = named.map((candidate) => candidate.name).slice(0, 4);
    const meant =
      close.length > 0
        ? close.join(" or ")
        : nearest(
            name,
            scenarios.map((candidate) => candidate.name),
          );
    const help = meant ? `did you mean ${meant}?` : "fixtures/scenarios has them all";
    throw new SignalsError(`SCENARIO: ${name}: there is none of that name; ${help}`);
  }
  line(scenario.shows, "green");
  let failed = 0;
  for (const { at, note, happened, shown, problems } of play(scenario)) {
    line(`at ${at}: ${happened}`);
    if (note) indented(`(${note})`);
    if (shown) show(shown);
    for (const problem of problems) line(`not as expected: ${problem}`, "red");
    failed += problems.length;
    await pause();
  }
  return failed > 0 ? 1 : 0;
}

function show(text: string): void {
  // Broken between words where somebody looks at it, whole where a program reads it.
  const room = (process.stdout.columns ?? Number.POSITIVE_INFINITY) - 8;
  for (const part of text.split("\n").flatMap((whole) => wrap(whole, room))) indented(`| ${part}`);
}
