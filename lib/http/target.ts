import { attempt, UsageError } from "../errors.ts";

/** An http(s) address, and what was in it that only its server should see. */
export interface Target {
  /** Without credentials and fragment. */
  url: URL;
  headers: Record<string, string>;
}

/** The address that somebody wrote, `user:password@` in it as a header. Throws `UsageError` when it is none. */
export function targetFrom(text: string): Target {
  const url = attempt(() => new URL(text.trim()));
  if (!url || !/^https?:$/.test(url.protocol)) {
    const bare = text.replace(/(:\/\/)[^/?#\s]*@/, "$1");
    throw new UsageError(`URL: ${bare}: is no http(s) address; write it as https://example.com/health`);
  }
  const headers: Target["headers"] =
    url.username || url.password ? { authorization: `Basic ${credentialsOf(url)}` } : {};
  url.username = url.password = url.hash = "";
  return { url, headers };
}

function credentialsOf({ username, password }: URL): string {
  const decoded = [username, password].map((part) => attempt(() => decodeURIComponent(part)) ?? part);
  return Buffer.from(decoded.join(":")).toString("base64");
}

/** An address for people and for signals: what may be secret in it, its credentials and its query, is left out. */
export function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
