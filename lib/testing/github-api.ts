import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Json = Record<string, unknown>;

/** A request that came in, and how it was answered. */
export interface GithubRequest {
  /** With its query, as it was sent. */
  path: string;
  status: number;
  authorization: string | undefined;
}

/** What goes wrong instead of the answer: a status and a body of its own, or the true answer cut off in the middle. */
export interface Fault {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Json;
  cut?: boolean;
}

/** A simulator of GitHub's REST API on 127.0.0.1. What is there may be changed at any time. */
export interface GithubApi {
  /** For `GITHUB_API_URL`. */
  url: string;
  requests: GithubRequest[];
  /** With a token here, whoever sends another gets 401, and whoever sends none 404. */
  token: string | undefined;
  /** One thing, at a path without its query: `/repos/acme/api`. */
  put(path: string, value: Json): void;
  /** A list, `{total_count, NAME: [rows]}` and what else belongs to it, which is paged and filtered as it is asked. */
  list(path: string, name: string, rows: readonly Json[], more?: Json): void;
  remove(path: string): void;
  /** Requests whose path and query match meet this fault: always, or so many times. */
  fail(match: RegExp, fault: Fault, times?: number): void;
  /** All faults are over. */
  heal(): void;
  /** How many requests came since this was asked last, and how many of them cost nothing of the rate limit. */
  counted(): { asked: number; unchanged: number };
  close(): Promise<void>;
}

/** Which field of a row a parameter of the query is about. */
const FILTERS: Record<string, string> = {
  branch: "head_branch",
  head_sha: "head_sha",
  event: "event",
  status: "status",
};

export async function startGithubApi(): Promise<GithubApi> {
  const things = new Map<string, (url: URL) => { value: Json; link?: string | undefined }>();
  const requests: GithubRequest[] = [];
  let faults: { match: RegExp; fault: Fault; times: number }[] = [];
  let used = 0;
  let counted = 0;

  /** One page of a list. */
  const pageOf = (url: URL, name: string, all: readonly Json[], more: Json) => {
    const { searchParams: query } = url;
    const rows = all.filter((row) =>
      Object.entries(FILTERS).every(([key, field]) => !query.has(key) || row[field] === query.get(key)),
    );
    const size = Math.min(Number(query.get("per_page") ?? 30), 100);
    const page = Number(query.get("page") ?? 1);
    const last = Math.max(Math.ceil(rows.length / size), 1);
    const to = (number: number, rel: string) => {
      const other = new URL(url);
      other.searchParams.set("page", String(number));
      return `<${other.href}>; rel="${rel}"`;
    };
    const links = [
      ...(page > 1 ? [to(page - 1, "prev"), to(1, "first")] : []),
      ...(page < last ? [to(page + 1, "next"), to(last, "last")] : []),
    ];
    const value = { total_count: rows.length, [name]: rows.slice((page - 1) * size, page * size), ...more };
    return { value, link: links.length > 0 ? links.join(", ") : undefined };
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { authorization } = request.headers;
    const url = new URL(request.url ?? "/", api.url);
    const send = (status: number, body: string, headers: Record<string, string> = {}, cut = false) => {
      requests.push({ path: `${url.pathname}${url.search}`, status, authorization });
      const limit = authorization ? 5000 : 60;
      // A 304 is free for those who say who they are.
      if (status !== 304 || !authorization) used++;
      response.writeHead(status, {
        "content-type": "application/json; charset=utf-8",
        "x-github-media-type": "github.v3; format=json",
        "x-ratelimit-limit": String(limit),
        "x-ratelimit-remaining": String(Math.max(limit - used, 0)),
        "x-ratelimit-reset": String(Math.floor(Date.now() / 1000) + 3600),
        "x-ratelimit-used": String(used),
        "x-ratelimit-resource": "core",
        ...(cut && { "content-length": String(Buffer.byteLength(body)) }),
        ...headers,
      });
      if (!cut) return response.end(status === 304 ? undefined : body);
      return response.write(body.slice(0, body.length / 2), () => response.destroy());
    };
    const refuse = (status: number, message: string) =>
      send(status, JSON.stringify({ message, documentation_url: DOCS, status: String(status) }));

    const found = faults.find(({ match, times }) => times > 0 && match.test(`${url.pathname}${url.search}`));
    if (found) found.times--;
    const { status, headers, body, cut } = found?.fault ?? {};
    if (body !== undefined || status !== undefined)
      return send(status ?? 200, typeof body === "string" ? body : JSON.stringify(body ?? {}), headers);
    if (api.token !== undefined && authorization !== `Bearer ${api.token}`)
      return authorization ? refuse(401, "Bad credentials") : refuse(404, "Not Found");

    const path = decodeURIComponent(url.pathname);
    const thing = things.get(path);
    const [, ref] = /\/commits\/(.+)\/(?:check-runs|status)$/.exec(path) ?? [];
    if (!thing) return ref ? refuse(422, `No commit found for SHA: ${ref}`) : refuse(404, "Not Found");
    const { value, link } = thing(url);
    const text = JSON.stringify(value);
    // Another token sees other things, so it has other tags.
    const etag = `W/"${createHash("sha256").update(`${authorization}${text}${link}`).digest("hex")}"`;
    const common = { etag, "cache-control": "private, max-age=60, s-maxage=60", ...(link && { link }) };
    if (request.headers["if-none-match"] === etag && !cut) return send(304, "", common);
    return send(200, text, { ...common, ...headers }, cut);
  };

  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api: GithubApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    token: undefined,
    put: (path, value) => void things.set(path, () => ({ value })),
    list: (path, name, rows, more = {}) => void things.set(path, (url) => pageOf(url, name, rows, more)),
    remove: (path) => void things.delete(path),
    fail: (match, fault, times = Number.POSITIVE_INFINITY) => void faults.push({ match, fault, times }),
    heal: () => {
      faults = [];
    },
    counted: () => {
      const since = requests.slice(counted);
      counted = requests.length;
      return { asked: since.length, unchanged: since.filter(({ status }) => status === 304).length };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return api;
}

const DOCS = "https://docs.github.com/rest";
