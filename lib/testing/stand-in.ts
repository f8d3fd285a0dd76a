import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "../errors.ts";

/** A stand-in for the API of a model, on 127.0.0.1. */
export type StandIn = {
  /** `http://127.0.0.1:PORT`, both the base URL of the API and a proxy that refuses everything. */
  url: string;
  /** What a test must not ignore: steps that threw, and addresses that were asked for through the proxy. */
  problems: Error[];
  close(): Promise<void>;
};

/** What a stand-in makes of a request to one of its paths, such as `POST /v1/messages`; `body` is what it was sent. */
export type Route<Body> = (response: ServerResponse, body: Body, request: IncomingMessage) => unknown;

/**
 * Listens on a free port of 127.0.0.1. A path without a route does not exist; a route that throws is a problem.
 *
 * It also listens as an HTTP proxy, so that a client whose `HTTPS_PROXY` it is cannot reach anything else unseen.
 * `harmless` are addresses (`host:port`) that a client asks for whatever its settings: refused, and no problem.
 */
export async function startStandIn<Body>(
  routes: Readonly<Record<string, Route<Body>>>,
  harmless: readonly string[] = [],
): Promise<StandIn> {
  const problems: Error[] = [];
  const refuse = (target = "") => {
    if (!harmless.includes(target))
      problems.push(new Error(`stand-in: the client tried to reach ${target}; tests stay on 127.0.0.1`));
  };

  const server = createServer(async (request, response) => {
    const { method, url = "/" } = request;
    try {
      const text = await readText(request);
      const path = new URL(url, "http://127.0.0.1").pathname;
      const route = routes[`${method} ${path}`];
      if (/^https?:/.test(url)) {
        refuse(url);
        sendError(response, 403, "permission_error", "this proxy lets nothing through");
      } else if (route) {
        await route(response, JSON.parse(text || "{}"), request);
      } else {
        sendError(response, 404, "not_found_error", `no such path: ${path}`);
      }
    } catch (error) {
      problems.push(error instanceof Error ? error : new Error(String(error)));
      sendError(response, 400, "invalid_request_error", messageOf(error));
    }
  });
  server.on("connect", ({ url }, socket) => {
    refuse(url);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    problems,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", "x-should-retry": "false" });
  response.end(JSON.stringify(value));
}

/** In the shape that the APIs have in common. */
function sendError(response: ServerResponse, status: number, type: string, message: string): void {
  sendJson(response, status, { type: "error", error: { type, message } });
}

/** A whole stream of events, each under its own type. */
export function sendEvents(response: ServerResponse, events: readonly { type: string }[]): void {
  if (response.destroyed) return;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}

/** What the model says, or a function that may act (fire a signal, look at the request) before it says something. */
export type Step<Request, Answer> = Answer | ((request: Request) => Answer | Promise<Answer>);

/** What the model says in one role: a step for each request, in order. When they have run out, it ends the turn. */
export class Part<Request, Answer extends string | object> {
  /** What it was asked, oldest first. */
  readonly requests: Request[] = [];
  readonly #steps: Step<Request, Answer | string>[];

  constructor(steps: readonly Step<Request, Answer>[] = []) {
    this.#steps = [...steps];
  }

  async answer(request: Request): Promise<Answer | string> {
    this.requests.push(request);
    const step = this.#steps.shift() ?? "ok.";
    return typeof step === "function" ? step(request) : step;
  }
}
