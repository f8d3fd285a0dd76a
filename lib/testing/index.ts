/** For tests and demonstrations: `ambient-signals/testing`. */
export { ROOT, type Run, run, runFile } from "./process.ts";
export { loadScenarios, type Played, play, type Scenario } from "./scenario.ts";
export { story } from "./story.ts";
export { tempDirectory } from "./temp.ts";
