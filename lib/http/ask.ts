import * as http from "node:http";
import * as https from "node:https";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { TLSSocket } from "node:tls";
import { attempt, codeOf, messageOf } from "../errors.ts";
import { type Expected, isExpected } from "./expect.ts";
import { shown, type Target } from "./target.ts";

/** What one request came to. */
export interface Answer {
  /** Of the last answer, after redirects; without one, `fault` says why. */
  status?: number;
  fault?: Fault;
  /** Whether the content holds what it is to; undefined when nobody asks, or it broke off before. */
  holds?: boolean | undefined;
  /** Where the last answer came from, or was to come from, when it is not where it was asked. */
  place?: string | undefined;
  /** How long it took to begin its last answer, redirects included: milliseconds. */
  ms: number;
  /** When the certificate ends: of several behind redirects, the first that does. Milliseconds since 1970. */
  ends?: number | undefined;
}

export type Fault =
  /** No connection, or no HTTP on it, by the system's codes: one for each address that was tried. */
  | { of: "connection"; codes: readonly string[] }
  /** TLS did not accept the certificate. */
  | { of: "certificate"; code: string }
  | { of: "time" }
  | { of: "redirects"; why: string };

const MOST_REDIRECTS = 10;
const MOST_BYTES = 1024 * 1024;

/**
 * Asks an address once, and follows its redirects, as `curl -fL` does; a redirect that is expected is the answer. What
 * it was given to send stays with the server that it was meant for. Of the content it reads as much as it needs, and at
 * most 1 MiB. Throws only when `signal` ends it.
 */
export async function ask(target: Target, expected: Expected, signal: AbortSignal): Promise<Answer> {
  const late = AbortSignal.timeout(expected.within);
  const both = AbortSignal.any([late, signal]);
  const begin = performance.now();
  let { url } = target;
  let headers: http.OutgoingHttpHeaders = { ...target.headers, ...expected.headers };
  let ends: number | undefined;
  const told = (answer: Omit<Answer, "ms" | "ends" | "place">): Answer => {
    const place = url === target.url ? undefined : shown(url);
    return { ...answer, place, ms: Math.round(performance.now() - begin), ends };
  };
  for (let hops = 0; ; hops++) {
    let response: http.IncomingMessage;
    try {
      response = await get(url, headers, both);
    } catch (error) {
      signal.throwIfAborted();
      return told({ fault: late.aborted ? { of: "time" } : faultOf(error) });
    }
    const { statusCode: status = 0, socket } = response;
    const end = certificateEnd(socket);
    if (end !== undefined) ends = Math.min(ends ?? end, end);
    const location = REDIRECTS.has(status) ? response.headers.location : undefined;
    if (location === undefined || isExpected(expected, status)) {
      const answer = told({ status });
      if (expected.contains === undefined) response.destroy();
      else answer.holds = await holds(response, expected.contains);
      signal.throwIfAborted();
      return answer;
    }
    response.destroy();
    const next = attempt(() => new URL(location, url));
    if (!next || !/^https?:$/.test(next.protocol))
      return told({ status, fault: { of: "redirects", why: "to what is no http(s) address" } });
    if (hops === MOST_REDIRECTS)
      return told({ status, fault: { of: "redirects", why: `more than ${MOST_REDIRECTS} times` } });
    if (next.origin !== url.origin) headers = {};
    url = next;
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function get(
  url: URL,
  headers: http.OutgoingHttpHeaders,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const usual = { accept: "*/*", "accept-encoding": "identity", "user-agent": "ambient-signals" };
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const options = {
      // Connections that are kept could outlive a server's restart, and show no certificate.
      agent: false,
      headers: { ...usual, ...headers },
      signal,
      // Of several addresses node gives up one after 250ms, and a server far away takes longer.
      autoSelectFamilyAttemptTimeout: 1_000,
    };
    const asking = request(url, options);
    asking.on("response", (response) => resolve(response.on("error", () => {})));
    asking.on("error", (error) => {
      const refused = asking.socket instanceof TLSSocket && asking.socket.authorizationError;
      reject(refused ? new Refused(codeOf(error) ?? messageOf(error)) : error);
    });
    asking.end();
  });
}

function certificateEnd(socket: Socket): number | undefined {
  const end = socket instanceof TLSSocket ? attempt(() => socket.getPeerCertificate().valid_to) : undefined;
  return end === undefined ? undefined : Date.parse(end);
}

/** A certificate that TLS did not accept. */
class Refused extends Error {}

function faultOf(error: unknown): Fault {
  if (error instanceof Refused) return { of: "certificate", code: error.message };
  // Of a name with several addresses, each was tried.
  const tried = error instanceof AggregateError ? error.errors : [error];
  return { of: "connection", codes: tried.map((one) => codeOf(one) ?? messageOf(one)) };
}

async function holds(response: http.IncomingMessage, text: string): Promise<boolean | undefined> {
  let read = Buffer.alloc(0);
  try {
    for await (const chunk of response) {
      read = Buffer.concat([read, chunk]);
      if (read.includes(text)) return true;
      if (read.length >= MOST_BYTES) return false;
    }
  } catch {
    return undefined;
  }
  return false;
}

/** Whether this machine has an address by which others can be reached at all. */
export function isOnline(interfaces = networkInterfaces()): boolean {
  const isLocal = /^(127\.|169\.254\.|::1$|fe80:)/i;
  return Object.values(interfaces).some((addresses) =>
    addresses?.some(({ internal, address }) => !internal && !isLocal.test(address)),
  );
}
