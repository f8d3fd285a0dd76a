import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { packageVersion } from "../header.ts";
import { shellWord } from "../text.ts";
import type { Run } from "./process.ts";

/** What the tests of the conventions, of scripts, hooks and monitors alike, hold every run against. */

/** A colour, a window's title, a line of its own, text that runs backwards, and some that nobody sees. */
export const HOSTILE = "\x1b[31m\x1b]0;owned\x07\r\nforged: line\u2028\u202egnp\u2066\u200b\ufeff\u{e0041}";
/** The same as a directory can be named. */
export const HOSTILE_NAME = "ada \x1b[31m\u202egnp\u{e0041}";
/** What may never reach a terminal: control, format and private characters, all but the end of a line. */
export const RAW = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/u;

export const STACK = /^ *at .+:\d+:\d+|node:internal|^Node\.js v/m;

/** Node beside the programs of the system, and no client of the person who tests. */
export const PATH = `${dirname(process.execPath)}:/usr/bin:/bin`;

export const VERSION = `ambient-signals ${packageVersion()}\n`;

export const LINUX = { skip: process.platform === "linux" ? false : "needs /dev/full and util-linux" };

/** Whatever a run is about: it ends by itself, and shows neither a stack nor what could harm a terminal. */
export function calm(
  result: Run,
  command: readonly string[],
  { stack = false, codes = [0, 1, 2] }: { stack?: boolean; codes?: readonly number[] } = {},
): Run {
  const shown = `${command.map(shellWord).join(" ")}\n${JSON.stringify(result, undefined, 2)}`;
  assert.equal(result.signal, null, shown);
  assert.ok(codes.includes(result.code ?? -1), shown);
  assert.doesNotMatch(result.stdout, RAW, shown);
  assert.doesNotMatch(result.stderr, RAW, shown);
  if (!stack) assert.doesNotMatch(result.stderr + result.stdout, STACK, shown);
  return result;
}

/** Held for trouble: one line, `error: what: which value; what to do`, and no data. */
export function isTrouble({ code, stdout, stderr }: Run, status: number): void {
  assert.deepEqual([code, stdout], [status, ""], stderr);
  assert.match(stderr, /^error: [^\n]+: [^\n]+; [^\n]+\n$/);
}

/** The doc comment of a file, as a person reads it. */
export function commentOf(file: string): string {
  const source = readFileSync(file, "utf8");
  const lines = source.slice(source.indexOf("/**\n") + 4, source.indexOf("\n */")).split("\n");
  return lines.map((line) => line.slice(3)).join("\n");
}
