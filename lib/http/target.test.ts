import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { shown, targetFrom } from "./target.ts";

describe("an address", () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  const rows: [text: string, url: string, sent: string | undefined, shown: string][] = [
    ["https://api.example.test", "https://api.example.test/", undefined, "https://api.example.test/"],
    [
      " HTTP://API.example.test:80/up ",
      "http://api.example.test/up",
      undefined,
      "http://api.example.test/up",
    ],
    [
      "https://api.example.test/up?token=abc#top",
      "https://api.example.test/up?token=abc",
      undefined,
      "https://api.example.test/up",
    ],
    ["http://ada:p%40%3As@[::1]:8080/", "http://[::1]:8080/", basic("ada:p@:s"), "http://[::1]:8080/"],
    ["http://ada@localhost", "http://localhost/", basic("ada:"), "http://localhost/"],
    ["http://ada:100%@localhost", "http://localhost/", basic("ada:100%"), "http://localhost/"],
  ];
  for (const [text, url, sent, people] of rows)
    test(`${text} is asked for as ${url}, and shown as ${people}`, () => {
      const target = targetFrom(text);
      assert.deepEqual([target.url.href, target.headers["authorization"]], [url, sent]);
      assert.equal(shown(target.url), people);
    });

  for (const text of ["", "api.example.test", "localhost:8080", "ftp://api.example.test", "http://"])
    test(`${text || "nothing"} is none`, () =>
      assert.throws(() => targetFrom(text), {
        name: "UsageError",
        message: /^URL: .*is no http\(s\) address/,
      }));

  test("that is none is repeated without its password", () =>
    assert.throws(
      () => targetFrom("ftp://ada:p@ss@api.example.test/"),
      (error: Error) => !/ada|p@ss|ss@/.test(error.message),
    ));
});
