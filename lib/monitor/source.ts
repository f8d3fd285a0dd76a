import { createHash } from "node:crypto";
import type * as z from "zod/mini";
import { attempt, messageOf, SignalsError } from "../errors.ts";
import { clean } from "../text.ts";

/** A source that could not be read now. Whatever a check throws means that; this one also knows when to try again. */
export class Unreadable extends SignalsError {
  override name = "Unreadable";
  /** The source asked for this much time, in milliseconds. */
  readonly waitMs: number | undefined;
  /** It limits how often it may be asked: without a time of its own, a minute at least, and longer each time. */
  readonly limited: boolean;
  /** The status of the answer, when it was one that refuses. */
  readonly status: number | undefined;

  constructor(
    message: string,
    {
      waitMs,
      limited = false,
      status,
    }: { waitMs?: number | undefined; limited?: boolean; status?: number } = {},
  ) {
    super(message);
    this.waitMs = waitMs;
    this.limited = limited;
    this.status = status;
  }
}

export interface Answer<T> {
  data: T;
  headers: Headers;
  /** The next page, from the `link` header. */
  next: string | undefined;
  /** The source said that nothing has changed, so this is what it said before. */
  unchanged: boolean;
}

export interface Request {
  headers?: Record<string, string>;
  /** Keep the answer with its ETag, and ask only whether it changed: for answers that are read at every poll. */
  remember?: boolean;
}

/** Reads JSON for one poll. */
export class Source {
  readonly #memory: Record<string, unknown>;
  readonly #signal: AbortSignal;
  readonly #used = new Set<string>();

  constructor(memory: Record<string, unknown>, signal: AbortSignal) {
    this.#memory = memory;
    this.#signal = signal;
  }

  /**
   * The answer to a GET, as far as `schema` knows it. Throws `Unreadable` for anything else than an answer of that
   * shape: not reached, refused, limited, cut off, or an error that pretends to be an answer.
   */
  async json<T>(url: string, schema: z.ZodMiniType<T>, request: Request = {}): Promise<Answer<T>> {
    const { headers = {}, remember = false } = request;
    const slot = `etag:${hash([url, headers["authorization"] ?? "", headers["private-token"] ?? ""])}`;
    this.#used.add(slot);
    const known = remember ? (this.#memory[slot] as Remembered<T> | undefined) : undefined;
    const response = await this.#get(url, known ? { ...headers, "if-none-match": known.etag } : headers);
    const link = nextOf(response.headers, url);
    if (response.status === 304 && known) {
      await response.body?.cancel();
      return { data: known.data, headers: response.headers, next: link ?? known.next, unchanged: true };
    }
    const text = await this.#body(response, url);
    if (!response.ok) throw refusal(response, url, text);
    const data = shaped(url, schema, text);
    const etag = response.headers.get("etag");
    if (remember && etag) this.#memory[slot] = { etag, data, next: link } satisfies Remembered<T>;
    return { data, headers: response.headers, next: link, unchanged: false };
  }

  /** Forgets the answers that this poll did not ask for. */
  forgetOthers(): void {
    for (const slot of Object.keys(this.#memory))
      if (slot.startsWith("etag:") && !this.#used.has(slot)) delete this.#memory[slot];
  }

  /** Follows to another path only: whatever another server is, it would be sent the token. */
  async #get(url: string, headers: Record<string, string>, redirects = 0): Promise<Response> {
    const response = await this.#ask(url, headers);
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = attempt(() => new URL(location, url));
    if (next?.origin !== new URL(url).origin) {
      const where = next ? `${next.protocol}//${next.host}` : "nowhere";
      throw new Unreadable(
        `${placeOf(url)}: leads to ${where}, where nothing is sent; name that if it is right`,
      );
    }
    if (redirects === MOST_REDIRECTS) throw new Unreadable(`${placeOf(url)}: leads in a circle`);
    return this.#get(next.href, headers, redirects + 1);
  }

  async #ask(url: string, headers: Record<string, string>): Promise<Response> {
    try {
      const all = { accept: "application/json", "user-agent": "ambient-signals", ...headers };
      return await fetch(url, { headers: all, signal: this.#signal, redirect: "manual" });
    } catch (error) {
      // Fetch itself only says that it failed; why, its cause does.
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      throw new Unreadable(`${placeOf(url)}: cannot be reached (${clean(messageOf(cause))})`);
    }
  }

  async #body(response: Response, url: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        if (size > MOST_BYTES) throw new Error(`more than ${MOST_BYTES} bytes`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw new Unreadable(`${placeOf(url)}: the answer was cut off (${clean(messageOf(error))})`);
    }
    return Buffer.concat(chunks).toString("utf8");
  }
}

interface Remembered<T> {
  etag: string;
  data: T;
  next: string | undefined;
}

const MOST_REDIRECTS = 5;
const MOST_BYTES = 16 * 1024 * 1024;

function shaped<T>(url: string, schema: z.ZodMiniType<T>, text: string): T {
  const value = attempt(() => JSON.parse(text));
  if (value === undefined) throw new Unreadable(`${placeOf(url)}: answered with something else than JSON`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  // An error that came with a good status says so in its message.
  const said = messageIn(text);
  const limited = /rate limit/i.test(said);
  const [issue] = parsed.error.issues;
  const path = issue?.path.map(String).join(".") || "it";
  throw new Unreadable(`${placeOf(url)}: answered in another shape: ${path}${said && `: ${said}`}`, {
    limited,
  });
}

function refusal({ status, headers }: Response, url: string, text: string): Unreadable {
  const said = messageIn(text);
  const spent = headers.get("x-ratelimit-remaining") === "0";
  const limited =
    status === 429 ||
    (status === 403 && (spent || headers.has("retry-after") || /rate limit|abuse/i.test(said)));
  const waitMs = retryAfter(headers) ?? (limited && spent ? untilReset(headers) : undefined);
  const why = limited ? ", a limit on how often it may be asked" : (MEANINGS[status] ?? "");
  return new Unreadable(`${placeOf(url)}: answered ${status}${why}${said && `: ${said}`}`, {
    waitMs,
    limited,
    status,
  });
}

const MEANINGS: Record<number, string> = {
  401: ", so the token is missing, wrong or too old",
  403: ", so the token may not read this",
  404: ", so it is not there, or the token may not see it",
};

/** Seconds, or a date. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), LONGEST_WAIT_MS);
}

function untilReset(headers: Headers): number | undefined {
  const reset = Number(headers.get("x-ratelimit-reset"));
  return reset > 0 ? Math.min(Math.max(reset * 1000 - Date.now(), 1000), LONGEST_WAIT_MS) : undefined;
}

/** Whoever asks for more made a mistake, and would silence a monitor. */
export const LONGEST_WAIT_MS = 2 * 3_600_000;

function nextOf(headers: Headers, url: string): string | undefined {
  const [, next] = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(headers.get("link") ?? "") ?? [];
  const resolved = next === undefined ? undefined : attempt(() => new URL(next, url));
  // It would be sent the same token.
  return resolved?.origin === new URL(url).origin ? resolved.href : undefined;
}

/** What an error answer says, in a few words. */
function messageIn(text: string): string {
  const value = attempt(() => JSON.parse(text)) as { message?: unknown; error?: unknown } | undefined;
  const said = value?.message ?? value?.error;
  return typeof said === "string" ? Array.from(clean(said)).slice(0, 120).join("") : "";
}

/** A URL for people, without a password or what may be secret in its query. */
export function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

function hash(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 24);
}
