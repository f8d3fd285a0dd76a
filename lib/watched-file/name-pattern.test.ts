import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { namePattern } from "./name-pattern.ts";

describe("a pattern means a name:", () => {
  const rows: [pattern: string, yes: string[], no: string[]][] = [
    ["*", ["a", "\u{1f4a5}"], [".a"]],
    ["?", ["a", "\n", "\u{1f4a5}"], ["ab", "", "."]],
    ["a*b*c", ["abc", "a-b-c", "abcbc", "abbcc"], ["ab", "acb", "abcd", "xabc"]],
    ["*ab", ["ab", "aab", "abab"], ["aba", "ba"]],
    ["[a-c]?", ["ax", "cx"], ["dx", "-x"]],
    ["[!a-c]", ["d", "-"], ["a", "dd"]],
    ["[]-]", ["]", "-"], ["["]],
    ["[a", ["[a"], ["a"]],
    [".*", [".a", "."], ["a"]],
    ["[.]a", [], [".a"]],
    ["\\*?", ["*a"], ["ba"]],
    ["$^.(a)|+*", ["$^.(a)|+", "$^.(a)|+x"], ["a"]],
  ];
  for (const [pattern, yes, no] of rows)
    test(`${pattern} is ${JSON.stringify(yes)}, and not ${JSON.stringify(no)}`, () => {
      assert.deepEqual(yes.filter(namePattern(pattern)), yes);
      assert.deepEqual(no.filter(namePattern(pattern)), []);
    });
});

test("however many stars there are, each may take any number of characters", () => {
  /** The same in the plainest words, which take for ever on long names. */
  const means = ([piece, ...rest]: string[], name: string): boolean => {
    if (piece === undefined) return name === "";
    if (piece === "*") return means(rest, name) || (name !== "" && means([piece, ...rest], name.slice(1)));
    return name !== "" && (piece === "?" || piece === name[0]) && means(rest, name.slice(1));
  };
  const pieces = fc.array(fc.constantFrom("*", "*", "?", "a", "b"), { maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
  fc.assert(
    fc.property(pieces, name, (pieces, name) =>
      assert.equal(namePattern(pieces.join(""))(name), means(pieces, name)),
    ),
    { numRuns: 2_000 },
  );
});
