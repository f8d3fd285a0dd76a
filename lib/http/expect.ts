import { validateHeaderName, validateHeaderValue } from "node:http";
import { attempt, UsageError } from "../errors.ts";
import { durationFrom } from "../monitor/run.ts";

/** The flags of `http.mts`, for the shared parser. */
export const HTTP_FLAGS = {
  status: { type: "string" },
  contains: { type: "string" },
  within: { type: "string" },
  slower: { type: "string" },
  "cert-days": { type: "string" },
  header: { type: "string", multiple: true },
} as const;

export type HttpFlags = {
  [name in keyof typeof HTTP_FLAGS]?: name extends "header" ? string[] : string;
};

/** What an address is to answer, and how. */
export interface Expected {
  /** The statuses that are well, as first and last of each range, and as they were written. */
  status: { ranges: readonly (readonly [number, number])[]; text: string };
  /** What its content holds. */
  contains: string | undefined;
  /** It begins to answer within so many milliseconds, or it does not answer at all. */
  within: number;
  /** From here on it is slow, in milliseconds. */
  slower: number | undefined;
  /** How many days its certificate is good for, at least. */
  certDays: number;
  /** What it is sent, by name in lower case. */
  headers: Readonly<Record<string, string[]>>;
}

/** What the flags ask for. Throws `UsageError`, which never repeats the value of a header. */
export function expectedFrom(flags: HttpFlags): Expected {
  const { status = "200-299", contains, within = "10s", slower, "cert-days": days = "14", header } = flags;
  if (contains === "") throw new UsageError("--contains: is empty; write a text, or leave it out");
  if (!/^\d{1,4}$/.test(days))
    throw new UsageError(`--cert-days: ${days}: is no number of days; write a whole one, such as 14`);
  return {
    status: { ranges: status.split(",").map((part) => rangeFrom(part.trim())), text: status },
    contains,
    within: durationFrom("--within", within),
    slower: slower === undefined ? undefined : durationFrom("--slower", slower),
    certDays: Number(days),
    headers: headersFrom(header ?? []),
  };
}

export function isExpected({ status }: Pick<Expected, "status">, code: number): boolean {
  return status.ranges.some(([first, last]) => code >= first && code <= last);
}

function rangeFrom(part: string): readonly [number, number] {
  const [, first, last = first] = /^([1-5]\d\d)(?:-([1-5]\d\d))?$/.exec(part) ?? [];
  if (first && last && first <= last) return [Number(first), Number(last)];
  throw new UsageError(`--status: ${part}: is no status; write them as 200-299,301`);
}

function headersFrom(lines: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*):\s*(.*)$/s.exec(line) ?? [];
    const isValid = attempt(() => {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      return true;
    });
    if (!isValid)
      throw new UsageError("--header: one of them is no header; write it as 'Name: value', in plain ASCII");
    const key = name.toLowerCase();
    headers[key] = [...(headers[key] ?? []), value];
  }
  return headers;
}
