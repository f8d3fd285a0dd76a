import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { clean, escapeAndCap, hasForbidden, nearest, safeJson, wrap } from "./text.ts";

const anything = fc.string({ unit: "binary", maxLength: 200 });
const bytes = (text: string) => Buffer.byteLength(text);

describe("text is cleaned to one line:", () => {
  const cases: [name: string, text: string, expected: string][] = [
    ["plain text stays", "CI on main is red", "CI on main is red"],
    ["other scripts stay", "Ошибка שלום 你好 नमस्ते é", "Ошибка שלום 你好 नमस्ते é"],
    ["emoji stay", "🔥 down", "🔥 down"],
    ["line breaks become spaces", "a\nb\r\nc\u2028d\u2029e\u0085f\vg\fh", "a b c d e f g h"],
    ["tabs become spaces", "a\tb", "a b"],
    ["NUL and DEL become spaces", "a\0b\x7fc", "a b c"],
    ["escape sequences lose their escape", "\x1b[31mred\x1b]8;;x\x07y", "[31mred ]8;;x y"],
    ["bidirectional marks become spaces", "a\u202eb\u2066c\u200fd\u061ce", "a b c d e"],
    ["zero-width characters become spaces", "a\u200bb\u200dc\ufeffd\u2060e\u00adf", "a b c d e f"],
    ["tags become spaces", "a\u{e0001}\u{e0068}\u{e0069}b", "a b"],
    ["variation selectors become spaces", "a\ufe0fb\u{e0100}c\u180bd", "a b c d"],
    ["fillers become spaces", "a\u034fb\u115fc\u1160d\u17b4e\u17b5f\u3164g\uffa0h", "a b c d e f g h"],
    ["lone surrogates become spaces", "a\ud83db\ude00c", "a b c"],
    ["noncharacters become spaces", "a\ufdd0b\uffffc\u{1fffe}d", "a b c d"],
    ["private use becomes spaces", "a\ue000b\u{f0000}c\u{100000}d", "a b c d"],
    ["runs of spaces become one", "  a  \n\t  b  ", "a b"],
    ["nothing is left of nothing", "\n\u200b ", ""],
  ];
  for (const [name, text, expected] of cases) test(name, () => assert.equal(clean(text), expected));

  test("what is forbidden is found anywhere, and nothing else is", () => {
    for (const text of ["\u200b", "\u200ba", "a\u200b", "a\u200bb"]) assert.equal(hasForbidden(text), true);
    assert.equal(hasForbidden(" a  b é 🔥 "), false);
  });

  test("once is enough, and nothing forbidden is left", () => {
    fc.assert(
      fc.property(anything, (text) => {
        const once = clean(text);
        assert.equal(clean(once), once);
        assert.equal(hasForbidden(once), false);
        assert.doesNotMatch(once, / {2}|^ | $/);
      }),
    );
  });
});

describe("text for a block", () => {
  const cases: [name: string, text: string, maxBytes: number, tail: number, expected: string][] = [
    ["has entities", `<a href="x">&</a>`, 100, 0, "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;"],
    ["has entities of entities", "&lt;", 100, 0, "&amp;lt;"],
    ["that fits exactly is whole", "abcdef", 6, 0, "abcdef"],
    ["that does not is cut with an ellipsis", "abcdefg", 6, 0, "abc…"],
    ["is not cut inside an entity", "ab&&&", 9, 0, "ab…"],
    ["is not cut inside a character", "a語語", 6, 0, "a…"],
    ["is not cut inside a surrogate pair", "😀😀", 7, 0, "😀…"],
    ["keeps its tail", "abcdefghijkl", 10, 4, "abc…ijkl"],
    ["keeps a tail of whole entities", "abcdefgh&<", 15, 2, "abc…&amp;&lt;"],
    ["keeps a tail of whole characters", "abcdefgh😀語", 13, 2, "abc…😀語"],
  ];
  for (const [name, text, maxBytes, tail, expected] of cases) {
    test(name, () => assert.equal(escapeAndCap(text, maxBytes, tail), expected));
  }

  test("never takes more bytes than it may, and is whole when it fits", () => {
    const limits = fc.integer({ min: 80, max: 300 });
    fc.assert(
      fc.property(anything, limits, fc.constantFrom(0, 12), (text, maxBytes, tail) => {
        const capped = escapeAndCap(text, maxBytes, tail);
        const whole = escapeAndCap(text, Number.MAX_SAFE_INTEGER);
        assert.ok(bytes(capped) <= maxBytes, `${bytes(capped)} of ${maxBytes} bytes`);
        if (bytes(whole) <= maxBytes) assert.equal(capped, whole);
        else assert.match(capped, /…/);
        assert.doesNotMatch(capped, /[<>"]|&(?!(?:amp|lt|gt|quot);)/);
        assert.equal(Buffer.from(capped).toString(), capped);
      }),
    );
  });

  test("costs no more for a huge text than for a large one", () => {
    const before = performance.now();
    escapeAndCap("<".repeat(50_000_000), 700, 12);
    const ms = performance.now() - before;
    assert.ok(ms < 500, `took ${ms} ms`);
  });
});

test("safe JSON loses nothing and holds no forbidden character but its own line breaks", () => {
  fc.assert(
    fc.property(fc.dictionary(anything, anything), (value) => {
      const plain = JSON.stringify(value);
      for (const [text, bare] of [
        [safeJson(value), (json: string) => json],
        [safeJson(value, 2), (json: string) => json.replaceAll("\n", "")],
      ] as const) {
        assert.equal(JSON.stringify(JSON.parse(text)), plain);
        assert.equal(hasForbidden(bare(text)), false);
      }
    }),
  );
  assert.equal(safeJson(undefined), "null");
});

test("a mistyped word finds its nearest neighbour, a strange one none", () => {
  const words = ["min_severity", "lease", "retain"];
  const cases: [string, string | undefined][] = [
    ["lease", "lease"],
    ["leese", "lease"],
    ["retian", "retain"],
    ["minseverity", "min_severity"],
    ["quiet", undefined],
    ["", undefined],
  ];
  for (const [word, expected] of cases) assert.equal(nearest(word, words), expected);
  assert.equal(nearest("x", []), undefined);
});

test("a line is broken between words, and a word that is too long stays whole", () => {
  assert.deepEqual(wrap("one two three four", 9), ["one two", "three", "four"]);
  assert.deepEqual(wrap("incomprehensible it is", 5), ["incomprehensible", "it is"]);
  assert.deepEqual(wrap("all of it", Number.POSITIVE_INFINITY), ["all of it"]);
  assert.deepEqual(wrap("", 5), [""]);
});
