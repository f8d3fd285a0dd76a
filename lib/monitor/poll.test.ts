import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, mock, test } from "node:test";
import type { Document } from "../document.ts";
import { UsageError } from "../errors.ts";
import { look, readDocument, transact } from "../inbox.ts";
import { resolve } from "../lifecycle.ts";
import { endSession } from "../session.ts";
import { AT, DAY } from "../testing/build.ts";
import { tempDirectory } from "../testing/temp.ts";
import { timeOf } from "../time.ts";
import { type Look, type PollOptions, pollOnce } from "./poll.ts";
import { Unreadable } from "./source.ts";
import { monitorsOf, watchOf } from "./state.ts";
import { AT_ONCE } from "./steady.ts";
import { type Found, keyOf, type Verdict } from "./verdict.ts";

/** The minute on the virtual clock. */
let minute = 0;

mock.method(Date, "now", () => Date.parse(AT(minute)));

beforeEach(() => {
  minute = 0;
});

function wait(minutes: number): void {
  minute += minutes;
}

const RED: Verdict = { status: "WARNING", identity: ["acme/api", "main"], summary: "CI on main is red" };
const GREEN: Verdict = { ...RED, status: "OK", summary: "CI on main is green" };
const KEY = keyOf("ci", RED);

/** One monitor in an inbox of its own, polled as its check says. */
class Bench {
  readonly dir = join(tempDirectory("monitor"), "signals");
  options: Omit<PollOptions, "check"> = {
    dir: this.dir,
    watch: watchOf("ci", ["acme/api"], "/src"),
    by: {
      producer: "monitors/ci",
      provider: "ci",
      why: "Nothing merges.",
      action: "Read the log.",
      hints: { repository: "acme/api" },
      asked: undefined,
      severity: undefined,
    },
    steady: { fire: AT_ONCE, resolve: AT_ONCE },
    timeoutMs: 30_000,
    dryRun: false,
    onConfigFault: "throw",
  };

  async poll(
    found: Found | Error | ((look: Look) => Found | Promise<Found>),
    options: Partial<PollOptions> = {},
  ) {
    const check = async (look: Look) => {
      if (found instanceof Error) throw found;
      return typeof found === "function" ? found(look) : found;
    };
    const { report } = await pollOnce({ ...this.options, check, ...options });
    return report;
  }

  /** Each signal, as `key#generation state severity`, in the order in which they came. */
  signals(): string[] {
    const names: Record<string, string> = { [KEY]: "main" };
    const { signals } = readDocument(this.dir, timeOf(0));
    return signals.map(
      ({ key, generation, state, severity, envelope }) =>
        `${names[key] ?? envelope.summary}#${generation} ${state} ${severity}`,
    );
  }

  signal(key = KEY) {
    return readDocument(this.dir, timeOf(0)).signals.find((signal) => signal.key === key);
  }

  /** What is kept of it. */
  state() {
    return monitorsOf(this.dir, AT(minute))[0];
  }
}

describe("a poll", () => {
  test("fires what is red, once, and resolves it when it is green", async () => {
    const bench = new Bench();
    const fired = await bench.poll(RED);
    assert.deepEqual(
      [fired.status, fired.verdicts[0]?.outcome, fired.verdicts[0]?.generation, fired.read],
      ["WARNING", "fired", 1, true],
    );
    const { producer, origin, signature, hints, envelope } = bench.signal() ?? {};
    assert.deepEqual(
      [producer, origin, signature, hints, envelope?.why_it_matters, envelope?.proposed_action],
      ["monitors/ci", "monitor", "local", { repository: "acme/api" }, "Nothing merges.", "Read the log."],
    );
    wait(1);
    assert.equal((await bench.poll(RED)).verdicts[0]?.outcome, "extended");
    wait(1);
    const resolved = await bench.poll(GREEN);
    assert.deepEqual([resolved.status, resolved.verdicts[0]?.outcome], ["OK", "resolved"]);
    assert.deepEqual(bench.signals(), ["main#2 resolved warning"]);
    assert.equal(bench.signal()?.envelope.summary, "CI on main is green");
    assert.equal((await bench.poll(GREEN)).verdicts[0]?.outcome, "already_settled");
  });

  test("that finds nothing new rewrites no inbox, but keeps a signal from expiring", async () => {
    const bench = new Bench();
    await bench.poll(RED);
    const file = join(bench.dir, "inbox.json");
    const before = statSync(file).ino;
    const { expires_at } = bench.signal() ?? {};
    for (let i = 0; i < 60; i++) {
      wait(1);
      await bench.poll(RED);
    }
    assert.equal(statSync(file).ino, before, "an hour of polls");
    wait(2 * 60);
    await bench.poll(RED);
    assert.ok(String(bench.signal()?.expires_at) > String(expires_at), "a tenth of the time is over");
    for (let i = 0; i < 48; i++) {
      wait(60);
      await bench.poll(RED);
    }
    assert.deepEqual(bench.signals(), ["main#1 fired warning"]);
    await bench.poll(GREEN);
    wait(1);
    const settled = statSync(file).ino;
    await bench.poll(GREEN);
    assert.equal(statSync(file).ino, settled);
  });

  test("fires a warning for WARNING and an urgent one for CRITICAL; --severity stands above both", async () => {
    const bench = new Bench();
    const critical = { ...RED, status: "CRITICAL" as const };
    await bench.poll(RED);
    assert.equal((await bench.poll(critical)).verdicts[0]?.outcome, "escalated");
    assert.deepEqual(bench.signals(), ["main#2 fired urgent"]);

    const rows = [
      [RED, "urgent", "CRITICAL", "urgent"],
      [critical, "info", "WARNING", "info"],
      [critical, undefined, "CRITICAL", "urgent"],
      [{ ...RED, severity: "info" as const }, undefined, "WARNING", "info"],
      [{ ...RED, severity: "info" as const }, "urgent", "CRITICAL", "urgent"],
    ] as const;
    for (const [verdict, severity, status, fired] of rows) {
      const other = new Bench();
      other.options.by.severity = severity;
      assert.equal((await other.poll(verdict)).status, status);
      assert.deepEqual(other.signals(), [`main#1 fired ${fired}`]);
    }
  });

  test("that is one of several settles each by itself, and exits with the worst", async () => {
    const bench = new Bench();
    const other = { ...GREEN, identity: ["acme/api", "next"], summary: "next" };
    const report = await bench.poll([RED, other, { ...other, status: "UNKNOWN", identity: ["x"] }]);
    assert.deepEqual(
      [report.status, report.summary, report.verdicts.map(({ outcome }) => outcome)],
      ["WARNING", "CI on main is red, and 2 more", ["fired", "unknown", undefined]],
    );
    assert.equal((await bench.poll([GREEN, { ...other, status: "UNKNOWN" }])).status, "UNKNOWN");
    assert.deepEqual(bench.signals(), ["main#2 resolved warning"]);
    assert.equal((await bench.poll([])).status, "UNKNOWN");
    assert.equal((await bench.poll({ verdicts: [], gone: "gone", summary: "none" })).status, "OK");
  });

  test("ends what is gone, but only after a whole read, and only what it fired itself", async () => {
    const bench = new Bench();
    const other = { ...RED, identity: ["acme/api", "next"], summary: "next is red" };
    await bench.poll([RED, other]);
    await bench.poll({ verdicts: [other] });
    assert.equal(bench.signal()?.state, "fired", "it may be in the part that was not read");
    const report = await bench.poll({ verdicts: [other], gone: "The workflow is gone" });
    assert.deepEqual(
      report.verdicts.map(({ outcome, summary }) => [outcome, summary]),
      [
        ["extended", "next is red"],
        ["resolved", "The workflow is gone; before: CI on main is red"],
      ],
    );
    assert.equal(bench.signal()?.envelope.summary, "The workflow is gone; before: CI on main is red");
    const again = await bench.poll({ verdicts: [other], gone: "The workflow is gone" });
    assert.equal(again.verdicts.length, 1);
  });

  test("waits before it ends what is gone as long as it waits for what is well", async () => {
    const bench = new Bench();
    const steady = { fire: AT_ONCE, resolve: { polls: 2, over: 0 } };
    await bench.poll(RED, { steady });
    const gone = { verdicts: [], gone: "It is gone" };
    const first = await bench.poll(gone, { steady });
    assert.deepEqual([first.verdicts[0]?.waits, first.status], ["1 of 2 polls", "OK"]);
    await bench.poll(RED, { steady });
    await bench.poll(gone, { steady });
    assert.equal(bench.signal()?.state, "fired");
    await bench.poll(gone, { steady });
    assert.equal(bench.signal()?.state, "resolved");
  });

  test("holds back what somebody silenced: nothing is fired anew, and what is fired stays", async () => {
    const bench = new Bench();
    const held = { ...RED, status: "CRITICAL" as const, held: "silenced by ada" };
    const report = await bench.poll(held);
    assert.deepEqual([report.status, report.verdicts[0]?.waits], ["OK", "silenced by ada"]);
    assert.deepEqual(bench.signals(), []);
    await bench.poll(RED);
    for (let day = 0; day < 3; day++) {
      wait(23 * 60);
      await bench.poll(held);
    }
    assert.deepEqual(bench.signals(), ["main#1 fired warning"], "it neither expires nor gets worse");
    await bench.poll(GREEN);
    assert.deepEqual(bench.signals(), ["main#2 resolved warning"]);
  });

  test("once a day is enough to keep a signal fired, and what looks less often makes it last longer", async () => {
    for (const gap of [DAY + 1, 7 * DAY]) {
      const bench = new Bench();
      const every = gap > DAY + 1 ? { every: gap * 60_000 } : {};
      for (let i = 0; i < 5; i++) {
        assert.equal((await bench.poll(RED, every)).verdicts[0]?.outcome, i === 0 ? "fired" : "extended");
        wait(gap);
      }
      assert.deepEqual(bench.signals(), ["main#1 fired warning"]);
    }
  });

  test("that is one of very many tells the worst first, and the rest at the next looks", async () => {
    const bench = new Bench();
    const storm = Array.from({ length: 150 }, (_, i) => ({
      ...RED,
      identity: [String(i)],
      status: i >= 140 ? ("CRITICAL" as const) : ("WARNING" as const),
    }));
    const report = await bench.poll(storm);
    const waiting = report.verdicts.filter(({ waits }) => waits === "100 others were fired at this look");
    assert.deepEqual([waiting.length, waiting.some(({ status }) => status === "CRITICAL")], [50, false]);
    assert.equal((await bench.poll(storm)).verdicts.filter(({ outcome }) => outcome === "fired").length, 50);
    assert.equal(bench.signals().length, 150);
  });

  test("of an event that the inbox has no room for sees it once more", async () => {
    const bench = new Bench();
    mkdirSync(bench.dir, { mode: 0o700 });
    writeFileSync(join(bench.dir, "config.toml"), "max_signals = 1\n");
    await bench.poll(RED);
    const seen: unknown[] = [];
    const check = ({ memory }: Look) => {
      seen.push(memory["seen"]);
      memory["seen"] = "it";
      return { ...RED, identity: ["event"], once: true };
    };
    for (let i = 0; i < 2; i++) assert.equal((await bench.poll(check)).verdicts[0]?.outcome, "refused");
    assert.deepEqual(seen, [undefined, undefined]);
  });

  test("of an event fires a signal that settles once it was told", async () => {
    const bench = new Bench();
    await bench.poll({ ...RED, once: true });
    assert.equal(bench.signal()?.one_shot, true);
    await bench.poll({ verdicts: [], gone: "gone" });
    assert.equal(bench.signal()?.state, "fired", "nobody was told yet");
  });

  test("uses the source's time, so that what it read late changes nothing", async () => {
    const bench = new Bench();
    wait(10);
    await bench.poll({ ...RED, at: AT(5) });
    assert.equal((await bench.poll({ ...GREEN, at: AT(4) })).verdicts[0]?.outcome, "stale");
    assert.equal((await bench.poll({ ...GREEN, at: AT(6) })).verdicts[0]?.outcome, "resolved");
    await bench.poll({ ...RED, at: AT(7) });
    await bench.poll({ ...RED, at: AT(9) });
    assert.equal((await bench.poll({ ...GREEN, at: AT(8) })).verdicts[0]?.outcome, "stale");
    assert.equal((await bench.poll(GREEN)).verdicts[0]?.outcome, "resolved");
    assert.equal((await bench.poll({ ...RED, at: "last tuesday" })).verdicts[0]?.outcome, "refired");
  });

  test("believes what it sees twice, however old the source says it is", async () => {
    const bench = new Bench();
    wait(60);
    await bench.poll({ ...RED, at: AT(30) });
    const back = { ...GREEN, at: AT(10), summary: "main was set back" };
    const first = await bench.poll(back);
    assert.deepEqual(
      [first.verdicts[0]?.outcome, first.verdicts[0]?.waits],
      ["stale", "an older report than the one that is known; it counts at the next look"],
    );
    assert.equal((await bench.poll(back)).verdicts[0]?.outcome, "resolved");
    assert.equal((await bench.poll({ ...RED, at: AT(30) })).verdicts[0]?.outcome, "stale");
    assert.equal((await bench.poll({ ...RED, at: AT(30) })).verdicts[0]?.outcome, "refired");
    assert.equal((await bench.poll({ ...RED, at: AT(30) })).verdicts[0]?.outcome, "extended");
    assert.equal((await bench.poll({ ...GREEN, at: AT(40) })).verdicts[0]?.outcome, "resolved");
    assert.equal(
      (await bench.poll({ ...RED, at: AT(35) })).verdicts[0]?.outcome,
      "stale",
      "one look is not enough",
    );
    assert.equal((await bench.poll({ ...GREEN, at: AT(40) })).verdicts[0]?.outcome, "already_settled");
    assert.equal((await bench.poll({ ...RED, at: AT(35) })).verdicts[0]?.outcome, "stale");
  });

  test("ends what is gone also after a newer report of somebody else, and tells it again when it is back", async () => {
    const bench = new Bench();
    wait(60);
    await bench.poll({ ...RED, at: AT(30) });
    await bench.poll({ ...RED, at: AT(50) }, { watch: watchOf("other", [], "/") });
    assert.equal((await bench.poll({ verdicts: [], gone: "gone" })).verdicts[0]?.outcome, "resolved");
    await bench.poll({ ...RED, at: AT(30) });
    assert.equal((await bench.poll({ ...RED, at: AT(30) })).verdicts[0]?.outcome, "refired");
  });

  test("stores what it can when one report is refused", async () => {
    const bench = new Bench();
    mkdirSync(bench.dir, { mode: 0o700 });
    writeFileSync(join(bench.dir, "config.toml"), "max_signals = 1\n");
    const other = { ...RED, identity: ["next"], summary: "next is red" };
    const report = await bench.poll([RED, other]);
    assert.deepEqual(
      report.verdicts.map(({ outcome }) => outcome),
      ["fired", "refused"],
    );
    assert.match(report.verdicts[1]?.reason ?? "", /full|max_signals/);
    const gone = await bench.poll({ verdicts: [RED], gone: "gone" });
    assert.equal(gone.verdicts.length, 1, "what was never fired is not over");
  });

  const long = "x".repeat(5_000);
  const hostile: [what: string, verdict: Partial<Verdict>, summary: RegExp, url: RegExp][] = [
    ["of another line", { summary: "a\nb\u202ec" }, /^a b c$/, /^file:/],
    ["that is too long", { summary: long }, /^x{2000}$/, /^file:/],
    ["that is empty", { summary: "\u200b" }, /^It says nothing of itself$/, /^file:/],
    ["with a link of another kind", { source_url: "javascript:alert(1)" }, /red/, /^file:/],
    ["with a link that is too long", { source_url: `https://x/${long}` }, /red/, /^file:/],
    ["of a huge identity", { identity: ["a", "y".repeat(40_000)] }, /red/, /^file:/],
    ["with a link", { source_url: "https://ci.example.test/7" }, /red/, /^https:\/\/ci\.example\.test\/7$/],
  ];
  for (const [what, verdict, summary, url] of hostile)
    test(`stores a text ${what}`, async () => {
      const bench = new Bench();
      const [told] = (await bench.poll({ ...RED, ...verdict })).verdicts;
      assert.equal(told?.outcome, "fired");
      assert.ok((told?.summary.length ?? 0) <= 2_000);
      const { envelope } = bench.signal(told?.key) ?? {};
      assert.match(envelope?.summary ?? "", summary);
      assert.match(envelope?.source_url ?? "", url);
    });
});

describe("a check that says what is no verdict", () => {
  const rows: [what: string, found: unknown, says: RegExp][] = [
    [
      "of another status",
      { ...RED, status: "CRIT" },
      /^status: CRIT: is none of OK, WARNING, CRITICAL, UNKNOWN; correct the check$/,
    ],
    ["without a status", { identity: ["a"], summary: "x" }, /^status: undefined: is none of/],
    [
      "without an identity",
      { status: "OK", summary: "x" },
      /^identity: is no list of texts; name what makes it/,
    ],
    ["of an identity of numbers", { ...RED, identity: [1] }, /^identity: is no list of texts/],
    [
      "without a summary",
      { status: "OK", identity: ["a"] },
      /^summary: undefined: is no text; say what was seen$/,
    ],
    ["at all", undefined, /^status: undefined: is none of/],
    ["in a list", [RED, null], /^status: undefined: is none of/],
  ];
  for (const [what, found, says] of rows)
    test(`${what} is UNKNOWN, and counts`, async () => {
      const bench = new Bench();
      const report = await bench.poll(() => found as Found);
      assert.deepEqual([report.status, report.failures], ["UNKNOWN", 1]);
      assert.match(report.error ?? "", says);
    });
});

describe("where the news is at home", () => {
  test("is, for what a monitor says of itself, where its last news was when it knows no other place", async () => {
    const bench = new Bench();
    bench.options.by.hints = {};
    await bench.poll({ ...GREEN, hints: { repository: "acme/web" } });
    for (let i = 0; i < 3; i++) await bench.poll(new Error("no"));
    assert.deepEqual(readDocument(bench.dir, timeOf(0)).signals[0]?.hints, { repository: "acme/web" });
  });

  const own = { repository: "acme/web" };
  test("is what a person says, else what the verdict says, else where the monitor runs", async () => {
    const rows = [
      [RED, undefined, { repository: "acme/api" }],
      [{ ...RED, hints: own }, undefined, own],
      [{ ...RED, hints: own }, { session: "ada" }, { session: "ada" }],
      [{ ...RED, hints: own }, {}, {}],
    ] as const;
    for (const [verdict, asked, hints] of rows) {
      const bench = new Bench();
      bench.options.by.asked = asked;
      await bench.poll(verdict);
      assert.deepEqual(bench.signal()?.hints, hints);
    }
  });
});

describe("a source that cannot be read", () => {
  const broken = new Error("connect ECONNREFUSED 127.0.0.1:1");

  test("fires and resolves nothing; three times in a row, the monitor says so itself; the next good read ends that", async () => {
    const bench = new Bench();
    await bench.poll(RED);
    for (let i = 1; i <= 2; i++) {
      wait(1);
      const report = await bench.poll(broken);
      assert.deepEqual(
        [report.status, report.read, report.failures, report.verdicts],
        ["UNKNOWN", false, i, []],
      );
      assert.deepEqual(bench.signals(), ["main#1 fired warning"]);
    }
    wait(1);
    await bench.poll(broken);
    const [, own] = readDocument(bench.dir, timeOf(0)).signals;
    assert.deepEqual(
      [own?.state, own?.severity, own?.producer, own?.hints],
      ["fired", "warning", "monitors/ci", { repository: "acme/api" }],
    );
    assert.equal(
      own?.envelope.summary,
      `The monitor ci acme/api has not been able to read its source since ${AT(0)}: connect ECONNREFUSED 127.0.0.1:1`,
    );
    wait(1);
    await bench.poll(broken);
    assert.equal(bench.signal(own?.key)?.generation, 1, "once per real change");
    wait(1);
    await bench.poll(GREEN);
    assert.deepEqual([bench.signal()?.state, bench.signal(own?.key)?.state], ["resolved", "resolved"]);
    assert.equal(bench.signal(own?.key)?.envelope.summary, "The monitor ci acme/api reads its source again");
  });

  test("is counted on disk, so that one-shot runs count, and begins again after a good read", async () => {
    const bench = new Bench();
    for (const found of [broken, broken, GREEN, broken, broken]) await bench.poll(found);
    assert.deepEqual(bench.signals(), []);
    assert.deepEqual([bench.state()?.failures, bench.state()?.error], [2, broken.message]);
    await bench.poll(broken);
    assert.equal(bench.signals().length, 1);
  });

  test("is a warning whatever --severity says, and whoever asked for other severities", async () => {
    const bench = new Bench();
    bench.options.by.severity = "urgent";
    for (let i = 0; i < 3; i++) await bench.poll(broken);
    assert.match(bench.signals()[0] ?? "", /fired warning$/);
  });

  test("that asks for time is not asked before, and that is no failure", async () => {
    const bench = new Bench();
    let asked = 0;
    const check = () => {
      asked++;
      throw new Unreadable("slow down", { waitMs: 5 * 60_000 });
    };
    assert.equal((await bench.poll(check)).not_before, AT(5));
    for (let i = 0; i < 4; i++) {
      wait(1);
      const report = await bench.poll(check);
      assert.deepEqual([report.failures, report.status, report.read], [1, "UNKNOWN", false]);
      assert.equal(report.summary, `the source asked not to be asked before ${AT(5)} (slow down)`);
    }
    assert.equal(asked, 1);
    wait(1);
    await bench.poll(GREEN);
    const { not_before, failures, error } = bench.state() ?? {};
    assert.deepEqual([not_before, failures, error], [undefined, 0, undefined]);
  });

  test("that is to be asked only weeks later, as a clock that was ahead may have written, is asked", async () => {
    const bench = new Bench();
    wait(40 * DAY);
    await bench.poll(new Unreadable("slow down", { waitMs: 60_000 }));
    wait(-40 * DAY);
    assert.equal((await bench.poll(RED)).verdicts[0]?.outcome, "fired");
  });

  test("that is read in part tells that part; three times in a row, it says what is missing", async () => {
    const bench = new Bench();
    const unread = new Unreadable("ci.example.test/checks: answered 502");
    await bench.poll(GREEN);
    for (let i = 1; i <= 3; i++) {
      wait(1);
      const report = await bench.poll({ verdicts: [GREEN, { ...RED, identity: [String(i)] }], unread });
      assert.deepEqual(
        [report.status, report.read, report.partial, report.failures, report.verdicts[1]?.outcome],
        ["WARNING", false, true, i, "fired"],
      );
    }
    assert.equal(
      readDocument(bench.dir, timeOf(0)).signals.at(-1)?.envelope.summary,
      `The monitor ci acme/api has not been able to read all of its source since ${AT(0)}: ${unread.message}`,
    );
    const well = await bench.poll({ verdicts: [GREEN], unread });
    assert.equal(well.status, "UNKNOWN", "nobody knows whether all is well");
    assert.equal((await bench.poll(GREEN)).read_at, AT(minute));
    assert.match(bench.signals().join(), /reads its source again#2 resolved warning/);
  });

  test("in part, and asks for time, is given it", async () => {
    const bench = new Bench();
    const unread = new Unreadable("slow down", { waitMs: 120_000 });
    assert.equal((await bench.poll({ verdicts: [GREEN], unread })).not_before, AT(2));
  });

  test("that limits without a time is left alone for a minute, and longer each time", async () => {
    const bench = new Bench();
    for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const report = await bench.poll(new Unreadable("limited", { limited: true }));
      assert.equal(report.not_before, AT(minute + minutes));
      wait(minutes);
    }
  });

  test("within its time is late, and what it says later is not heard", async () => {
    const bench = new Bench();
    const aborted: boolean[] = [];
    const report = await bench.poll(
      ({ signal }) =>
        new Promise<Found>((_, reject) =>
          signal.addEventListener("abort", () => {
            aborted.push(true);
            reject(new Error("late"));
          }),
        ),
      { timeoutMs: 20 },
    );
    assert.deepEqual([report.error, aborted], ["took longer than 0.02s", [true]]);
  });

  test("since it was stopped is no failure", async () => {
    const bench = new Bench();
    const stop = new AbortController();
    const check = () => {
      stop.abort();
      return new Promise<Found>(() => {});
    };
    await assert.rejects(bench.poll(check, { stop: stop.signal }), /was stopped/);
    assert.equal(bench.state(), undefined);
  });

  test("because of wrong flags is the caller's fault, and is not counted", async () => {
    const bench = new Bench();
    await assert.rejects(bench.poll(new UsageError("--branch: is wrong")), UsageError);
    assert.equal(bench.state(), undefined);
  });
});

describe("what is kept from poll to poll", () => {
  test("is a file of one's own per monitor, what it watches, and from where", async () => {
    const bench = new Bench();
    await bench.poll(({ memory }) => {
      memory["seen"] = ["a"];
      return GREEN;
    });
    const file = readdirSync(join(bench.dir, "monitors"));
    assert.equal(file.length, 1);
    assert.match(file[0] ?? "", /^ci\.[0-9a-f]{16}\.json$/);
    assert.equal(statSync(join(bench.dir, "monitors", file[0] ?? "")).mode & 0o777, 0o600);
    const report = await bench.poll(({ memory }) => ({ ...GREEN, summary: JSON.stringify(memory) }));
    assert.equal(report.summary, '{"seen":["a"]}');
    for (const watch of [
      watchOf("ci", ["acme/web"], "/src"),
      watchOf("cd", ["acme/api"], "/src"),
      watchOf("ci", ["acme/api"], "/other"),
    ]) {
      const other = await bench.poll(({ memory }) => ({ ...GREEN, summary: JSON.stringify(memory) }), {
        watch,
      });
      assert.equal(other.summary, "{}");
    }
    assert.equal(readdirSync(join(bench.dir, "monitors")).length, 4);
  });

  test("holds the answers of a source only as long as they are asked for", async () => {
    const bench = new Bench();
    await bench.poll(({ memory }) => {
      memory["etag:1"] = { etag: "1", data: {} };
      memory["own"] = 1;
      return GREEN;
    });
    assert.deepEqual(bench.state()?.memory, { own: 1 });
  });

  test("does not keep what a failed poll remembered", async () => {
    const bench = new Bench();
    await bench.poll(({ memory }) => {
      memory["half"] = true;
      throw new Error("cut off");
    });
    assert.deepEqual(bench.state()?.memory, {});
  });

  for (const [what, text] of [
    ["is no JSON", "{"],
    ["is of another shape", '{"name":"ci","args":[],"cwd":"/","failures":0,"tracks":{"a":null},"memory":{}}'],
    ["is empty", ""],
  ] as const)
    test(`that ${what} begins anew, and loses no signal`, async () => {
      const bench = new Bench();
      await bench.poll(RED);
      const [file = ""] = readdirSync(join(bench.dir, "monitors"));
      writeFileSync(join(bench.dir, "monitors", file), text);
      assert.equal((await bench.poll({ verdicts: [RED], gone: "gone" })).verdicts[0]?.outcome, "extended");
      assert.equal((await bench.poll(GREEN)).verdicts[0]?.outcome, "resolved");
    });

  test("is shown for a week without a poll, and forgotten after three months", async () => {
    const bench = new Bench();
    const others = () => bench.poll(GREEN, { watch: watchOf("other", [], "/") });
    await bench.poll(GREEN);
    await others();
    wait(8 * DAY);
    assert.deepEqual(monitorsOf(bench.dir, AT(minute)), []);
    await others();
    assert.equal(readdirSync(join(bench.dir, "monitors")).length, 2, "some look once a month");
    wait(83 * DAY);
    await others();
    assert.equal(readdirSync(join(bench.dir, "monitors")).length, 1);
  });

  test("is not touched by a dry run, nor is the inbox, and it says what would be", async () => {
    const bench = new Bench();
    const dry = { dryRun: true };
    const first = await bench.poll(RED, dry);
    assert.deepEqual([first.status, first.verdicts[0]?.outcome], ["WARNING", undefined]);
    for (let i = 0; i < 4; i++) await bench.poll(new Error("no"), dry);
    assert.throws(() => statSync(bench.dir), /ENOENT/);
    await bench.poll(RED);
    const before = readFileSync(join(bench.dir, "inbox.json"), "utf8");
    await bench.poll(GREEN, dry);
    for (let i = 0; i < 4; i++) assert.equal((await bench.poll(new Error("no"), dry)).failures, 1);
    assert.equal(readFileSync(join(bench.dir, "inbox.json"), "utf8"), before);
    assert.equal(bench.state()?.status, "WARNING");
  });
});

describe("an inbox that cannot be used", () => {
  test("loses nothing: what is red is reported when it can be", async () => {
    const bench = new Bench();
    mkdirSync(bench.dir, { mode: 0o700 });
    writeFileSync(join(bench.dir, "inbox.json"), "{");
    await assert.rejects(bench.poll(RED), /is not JSON/);
    rmSync(join(bench.dir, "inbox.json"));
    assert.equal((await bench.poll(RED)).verdicts[0]?.outcome, "fired");
    writeFileSync(join(bench.dir, "inbox.json"), "{");
    await assert.rejects(bench.poll({ verdicts: [], gone: "gone" }), /is not JSON/);
  });

  test("a config.toml that is broken stops a single run, and is said by one that goes on with the last valid one", async () => {
    const bench = new Bench();
    await bench.poll(GREEN);
    writeFileSync(join(bench.dir, "config.toml"), "min_severity = 7\n");
    await assert.rejects(bench.poll(RED), /config\.toml:1: min_severity/);
    const report = await bench.poll(RED, { onConfigFault: "keep" });
    assert.match(report.config_fault ?? "", /config\.toml:1: min_severity/);
    assert.equal(report.verdicts[0]?.outcome, "fired");
  });

  test("knows the sessions that are heard from", async () => {
    const bench = new Bench();
    const ada = {
      id: "ada",
      harness: "codex",
      cwd: "/src",
      state: "busy",
      registers: true,
      subagent: false,
    } as const;
    await transact(bench.dir, { checkIn: ada }, { onConfigFault: "throw" });
    const seen: string[] = [];
    const check = async ({ sessions }: Look) => {
      seen.push(...(await sessions()).map(({ id }) => id));
      return GREEN;
    };
    await bench.poll(check);
    const end = (doc: Document, now: string) => [endSession(doc, "ada", now), undefined] as const;
    await transact(bench.dir, { change: end }, { onConfigFault: "throw" });
    await bench.poll(check);
    assert.deepEqual(seen, ["ada"]);
  });

  test("a condition that somebody resolved by hand fires again while it holds", async () => {
    const bench = new Bench();
    await bench.poll(RED);
    const by = { key: KEY, producer: "manual", signature: "local", origin: "human" } as const;
    await transact(
      bench.dir,
      { change: (doc, now) => [resolve(doc, by, now)[0], undefined] },
      { onConfigFault: "throw" },
    );
    assert.equal((await look(bench.dir)).doc.signals[0]?.state, "resolved");
    assert.equal((await bench.poll(RED)).verdicts[0]?.outcome, "refired");
  });
});
