import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { checkKey, identityKey, parseEnvelope, provenanceKey, reportOf, severityOf } from "./envelope.ts";
import { SignalsError } from "./errors.ts";
import { fire } from "./lifecycle.ts";
import { AT, document } from "./testing/build.ts";
import { hasForbidden } from "./text.ts";

const sha256 = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

/** The least that is an envelope. */
const LEAST = {
  schema: "harn.triage_event.v1",
  provider: "github",
  source_kind: "workflow_run",
  source_url: "https://github.com/acme/api/actions/runs/7",
  summary: "CI on main is red",
  proposed_action: "Read the log",
};
const parse = (fields: Record<string, unknown> = {}) => parseEnvelope({ ...LEAST, ...fields });

/** The message with which something is refused. */
function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof SignalsError, `not a SignalsError: ${(error as Error).stack}`);
    return error.message;
  }
  return assert.fail("was accepted");
}

const actor = { kind: "user", id: "octocat" };
const ref = { kind: "commit", url: "https://github.com/acme/api/commit/1" };
const intent = { kind: "open", label: "Open", target: "log", effect: "navigation", requires_approval: false };
const some = <T>(count: number, entry: T): T[] => Array.from({ length: count }, () => entry);

describe("an envelope", () => {
  test("needs no more than the required fields, and the rest gets defaults", () => {
    const url = LEAST.source_url;
    const key = `triage:github:${sha256(`github\nworkflow_run\n${url}\n${url}`).slice(0, 32)}`;
    assert.deepEqual(parse(), {
      ...LEAST,
      schema: "harn.triage_event.v1",
      id: `triage_evt_${sha256(key).slice(0, 24)}`,
      source_id: url,
      actors: [],
      why_it_matters: "",
      urgency: "normal",
      priority: "p2",
      confidence: 1,
      related_refs: [],
      dedupe_key: key,
      privacy: { redacted: false, raw_payload_retained: false, contains_sensitive: false, flags: [] },
      action_intents: [],
    });
  });

  test("keeps all that it says", () => {
    const given = {
      ...LEAST,
      source_id: "main",
      source_timestamp: "2026-01-05T12:00:00Z",
      received_at: "2026-01-05T12:00:01+01:00",
      actors: [{ ...actor, display_name: "Octo", url: "https://github.com/octocat" }],
      why_it_matters: "Nothing merges",
      urgency: "high",
      priority: "p1",
      confidence: 0.5,
      related_refs: [{ ...ref, label: "the commit" }],
      dedupe_key: "mine",
      privacy: { redacted: true, raw_payload_retained: false, contains_sensitive: true, flags: ["email"] },
      action_intents: [{ ...intent, default_duration: "1h" }],
    };
    assert.deepEqual(parseEnvelope(given), {
      ...given,
      id: `triage_evt_${sha256("mine").slice(0, 24)}`,
    });
  });

  test("stays the same when it is read again", () => {
    const once = parse({ source_id: " main ", source_url: ` ${LEAST.source_url} ` });
    assert.deepEqual(parseEnvelope(once), once);
    assert.deepEqual(parseEnvelope(JSON.parse(JSON.stringify(once))), once);
  });

  test("loses its raw payload, however large, and says that none was retained", () => {
    const privacy = { redacted: false, raw_payload_retained: true, contains_sensitive: false, flags: [] };
    for (const raw_payload of [{ secret: 1 }, "x".repeat(1_000_000), null, [1], 0]) {
      const envelope = parse({ raw_payload, privacy });
      assert.equal("raw_payload" in envelope, false);
      assert.equal(envelope.privacy.raw_payload_retained, false);
      const [doc] = fire(
        document(),
        reportOf(envelope, { producer: "p", signature: "local", origin: "webhook" }),
        AT(0),
      );
      assert.doesNotMatch(JSON.stringify(doc), /raw_payload"/);
    }
  });

  test("may say only a part about privacy", () => {
    const none = { redacted: false, raw_payload_retained: false, contains_sensitive: false, flags: [] };
    assert.deepEqual(parse({ privacy: {} }).privacy, none);
    assert.deepEqual(parse({ privacy: { redacted: true } }).privacy, { ...none, redacted: true });
  });

  test("may be about http, https and files", () => {
    for (const source_url of ["http://x.y", "HTTPS://x.y/z?q#f", "file:///var/log/x", " https://x.y "]) {
      assert.equal(parse({ source_url }).source_url, source_url.trim());
    }
  });

  test("may ask for any effect, with approval", () => {
    for (const effect of ["mutation", "Navigation", ""]) {
      assert.ok(parse({ action_intents: [{ ...intent, effect, requires_approval: true }] }));
    }
  });
});

describe("an envelope is refused, in one line that names field, value and way out,", () => {
  const cases: [name: string, fields: Record<string, unknown>, message: string][] = [
    ...["schema", "provider", "source_kind", "source_url", "summary", "proposed_action"].map(
      (name): [string, Record<string, unknown>, string] => [
        `without ${name}`,
        { [name]: undefined },
        `envelope: ${name} is missing; nothing was stored, correct it`,
      ],
    ),
    ...["provider", "source_kind", "source_url", "summary", "proposed_action"].map(
      (name): [string, Record<string, unknown>, string] => [
        `with a blank ${name}`,
        { [name]: " \t\n" },
        `envelope: ${name} is empty: ""; nothing was stored, correct it`,
      ],
    ),
    [
      "of another schema",
      { schema: "harn.triage_event.v2" },
      'envelope: schema is not harn.triage_event.v1: "harn.triage_event.v2"; nothing was stored, correct it',
    ],
    [
      "with a summary that is no text",
      { summary: 7 },
      "envelope: summary is not a string: 7; nothing was stored, correct it",
    ],
    [
      "with null for text",
      { summary: null },
      "envelope: summary is not a string: null; nothing was stored, correct it",
    ],
    [
      "with an urgency that there is not",
      { urgency: "urgent" },
      'envelope: urgency is not one of critical, high, normal, low: "urgent"; nothing was stored, correct it',
    ],
    [
      "with a priority that there is not",
      { priority: "P1" },
      'envelope: priority is not one of p0, p1, p2, p3, p4: "P1"; nothing was stored, correct it',
    ],
    [
      "with a confidence that is no number",
      { confidence: "high" },
      'envelope: confidence is not a number: "high"; nothing was stored, correct it',
    ],
    [
      "with a time that names no zone",
      { source_timestamp: "2026-01-05T12:00:00" },
      "envelope: source_timestamp is not an RFC 3339 time with a zone: " +
        '"2026-01-05T12:00:00"; nothing was stored, correct it',
    ],
    [
      "with an actor that is none",
      { actors: [actor, null] },
      "envelope: actors[1] is not an object: null; nothing was stored, correct it",
    ],
    [
      "with an actor without an id",
      { actors: [actor, { kind: "user" }] },
      "envelope: actors[1].id is missing; nothing was stored, correct it",
    ],
    [
      "with actors that are no list",
      { actors: { 0: actor } },
      "envelope: actors is not an array: an object; nothing was stored, correct it",
    ],
    [
      "with an effect that needs no approval",
      { action_intents: [{ ...intent, effect: "mutation" }] },
      "envelope: action_intents[0] has an effect and needs requires_approval: true: an object; " +
        "nothing was stored, correct it",
    ],
    [
      "with an effect and no word about approval",
      { action_intents: [{ ...intent, effect: "mutation", requires_approval: undefined }] },
      "envelope: action_intents[0].requires_approval is missing; nothing was stored, correct it",
    ],
    [
      "with a summary that is too long",
      { summary: "x".repeat(2_001) },
      `envelope: summary is longer than 2000 characters: "${"x".repeat(80)}…"; nothing was stored, correct it`,
    ],
    [
      "with too many actors",
      { actors: some(33, actor) },
      "envelope: actors has more than 32 entries: a list; nothing was stored, correct it",
    ],
    [
      "with too many references",
      { related_refs: some(33, ref) },
      "envelope: related_refs has more than 32 entries: a list; nothing was stored, correct it",
    ],
    [
      "with too many intents",
      { action_intents: some(33, intent) },
      "envelope: action_intents has more than 32 entries: a list; nothing was stored, correct it",
    ],
    ["with an empty key", { dedupe_key: "" }, 'key: refused: "" is empty; choose another'],
    ["with a blank key", { dedupe_key: "  " }, 'key: refused: "" is empty; choose another'],
    [
      "with a key that is too long",
      { dedupe_key: "k".repeat(513) },
      `key: refused: "${"k".repeat(80)}…" has 513 characters, at most 512 are allowed; choose another`,
    ],
    [
      "with a control character in its key",
      { dedupe_key: "a\u0000b" },
      'key: refused: "a b" holds a control character; choose another',
    ],
    [
      "with a line break in the provider, which becomes part of the key",
      { provider: "a\nb" },
      `key: refused: "triage:a b:${sha256(
        ["a\nb", "workflow_run", LEAST.source_url, LEAST.source_url].join("\n"),
      ).slice(0, 32)}" holds a control character; choose another`,
    ],
  ];
  for (const [name, fields, message] of cases) {
    test(name, () =>
      assert.equal(
        refusal(() => parse(fields)),
        message,
      ),
    );
  }

  for (const input of [null, undefined, "x", 7, true, [], [LEAST]]) {
    test(`when it is ${JSON.stringify(input)?.slice(0, 20)}`, () =>
      assert.equal(
        refusal(() => parseEnvelope(input)),
        "envelope: it is not an object; nothing was stored, correct it",
      ));
  }

  const urls = [
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://x.y",
    "x.y/z",
    "//x.y",
    "http:",
    "https://",
    "mailto:a@b.c",
  ];
  for (const source_url of [...urls, "vscode://file/etc", "httpx://x.y", "https//x.y"]) {
    test(`about ${source_url}`, () =>
      assert.equal(
        refusal(() => parse({ source_url })),
        `envelope: source_url is not an http(s) or file: URL: ${JSON.stringify(source_url)}; ` +
          "nothing was stored, correct it",
      ));
  }

  test("however hostile the value, and never with a stack overflow", () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    assert.match(
      refusal(() => parse({ provider: deep })),
      /^envelope: provider is not a string: a list;/,
    );

    fc.assert(
      fc.property(
        fc.constantFrom("schema", "urgency", "source_url", "actors", "source_timestamp"),
        fc.oneof(
          fc.string({ unit: "binary", maxLength: 300 }).map((text) => `\u0007${text}\u202e\n\ud800`),
          fc.oneof(fc.boolean(), fc.dictionary(fc.string(), fc.jsonValue())),
        ),
        (name, value) => {
          const message = refusal(() => parse({ [name]: value }));
          assert.equal(hasForbidden(message), false);
          assert.ok(message.length < 400, message);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("the limits of an envelope are", () => {
  test("2,000 characters of summary, whatever their code points", () => {
    for (const char of ["x", "語", "😀"]) {
      assert.ok(parse({ summary: char.repeat(2_000) }));
      assert.match(
        refusal(() => parse({ summary: char.repeat(2_001) })),
        /^envelope: summary is longer than 2000/,
      );
    }
  });

  test("32 actors, references and intents each", () => {
    const full = { actors: some(32, actor), related_refs: some(32, ref), action_intents: some(32, intent) };
    assert.ok(parse(full));
  });

  test("512 characters of key", () => {
    assert.equal(parse({ dedupe_key: "k".repeat(512) }).dedupe_key.length, 512);
  });

  test("32 KiB in UTF-8 bytes as JSON, without the raw payload", () => {
    const room = 32 * 1024 - Buffer.byteLength(JSON.stringify(parse()));
    const raw_payload = "x".repeat(100_000);
    for (const [char, size] of [
      ["x", 1],
      ["é", 2],
      ["語", 3],
    ] as const) {
      const text = char.repeat(Math.floor(room / size)) + "x".repeat(room % size);
      assert.ok(parse({ why_it_matters: text, raw_payload }));
      assert.equal(
        refusal(() => parse({ why_it_matters: `${text}x` })),
        "envelope: refused: 32769 bytes without the raw payload; at most 32768 are stored, shorten it",
      );
    }
  });
});

describe("a key is accepted", () => {
  for (const key of ["k", "ci:acme/api:main", "ké語😀", " k ", "a b", "k".repeat(512), "__proto__"]) {
    test(JSON.stringify(key.slice(0, 20)), () => assert.doesNotThrow(() => checkKey(key)));
  }
});

describe("a key is refused with a control character:", () => {
  for (const code of [0x00, 0x09, 0x0a, 0x0d, 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9f]) {
    test(`U+${code.toString(16).padStart(4, "0")}`, () => {
      const key = `a${String.fromCharCode(code)}b`;
      assert.equal(
        refusal(() => checkKey(key)),
        'key: refused: "a b" holds a control character; choose another',
      );
    });
  }
});

describe("the key of a producer that names none", () => {
  const source = { provider: " GitHub ", source_kind: " Workflow_Run ", source_url: " https://x.y/Z " };

  const cases: [name: string, fields: { source_id?: string }, hashed: string][] = [
    [
      "hashes trimmed, lower-cased provenance",
      { source_id: " Main " },
      "github\nworkflow_run\nhttps://x.y/Z\nMain",
    ],
    ["falls back to the URL without an id", {}, "github\nworkflow_run\nhttps://x.y/Z\nhttps://x.y/Z"],
    [
      "falls back to the URL for a blank id",
      { source_id: "  " },
      "github\nworkflow_run\nhttps://x.y/Z\nhttps://x.y/Z",
    ],
  ];
  for (const [name, fields, hashed] of cases) {
    test(name, () => {
      const expected = `triage:github:${sha256(hashed).slice(0, 32)}`;
      assert.equal(provenanceKey({ ...source, ...fields }), expected);
      assert.equal(parse({ ...source, ...fields }).dedupe_key, expected);
    });
  }

  test("does not depend on text, times or delivery", () => {
    const one = parse({ id: "delivery-1", summary: "A", received_at: "2026-01-05T12:00:00Z" });
    const two = parse({ id: "delivery-2", summary: "B", received_at: "2026-01-05T13:00:00Z" });
    assert.equal(one.dedupe_key, two.dedupe_key);
    assert.equal(one.id, two.id);
  });
});

test("the id of an envelope is of its key, whatever id it came with", () => {
  const { id } = parse({ id: "mine", dedupe_key: "k" });
  assert.equal(id, `triage_evt_${sha256("k").slice(0, 24)}`);
});

test("the key of an identity hashes kind and parts as a JSON array", () => {
  const expected = sha256('["ci","acme/api","main \\"x\\""]').slice(0, 32);
  assert.equal(identityKey("github", "ci", ["acme/api", 'main "x"']), `triage:github:${expected}`);
  assert.notEqual(identityKey("p", "a", ["b", "c"]), identityKey("p", "a", ["b,c"]));
  assert.notEqual(identityKey("p", "a", ["b"]), identityKey("p", "a", ["b", ""]));
});

test("the severity of a report that states none comes from the urgency", () => {
  const urgencies = ["critical", "high", "normal", "low"] as const;
  assert.deepEqual(urgencies.map(severityOf), ["urgent", "warning", "info", "info"]);
});

describe("a report around an envelope", () => {
  const around = { producer: "p", origin: "webhook" as const };

  test("takes key, severity and empty hints from it", () => {
    const envelope = parse({ urgency: "critical", dedupe_key: "k" });
    const made = reportOf(envelope, { ...around, signature: "verified" });
    assert.deepEqual(made, {
      ...around,
      signature: "verified",
      key: "k",
      severity: "urgent",
      hints: {},
      envelope,
    });
  });

  test("states its own severity", () => {
    const made = reportOf(parse({ urgency: "critical" }), {
      ...around,
      signature: "local",
      severity: "info",
    });
    assert.equal(made.severity, "info");
  });

  test("has a key of its own when it is unverified, so that it squats no other", () => {
    for (const [signature, key] of [
      ["unverified", "envelope:k"],
      ["verified", "k"],
      ["local", "k"],
    ] as const) {
      const made = reportOf(parse({ dedupe_key: "k" }), { ...around, signature });
      assert.equal(made.key, key);
      assert.equal(made.envelope.dedupe_key, key);
      assert.equal(made.envelope.id, `triage_evt_${sha256(key).slice(0, 24)}`);
    }
  });

  test("is refused when the prefix makes its key too long", () => {
    const unverified = (length: number) =>
      reportOf(parse({ dedupe_key: "k".repeat(length) }), { ...around, signature: "unverified" });
    assert.equal(unverified(503).key.length, 512);
    assert.match(
      refusal(() => unverified(504)),
      /has 513 characters, at most 512/,
    );
  });
});
