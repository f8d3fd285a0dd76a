import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { describeConfig, parseConfig } from "./config.ts";
import { SignalsError } from "./errors.ts";
import { type Config, DEFAULTS } from "./policy.ts";
import { hasForbidden } from "./text.ts";

const FILE = "/home/u/.harn/signals/config.toml";
const KEYS =
  "min_severity, lease, stale_after, expire_after, retain, max_signals, max_bytes, fallback_role, mute, monitor";
const MUTE_KEYS = "key, producer, provider, repository, until, reason";
const MONITOR_KEYS = "run, every, args, repository";
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** A monitor of which only `run` was written. */
const MONITOR = { run: "", every: MINUTE, args: [] };

/** The message of the refusal, without `FILE:`. */
function refusal(text: string): string {
  try {
    parseConfig(text, FILE);
  } catch (error) {
    assert.ok(error instanceof SignalsError, `not a SignalsError: ${(error as Error).stack}`);
    assert.ok(error.message.startsWith(`${FILE}:`));
    return error.message.slice(FILE.length + 1);
  }
  return assert.fail(`accepted: ${text}`);
}

describe("a configuration that is accepted", () => {
  const cases: [name: string, text: string, config: Partial<Config>][] = [
    ["an empty file", "", {}],
    ["a file of comments", "# lease = 'x'\r\n\r\n", {}],
    ["a byte order mark", "\ufefflease = '5m'", { lease: 5 * MINUTE }],
    ["a severity", "min_severity = 'urgent'", { min_severity: "urgent" }],
    ["every unit of time", "lease = '1500ms'\nretain = '2w'", { lease: 1500, retain: 14 * DAY }],
    ["the longest duration", "retain = '3650d'", { retain: 3650 * DAY }],
    ["a count", "max_signals = 5", { max_signals: 5 }],
    ["bytes as a number", "max_bytes = 65_536", { max_bytes: 65_536 }],
    ["bytes as text", "max_bytes = '512'", { max_bytes: 512 }],
    ["bytes with B", "max_bytes = '512 B'", { max_bytes: 512 }],
    ["bytes with KiB", "max_bytes = '64KiB'", { max_bytes: 65_536 }],
    ["bytes with MiB", "max_bytes = '2MiB'", { max_bytes: 2 * 1024 ** 2 }],
    ["bytes with GiB", "max_bytes = '1GiB'", { max_bytes: 1024 ** 3 }],
    [
      "lease and stale_after that fit",
      "lease = '1h'\nstale_after = '2h'",
      { lease: 60 * MINUTE, stale_after: 120 * MINUTE },
    ],
    ["a role", "fallback_role = 'on-call'", { fallback_role: "on-call" }],
    ["no mutes", "mute = []", { mute: [] }],
    ["a mute in one line", "mute = [{ key = 'ci:*' }]", { mute: [{ key: "ci:*" }] }],
    [
      "several mutes",
      `[[mute]]
       repository = "acme/api"
       until = 2026-12-01T08:00:00+02:00
       reason = "known flake"
       [[mute]]
       producer = "ci"
       provider = "github"
       until = "2026-12-01 08:00:00Z"`,
      {
        mute: [
          { repository: "acme/api", until: "2026-12-01T06:00:00.000Z", reason: "known flake" },
          { producer: "ci", provider: "github", until: "2026-12-01T08:00:00.000Z" },
        ],
      },
    ],
    ["a monitor of few words", "monitor = [{ run = 'http' }]", { monitor: [{ ...MONITOR, run: "http" }] }],
    [
      "several monitors",
      `[[monitor]]
       run = "github-ci"
       every = "5m"
       args = ["acme/api", "--branch", "main"]
       repository = "git.example/acme/api"
       [[monitor]]
       run = "./a disk.sh"
       every = "1s"
       args = ["-w", "80 % of $HOME", """two
lines""", ""]
       repository = "https://git.example/acme/web.git"`,
      {
        monitor: [
          {
            run: "github-ci",
            every: 5 * MINUTE,
            args: ["acme/api", "--branch", "main"],
            repository: "git.example/acme/api",
          },
          {
            run: "./a disk.sh",
            every: 1000,
            args: ["-w", "80 % of $HOME", "two\nlines", ""],
            repository: "https://git.example/acme/web.git",
          },
        ],
      },
    ],
    [
      "a monitor that is nowhere",
      "[[monitor]]\nrun = 'githb-ci'",
      { monitor: [{ ...MONITOR, run: "githb-ci" }] },
    ],
  ];
  for (const [name, text, config] of cases) {
    test(name, () => assert.deepEqual(parseConfig(text, FILE), { ...DEFAULTS, ...config }));
  }
});

describe("a configuration that is refused", () => {
  const not = {
    duration: "is not a duration; write a whole number and a unit, such as 10m",
    count: "is not a whole number; write one, such as 1000",
    size: "is not a size; write a whole number of bytes, or one with KiB, MiB or GiB, such as 4MiB",
    time: "is not a point in time; write date, time and zone, such as 2026-12-01T08:00:00Z",
    zoned: "names no time zone; add Z for UTC, or an offset such as +02:00",
    positive: "is not more than zero; write a larger one",
    text: 'is not text; write it in quotes, such as "acme"',
    list: "is not a list of tables; begin each entry with the line [[mute]]",
  };
  const monitor = (line: string) => `[[monitor]]\nrun = 'http'\n${line}`;
  const until = (value: string) => `[[mute]]\nkey = 'a'\nuntil = ${value}`;
  const cases: [text: string, message: string][] = [
    ["\n\nmin_severty = 'info'", "3: min_severty: unknown key; did you mean min_severity?"],
    ["colour = 1", `1: colour: unknown key; the known ones are ${KEYS}`],
    ["[colour.of]\nx = 1", `1: colour: unknown key; the known ones are ${KEYS}`],
    ["__proto__ = 1", `1: __proto__: unknown key; the known ones are ${KEYS}`],
    ["[__proto__]\nlease = '1m'", `1: __proto__: unknown key; the known ones are ${KEYS}`],
    ["constructor.prototype.x = 1", `1: constructor: unknown key; the known ones are ${KEYS}`],
    ["toString = 1", `1: toString: unknown key; the known ones are ${KEYS}`],
    ['"" = 1', `1: "": unknown key; the known ones are ${KEYS}`],
    ['"a\\n\\u001B\\u202Eb" = 1', `1: "a b": unknown key; the known ones are ${KEYS}`],
    ["[[mute]]\nrepositry = 'a'", "2: mute[0].repositry: unknown key; did you mean repository?"],
    [
      "[[mute]]\nkey = 'a'\n__proto__.x = 1",
      `3: mute[0].__proto__: unknown key; the known ones are ${MUTE_KEYS}`,
    ],
    [
      "min_severity = 'high'",
      '1: min_severity: "high" is not a severity; write one of info, warning, urgent',
    ],
    ["lease = '10 minutes'", `1: lease: "10 minutes" ${not.duration}`],
    ["lease = '1.5h'", `1: lease: "1.5h" ${not.duration}`],
    ["lease = 10", `1: lease: 10 ${not.duration}`],
    ["lease = inf", `1: lease: Infinity ${not.duration}`],
    ["lease.of = 'x'", `1: lease: a table ${not.duration}`],
    ["lease = ['1m']", `1: lease: a list ${not.duration}`],
    ["lease = 12:00:00", `1: lease: 12:00:00 ${not.duration}`],
    ["lease = '0m'", `1: lease: "0m" ${not.positive}`],
    ["retain = '3651d'", '1: retain: "3651d" is too long; write at most 3650d'],
    ["lease = '30m'", "1: lease: 30m is not shorter than stale_after, 30m; write a shorter one"],
    ["stale_after = '5m'", "1: stale_after: 5m is not longer than lease, 10m; write a longer one"],
    [
      "stale_after = '1h'\nlease = '2h'",
      "2: lease: 2h is not shorter than stale_after, 1h; write a shorter one",
    ],
    ["max_signals = '5'", `1: max_signals: "5" ${not.count}`],
    ["max_signals = 1.5", `1: max_signals: 1.5 ${not.count}`],
    ["max_signals = nan", `1: max_signals: NaN ${not.count}`],
    ["max_signals = -1", `1: max_signals: -1 ${not.positive}`],
    ["max_signals = 100001", "1: max_signals: 100001 is too many; write at most 100000"],
    ["max_bytes = '4MB'", `1: max_bytes: "4MB" ${not.size}`],
    ["max_bytes = '4 kB'", `1: max_bytes: "4 kB" ${not.size}`],
    ["max_bytes = ''", `1: max_bytes: "" ${not.size}`],
    ["max_bytes = true", `1: max_bytes: true ${not.size}`],
    ["max_bytes = 0", `1: max_bytes: 0 ${not.positive}`],
    ["max_bytes = '2GiB'", '1: max_bytes: "2GiB" is too large; write at most 1GiB'],
    ["fallback_role = 1", `1: fallback_role: 1 ${not.text}`],
    ["fallback_role = ' '", '1: fallback_role: "" is empty; write something, or leave the line out'],
    [
      'fallback_role = "a\\u200Bb"',
      '1: fallback_role: "a b" holds line breaks or invisible characters; leave them out',
    ],
    [
      `fallback_role = '${"x".repeat(201)}'`,
      `1: fallback_role: "${"x".repeat(80)}…" is too long; write at most 200 characters`,
    ],
    ["mute = 'acme/*'", `1: mute: "acme/*" ${not.list}`],
    ["[mute]\nkey = 'a'", `1: mute: a table ${not.list}`],
    ["mute = ['a']", '1: mute[0]: "a" is not a table; begin each entry with the line [[mute]]'],
    [
      "[[mute]]\nreason = 'x'",
      "1: mute[0]: a table names nothing to mute; give at least one of key, producer, provider, repository",
    ],
    [
      "mute = [2026-12-01]",
      "1: mute[0]: 2026-12-01 names nothing to mute; give at least one of key, producer, provider, repository",
    ],
    ["[[mute]]\nkey = ['a']", `2: mute[0].key: a list ${not.text}`],
    [until("2026-12-01T08:00:00"), `3: mute[0].until: 2026-12-01T08:00:00 ${not.zoned}`],
    [until("'2026-12-01T08:00'"), `3: mute[0].until: "2026-12-01T08:00" ${not.zoned}`],
    [until("2026-12-01"), `3: mute[0].until: 2026-12-01 ${not.time}`],
    [until("08:00:00"), `3: mute[0].until: 08:00:00 ${not.time}`],
    [until("'tomorrow'"), `3: mute[0].until: "tomorrow" ${not.time}`],
    [until("1796112000"), `3: mute[0].until: 1796112000 ${not.time}`],
    [until("{}"), `3: mute[0].until: a table ${not.time}`],
    [
      "monitor = 'http'",
      '1: monitor: "http" is not a list of tables; begin each entry with the line [[monitor]]',
    ],
    [
      "monitor = ['http']",
      '1: monitor[0]: "http" is not a table; begin each entry with the line [[monitor]]',
    ],
    [monitor("evry = '1m'"), "3: monitor[0].evry: unknown key; did you mean every?"],
    [monitor("colour = 1"), `3: monitor[0].colour: unknown key; the known ones are ${MONITOR_KEYS}`],
    ["\n[[monitor]]\nevery = '1m'", "2: monitor[0]: a table lacks run; add it"],
    ["[[monitor]]\nrun = ''", '2: monitor[0].run: "" is empty; write something, or leave the line out'],
    [monitor("every = 60"), `3: monitor[0].every: 60 ${not.duration}`],
    [monitor("every = '999ms'"), '3: monitor[0].every: "999ms" is too short; write at least 1s'],
    [monitor("every = '0s'"), `3: monitor[0].every: "0s" ${not.positive}`],
    [monitor("every = '25h'"), '3: monitor[0].every: "25h" is too long; write at most 1d'],
    [monitor("args = 'acme/api'"), '3: monitor[0].args: "acme/api" is not a list; write ["acme/api"]'],
    [monitor("args = ['-w', 80]"), '3: monitor[0].args[1]: 80 is not text; write it in quotes, such as "80"'],
    [monitor('args = ["a\\u0000b"]'), '3: monitor[0].args[0]: "a b" holds a zero byte; leave it out'],
    [
      monitor("repository = 'api'"),
      '3: monitor[0].repository: "api" is no repository; write OWNER/NAME or HOST/OWNER/NAME',
    ],
    [
      "lease = '5m'\nlease = '6m'",
      "2: not valid TOML: trying to redefine an already defined table or value; correct this line",
    ],
    ["\n\nlease = 5m", "3: not valid TOML: illegal character in numeric literal; correct this line"],
    ["lease", "1: not valid TOML: incomplete key-value: cannot find end of key; correct this line"],
    [`#${"x".repeat(70_000)}`, "1: the file is too long; keep it to 65536 characters"],
  ];
  for (const [text, message] of cases) {
    test(`${JSON.stringify(text).slice(0, 60)}: ${message.slice(0, 60)}`, () => {
      assert.equal(refusal(text), message);
    });
  }
});

describe("the line of a fault", () => {
  const cases: [name: string, line: number, text: string][] = [
    ["the first of several faults counts", 2, "\nx = 1\nlease = 1\n[[mute]]\n"],
    ["it is that of the key, wherever zod looks first", 1, "x = 1\nlease = 1"],
    ["Windows line ends count once", 3, "# a\r\n\r\nlease = 1\r\n"],
    ["blank lines and comments before the key are not the key's", 4, "retain = '1d'\n\n# [x\nlease = 1"],
    [
      "a multi-line string holds no keys",
      5,
      'fallback_role = """\\\n lease = 1 \\\n [[mute]] \\\n x"""\nlease = 1',
    ],
    ["a multi-line string may end in quotes", 2, "fallback_role = '''[x'''''\nlease = 1"],
    ["a string may hold brackets, quotes and comments", 2, `fallback_role = "[{#\\"'''"\nlease = 1`],
    [
      "a value over several lines belongs to the line of its key",
      2,
      "\nmute = [\n  { key = 'a' }, # ]\n  { key = 1 },\n]",
    ],
    ["a key after such a value has its own", 5, "mute = [\n  { key = 'a' },\n  { key = ']' },\n]\nlease = 1"],
    ["each entry of an array has its own", 5, "[[mute]]\nkey = 'a'\n\n[[mute]]\nkey = 1\n[[mute]]\nkey = 1"],
    [
      "an entry that lacks something is at its header",
      3,
      "[[mute]]\nkey = 'a'\n[[ mute ]] # key = 'b'\nreason = 'x'",
    ],
    ["quoted keys and headers are keys", 3, "[['mute']]\n\"key\" = 'a'\n\"unti\\u006C\" = 1"],
    ["a dotted key is at its own line", 2, "retain = '1d'\nlease.of . 'x' = 1"],
  ];
  for (const [name, line, text] of cases) {
    test(name, () => assert.equal(Number.parseInt(refusal(text), 10), line, refusal(text)));
  }

  test("among any accepted statements is that of the fault", () => {
    const filler = fc.constantFrom("", "# lease = 1", "# '''", '# """', "  ");
    const key = fc.constantFrom(
      "'a[{#'",
      '"\\"]"',
      '"""a"""',
      "'''a''' # '",
      '"""\\\n  lease = 1"""',
      "'''\na'''",
    );
    const entry = key.map((value) => `[[mute]]\nkey = ${value}`);
    const before = fc.array(fc.oneof(filler, entry));
    const fault = fc.constantFrom("[[mute]]", "[x]", "[mute.x]", "[[mute]]\n# x");
    fc.assert(
      fc.property(before, fault, fc.array(fc.oneof(filler, entry)), (before, fault, after) => {
        fc.pre(fault !== "[mute.x]" || before.some((part) => part.startsWith("[[mute]]")));
        const line = before.join("\n").split("\n").length + (before.length > 0 ? 1 : 0);
        assert.equal(Number.parseInt(refusal([...before, fault, ...after].join("\n")), 10), line);
      }),
    );
  });
});

describe("a description", () => {
  test("without a file has the defaults, as a person would write them", () => {
    const from = "default";
    assert.deepEqual(describeConfig(undefined, FILE), {
      config: DEFAULTS,
      values: {
        min_severity: { value: "info", from },
        lease: { value: "10m", from },
        stale_after: { value: "30m", from },
        expire_after: { value: "1d", from },
        retain: { value: "7d", from },
        max_signals: { value: 1000, from },
        max_bytes: { value: "4MiB", from },
        fallback_role: { value: "control", from },
        mute: { value: [], from },
        monitor: { value: [], from },
      },
    });
  });

  test("names the line of what the file says, each mute and each monitor by itself", () => {
    const monitor = "[[monitor]]\nrun = 'http'\nevery = '90s'\n";
    const text = `lease = '60s'\nmax_bytes = 1000\n\n[[mute]]\nkey = 'a'\n[[mute]]\nkey = 'b'\n${monitor}`;
    const { values, config } = describeConfig(text, FILE);
    const expected = {
      ...describeConfig(undefined, FILE).values,
      lease: { value: "1m", from: `${FILE}:1` },
      max_bytes: { value: 1000, from: `${FILE}:2` },
      "mute[0]": { value: { key: "a" }, from: `${FILE}:4` },
      "mute[1]": { value: { key: "b" }, from: `${FILE}:6` },
      "monitor[0]": { value: { run: "http", every: "90s", args: [] }, from: `${FILE}:8` },
    };
    const { mute: _none, monitor: _neither, ...rest } = expected as typeof values;
    assert.deepEqual(values, rest);
    assert.deepEqual(config, parseConfig(text, FILE));
  });

  test("of an empty list names its line", () => {
    const { mute } = describeConfig("\nmute = []", FILE).values;
    assert.deepEqual(mute, { value: [], from: `${FILE}:2` });
  });

  test("of a file with a fault is refused like the file", () => {
    assert.throws(() => describeConfig("lease = 1", FILE), { message: `${FILE}:${refusal("lease = 1")}` });
  });
});

test("any text gives a configuration or a refusal of one line that begins with the file and a line", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ..."[ ] [[ ]] { } = . , # \\ \" ' \"\"\" ''' \n \r\n".split(" "),
      " ",
      "\t",
      "\u202e",
      "\ud800",
    ),
    fc.constantFrom(
      ...KEYS.split(", "),
      ...MUTE_KEYS.split(", "),
      ...MONITOR_KEYS.split(", "),
      "__proto__",
      "constructor",
      "toString",
      '"a\\nb"',
    ),
    fc.constantFrom(
      "'10m'",
      "'0s'",
      "1",
      "-1.5",
      "inf",
      "true",
      "{}",
      "[]",
      "2026-12-01",
      "2026-12-01T08:00:00",
      "''",
    ),
    fc.string({ unit: "binary", maxLength: 5 }),
  );
  const value = fc.constantFrom(
    "'10m'",
    "1",
    "{}",
    "[]",
    "[{}]",
    "[{key='a'}]",
    "'''\n'''",
    '"""\\\n"""',
    "2026-12-01T08:00:00Z",
  );
  const key = fc.constantFrom(
    ...KEYS.split(", "),
    ...MUTE_KEYS.split(", "),
    ...MONITOR_KEYS.split(", "),
    "__proto__",
    "'x\u2028'",
    "mute.key",
    "a.__proto__.b",
  );
  const statement = fc.oneof(
    fc.tuple(key, value).map(([key, value]) => `${key} = ${value}\n`),
    key.map((key) => `[${key}]\n`),
    key.map((key) => `[[${key}]]\n`),
  );
  const texts = [piece, statement, fc.oneof(piece, statement)].map((part) =>
    fc.array(part).map((all) => all.join("")),
  );
  fc.assert(
    fc.property(fc.oneof(...texts), (text) => {
      try {
        parseConfig(text, FILE);
      } catch (error) {
        assert.ok(error instanceof SignalsError, String((error as Error).stack));
        assert.match(error.message, /^\/home\/u\/\.harn\/signals\/config\.toml:\d+: \S/);
        assert.ok(!hasForbidden(error.message), JSON.stringify(error.message));
        assert.ok(error.message.length < 600);
      }
    }),
    { numRuns: 500 },
  );
});
