import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { AT } from "../testing/build.ts";
import { AT_ONCE, type Decision, decide, type Hysteresis, type Track } from "./steady.ts";
import { type Status, severityFor, statusFor, type Verdict, worstOf } from "./verdict.ts";

const STATUS: Record<string, Status> = { o: "OK", w: "WARNING", C: "CRITICAL", "?": "UNKNOWN" };

/** Looks one minute apart, a letter each (`.` is a minute without one), and what was decided at each. */
function play(looks: string, steady: Hysteresis, held = ""): string[] {
  let track: Track | undefined;
  return [...looks].flatMap((look, minute) => {
    const status = STATUS[look];
    if (status === undefined) return [];
    const silence = held[minute] === "h" ? { held: "silenced" } : {};
    const verdict: Verdict = { status, identity: ["a"], summary: look, ...silence };
    const decision = decide(verdict, track, steady, AT(minute));
    // As after a report that was stored.
    track =
      decision.do === "fire"
        ? { ...decision.track, fired: verdict }
        : decision.do === "resolve"
          ? { streaks: decision.track.streaks }
          : decision.track;
    return [short(decision)];
  });
}

function short({ do: what, status }: Decision): string {
  return what === "fire" ? `fire ${status[0]}` : what;
}

const [minute, ONCE] = [60_000, { fire: AT_ONCE, resolve: AT_ONCE }];
const THREE = { polls: 3, over: 2 * minute };

describe("hysteresis", () => {
  const rows: [says: string, looks: string, steady: Hysteresis, decided: string, held?: string][] = [
    ["without any, the first look counts in both directions", "wo", ONCE, "fire W, resolve"],
    [
      "a bad look too few fires nothing",
      "wwow",
      { ...ONCE, fire: THREE },
      "nothing, nothing, resolve, nothing",
    ],
    ["three in a row over two minutes fire", "www", { ...ONCE, fire: THREE }, "nothing, nothing, fire W"],
    [
      "enough looks in too short a time wait",
      "www",
      { ...ONCE, fire: { polls: 2, over: 2 * minute } },
      "nothing, nothing, fire W",
    ],
    ["enough time with too few looks waits", "w..ww", { ...ONCE, fire: THREE }, "nothing, nothing, fire W"],
    [
      "what fired is not over before it was well for long enough",
      "wowoo",
      { fire: AT_ONCE, resolve: { polls: 2, over: 0 } },
      "fire W, nothing, fire W, nothing, resolve",
    ],
    [
      "a flapping condition neither fires nor resolves",
      "wowowow",
      { fire: { polls: 2, over: 0 }, resolve: { polls: 2, over: 0 } },
      "nothing, nothing, nothing, nothing, nothing, nothing, nothing",
    ],
    [
      "a look that cannot tell neither counts nor begins again",
      "w?w?w",
      { ...ONCE, fire: THREE },
      "nothing, nothing, nothing, nothing, fire W",
    ],
    [
      "a single bad moment does not escalate",
      "wwCwCC",
      { ...ONCE, fire: { polls: 2, over: 0 } },
      "nothing, fire W, fire W, fire W, fire W, fire C",
    ],
    [
      "what is critical counts as bad for a warning too",
      "wC",
      { ...ONCE, fire: { polls: 2, over: 0 } },
      "nothing, fire W",
    ],
    [
      "what fired goes on to be while it is bad at all",
      "wwowo",
      { fire: { polls: 2, over: 0 }, resolve: { polls: 2, over: 0 } },
      "nothing, fire W, nothing, fire W, nothing",
    ],
    ["what is held back fires nothing, and ends nothing", "wwo", ONCE, "fire W, keep, resolve", ".h."],
    ["silence that ends lets it fire", "ww", ONCE, "keep, fire W", "h."],
  ];
  for (const [says, looks, steady, decided, held] of rows)
    test(`${says} (${looks})`, () => assert.equal(play(looks, steady, held).join(", "), decided));

  test("says what it waits for", () => {
    const look = (minutes: number, status: Status, track?: Track) =>
      decide({ status, identity: ["a"], summary: "" }, track, { fire: THREE, resolve: THREE }, AT(minutes));
    const first = look(0, "WARNING");
    const second = look(0.5, "WARNING", first.track);
    const third = look(1, "WARNING", second.track);
    assert.deepEqual(
      [first, second, third].map(({ waits }) => waits),
      ["1 of 3 polls", "2 of 3 polls", "for 60s of 120s"],
    );
    assert.equal(look(0, "OK").waits, undefined, "nobody waits for the end of nothing");
    const fired = { ...third.track, fired: third.verdict };
    assert.equal(look(2, "OK", fired).waits, "1 of 3 polls");
  });

  test("a clock that was set back makes no streak long", () => {
    const first = decide({ status: "WARNING", identity: [], summary: "" }, undefined, ONCE, AT(60));
    const steady = { fire: { polls: 2, over: minute }, resolve: AT_ONCE };
    const second = decide({ status: "WARNING", identity: [], summary: "" }, first.track, steady, AT(0));
    assert.equal(second.do, "nothing");
    const third = decide({ status: "WARNING", identity: [], summary: "" }, second.track, steady, AT(1));
    assert.equal(third.do, "fire");
  });

  test("whatever was seen: it fires only after enough bad looks in a row, and resolves only after enough good ones", () => {
    const looks = fc.array(fc.constantFrom("o", "w", "C", "?"), { maxLength: 30 });
    const polls = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(looks, polls, polls, (looks, toFire, toResolve) => {
        const steady = { fire: { polls: toFire, over: 0 }, resolve: { polls: toResolve, over: 0 } };
        const decided = play(looks.join(""), steady);
        let fired = false;
        const told: string[] = [];
        for (const [i, what] of decided.entries()) {
          const seen = looks.slice(0, i + 1).filter((look) => look !== "?");
          const streak = (good: boolean) => [...seen].reverse().findIndex((look) => (look === "o") !== good);
          const length = (good: boolean) => (streak(good) < 0 ? seen.length : streak(good));
          if (what.startsWith("fire") && !fired) assert.ok(length(false) >= toFire, `${looks} ${i}`);
          if (what === "resolve") assert.ok(length(true) >= toResolve, `${looks} ${i}`);
          if (looks[i] === "?") assert.equal(what, "nothing");
          if (what === "fire C") assert.equal(looks[i] === "C" || looks[i] === "w", true);
          fired = what.startsWith("fire") || (fired && what !== "resolve");
          told.push(what);
        }
      }),
    );
  });
});

describe("a status", () => {
  const rows: [Status[], Status][] = [
    [["OK", "OK"], "OK"],
    [["OK", "UNKNOWN"], "UNKNOWN"],
    [["UNKNOWN", "WARNING", "OK"], "WARNING"],
    [["WARNING", "CRITICAL", "UNKNOWN"], "CRITICAL"],
    [[], "UNKNOWN"],
  ];
  for (const [all, worst] of rows)
    test(`of ${all.join(", ") || "nothing"} together is ${worst}`, () => assert.equal(worstOf(all), worst));

  test("names the severity, unless a person does: urgent is CRITICAL, anything else WARNING", () => {
    assert.deepEqual([severityFor("WARNING"), severityFor("CRITICAL")], ["warning", "urgent"]);
    const asked = (status: Status) =>
      (["urgent", "warning", "info", undefined] as const).map((s) => statusFor(status, s));
    assert.deepEqual(asked("WARNING"), ["CRITICAL", "WARNING", "WARNING", "WARNING"]);
    assert.deepEqual(asked("CRITICAL"), ["CRITICAL", "WARNING", "WARNING", "CRITICAL"]);
    assert.deepEqual(asked("OK"), ["OK", "OK", "OK", "OK"]);
    assert.deepEqual(asked("UNKNOWN"), ["UNKNOWN", "UNKNOWN", "UNKNOWN", "UNKNOWN"]);
  });
});
