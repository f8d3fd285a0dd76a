import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { expectedFrom, type HttpFlags, isExpected } from "./expect.ts";

describe("without flags", () => {
  const { status, ...others } = expectedFrom({});
  test("any success will do, within ten seconds, with a certificate for two weeks", () => {
    assert.deepEqual(others, {
      contains: undefined,
      within: 10_000,
      slower: undefined,
      certDays: 14,
      headers: {},
    });
    assert.equal(status.text, "200-299");
  });
});

describe("--status", () => {
  const rows: [status: string | undefined, well: number[], bad: number[]][] = [
    [undefined, [200, 204, 299], [199, 300, 301, 404, 500]],
    ["200-299,301", [200, 299, 301], [300, 302]],
    ["401", [401], [200, 400, 402]],
    [" 200 , 503 ", [200, 503], [201]],
  ];
  for (const [status, well, bad] of rows)
    test(`${status ?? "not given"} takes ${well}, and not ${bad}`, () => {
      const expected = expectedFrom(status === undefined ? {} : { status });
      assert.deepEqual(
        [...well, ...bad].filter((code) => isExpected(expected, code)),
        well,
      );
    });
});

describe("--header", () => {
  const rows: [lines: string[], headers: Record<string, string[]>][] = [
    [["Accept: text/plain"], { accept: ["text/plain"] }],
    [["X-Key:a", "x-key:  b: c"], { "x-key": ["a", "b: c"] }],
    [["X-Empty:"], { "x-empty": [""] }],
  ];
  for (const [header, headers] of rows)
    test(`${header} is sent`, () => assert.deepEqual(expectedFrom({ header }).headers, headers));

  for (const line of ["secret", ": secret", "a b: secret", "A: secret\r\nB: c", "A: sécret ✓ secret", ""])
    test(`${JSON.stringify(line)} is none, and is not repeated`, () =>
      assert.throws(
        () => expectedFrom({ header: [line] }),
        (error: Error) => error.name === "UsageError" && !/s.cret/.test(error.message),
      ));
});

describe("a flag that is wrong is refused:", () => {
  const rows: [flags: HttpFlags, says: RegExp][] = [
    [{ status: "2xx" }, /^--status: 2xx: is no status; write them as 200-299,301$/],
    [{ status: "200,,301" }, /^--status: :/],
    [{ status: "299-200" }, /^--status: 299-200:/],
    [{ status: "99" }, /^--status: 99:/],
    [{ status: "600" }, /^--status: 600:/],
    [{ contains: "" }, /^--contains: is empty/],
    [{ slower: "2" }, /^--slower: 2: is no duration/],
    [{ within: "soon" }, /^--within: soon: is no duration/],
    [{ "cert-days": "-1" }, /^--cert-days: -1: is no number of days/],
    [{ "cert-days": "two" }, /^--cert-days: two:/],
  ];
  for (const [flags, message] of rows)
    test(JSON.stringify(flags), () =>
      assert.throws(() => expectedFrom(flags), { name: "UsageError", message }),
    );
});
