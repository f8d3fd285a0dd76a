import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Signal } from "../lib/document.ts";
import { identityKey } from "../lib/envelope.ts";
import { Alertmanager, type PostedAlert, withoutAlertmanager } from "../lib/testing/alertmanager.ts";
import { runBundle } from "../lib/testing/bundled.ts";
import type { Run } from "../lib/testing/process.ts";
import { tempDirectory } from "../lib/testing/temp.ts";

/** An inbox, and the monitor that reports to it. */
class Place {
  readonly home = realpathSync(tempDirectory("place"));
  readonly dir = join(this.home, "signals");

  poll(...args: string[]): Promise<Run> {
    const env = { HOME: this.home, HARN_EXT_SIGNALS_DIR: this.dir };
    return runBundle("monitors/alertmanager", [...args, "--no-hint"], { cwd: this.home, env });
  }

  /** Each signal as `SUMMARY#GENERATION STATE SEVERITY`, in the order of the alphabet. */
  get signals(): string[] {
    return this.inbox()
      .map(
        ({ envelope, generation, state, severity }) =>
          `${envelope.summary}#${generation} ${state} ${severity}`,
      )
      .sort();
  }

  inbox(): Signal[] {
    return JSON.parse(readFileSync(join(this.dir, "inbox.json"), "utf8")).signals;
  }

  /** Lets two minutes pass for what the monitor has been waiting for. */
  twoMinutesPass(): void {
    const folder = join(this.dir, "monitors");
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), "utf8");
      const back = (_: string, since: string) =>
        `"since":"${new Date(Date.parse(since) - 121_000).toISOString()}"`;
      writeFileSync(join(folder, name), text.replace(/"since":"([^"]+)"/g, back));
    }
  }
}

const CONFIG = `
route:
  receiver: team-a
  group_wait: 1s
  routes:
    - matchers: [team="b"]
      receiver: team.b
      continue: true
    - matchers: [team="b"]
      receiver: team-a
inhibit_rules:
  - source_matchers: [alertname="ClusterDown"]
    target_matchers: [alertname="InstanceDown"]
    equal: [cluster]
receivers: [{ name: team-a }, { name: team.b }, { name: teamxb }]
`;

const DISK: PostedAlert = {
  labels: { alertname: "DiskFull", instance: "db-1:9100", severity: "critical" },
  annotations: { summary: "The disk of db-1 is full", runbook_url: "https://runbooks.example.test/disk" },
  generatorURL: "http://prom.example.test/graph?g0.expr=disk",
  startsAt: "2026-01-05T12:00:00Z",
};
const INSTANCE: PostedAlert = {
  labels: { alertname: "InstanceDown", cluster: "one", instance: "api-1", severity: "warning" },
};
const CLUSTER: PostedAlert = {
  labels: { alertname: "ClusterDown", cluster: "one", severity: "page" },
  annotations: { summary: "Cluster one is down" },
};
const SHARED: PostedAlert = {
  labels: { alertname: "SlowQueue", team: "b", severity: "info" },
  annotations: { summary: "The queue is slow" },
};

type Fingerprinted = { fingerprint: string };

const missing = withoutAlertmanager();

describe("with a real Alertmanager", { skip: missing ?? false }, () => {
  const started: Alertmanager[] = [];
  after(() => Promise.all(started.map((one) => one.stop())));
  async function start(): Promise<Alertmanager> {
    const real = await Alertmanager.start(CONFIG);
    started.push(real);
    return real;
  }

  test("an alert fires, goes on in silence, and resolves only once it is gone for good", async () => {
    const place = new Place();
    const real = await start();
    const none = await place.poll(real.url);
    assert.deepEqual([none.code, none.stdout.trim()], [0, "ALERTMANAGER OK - none active"], none.stderr);

    await real.post(DISK);
    const fired = await place.poll(real.url);
    assert.equal(fired.code, 2);
    assert.match(
      fired.stdout,
      /^ALERTMANAGER CRITICAL - 1 active: DiskFull: The disk of db-1 is full\n {4}fired /,
    );
    const [signal] = place.inbox();
    assert.equal(signal?.envelope.source_url, DISK.generatorURL);
    assert.doesNotMatch(JSON.stringify(signal), /runbook/);

    // The fingerprint that it gave is the one that we would give an alert without.
    const [listed] = (await (await fetch(`${real.url}/api/v2/alerts`)).json()) as Fingerprinted[];
    assert.equal(signal?.key, identityKey("alertmanager", "alert", ["team-a", listed?.fingerprint ?? ""]));

    const silence = await real.silence("DiskFull");
    const silenced = await place.poll(real.url);
    assert.equal(silenced.code, 0);
    assert.match(
      silenced.stdout,
      /OK - none active, 1 held back\n {4}not fired: silenced in Alertmanager\n$/,
    );
    assert.deepEqual(
      place.signals,
      ["DiskFull: The disk of db-1 is full#1 fired urgent"],
      "it goes on, and is no news",
    );
    await real.unsilence(silence);
    await place.poll(real.url);
    assert.deepEqual(place.signals, ["DiskFull: The disk of db-1 is full#1 fired urgent"]);

    // A restart loses all alerts, until they are sent again.
    await real.stop();
    const down = await place.poll(real.url);
    assert.equal(down.code, 3);
    assert.match(down.stdout, /^ALERTMANAGER UNKNOWN - .*cannot be reached/);
    await real.start();
    for (let polls = 0; polls < 3; polls++) {
      const { code, stdout } = await place.poll(real.url);
      assert.equal(code, 0);
      assert.match(stdout, /not resolved yet: /);
    }
    await real.post(DISK);
    assert.equal((await place.poll(real.url)).code, 2);
    assert.deepEqual(
      place.signals,
      ["DiskFull: The disk of db-1 is full#1 fired urgent"],
      "nothing was resolved",
    );

    await real.end(DISK);
    await place.poll(real.url);
    place.twoMinutesPass();
    const over = await place.poll(real.url);
    assert.equal(over.code, 0);
    const summary = "Alertmanager lists it no longer; before: DiskFull: The disk of db-1 is full";
    assert.deepEqual(place.signals, [`${summary}#2 resolved urgent`]);

    // It may come back with the time at which it began at first: for Prometheus it never ended.
    await real.post(DISK);
    await place.poll(real.url);
    assert.deepEqual(place.signals, ["DiskFull: The disk of db-1 is full#3 fired urgent"]);
  });

  test("what is silenced or inhibited before it fired waits until nothing holds it back", async () => {
    const place = new Place();
    const real = await start();
    await real.post(CLUSTER, INSTANCE, DISK);
    const silence = await real.silence("DiskFull");
    const held = await place.poll(real.url);
    assert.equal(held.code, 2);
    assert.match(
      held.stdout,
      /^ALERTMANAGER CRITICAL - 1 active, 2 held back: ClusterDown: Cluster one is down\n/,
    );
    assert.match(held.stdout, /not fired: silenced in Alertmanager/);
    assert.match(held.stdout, /not fired: inhibited by ClusterDown/);
    assert.deepEqual(place.signals, ["ClusterDown: Cluster one is down#1 fired urgent"]);

    await real.end(CLUSTER);
    await real.unsilence(silence);
    const free = await place.poll(real.url);
    assert.match(free.stdout, /^ALERTMANAGER CRITICAL - 2 active: DiskFull: The disk of db-1 is full\n/);
    assert.deepEqual(place.signals, [
      "ClusterDown: Cluster one is down#1 fired urgent",
      "DiskFull: The disk of db-1 is full#1 fired urgent",
      "InstanceDown (cluster=one, instance=api-1)#1 fired warning",
    ]);
    const links = place.inbox().map(({ envelope }) => envelope.source_url);
    assert.ok(links.includes(`${real.url}/`), "without a graph, Alertmanager itself");
  });

  test("of several receivers it takes exactly the one that is asked for, else the first", async () => {
    const place = new Place();
    const real = await start();
    await real.post(SHARED, INSTANCE);
    const listed = (await (await fetch(`${real.url}/api/v2/alerts?filter=team=b`)).json()) as Fingerprinted[];
    const fingerprint = listed[0]?.fingerprint ?? "";
    const key = (receiver: string) => identityKey("alertmanager", "alert", [receiver, fingerprint]);

    const asked = await place.poll(real.url, "--receiver", "team.b");
    assert.equal(asked.code, 1);
    assert.match(asked.stdout, /^ALERTMANAGER WARNING - 1 active: SlowQueue: The queue is slow\n/);
    assert.deepEqual(
      place.inbox().map((signal) => [signal.key, signal.severity]),
      [[key("team.b"), "info"]],
    );
    const all = new Place();
    await all.poll(real.url);
    const keys = all.inbox().map((signal) => signal.key);
    assert.ok(keys.includes(key("team.b")), "its first route is that of team.b");
    assert.equal(keys.length, 2, "every alert once");

    const nobody = await place.poll(real.url, "--receiver", "teamxb");
    assert.deepEqual([nobody.code, nobody.stdout], [0, "ALERTMANAGER OK - none active\n"]);
    const wrong = await place.poll(real.url, "--receiver", "team-b");
    assert.equal(wrong.code, 3);
    assert.match(wrong.stdout, /UNKNOWN - --receiver: team-b: is none of team-a, team\.b, teamxb/);
  });
});

describe("an Alertmanager that does not tell is UNKNOWN, and resolves nothing:", () => {
  const ALERT = {
    labels: { alertname: "Down", severity: "critical" },
    annotations: {},
    startsAt: "2026-01-05T12:00:00.000Z",
    fingerprint: "f404ecabc8dd5cd7",
    receivers: [{ name: "team-a" }],
    status: { state: "active", silencedBy: [], inhibitedBy: [], mutedBy: [] },
  };
  const json =
    (status: number, value: unknown): RequestListener =>
    (_, response) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  const rows: [what: string, args: string[], answer: RequestListener, says: RegExp][] = [
    ["an error", [], json(500, { message: "no store" }), /answered 500: no store/],
    ["a page", [], (_, response) => response.end("<html>Sign in</html>"), /something else than JSON/],
    ["no list", [], json(200, { status: "success", data: [] }), /another shape/],
    ["an alert without labels", [], json(200, [{ ...ALERT, labels: undefined }]), /another shape: 0\.labels/],
    ["nothing in time", ["--timeout", "300ms"], () => {}, /took longer than 0\.3s/],
    [
      "no groups",
      [],
      (request, response) => json(request.url?.includes("groups") ? 503 : 200, [ALERT])(request, response),
      /alerts\/groups: answered 503/,
    ],
  ];
  const servers: ReturnType<typeof createServer>[] = [];
  after(() => {
    for (const server of servers) server.close().closeAllConnections();
  });
  async function serve(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  for (const [what, args, answer, says] of rows)
    test(what, async () => {
      const place = new Place();
      let isWell = true;
      const well = json(200, [ALERT]);
      const host = await serve((request, response) => {
        if (!isWell) return answer(request, response);
        // An implementation without groups is one whose alerts are never muted.
        return request.url?.includes("groups") ? json(404, {})(request, response) : well(request, response);
      });
      const url = `http://${host}`;
      assert.equal((await place.poll(url)).code, 2);
      isWell = false;
      const ran = await place.poll(url, ...args);
      assert.equal(ran.code, 3, ran.stdout);
      assert.match(ran.stdout, says);
      assert.deepEqual(place.signals, ["Down#1 fired urgent"]);
    });

  test("and what is muted by a time interval, as version 0.28 tells it, is held back", async () => {
    const place = new Place();
    const muted = { ...ALERT, status: { ...ALERT.status, state: "suppressed", mutedBy: ["nights"] } };
    const host = await serve((request, response) => {
      const groups = [{ labels: {}, receiver: { name: "team-a" }, alerts: [muted] }];
      json(200, request.url?.includes("groups") ? groups : [ALERT])(request, response);
    });
    const ran = await place.poll(`http://${host}`);
    assert.equal(ran.code, 0);
    assert.match(ran.stdout, /OK - none active, 1 held back\n {4}not fired: muted by nights/);
    assert.deepEqual(place.signals, []);
  });

  test("but its password is sent to it, and stands in no signal", async () => {
    const place = new Place();
    const seen: unknown[] = [];
    const host = await serve((request, response) => {
      seen.push(request.headers.authorization);
      json(200, request.url?.includes("groups") ? [] : [ALERT])(request, response);
    });
    const ran = await place.poll(`http://ada:p%40ss@${host}/am/?x=1#/alerts`);
    assert.equal(ran.code, 2);
    assert.deepEqual([...new Set(seen)], [`Basic ${Buffer.from("ada:p@ss").toString("base64")}`]);
    assert.equal(place.inbox()[0]?.envelope.source_url, `http://${host}/am/`);
    assert.doesNotMatch(ran.stdout + JSON.stringify(place.inbox()), /p@ss|p%40ss/);
  });

  test("nor in the one that the monitor fires about itself", async () => {
    const place = new Place();
    for (let polls = 0; polls < 3; polls++) await place.poll("http://ada:hush@127.0.0.1:1/?key=hush");
    assert.match(
      place.signals.join(),
      /^The monitor alertmanager .* has not been able to read its source yet/,
    );
    assert.doesNotMatch(JSON.stringify(place.inbox()), /hush/);
  });

  for (const url of ["alerts.example.test", "ftp://ada:pw@alerts.example.test", ""])
    test(`and ${url || "an empty address"} is called wrong`, async () => {
      const place = new Place();
      mkdirSync(place.dir);
      const ran = await place.poll(url);
      assert.deepEqual([ran.code, ran.stdout], [3, ""]);
      assert.match(ran.stderr, /^error: URL: .*is no http\(s\) address/);
      assert.doesNotMatch(ran.stderr, /pw/);
    });
});
