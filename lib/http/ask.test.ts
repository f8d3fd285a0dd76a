import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server } from "node:net";
import type { NetworkInterfaceInfo } from "node:os";
import { after, describe, test } from "node:test";
import { certificate } from "../testing/certificate.ts";
import { type Answer, ask, isOnline } from "./ask.ts";
import { expectedFrom, type HttpFlags } from "./expect.ts";
import { targetFrom } from "./target.ts";

const servers: Server[] = [];
const open = new Set<ServerResponse>();
after(() => {
  for (const response of open) response.destroy();
  for (const server of servers) server.close();
});

/** `127.0.0.1:PORT` of a server that lives as long as these tests. */
async function listen(server: Server): Promise<string> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function serve(answer: RequestListener): Promise<string> {
  return listen(
    createServer((request, response) => {
      open.add(response);
      answer(request, response);
    }),
  );
}

async function asked(url: string, flags: HttpFlags = {}): Promise<Omit<Answer, "ms">> {
  const { ms, ...answer } = await ask(targetFrom(url), expectedFrom(flags), AbortSignal.timeout(60_000));
  assert.ok(ms >= 0);
  return Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined));
}

const MIB = 1024 * 1024;

/** What the server says at each path. */
const SITE: Record<string, RequestListener> = {
  "/": (_, response) => response.end("all is well"),
  "/503": (_, response) => response.writeHead(503).end("all is well"),
  "/empty": (_, response) => response.writeHead(204).end(),
  "/split": (_, response) => {
    response.write("all i");
    setTimeout(() => response.end("s well"), 20);
  },
  "/large": (_, response) => response.end(Buffer.alloc(MIB + 1, "x")),
  "/behind-a-mib": (_, response) => response.end(`${"x".repeat(2 * MIB)}all is well`),
  "/endless": (_, response) => {
    const more = () => response.write("x".repeat(65536), () => !response.destroyed && setImmediate(more));
    more();
  },
  "/stalls": (_, response) => response.write("all is"),
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": 100 });
    response.write("all is", () => response.destroy());
  },
  "/slow-headers": () => {},
  "/hangs-up": (request) => request.socket.destroy(),
  "/moved": (_, response) => response.writeHead(301, { location: "/" }).end(),
  "/moved-nowhere": (_, response) => response.writeHead(302).end(),
  "/moved-to-mail": (_, response) => response.writeHead(302, { location: "mailto:ada@example.test" }).end(),
  "/moved-badly": (_, response) => response.writeHead(307, { location: "http://[" }).end(),
  "/loop": (_, response) => response.writeHead(308, { location: "/loop" }).end(),
  "/hops": ({ url }, response) => {
    const left = Number(url?.split("?")[1]);
    if (left === 0) response.end();
    else response.writeHead(302, { location: `/hops?${left - 1}` }).end();
  },
  "/moved-to-503": (_, response) => response.writeHead(303, { location: "503?token=abc" }).end(),
};

describe("an address is asked, and says", () => {
  const rows: [path: string, flags: HttpFlags, answer: Omit<Answer, "ms">][] = [
    ["/", {}, { status: 200 }],
    ["/503", {}, { status: 503 }],
    ["/missing", {}, { status: 404 }],
    ["/", { contains: "is well" }, { status: 200, holds: true }],
    ["/", { contains: "is ill" }, { status: 200, holds: false }],
    ["/empty", { contains: "x" }, { status: 204, holds: false }],
    ["/split", { contains: "is" }, { status: 200, holds: true }],
    ["/large", { contains: "all is well" }, { status: 200, holds: false }],
    ["/behind-a-mib", { contains: "all is well" }, { status: 200, holds: false }],
    ["/endless", {}, { status: 200 }],
    ["/endless", { contains: "xxx" }, { status: 200, holds: true }],
    ["/endless", { contains: "y" }, { status: 200, holds: false }],
    ["/stalls", {}, { status: 200 }],
    ["/stalls", { contains: "all" }, { status: 200, holds: true }],
    ["/stalls", { contains: "well", within: "300ms" }, { status: 200 }],
    ["/cut", { contains: "well" }, { status: 200 }],
    ["/slow-headers", { within: "300ms" }, { fault: { of: "time" } }],
    ["/hangs-up", {}, { fault: { of: "connection", codes: ["ECONNRESET"] } }],
    ["/moved", {}, { status: 200, place: "/" }],
    ["/moved", { contains: "well" }, { status: 200, place: "/", holds: true }],
    ["/moved", { status: "301" }, { status: 301 }],
    ["/moved", { status: "200-399" }, { status: 301 }],
    ["/moved-nowhere", {}, { status: 302 }],
    ["/moved-to-503", {}, { status: 503, place: "/503" }],
    ["/moved-to-mail", {}, { status: 302, fault: { of: "redirects", why: "to what is no http(s) address" } }],
    ["/moved-badly", {}, { status: 307, fault: { of: "redirects", why: "to what is no http(s) address" } }],
    ["/hops?10", {}, { status: 200, place: "/hops" }],
    ["/hops?11", {}, { status: 302, place: "/hops", fault: { of: "redirects", why: "more than 10 times" } }],
    ["/loop", {}, { status: 308, place: "/loop", fault: { of: "redirects", why: "more than 10 times" } }],
  ];
  for (const [path, flags, answer] of rows)
    test(`${path} ${JSON.stringify(flags)}: ${JSON.stringify(answer)}`, async () => {
      const host = await serve((request, response) => {
        const page = SITE[new URL(request.url ?? "/", "http://x").pathname];
        if (page) page(request, response);
        else response.writeHead(404).end();
      });
      const { place, ...others } = answer;
      const where = place === undefined ? {} : { place: `http://${host}${place}` };
      assert.deepEqual(await asked(`http://${host}${path}`, flags), { ...others, ...where });
    });
});

test("an address that is not there is a fault of its own", async () => {
  const server = createNetServer();
  const host = await listen(server);
  server.close();
  await once(server, "close");
  const refused = { fault: { of: "connection", codes: ["ECONNREFUSED"] } };
  assert.deepEqual(await asked(`http://${host}/`), refused);
  assert.deepEqual(await asked(`https://${host}/`), refused);
});

test("what speaks another protocol gives no answer", async () => {
  const ssh = await listen(createNetServer((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")));
  const { fault } = await asked(`http://${ssh}/`);
  assert.ok(fault?.of === "connection" && /^HPE_/.test(fault.codes[0] ?? ""), JSON.stringify(fault));
  const plain = await serve((_, response) => response.end());
  const { fault: tls } = await asked(`https://${plain}/`);
  assert.ok(tls?.of === "connection" && /SSL|EPROTO/.test(tls.codes[0] ?? ""), JSON.stringify(tls));
});

test("a certificate that is not accepted is the fault, and is sent nothing", async () => {
  const now = Date.now();
  let requests = 0;
  const server = createTlsServer(certificate(now - 1000, now + 1e9), () => requests++);
  const host = await listen(server);
  const flags = { header: ["Authorization: Bearer abc"] };
  assert.deepEqual(await asked(`https://${host}/`, flags), {
    fault: { of: "certificate", code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
  });
  assert.equal(requests, 0);
});

test("what it is given to send goes to its own server, and to no other that it redirects to", async () => {
  const seen: unknown[] = [];
  const look: RequestListener = ({ headers }, response) => {
    seen.push([headers["authorization"], headers["x-key"], headers["user-agent"]]);
    response.end();
  };
  const other = await serve(look);
  const own = await serve((request, response) => {
    if (request.url === "/here") return look(request, response);
    const location = request.url === "/" ? "/here" : `http://${other}/`;
    response.writeHead(302, { location }).end();
  });
  const flags = { header: ["X-Key: abc", "User-Agent: probe"] };
  await asked(`http://ada:pw@${own}/`, flags);
  await asked(`http://ada:pw@${own}/away`, flags);
  const basic = `Basic ${Buffer.from("ada:pw").toString("base64")}`;
  assert.deepEqual(seen, [
    [basic, "abc", "probe"],
    [undefined, undefined, "ambient-signals"],
  ]);
});

test("a look that is ended from outside is no answer", async () => {
  const host = await serve(() => {});
  const signal = AbortSignal.timeout(100);
  await assert.rejects(ask(targetFrom(`http://${host}/`), expectedFrom({}), signal), {
    name: "TimeoutError",
  });
});

describe("a machine is on a network", () => {
  const address = (address: string, internal = false) => ({ address, internal }) as NetworkInterfaceInfo;
  const rows: [what: string, addresses: NetworkInterfaceInfo[], online: boolean][] = [
    ["with an address of it", [address("127.0.0.1", true), address("192.168.1.7")], true],
    ["with one of IPv6", [address("2001:db8::7")], true],
    ["never by itself", [address("127.0.0.1", true), address("::1", true)], false],
    ["never by addresses that reach nobody", [address("fe80::1"), address("169.254.3.4")], false],
    ["never without any", [], false],
  ];
  for (const [what, addresses, online] of rows)
    test(what, () => assert.equal(isOnline({ eth0: addresses, lo: undefined }), online));
});
