import { execFile } from "node:child_process";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { attempt, UsageError } from "../errors.ts";
import { type Answer, type Source, Unreadable } from "../monitor/source.ts";

/** A GitHub server, and what is sent with each request to its REST API. */
export interface Api {
  /** Without a slash at its end: `https://api.github.com`. */
  url: string;
  /** Of its repositories, as in a checkout's remote: `github.com`. */
  host: string;
  headers: Record<string, string>;
}

/**
 * The server of `GITHUB_API_URL`, else github.com, with the token of `GH_TOKEN`, `GITHUB_TOKEN` or `gh auth token`, else
 * without one. `GITHUB_SERVER_URL` says where the repositories are, when the URL of the API does not.
 * Throws `UsageError` for what is no URL or no token.
 */
export async function githubApi(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Api> {
  const api = urlFrom("GITHUB_API_URL", env["GITHUB_API_URL"] || "https://api.github.com");
  const server = env["GITHUB_SERVER_URL"] ? urlFrom("GITHUB_SERVER_URL", env["GITHUB_SERVER_URL"]) : api;
  const host = server.hostname.replace(/^api\./, "");
  const token = (env["GH_TOKEN"] || env["GITHUB_TOKEN"] || (await tokenOfGh(host, env, signal)))?.trim();
  // What cannot be sent would stand in the message of the error.
  if (token && !/^[\x21-\x7e]+$/.test(token))
    throw new UsageError("GH_TOKEN or GITHUB_TOKEN: holds characters that are in no token; set it again");
  const headers = {
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    ...(token && { authorization: `Bearer ${token}` }),
  };
  return { url: `${api.origin}${api.pathname.replace(/\/+$/, "")}`, host, headers };
}

function urlFrom(name: string, text: string): URL {
  const url = attempt(() => new URL(text));
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new UsageError(`${name}: ${text}: is no http(s) URL; write one such as https://api.github.com`);
}

/** What the `gh` program uses for this server; undefined without the program, or when nobody is logged in. */
async function tokenOfGh(
  host: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const limits = { signal, timeout: 5_000, killSignal: "SIGKILL" } as const;
    return (await promisify(execFile)("gh", ["auth", "token", "--hostname", host], { env, ...limits }))
      .stdout;
  } catch {
    return undefined;
  }
}

/** A path of the API with its values encoded, as a template's tag. A branch may hold `/`, `#` and `?`. */
export function pathTo(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/** One thing. Throws `Unreadable`. */
export async function read<T>(source: Source, api: Api, path: string, schema: z.ZodMiniType<T>): Promise<T> {
  const { data } = await source.json(`${api.url}${path}`, schema, { headers: api.headers, remember: true });
  return data;
}

/** The rows of a list. */
export interface Listed<Row> {
  rows: Row[];
  /** What kept the rest from being read; without it, the list was read to its end, or as far as was asked. */
  cut?: Unreadable | undefined;
}

export interface Listing<Row> {
  /** The list's name in the answer, such as `workflow_runs`, and the shape of one row. */
  name: string;
  row: z.ZodMiniType<Row>;
  /** Whether these rows are enough, so that older ones need not be read. */
  enough?: (rows: readonly Row[]) => boolean;
  /** How many pages of 100 rows are read at most. Without `enough`, whatever is left then was cut off. */
  most?: number;
}

/**
 * All pages of a list `{total_count, NAME: […]}`. Throws `Unreadable` when the first page cannot be read. When a later
 * one cannot, or when rows are missing at the end, the rows of the others are there, and `cut` says so.
 */
export async function readAll<Row extends { id: number }>(
  source: Source,
  api: Api,
  path: string,
  { name, row, enough, most = 10 }: Listing<Row>,
): Promise<Listed<Row>> {
  const schema = z.object({ total_count: z.number(), [name]: z.array(row) });
  const request = { headers: api.headers, remember: true };
  const rows = new Map<number, Row>();
  let next: string | undefined = `${api.url}${path}${path.includes("?") ? "&" : "?"}per_page=100`;
  let total = 0;
  for (let page = 1; page <= most && next !== undefined; page++) {
    try {
      const answer: Answer<Record<string, unknown>> = await source.json(next, schema, request);
      // A row that comes meanwhile moves the others on, so that one may be on two pages.
      for (const one of answer.data[name] as Row[]) rows.set(one.id, one);
      if (page === 1) total = Number(answer.data["total_count"]);
      next = answer.next;
    } catch (error) {
      if (page === 1 || !(error instanceof Unreadable)) throw error;
      return { rows: [...rows.values()], cut: error };
    }
    if (enough?.([...rows.values()])) return { rows: [...rows.values()] };
  }
  const missing = total - rows.size;
  const isAsked = enough !== undefined && next !== undefined;
  return missing <= 0 || isAsked
    ? { rows: [...rows.values()] }
    : { rows: [...rows.values()], cut: new Unreadable(`${name}: ${missing} of ${total} rows are missing`) };
}
