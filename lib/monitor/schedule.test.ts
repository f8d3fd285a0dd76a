import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Schedule } from "./schedule.ts";

const MINUTE = 60_000;
const START = 1_000_000;

/** A schedule on a clock that only the test moves, with polls that take no time. */
class World {
  readonly schedule = new Schedule();
  now = START;
  /** What was polled: the id, and how long after the start. */
  readonly polls: [id: string, at: number][] = [];

  /** Lives for so long, as its user does: sleeps for as long as it is told, and no longer than a second. */
  live(ms: number, pause: (id: string) => number): void {
    for (const end = this.now + ms; this.now < end; ) {
      for (const id of this.schedule.take(this.now)) {
        this.polls.push([id, this.now - START]);
        this.schedule.done(id, this.now, pause(id));
      }
      this.now += Math.max(1, Math.min(this.schedule.next(this.now) ?? 1000, 1000, end - this.now));
    }
  }

  of(id: string): number[] {
    return this.polls.flatMap(([other, at]) => (other === id ? [at] : []));
  }
}

test("each entry is polled after its own pause, and the first polls are spread a little", () => {
  const world = new World();
  world.schedule.set(["a", "b", "c"], world.now);
  world.live(3 * MINUTE, (id) => (id === "b" ? 2 * MINUTE : MINUTE));
  assert.deepEqual(world.of("a"), [0, MINUTE, 2 * MINUTE]);
  assert.deepEqual(world.of("b"), [250, 2 * MINUTE + 250]);
  assert.deepEqual(world.of("c"), [500, MINUTE + 500, 2 * MINUTE + 500]);
});

test("an entry is never polled twice at once, however long a poll takes", () => {
  const schedule = new Schedule();
  schedule.set(["a"], START);
  assert.deepEqual(schedule.take(START), ["a"]);
  assert.deepEqual(schedule.take(START + 10 * MINUTE), []);
  assert.equal(schedule.next(START + 10 * MINUTE), undefined, "only its end helps");
  schedule.set([], START);
  schedule.set(["a"], START);
  assert.deepEqual(schedule.take(START), [], "nor when it was gone for a moment");
  schedule.done("a", START + 10 * MINUTE, MINUTE);
  assert.deepEqual(schedule.take(START + 10 * MINUTE), ["a"], "it is another one, which was not polled yet");
});

test("only six are polled together, the longest due first", () => {
  const schedule = new Schedule();
  const ids = Array.from({ length: 9 }, (_, i) => `m${i}`);
  schedule.set(ids, START);
  const later = START + MINUTE;
  assert.deepEqual(schedule.take(later), ids.slice(0, 6));
  assert.deepEqual([schedule.take(later), schedule.next(later)], [[], undefined]);
  schedule.done("m3", later, MINUTE);
  assert.deepEqual(schedule.take(later), ["m6"]);
});

test("a change begins anew only what changed", () => {
  const world = new World();
  world.schedule.set(["a", "b"], world.now);
  world.live(10_000, () => MINUTE);
  world.schedule.set(["b", "a", "c"], world.now, ["b"]);
  world.live(10_000, () => MINUTE);
  assert.deepEqual([world.of("a"), world.of("b"), world.of("c")], [[0], [250, 10_000], [10_250]]);
  world.schedule.set(["a"], world.now);
  world.live(MINUTE, () => MINUTE);
  assert.deepEqual([world.of("a"), world.of("b"), world.of("c")], [[0, MINUTE], [250, 10_000], [10_250]]);
});

test("what changes while it is polled is polled again at once", () => {
  const schedule = new Schedule();
  schedule.set(["a"], START);
  schedule.take(START);
  schedule.set(["a"], START, ["a"]);
  schedule.done("a", START + 5, MINUTE);
  assert.deepEqual(schedule.take(START + 5), ["a"]);
});

describe("a clock that leaps", () => {
  test("forward, as over a sleep of the machine, brings one poll and not one for each that was missed", () => {
    const world = new World();
    world.schedule.set(["a"], world.now);
    world.live(1000, () => MINUTE);
    world.now += 600 * MINUTE;
    world.live(1000, () => MINUTE);
    assert.deepEqual(world.of("a"), [0, 600 * MINUTE + 1000]);
  });

  test("back silences nothing for longer than its pause", () => {
    const world = new World();
    world.schedule.set(["a"], world.now);
    world.live(1000, () => MINUTE);
    world.now -= 600 * MINUTE;
    const [before] = [world.polls.length];
    world.live(MINUTE + 1000, () => MINUTE);
    assert.equal(world.polls.length, before + 1);
  });
});

test("whatever comes, nothing runs twice, never more than six run, and what is due and has room is taken", () => {
  const id = fc.constantFrom(..."abcdefgh");
  const step = fc.oneof(
    fc.record({ do: fc.constant("set" as const), ids: fc.uniqueArray(id), again: fc.uniqueArray(id) }),
    fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: -5000, max: 20_000 }) }),
    fc.record({ do: fc.constant("done" as const), id, pause: fc.integer({ min: 0, max: 10_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const schedule = new Schedule();
      const running = new Set<string>();
      let now = START;
      let ids: string[] = [];
      for (const one of steps) {
        if (one.do === "set") ids = one.ids;
        if (one.do === "set") schedule.set(ids, now, one.again);
        else if (one.do === "wait") now += one.ms;
        else if (running.delete(one.id)) schedule.done(one.id, now, one.pause);
        const isDue = schedule.next(now) === 0;
        const taken = schedule.take(now);
        assert.equal(taken.length > 0, isDue);
        for (const id of taken) {
          assert.ok(!running.has(id) && ids.includes(id));
          running.add(id);
        }
        assert.ok(running.size <= 6);
        // Whoever sleeps as long as it is told finds something to do.
        const wait = schedule.next(now);
        if (wait !== undefined && running.size < 6) assert.ok(wait > 0 && wait <= 20_000);
      }
    }),
  );
});
