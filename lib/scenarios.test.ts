import assert from "node:assert/strict";
import { test } from "node:test";
import { loadScenarios, play, type Scenario } from "./testing/scenario.ts";

/** What the rules say, row by row. Every row is walked by a scenario, and a scenario walks no other. */
const ROWS: Record<string, string[]> = {
  lifecycle: [
    "fired",
    "extended",
    "escalated",
    "confirmed",
    "confirmed takes a lower severity",
    "refired",
    "resolved",
    "resolved without a text",
    "already_settled",
    "unknown",
    "expired",
    "expire_after without an expiry",
    "expiry moves forward",
    "expiry never moves back",
    "a falling severity is no news",
    "a newer generation replaces an owed one",
    "a newer generation replaces a leased one",
    "the next generation keeps its session",
    "the next generation leaves an unsuitable session",
    "the 30 s rule",
  ],
  stale: [
    "an older fire",
    "an older resolve",
    "an equal resolve",
    "an equal fire on a resolved signal",
    "an equal fire extends",
    "an equal fire escalates",
    "an equal fire refires an expired signal",
    "equal and of another kind applies",
    "each provider by itself",
    "without a source time nothing is stale",
  ],
  order: ["trust before stale", "stale before confirmed", "confirmed before escalated"],
  "settled news": [
    "nobody was told",
    "the newest told was settled",
    "a leased reminder counts as told",
    "resolved, the told session is live",
    "resolved, the told session is absent",
    "resolved, the told session has ended",
    "expired, the told session is live",
    "expired, the told session is absent",
    "expired, the told session has ended",
  ],
  "one-shot": [
    "settles when acked",
    "waits for an absent session",
    "expires while it waits",
    "expires when its session has ended",
    "another hint takes it on",
  ],
  trust: [
    "a weaker extend is refused",
    "a weaker escalation is refused",
    "a weaker refire is refused",
    "a weaker resolve is refused",
    "an equal report is welcome",
    "verified and local are equal",
    "raised for good",
    "an unverified severity is capped",
    "the signature of the report is shown",
  ],
  policy: [
    "muted by key",
    "muted by producer",
    "muted by provider",
    "muted by repository",
    "a wildcard",
    "a mute with an end",
    "a mute takes back what is assigned",
    "a mute leaves a lease alone",
    "below min_severity",
    "min_severity and a settled signal",
    "held is not lost",
  ],
  routing: [
    "session",
    "a lost session hint goes on",
    "repository",
    "repository in any case",
    "repository without a host",
    "repository on another host",
    "the same directory",
    "a directory above",
    "the deepest directory above",
    "by path segment",
    "a directory below in the same work tree",
    "not across work trees",
    "fallback role",
    "the fallback session takes part in its repository",
    "held until a session appears",
    "an assignment sticks",
    "moves when its session ends",
    "moves when its session goes stale",
    "moves from a silent session",
    "moves to an earlier step",
    "does not move to a later step",
    "never moves while a lease is out",
  ],
  tie: [
    "responsive first",
    "urgent prefers a busy session",
    "attended before headless",
    "the closest directory",
    "the most recent hook",
    "the smallest id",
  ],
  lease: [
    "three at most",
    "the rest is counted",
    "urgent first",
    "oldest first",
    "one session at a time",
    "two hooks never hold the same lease",
    "lapses",
    "attempt 2 goes to the holder",
    "attempt 2 goes to another session",
    "a session's end takes it back",
    "a late ack",
    "a superseded ack",
    "acked twice",
    "an unknown token",
    "a lapsed token is unknown",
    "tokens are known until they would have lapsed",
  ],
  session: [
    "any hook registers an unknown id",
    "a late hook leaves no ghost",
    "an ended id registers again",
    "an ended id is remembered while told names it",
    "a subagent is a sign of life",
    "a subagent takes no reminder",
    "a subagent registers nothing",
    "removed as stale",
    "grace after sleep",
    "a stamp in the future counts as now",
  ],
  stop: [
    "urgent only",
    "a delivery leaves the session busy",
    "a recovery keeps nobody",
    "waiting for background work",
  ],
  "told again": [
    "after a compaction, what is still fired",
    "on resumption, what changed meanwhile",
    "never a one-shot, nor what is held",
    "three in all, new ones first",
  ],
  caps: [
    "what is settled and not owed goes first",
    "then what is settled and owed",
    "an unverified signal goes for a stronger report",
    "rather one with no lease out",
    "refused when all are fired",
    "an escalation is never refused",
    "a resolve is never refused",
    "max_bytes",
  ],
  garbage: ["settled signals go after retain"],
};

const scenarios = loadScenarios();

for (const scenario of scenarios) {
  test(`${scenario.name}: ${scenario.shows}`, () => assert.deepEqual(problemsOf(scenario), []));
}

test("The scenarios walk every row of the rules, and each walks only rows that exist", () => {
  const rows = Object.entries(ROWS).flatMap(([area, names]) => names.map((name) => `${area}: ${name}`));
  const walked = new Set(scenarios.flatMap(({ walks }) => walks));
  assert.deepEqual([...walked].sort(), rows.sort());
  assert.ok(scenarios.length >= 25, `${scenarios.length} scenarios`);
});

test("The player tells each kind of expectation that does not come true", () => {
  const fire = { key: "ci:main", repository: "acme/api" };
  const expectations: NonNullable<Scenario["steps"][number]["expect"]>[] = [
    { outcome: "fired" },
    { refused: "full" },
    { told: [] },
    { waiting: 1 },
    { signals: { "ci:main": "fired#1 owed to ada" } },
    { sessions: { ada: "gone" } },
    { shows: ["Signal resolved"] },
  ];
  for (const expect of expectations) {
    const problems = problemsOf({
      name: "a-wrong-expectation",
      shows: "Ada is told, and the scenario says otherwise.",
      walks: ["lifecycle: fired"],
      steps: [
        { at: "0s", start: "ada", where: { repository: "github.com/acme/api" } },
        { at: "1m", fire, expect: { outcome: "fired" } },
        { at: "2m", tool: "ada", expect },
      ],
    });
    assert.equal(problems.length, 1, JSON.stringify(expect));
    assert.match(problems[0] ?? "", /^at 2m, session ada, tool: /);
  }
});

test("The player tells a refusal that no scenario expected", () => {
  const problems = problemsOf({
    name: "an-unexpected-refusal",
    shows: "A weaker report comes, and the scenario does not expect what follows.",
    walks: ["trust: a weaker resolve is refused"],
    steps: [
      { at: "0s", fire: { key: "ci:main" } },
      { at: "1m", resolve: { key: "ci:main", signature: "unverified" } },
    ],
  });
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /refused: /);
});

function problemsOf(scenario: Scenario): string[] {
  return [...play(scenario)].flatMap(({ at, happened, problems }) =>
    problems.map((problem) => `at ${at}, ${happened}: ${problem}`),
  );
}
