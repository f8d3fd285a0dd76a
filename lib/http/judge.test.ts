import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer } from "./ask.ts";
import { expectedFrom, type HttpFlags } from "./expect.ts";
import { readingFrom } from "./judge.ts";

const NOW = Date.UTC(2026, 0, 5, 12);
const DAY = 86_400_000;
const URL_HERE = "https://api.example.test/up?token=abc";

function read(answer: Partial<Answer>, flags: HttpFlags = {}, { url = URL_HERE, isOnline = true } = {}) {
  const whole = { ms: 34, ...(answer.fault === undefined && { status: 200 }), ...answer };
  return readingFrom(new URL(url), whole, expectedFrom(flags), { now: NOW, isOnline });
}

/** `KIND STATUS`, each. */
function statuses(...args: Parameters<typeof read>): string {
  return read(...args)
    .verdicts.map(({ kind, status }) => `${kind} ${status}`)
    .join(", ");
}

const refused = { of: "connection", codes: ["ECONNREFUSED"] } as const;
const expired = { of: "certificate", code: "CERT_HAS_EXPIRED" } as const;
const good = NOW + 60.5 * DAY;

describe("an answer comes to", () => {
  const rows: [answer: Partial<Answer>, flags: HttpFlags, statuses: string, says: string][] = [
    [
      { ends: good },
      {},
      "answer OK, certificate OK",
      "answers 200 in 34ms; has a certificate that ends in 60 days, on 2026-03-07",
    ],
    [{ status: 503, ends: good }, {}, "answer CRITICAL, certificate OK", "answers 503, expected is 200-299"],
    [
      { status: 401, ends: good },
      { status: "401" },
      "answer OK, certificate OK",
      "answers 401 in 34ms; has a certificate that ends in 60 days, on 2026-03-07",
    ],
    [
      { status: 200, ends: good },
      { status: "401" },
      "answer CRITICAL, certificate OK",
      "answers 200, expected is 401",
    ],
    [
      { status: 404, place: "https://login.example.test/sso", ends: good },
      {},
      "answer CRITICAL, certificate OK",
      "answers 404 (redirected to https://login.example.test/sso), expected is 200-299",
    ],
    [
      { holds: true, ends: good },
      { contains: "ok" },
      "answer OK, certificate OK",
      "answers 200 in 34ms; has a certificate that ends in 60 days, on 2026-03-07",
    ],
    [
      { holds: false, ends: good },
      { contains: "ok" },
      "answer CRITICAL, certificate OK",
      'answers 200, but its content does not hold "ok"',
    ],
    [
      { ends: good },
      { contains: "ok" },
      "answer CRITICAL, certificate OK",
      'answers 200, but its content broke off, or took too long, before it held "ok"',
    ],
    [
      { ms: 2000, ends: good },
      { slower: "2s" },
      "answer OK, latency OK, certificate OK",
      "answers 200 in 2000ms; answers within 2s; has a certificate that ends in 60 days, on 2026-03-07",
    ],
    [
      { ms: 2001, ends: good },
      { slower: "2s" },
      "answer OK, latency WARNING, certificate OK",
      "is slow: it took 2001ms to answer, more than 2s",
    ],
    [
      { ms: 5, status: 500, ends: good },
      { slower: "2s" },
      "answer CRITICAL, latency UNKNOWN, certificate OK",
      "answers 500, expected is 200-299",
    ],
    [
      { fault: refused },
      { slower: "2s" },
      "answer CRITICAL, latency UNKNOWN, certificate UNKNOWN",
      "refuses the connection (ECONNREFUSED)",
    ],
    [
      { fault: { of: "time" } },
      { within: "3s" },
      "answer CRITICAL, certificate UNKNOWN",
      "does not answer within 3s",
    ],
    [
      { fault: { of: "redirects", why: "more than 10 times" }, status: 302, ends: good },
      {},
      "answer CRITICAL, certificate OK",
      "redirects more than 10 times",
    ],
    [
      { status: 500, ends: NOW + 3 * DAY },
      {},
      "answer CRITICAL, certificate WARNING",
      "answers 500, expected is 200-299; has a certificate that ends in 3 days, on 2026-01-08",
    ],
  ];
  for (const [answer, flags, expected, says] of rows)
    test(`${expected}: ${says}`, () => {
      assert.equal(statuses(answer, flags), expected);
      assert.equal(read(answer, flags).summary, `https://api.example.test/up ${says}`);
    });
});

describe("a certificate", () => {
  const rows: [what: string, answer: Partial<Answer>, flags: HttpFlags, status: string, says: RegExp][] = [
    ["for two weeks", { ends: NOW + 14 * DAY }, {}, "OK", /ends in 14 days, on 2026-01-19$/],
    ["for a little less", { ends: NOW + 14 * DAY - 1 }, {}, "WARNING", /ends in 13 days, on 2026-01-19$/],
    ["for a day", { ends: NOW + DAY }, {}, "WARNING", /ends in 1 day, on/],
    ["for an hour", { ends: NOW + DAY / 24 }, {}, "WARNING", /ends in 0 days/],
    ["for an hour, when any will do", { ends: NOW + DAY / 24 }, { "cert-days": "0" }, "OK", /ends in 0 days/],
    [
      "for a month, when more is asked",
      { ends: NOW + 30 * DAY },
      { "cert-days": "31" },
      "WARNING",
      /in 30 days/,
    ],
    ["that ended", { ends: NOW - 1 }, {}, "CRITICAL", /that ended on 2026-01-05$/],
    ["that TLS calls expired", { fault: expired }, {}, "CRITICAL", /not accepted: it has expired$/],
    [
      "for another name",
      { fault: { of: "certificate", code: "ERR_TLS_CERT_ALTNAME_INVALID" } },
      {},
      "CRITICAL",
      /it is for another name$/,
    ],
    [
      "refused for a reason of its own",
      { fault: { of: "certificate", code: "CERT_CHAIN_TOO_LONG" } },
      {},
      "CRITICAL",
      /it was refused \(CERT_CHAIN_TOO_LONG\)$/,
    ],
  ];
  for (const [what, answer, flags, status, says] of rows)
    test(`${what} is ${status}`, () => {
      const verdict = read(answer, flags).verdicts.find(({ kind }) => kind === "certificate");
      assert.equal(verdict?.status, status);
      assert.match(verdict?.summary ?? "", says);
    });

  test("that is not accepted is one trouble, and not two", () =>
    assert.equal(statuses({ fault: expired }), "answer UNKNOWN, certificate CRITICAL"));

  const plain = { url: "http://api.example.test/" };
  test("is asked for where there can be one", () => {
    assert.equal(statuses({}, {}, plain), "answer OK");
    assert.equal(statuses({ fault: refused }, {}, plain), "answer CRITICAL");
    assert.equal(statuses({ ends: good }, {}, plain), "answer OK, certificate OK", "behind a redirect");
    assert.equal(statuses({ fault: expired }, {}, plain), "answer UNKNOWN, certificate CRITICAL");
  });
});

describe("an address that is not reached", () => {
  const rows: [codes: string[], isOnline: boolean, says: string | undefined][] = [
    [["ECONNREFUSED"], true, "refuses the connection (ECONNREFUSED)"],
    [["ECONNREFUSED", "ECONNREFUSED"], false, "refuses the connection (ECONNREFUSED, ECONNREFUSED)"],
    [["ECONNRESET"], true, "ends the connection without an answer (ECONNRESET)"],
    [["ETIMEDOUT"], true, "cannot be reached (ETIMEDOUT)"],
    [["EHOSTUNREACH"], true, "cannot be reached (EHOSTUNREACH)"],
    [["HPE_INVALID_CONSTANT"], true, "answers with what is no HTTP (HPE_INVALID_CONSTANT)"],
    [["EPROTO"], true, "does not agree on TLS (EPROTO)"],
    [["ERR_SSL_WRONG_VERSION_NUMBER"], true, "does not agree on TLS (ERR_SSL_WRONG_VERSION_NUMBER)"],
    [["ENOTFOUND"], true, "has a name that is not known (ENOTFOUND)"],
    [["ENOTFOUND"], false, undefined],
    [["EAI_AGAIN"], true, undefined],
    [["ENETUNREACH"], true, undefined],
    [["ENETUNREACH", "ENETUNREACH"], true, undefined],
    // IPv6 is missing here, and the server there.
    [["ENETUNREACH", "ECONNREFUSED"], true, "refuses the connection (ENETUNREACH, ECONNREFUSED)"],
  ];
  for (const [codes, isOnline, says] of rows)
    test(`${codes} is ${says ? "its fault" : "no verdict"}, ${isOnline ? "on a network" : "without any network"}`, () => {
      const reading = () => read({ fault: { of: "connection", codes } }, {}, { isOnline });
      if (says === undefined)
        assert.throws(reading, { name: "Unreadable", message: /this machine seems to be offline/ });
      else {
        assert.equal(reading().verdicts[0]?.status, "CRITICAL");
        assert.equal(reading().summary, `https://api.example.test/up ${says}`);
      }
    });
});

describe("the identity of", () => {
  const identities = (url: string, flags: HttpFlags = {}) =>
    Object.fromEntries(
      read({ ends: good }, { slower: "2s", ...flags }, { url }).verdicts.map(({ kind, identity }) => [
        kind,
        identity,
      ]),
    );
  const plain = identities("https://api.example.test/up");
  const rows: [what: string, others: ReturnType<typeof identities>, differ: string[]][] = [
    ["the same address", identities("HTTPS://api.example.test:443/up"), []],
    [
      "the same limits",
      identities("https://api.example.test/up", { slower: "2000ms", within: "10000ms" }),
      [],
    ],
    ["another limit to be slow", identities("https://api.example.test/up", { slower: "5s" }), ["latency"]],
    [
      "another number of days",
      identities("https://api.example.test/up", { "cert-days": "3" }),
      ["certificate"],
    ],
    ["another limit to answer", identities("https://api.example.test/up", { within: "5s" }), ["answer"]],
    ["another path", identities("https://api.example.test/"), ["answer", "latency", "certificate"]],
    ["another query", identities("https://api.example.test/up?db"), ["answer", "latency"]],
    [
      "another header",
      identities("https://api.example.test/up", { header: ["X-A: b"] }),
      ["answer", "latency"],
    ],
    ["another text", identities("https://api.example.test/up", { contains: "ok" }), ["answer"]],
    [
      "another status, which may be a redirect's,",
      identities("https://api.example.test/up", { status: "301" }),
      ["answer", "latency", "certificate"],
    ],
  ];
  for (const [what, others, differ] of rows)
    test(`${what} is another for ${differ.join(", ") || "nothing"}`, () =>
      assert.deepEqual(
        Object.keys(plain).filter((kind) => JSON.stringify(plain[kind]) !== JSON.stringify(others[kind])),
        differ,
      ));

  test("what is secret holds no secret, nor does anything else that is told", () => {
    const flags = { header: ["Authorization: Bearer hush"], contains: "up" };
    const told = JSON.stringify(
      read({ status: 500, ends: good }, flags, { url: "https://api.example.test/up?key=hush" }),
    );
    assert.doesNotMatch(told, /hush|Bearer|key=/);
  });
});
