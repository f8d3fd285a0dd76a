import assert from "node:assert/strict";
import { test } from "node:test";
import { loadScenarios, play } from "./testing/scenario.ts";

for (const scenario of loadScenarios()) {
  test(`${scenario.name}: ${scenario.shows}`, () => {
    const problems = [...play(scenario)].flatMap(({ at, happened, problems }) =>
      problems.map((problem) => `at ${at}, ${happened}: ${problem}`),
    );
    assert.deepEqual(problems, []);
  });
}
