import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Signal } from "../lib/document.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import { certificate } from "../lib/testing/certificate.ts";
import type { Run } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";

/** An inbox, and the monitor that reports to it. */
class Place {
  readonly home = realpathSync(tempDirectory("place"));
  readonly dir = join(this.home, "signals");

  poll(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
    const own = { HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir, ...env };
    return runBundle("monitors/http", [...args, "--no-hint"], { cwd: this.home, env: own });
  }

  inbox(): Signal[] {
    if (!existsSync(join(this.dir, "inbox.json"))) return [];
    return JSON.parse(readFileSync(join(this.dir, "inbox.json"), "utf8")).signals;
  }

  /** Each signal as `KIND#GENERATION STATE SEVERITY`. */
  get signals(): string[] {
    return this.inbox().map(
      ({ envelope, generation, state, severity }) =>
        `${envelope.source_kind}#${generation} ${state} ${severity}`,
    );
  }
}

const servers: Server[] = [];
after(() => {
  for (const server of servers) server.close();
});

async function listen(server: Server): Promise<string> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an address fires when it was down for two polls, and resolves when it was well for two", async () => {
  const place = new Place();
  const well: RequestListener = (_, response) => response.end("all is well");
  const failing: RequestListener = (_, response) => response.writeHead(503).end();
  let site = well;
  const host = await listen(createServer((request, response) => site(request, response)));
  const url = `http://${host}/up`;
  const steps: [site: RequestListener, code: number, says: string, waits: string, signals: string[]][] = [
    [well, 0, "OK - URL answers 200 in MS", "", []],
    [failing, 2, "CRITICAL - URL answers 503, expected is 200-299", "not fired: 1 of 2 polls", []],
    [well, 0, "OK - URL answers 200 in MS", "", []],
    [failing, 2, "CRITICAL - URL answers 503, expected is 200-299", "not fired: 1 of 2 polls", []],
    [failing, 2, "CRITICAL - URL answers 503, expected is 200-299", "fired ", ["answer#1 fired urgent"]],
    [well, 0, "OK - URL answers 200 in MS", "not resolved yet: 1 of 2 polls", ["answer#1 fired urgent"]],
    [well, 0, "OK - URL answers 200 in MS", "resolved ", ["answer#2 resolved urgent"]],
  ];
  for (const [now, code, says, waits, signals] of steps) {
    site = now;
    const ran = await place.poll([url]);
    assert.equal(ran.code, code, ran.stderr);
    const [line = "", then = ""] = ran.stdout.replaceAll(url, "URL").replace(/\d+ms/, "MS").split("\n    ");
    assert.equal(line.trim(), `HTTP ${says}`);
    assert.ok(waits === "" ? then === "" : then.startsWith(waits), then);
    assert.deepEqual(place.signals, signals);
  }
});

describe("by its certificate, an address is", () => {
  const DAY = 86_400_000;
  const now = Date.now();
  const rows: [what: string, from: number, days: number, trusted: boolean, code: number, says: RegExp][] = [
    ["well", -1, 60.5, true, 0, /OK - .* answers 200 in \d+ms; has a certificate that ends in 60 days/],
    ["to renew it", -1, 5.5, true, 1, /WARNING - .* has a certificate that ends in 5 days/],
    ["lost, once it has ended", -9, -1, true, 2, /CRITICAL - .* that is not accepted: it has expired\n/],
    ["lost before it began", 1, 9, true, 2, /CRITICAL - .* that is not accepted: it is not valid yet\n/],
    ["lost where nobody knows it", -1, 60, false, 2, /CRITICAL - .* not accepted: it is signed by itself\n/],
  ];
  for (const [what, from, days, trusted, code, says] of rows)
    test(what, async () => {
      const place = new Place();
      const made = certificate(now + from * DAY, now + days * DAY);
      const file = join(place.home, "authority.pem");
      writeFileSync(file, made.cert);
      const host = await listen(createTlsServer(made, (_, response) => response.end()));
      const env: Record<string, string> = trusted ? { NODE_EXTRA_CA_CERTS: file } : {};
      const ran = await place.poll([`https://${host}/`, "--polls", "1"], env);
      assert.equal(ran.code, code, ran.stderr);
      assert.match(ran.stdout, says);
      const severity = code === 1 ? "warning" : "urgent";
      assert.deepEqual(place.signals, code === 0 ? [] : [`certificate#1 fired ${severity}`]);
    });

  test("and lost when it is for another", async () => {
    const place = new Place();
    const made = certificate(now - DAY, now + 60 * DAY, [10, 0, 0, 1]);
    const file = join(place.home, "authority.pem");
    writeFileSync(file, made.cert);
    const host = await listen(createTlsServer(made, (_, response) => response.end()));
    const ran = await place.poll([`https://${host}/`], { NODE_EXTRA_CA_CERTS: file });
    assert.match(ran.stdout, /CRITICAL - .* not accepted: it is for another name\n/);
  });
});

test("two monitors of an address with other thresholds leave each other's signals alone", async () => {
  const place = new Place();
  const host = await listen(createServer((_, response) => setTimeout(() => response.end(), 20)));
  for (let polls = 0; polls < 3; polls++)
    for (const [slower, code] of [
      ["1ms", 1],
      ["1h", 0],
    ] as const) {
      const ran = await place.poll([`http://${host}/`, "--slower", slower, "--polls", "1"]);
      assert.equal(ran.code, code, ran.stdout);
    }
  assert.deepEqual(place.signals, ["latency#1 fired warning"]);
});

test("an address that cannot be reached is its verdict, and no trouble of the monitor", async () => {
  const place = new Place();
  const server = createServer();
  const host = await listen(server);
  server.close();
  for (let polls = 0; polls < 3; polls++) {
    const ran = await place.poll([`http://${host}/`, "--severity", "warning"]);
    assert.equal(ran.code, 1);
    assert.match(ran.stdout, /^HTTP WARNING - .* refuses the connection \(ECONNREFUSED\)\n/);
  }
  assert.deepEqual(place.signals, ["answer#1 fired warning"]);
});

test("nothing that is secret is told or shown", async () => {
  const place = new Place();
  const host = await listen(createServer((_, response) => response.writeHead(500).end()));
  const args = [`http://ada:hush@${host}/up?key=hush`, "--header", "X-Key: hush", "--slower", "2s"];
  const ran = await place.poll([...args, "--polls", "1", "--json"]);
  assert.equal(ran.code, 2);
  assert.deepEqual(place.signals, ["answer#1 fired urgent"]);
  assert.equal(place.inbox()[0]?.envelope.source_url, `http://${host}/up`);
  assert.doesNotMatch(ran.stdout + ran.stderr + JSON.stringify(place.inbox()), /hush/);
});

describe("called wrong it is UNKNOWN, and touches nothing:", () => {
  const rows: [args: string[], says: RegExp][] = [
    [["api.example.test/up"], /^error: URL: api\.example\.test\/up: is no http\(s\) address/],
    [["http://127.0.0.1:1", "--status", "ok"], /^error: --status: ok: is no status/],
    [
      ["http://127.0.0.1:1", "--timeout", "10s"],
      /^error: --within: 10s: is not shorter than --timeout 10s, so what is late would be unknown/,
    ],
  ];
  for (const [args, says] of rows)
    test(args.join(" "), async () => {
      const place = new Place();
      const ran = await place.poll(args);
      assert.deepEqual([ran.code, ran.stdout], [3, ""]);
      assert.match(ran.stderr, says);
      assert.ok(!existsSync(place.dir));
    });
});
