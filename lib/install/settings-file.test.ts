import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { messageOf } from "../errors.ts";
import { tempDirectory } from "../testing/temp.ts";
import {
  addEntries,
  type Before,
  changeCommands,
  type Handler,
  handlersOf,
  parseSettings,
  readSettings,
  removeHandlers,
} from "./settings-file.ts";

const OURS = "/data/launch hooks/claude-code/";
const ENTRIES = [
  { event: "SessionStart", command: `${OURS}session-start`, timeout: 10 },
  { event: "Stop", command: `${OURS}stop`, timeout: 10 },
];

const isOurs = ({ command }: Handler) => command.startsWith(OURS);

/** What a file is after it has been installed into. */
function add(text: string | undefined): string {
  return addEntries(text, ENTRIES).text;
}

function addAndRemove(text: string | undefined): string | undefined {
  const added = addEntries(text, ENTRIES);
  return removeHandlers(added.text, isOurs, added.before).text;
}

/** The same as the text of a file that has been taken apart and put together by the client. */
function rewritten(text: string): string {
  const { hooks, ...others } = JSON.parse(text) as { [key: string]: unknown };
  return `${JSON.stringify({ ...others, hooks }, undefined, 2)}\n`;
}

/** Our two entries, as they stand in a file that is indented by `unit`. */
function entriesText(unit: string, end = "\n"): string {
  const groups = ENTRIES.map(({ event, command, timeout }) => [
    event,
    [{ hooks: [{ type: "command", command, timeout }] }],
  ]);
  return JSON.stringify({ hooks: Object.fromEntries(groups) }, undefined, unit)
    .slice(1, -1)
    .trimEnd()
    .replaceAll("\n", end);
}

describe("adding entries", () => {
  const cases: [what: string, before: string | undefined, after: string][] = [
    ["makes a file that is not there", undefined, `{${entriesText("  ")}\n}\n`],
    ["takes an empty file for an empty object, as the client does", "", `{${entriesText("  ")}\n}\n`],
    ["keeps a byte order mark", '\ufeff{\n  "a": 1\n}', `\ufeff{\n  "a": 1,${entriesText("  ")}\n}`],
    ["keeps line ends", '{\r\n  "a": 1\r\n}\r\n', `{\r\n  "a": 1,${entriesText("  ", "\r\n")}\r\n}\r\n`],
    ["keeps tabs", '{\n\t"a": 1\n}\n', `{\n\t"a": 1,${entriesText("\t")}\n}\n`],
    ["keeps four spaces", '{\n    "a": 1\n}\n', `{\n    "a": 1,${entriesText("    ")}\n}\n`],
    [
      "keeps a file that is one line on one line",
      '{"a":1}',
      `{"a":1,"hooks":{"SessionStart":[${JSON.stringify({ hooks: [{ type: "command", command: `${OURS}session-start`, timeout: 10 }] })}],"Stop":[${JSON.stringify({ hooks: [{ type: "command", command: `${OURS}stop`, timeout: 10 }] })}]}}`,
    ],
  ];
  for (const [what, before, after] of cases) test(what, () => assert.equal(add(before), after));

  test("comes after the groups of others, and leaves those as they are", () => {
    const others =
      '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [ ] } ,\n      {"matcher": ""}\n    ]\n  }\n}\n';
    const after = add(others);
    const [start] = others.split("\n    ]\n");
    assert.ok(after.startsWith(`${start},\n      {\n        "hooks": [\n`), after);
    const { hooks } = JSON.parse(after);
    assert.deepEqual(
      hooks.Stop.map((group: object) => Object.keys(group)),
      [["hooks"], ["matcher"], ["hooks"]],
    );
  });

  const refused: [what: string, text: string, says: string][] = [
    ["a list", "\n[]", "line 2: is no object in braces"],
    [
      "a comment",
      '{\n  // mine\n  "a": 1\n}',
      "line 2: is not JSON: a comment, which the client does not read either",
    ],
    ["a comma too many", '{\n  "a": 1,\n}', 'line 3: is not JSON: a comma before "}"'],
    ["a file cut off", '{\n  "a": [1', "line 2: is not JSON: it ends too early"],
    ["a word that is none", '{\n\n  "a": yes }', 'line 3: is not JSON: "y" is not expected there'],
    ["a line break in a string", '{\n  "a": "1\n2" }', 'line 2: is not JSON: "\\n" is not expected there'],
    ["two objects", "{}\n{}", 'line 2: is not JSON: "{" is not expected there'],
    ["hooks that are a list", '{\n  "hooks": []\n}', 'line 2: "hooks" is not an object in braces'],
    ["hooks that are nothing", '{\n  "hooks": null\n}', 'line 2: "hooks" is not an object in braces'],
    ["an event that is no list", '{ "hooks": {\n "Stop": {} } }', 'line 2: "Stop" is not a list in brackets'],
    ["hooks twice", '{ "hooks": {},\n "hooks": {} }', 'line 2: has "hooks" a second time'],
    ["an event twice", '{ "hooks": { "Stop": [],\n "Stop": [] } }', 'line 2: has "Stop" a second time'],
  ];
  for (const [what, text, says] of refused) {
    test(`refuses ${what}, with the line`, () => {
      assert.throws(() => add(text), { name: "SignalsError", message: says });
    });
  }
});

/** JSON of any kind, written in any way. */
const space = fc.constantFrom("", "", " ", "\n", "\r\n", "\t", "\n\n    ", "  \n  ");
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc
      .oneof(
        fc.string({ unit: "binary" }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      )
      .map((leaf) => JSON.stringify(leaf)),
    fc.array(tie("value"), { maxLength: 3 }).chain((items) => written("[]", items)),
    fc.array(fc.tuple(fc.string(), tie("value")), { maxLength: 3 }).chain((members) => object(members)),
  ),
}));

function written([open, close]: string, items: readonly string[]): fc.Arbitrary<string> {
  const spaces = fc.array(space, { minLength: 2 * items.length + 1, maxLength: 2 * items.length + 1 });
  return spaces.map((gaps) => {
    const spaced = items.map((item, i) => `${gaps[2 * i]}${item}${gaps[2 * i + 1]}`);
    return `${open}${spaced.join(",") || gaps[0]}${close}`;
  });
}

function object(members: readonly (readonly [string, string])[]): fc.Arbitrary<string> {
  const colon = fc.array(fc.tuple(space, space), { minLength: members.length, maxLength: members.length });
  return colon.chain((gaps) => {
    const items = members.map(([key, text], i) => `${JSON.stringify(key)}${gaps[i]?.join(":")}${text}`);
    return written("{}", items);
  });
}

/** Members of which none has one of these keys, with some that do in between. */
function objectWith(special: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> {
  const names = Object.keys(special);
  const other = fc.string().filter((key) => !names.includes(key));
  const some = names.map((key) => fc.option((special[key] ?? value).map((text) => [key, text] as const)));
  return fc
    .tuple(fc.array(fc.tuple(other, value), { maxLength: 3 }), ...some)
    .chain(([others, ...found]) =>
      fc.shuffledSubarray([...others, ...found.filter((member) => member !== null)]),
    )
    .chain(object);
}

const command = fc
  .record({ type: fc.constant("command"), command: fc.string() })
  .map((made) => JSON.stringify(made));
const list = (item: fc.Arbitrary<string>) =>
  fc.array(item, { maxLength: 3 }).chain((items) => written("[]", items));
const group = objectWith({ hooks: list(fc.oneof(command, value)), matcher: value });
const groups = list(fc.oneof(group, value));
const events = objectWith({ SessionStart: groups, Stop: groups, PreToolUse: groups });
const settings = fc
  .tuple(fc.constantFrom("", "", "\ufeff"), space, objectWith({ hooks: events }), space)
  .map((parts) => parts.join(""));
const anyFile = fc.oneof(
  { weight: 9, arbitrary: settings },
  fc.constantFrom(undefined, "", " \n", "\ufeff", "\r\n"),
);

describe("for any settings, however they are written,", () => {
  test("adding and removing leaves every byte as it was", () => {
    fc.assert(
      fc.property(anyFile, (text) => assert.equal(addAndRemove(text), text)),
      { numRuns: 500 },
    );
  });

  test("adding says what it should, keeps what was there, in its order, and changes nothing twice", () => {
    fc.assert(
      fc.property(anyFile, (text) => {
        const { text: after, before } = addEntries(text, ENTRIES);
        const was = handlersOf(parseSettings(text ?? ""));
        const is = handlersOf(parseSettings(after));
        const shown = (handlers: Handler[]) => handlers.map(({ line: _, ...handler }) => handler);
        const others = is.filter((handler) => !isOurs(handler));
        for (const { event } of ENTRIES) {
          const at = (handlers: Handler[]) => shown(handlers).filter((handler) => handler.event === event);
          assert.deepEqual(at(others), at(was));
          assert.deepEqual(at(is).slice(0, -1), at(was), "ours is the last");
        }
        const { hooks: _, ...rest } = JSON.parse(after.replace("\ufeff", ""));
        const { hooks: __, ...restBefore } = JSON.parse(text?.replace("\ufeff", "").trim() || "{}");
        assert.equal(JSON.stringify(rest), JSON.stringify(restBefore));
        assert.deepEqual(addEntries(after, [], before), { text: after, before });
      }),
      { numRuns: 300 },
    );
  });

  test("what the client wrote anew holds after removing what it held before, without its empty lists", () => {
    fc.assert(
      fc.property(anyFile, (text) => {
        const added = addEntries(text, ENTRIES);
        const removed = removeHandlers(
          rewritten(added.text.replace("\ufeff", "")),
          isOurs,
          added.before,
        ).text;
        const original = JSON.parse(text?.replace("\ufeff", "").trim() || "{}");
        assert.deepEqual(JSON.parse(removed?.trim() || "{}"), original);
      }),
      { numRuns: 200 },
    );
  });
});

describe("changing commands", () => {
  test("leaves every other byte, however the file is written", () => {
    fc.assert(
      fc.property(anyFile, (text) => {
        const there = addEntries(text, ENTRIES).text;
        const to = (from: string, command: string) => (handler: Handler) =>
          handler.command.startsWith(from) ? `${command}${handler.command.slice(from.length)}` : undefined;
        const changed = changeCommands(there, to(OURS, '"other" \\ ')) ?? "";
        assert.equal(changed.split('\\"other\\" \\\\ ').length, ENTRIES.length + 1);
        assert.equal(changeCommands(changed, to('"other" \\ ', OURS)), there);
        assert.equal(
          changeCommands(there, () => undefined),
          there,
        );
      }),
      { numRuns: 200 },
    );
  });

  test("takes the last of two keys, as the client does", () => {
    const text = '{"hooks":{"Stop":[{"hooks":[{"command":"a","type":"command","command":"b"}]}]}}';
    assert.equal(
      changeCommands(text, ({ command }) => `${command}2`),
      text.replace('"b"', '"b2"'),
    );
    assert.equal(
      changeCommands(undefined, () => "a"),
      undefined,
    );
  });
});

describe("removing", () => {
  const ours = { type: "command", command: `${OURS}stop` };
  const theirs = { type: "command", command: "true" };
  const take = (hooks: unknown, before?: Before) =>
    JSON.parse(removeHandlers(JSON.stringify({ hooks, a: 1 }), isOurs, before).text ?? "null");

  test("leaves the handlers that others put into our group", () => {
    const mixed = { Stop: [{ hooks: [theirs, ours, theirs] }] };
    assert.deepEqual(take(mixed), { hooks: { Stop: [{ hooks: [theirs, theirs] }] }, a: 1 });
  });

  test("finds ours among the groups of others, as often as they are there", () => {
    const many = {
      Stop: [{ hooks: [ours] }, { hooks: [theirs] }, { matcher: "", hooks: [ours, ours] }],
      Other: [],
    };
    assert.deepEqual(take(many), { hooks: { Stop: [{ hooks: [theirs] }], Other: [] }, a: 1 });
  });

  test("leaves a list empty in which others had been, and takes out what was ours", () => {
    const one = { Stop: [{ hooks: [ours] }] };
    assert.deepEqual(take(one, {}), { hooks: { Stop: [] }, a: 1 });
    assert.deepEqual(take(one, { "hooks/Stop": null }), { hooks: {}, a: 1 });
    assert.deepEqual(take(one, { "hooks/Stop": null, hooks: null }), { a: 1 });
    assert.deepEqual(take(one, undefined), { a: 1 }, "nothing is known of before");
  });

  test("leaves a file that others have written into, and removes one that it made", () => {
    const { text, before } = addEntries(undefined, ENTRIES);
    assert.equal(removeHandlers(text, isOurs, before).text, undefined);
    assert.equal(removeHandlers(text, isOurs, undefined).text, "{}\n");
    const more = text.replace("{\n", '{\n  "model": "opus",\n');
    assert.equal(removeHandlers(more, isOurs, before).text, '{\n  "model": "opus"\n}\n');
  });

  test("passes over what is of another shape, as the client does", () => {
    for (const hooks of [
      null,
      3,
      [],
      { Stop: null },
      { Stop: [null, { hooks: 3 }, { hooks: [null, { type: "http" }] }] },
    ]) {
      assert.deepEqual(take(hooks), { hooks, a: 1 });
    }
  });

  test("refuses to choose between two keys of one name", () => {
    const text = `{ "hooks": {},\n "hooks": { "Stop": [${JSON.stringify({ hooks: [ours] })}] } }`;
    assert.throws(() => removeHandlers(text, isOurs, undefined), {
      message: 'line 2: has "hooks" a second time',
    });
  });
});

describe("reading a file", () => {
  const folder = tempDirectory("settings");

  test("that is not there gives nothing, also where a folder on the way is none", () => {
    writeFileSync(join(folder, "file"), "");
    assert.equal(readSettings(join(folder, "none")), undefined);
    assert.equal(readSettings(join(folder, "file", "none")), undefined);
  });

  test("that would not be the same when it is written again is refused", () => {
    writeFileSync(join(folder, "latin"), Buffer.from([0x7b, 0xe9, 0x7d]));
    mkdirSync(join(folder, "folder"));
    const says = (name: string) => {
      try {
        return readSettings(join(folder, name));
      } catch (error) {
        return messageOf(error);
      }
    };
    assert.equal(says("latin"), "is not UTF-8 text");
    assert.equal(says("folder"), "cannot be read (EISDIR)");
  });
});
