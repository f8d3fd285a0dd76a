import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One pipeline, with what its list shows of it. */
export interface FakePipeline {
  id: number;
  iid: number;
  project_id: number;
  status: string;
  source: string | null;
  ref: string;
  sha: string;
  name: string | null;
  created_at: string;
  updated_at: string;
  web_url: string;
}

/** What goes wrong with a request instead of its answer. */
export interface Fault {
  status: number;
  headers?: Record<string, string>;
  body?: string;
  /** The connection ends in the middle of the body. */
  cut?: boolean;
}

export interface GitLabApi {
  /** What CI_SERVER_URL is set to. */
  url: string;
  /** The one project; a test may change it. */
  project: {
    id: number;
    path_with_namespace: string;
    default_branch: string | null;
    visibility: "public" | "private";
  };
  /** Its pipelines; a test adds to them and changes them. */
  pipelines: FakePipeline[];
  /** What the next requests meet whose path and query hold `match`; undefined: they are answered. */
  fault: (Fault & { match?: string }) | undefined;
  /** Paths and queries that were asked for, and the status of the answers: `200 /api/v4/projects/7`. */
  requests: string[];
  close(): Promise<void>;
}

/** The token that a private project is shown to. */
export const GITLAB_TOKEN = "glpat-of-a-test";

/**
 * A stand-in for GitLab's REST API (v4) with one project, on a free port of 127.0.0.1: the project, and the list of
 * its pipelines with filters, order, pages, ETags, and the headers and refusals of the real one.
 */
export async function startGitLabApi(): Promise<GitLabApi> {
  const server = createServer((request, response) => {
    const { url = "/" } = request;
    const { status } = answer(api, request, response);
    api.requests.push(`${status} ${url}`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const api: GitLabApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    project: { id: 7, path_with_namespace: "acme/tools/api", default_branch: "main", visibility: "private" },
    pipelines: [],
    fault: undefined,
    requests: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return api;
}

/** A pipeline of the project, newer than all before it, if not said otherwise. */
export function addPipeline(api: GitLabApi, fields: Partial<FakePipeline>): FakePipeline {
  const id = 1 + Math.max(100, ...api.pipelines.map((pipeline) => pipeline.id));
  const created_at = new Date(Date.parse("2026-06-01T08:00:00Z") + id * 60_000).toISOString();
  const pipeline: FakePipeline = {
    id,
    iid: id - 100,
    project_id: api.project.id,
    status: "success",
    source: "push",
    ref: "main",
    sha: createHash("sha1").update(String(id)).digest("hex"),
    name: null,
    created_at,
    updated_at: created_at,
    web_url: `${api.url}/${api.project.path_with_namespace}/-/pipelines/${id}`,
    ...fields,
  };
  api.pipelines.push(pipeline);
  return pipeline;
}

function answer(api: GitLabApi, request: IncomingMessage, response: ServerResponse): { status: number } {
  const { url = "/" } = request;
  const { fault } = api;
  if (fault && url.includes(fault.match ?? "")) {
    const { status, headers = {}, body = "", cut = false } = fault;
    response.writeHead(status, { ...headers, ...(cut && { "content-length": String(body.length + 1) }) });
    response.write(body, () => (cut ? response.destroy() : response.end()));
    return { status };
  }
  const sent = request.headers["private-token"];
  if (sent !== undefined && sent !== GITLAB_TOKEN)
    return send(request, response, 401, { message: "401 Unauthorized" });
  const { pathname, searchParams } = new URL(url, api.url);
  const [, named = "", list] = /^\/api\/v4\/projects\/([^/]+)(\/pipelines)?$/.exec(pathname) ?? [];
  const { id, path_with_namespace, visibility } = api.project;
  const isThere = [String(id), path_with_namespace].includes(decodeURIComponent(named));
  // It does not tell whether a project is there that one may not see.
  if (!isThere || (visibility === "private" && sent === undefined))
    return send(request, response, 404, { message: "404 Project Not Found" });
  if (!list) return send(request, response, 200, projectOf(api));
  return sendPage(api, request, response, searchParams);
}

function projectOf({ project, url }: GitLabApi): object {
  const path = project.path_with_namespace;
  const name = path.split("/").at(-1);
  return { ...project, name, path: name, web_url: `${url}/${path}`, archived: false, star_count: 3 };
}

/** As GitLab lists pipelines: those of parents only when they are asked for, the newest id first. */
function sendPage(
  api: GitLabApi,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): { status: number } {
  const source = query.get("source");
  const ref = query.get("ref");
  const order = query.get("sort") === "asc" ? 1 : -1;
  const all = api.pipelines
    .filter((one) => (source === null ? one.source !== "parent_pipeline" : one.source === source))
    .filter((one) => ref === null || one.ref === ref)
    .sort((a, b) => order * (a.id - b.id));
  const perPage = Math.min(Number(query.get("per_page") ?? 20), 100);
  const page = Number(query.get("page") ?? 1);
  const pages = Math.max(1, Math.ceil(all.length / perPage));
  const linkTo = (number: number) => {
    const link = new URL(request.url ?? "/", api.url);
    link.searchParams.set("page", String(number));
    return link.href;
  };
  const links = [`<${linkTo(1)}>; rel="first"`, `<${linkTo(pages)}>; rel="last"`];
  if (page < pages) links.unshift(`<${linkTo(page + 1)}>; rel="next"`);
  return send(request, response, 200, all.slice((page - 1) * perPage, page * perPage), {
    link: links.join(", "),
    "x-page": String(page),
    "x-per-page": String(perPage),
    "x-next-page": page < pages ? String(page + 1) : "",
    "x-total": String(all.length),
    "x-total-pages": String(pages),
  });
}

/** JSON with a weak ETag; 304 for whoever has it already. */
function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): { status: number } {
  const body = JSON.stringify(value);
  const etag = `W/"${createHash("md5").update(body).digest("hex")}"`;
  const isKnown = status === 200 && request.headers["if-none-match"] === etag;
  const final = isKnown ? 304 : status;
  response.writeHead(final, { "content-type": "application/json", etag, ...headers });
  response.end(isKnown ? undefined : body);
  return { status: final };
}
