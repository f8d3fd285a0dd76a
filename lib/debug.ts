import { clean } from "./text.ts";

/** With `DEBUG` set, the error's stack, a cleaned line each; else nothing. */
export function debugStack(error: unknown): string {
  if (!process.env["DEBUG"] || !(error instanceof Error)) return "";
  return `${(error.stack ?? "").split("\n").map(clean).join("\n")}\n`;
}
