import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import * as z from "zod/mini";
import { Source, Unreadable } from "./source.ts";

/** What the server does next, and what it was asked. */
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let asked: IncomingMessage[] = [];
let base = "";
const server = createServer((request, response) => {
  asked.push(request);
  answer(request, response);
});

before(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const SHAPE = z.object({ name: z.string(), tags: z.array(z.object({ id: z.number() })) });
const GOOD = { name: "a", tags: [{ id: 1, more: "x" }], other: { big: "y".repeat(100) } };
const KNOWN = { name: "a", tags: [{ id: 1 }] };

function reply(status: number, body: unknown, headers: Record<string, string> = {}): void {
  answer = (_, response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

function read(memory: Record<string, unknown> = {}, token?: string) {
  const source = new Source(memory, AbortSignal.timeout(5_000));
  return source.json(`${base}/a?secret=1`, SHAPE, {
    remember: true,
    ...(token && { headers: { authorization: `Bearer ${token}` } }),
  });
}

async function refused(): Promise<Unreadable> {
  const error = await read().then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(error instanceof Unreadable, String(error));
  return error;
}

describe("an answer", () => {
  test("is kept as far as its shape is known, and asked for again only if it changed", async () => {
    const memory = {};
    answer = (request, response) => {
      const same = request.headers["if-none-match"] === '"1"';
      response.writeHead(same ? 304 : 200, { etag: '"1"', link: '</a?page=2>; rel="next"' });
      response.end(same ? undefined : JSON.stringify(GOOD));
    };
    asked = [];
    const first = await read(memory);
    assert.deepEqual([first.data, first.unchanged], [KNOWN, false]);
    assert.doesNotMatch(JSON.stringify(memory), /yyy/, "what nobody reads is not stored");
    const second = await read(JSON.parse(JSON.stringify(memory)));
    assert.deepEqual([second.data, second.unchanged, second.next], [KNOWN, true, `${base}/a?page=2`]);
    assert.deepEqual(
      asked.map(({ headers }) => headers["if-none-match"]),
      [undefined, '"1"'],
    );
    assert.equal((await read(memory, "other")).unchanged, false, "another token may see another thing");
    const source = new Source(memory, AbortSignal.timeout(5_000));
    const headers = { "private-token": "other" };
    const { unchanged } = await source.json(`${base}/a?secret=1`, SHAPE, { remember: true, headers });
    assert.equal(unchanged, false);
  });

  test("that is not asked for any more is forgotten", async () => {
    const memory = { own: 1 };
    reply(200, GOOD, { etag: '"1"' });
    await read(memory);
    assert.equal(Object.keys(memory).length, 2);
    new Source(memory, AbortSignal.timeout(1_000)).forgetOthers();
    assert.deepEqual(memory, { own: 1 });
  });

  const links: [link: string | undefined, next: string | undefined][] = [
    ['</b?page=2>; rel="next", </b?page=9>; rel="last"', "/b?page=2"],
    ['</b?page=1>; rel="prev", </b?page=3>; rel="next"', "/b?page=3"],
    ['</b?page=1>; rel="prev"', undefined],
    ['<https://elsewhere.example.test/b>; rel="next"', undefined],
    ["<http://[broken>; rel=next", undefined],
    [undefined, undefined],
  ];
  for (const [link, next] of links)
    test(`names its next page, on the same server only: ${link}`, async () => {
      reply(200, GOOD, link === undefined ? {} : { link });
      assert.equal((await read()).next, next && base + next);
    });
});

describe("a redirect", () => {
  test("is followed on the same server", async () => {
    answer = (request, response) => {
      if (request.url?.startsWith("/a")) response.writeHead(301, { location: "/moved?x=1" }).end();
      else response.end(JSON.stringify({ ...GOOD, name: request.url }));
    };
    assert.equal((await read()).data.name, "/moved?x=1");
  });

  const elsewhere: [location: string, says: RegExp][] = [
    [
      "http://localhost:1/a",
      /leads to http:\/\/localhost:1, where nothing is sent; name that if it is right$/,
    ],
    ["//elsewhere.example.test/a", /leads to http:\/\/elsewhere\.example\.test, where/],
    ["http://[broken", /leads to nowhere/],
    ["/a", /leads in a circle$/],
  ];
  for (const [location, says] of elsewhere)
    test(`to ${location} is not followed, since the token would go with it`, async () => {
      reply(302, "", { location });
      assert.match((await refused()).message, says);
    });
});

describe("no answer", () => {
  const inAnHour = String(Math.floor(Date.now() / 1000) + 3600);
  const rows: [
    what: string,
    status: number,
    body: unknown,
    headers: Record<string, string>,
    says: RegExp,
    limited: boolean,
    waitsMinutes: number | undefined,
  ][] = [
    ["a server error", 502, "<html>", {}, /127\.0\.0\.1:\d+\/a: answered 502$/, false, undefined],
    ["one that says when to come back", 503, "", { "retry-after": "120" }, /answered 503/, false, 2],
    [
      "a limit",
      429,
      { message: "slow down" },
      {},
      /answered 429, a limit on how often .*: slow down$/,
      true,
      undefined,
    ],
    ["a limit with a time", 429, {}, { "retry-after": "60" }, /429/, true, 1],
    ["a limit with a time that is absurd", 429, {}, { "retry-after": "99999999" }, /429/, true, 120],
    [
      "a limit that is spent",
      403,
      {},
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": inAnHour },
      /403/,
      true,
      60,
    ],
    [
      "a second limit, without a word of when",
      403,
      { message: "You have exceeded a secondary rate limit" },
      { "x-ratelimit-remaining": "4999" },
      /403, a limit/,
      true,
      undefined,
    ],
    [
      "no permission",
      403,
      { message: "Must have admin rights" },
      { "x-ratelimit-remaining": "12" },
      /answered 403, so the token may not read this: Must have admin rights$/,
      false,
      undefined,
    ],
    [
      "no token",
      401,
      { message: "Bad credentials" },
      {},
      /401, so the token is missing, wrong or too old: Bad credentials$/,
      false,
      undefined,
    ],
    [
      "nothing there",
      404,
      { message: "Not Found" },
      {},
      /404, so it is not there, or the token may not see it/,
      false,
      undefined,
    ],
    [
      "a good status with an error in it",
      200,
      { message: "API rate limit exceeded" },
      {},
      /in another shape: name: API rate limit exceeded$/,
      true,
      undefined,
    ],
    ["another shape", 200, { name: 7, tags: [] }, {}, /answered in another shape: name$/, false, undefined],
    [
      "a fault deep inside",
      200,
      { name: "a", tags: [{ id: "1" }] },
      {},
      /in another shape: tags\.0\.id$/,
      false,
      undefined,
    ],
    [
      "HTML with a good status",
      200,
      "<html>log in</html>",
      {},
      /with something else than JSON$/,
      false,
      undefined,
    ],
    ["hostile words", 500, { message: "\u001b[31mred\u202e" }, {}, /500: \[31mred$/, false, undefined],
  ];
  for (const [what, status, body, headers, says, limited, waits] of rows)
    test(`${what}: ${status}`, async () => {
      reply(status, body, headers);
      const error = await refused();
      assert.match(error.message, says);
      assert.doesNotMatch(error.message, /secret/);
      assert.equal(error.limited, limited);
      const minutes = error.waitMs === undefined ? undefined : Math.round(error.waitMs / 60_000);
      assert.equal(minutes, waits);
    });

  test("a date says when to come back too", async () => {
    reply(503, "", { "retry-after": new Date(Date.now() + 600_000).toUTCString() });
    assert.equal(Math.round(((await refused()).waitMs ?? 0) / 60_000), 10);
  });

  test("one that is cut off is none", async () => {
    answer = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"name":"a"');
      setTimeout(() => response.destroy(), 20);
    };
    assert.match((await refused()).message, /the answer was cut off/);
  });

  test("one without end is not read to the end", async () => {
    answer = (_, response) => {
      const chunk = "x".repeat(1 << 20);
      const write = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", write);
      write();
    };
    assert.match((await refused()).message, /cut off \(more than 16777216 bytes\)/);
  });

  test("a server that is not there is said with the reason", async () => {
    const source = new Source({}, AbortSignal.timeout(5_000));
    await assert.rejects(
      source.json("http://127.0.0.1:1/a", SHAPE),
      /127\.0\.0\.1:1\/a: cannot be reached \(.*(ECONNREFUSED|bad port).*\)/,
    );
  });

  test("an error leaves what was remembered as it was", async () => {
    const memory = {};
    reply(200, GOOD, { etag: '"1"' });
    await read(memory);
    const before = JSON.stringify(memory);
    reply(500, "");
    await assert.rejects(read(memory));
    assert.equal(JSON.stringify(memory), before);
  });
});
