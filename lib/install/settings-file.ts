import { readFileSync } from "node:fs";
import {
  type ArrayNode,
  evaluate,
  type MemberNode,
  type ObjectNode,
  parse,
  type ValueNode,
} from "@humanwhocodes/momoa";
import type { Client } from "../client.ts";
import { codeOf, messageOf, SignalsError } from "../errors.ts";

/** The text of a client's JSON settings file, and where in it each value stands. */
export interface SettingsText {
  text: string;
  /** Without one, the file is blank, which the client takes for `{}`. */
  root: ObjectNode | undefined;
}

/** One command that the client runs at an event. */
export interface Handler {
  event: string;
  command: string;
  /** With them, the client starts `command` itself; without, a shell does. */
  args: string[] | undefined;
  /** Counted from 1. */
  line: number;
}

/** An entry to add: one group of its own, with one handler that a shell runs. */
export interface Entry {
  event: string;
  command: string;
  /** Seconds. */
  timeout: number;
  label?: Client["label"] | undefined;
}

/**
 * What stood where we put something, so that taking it out leaves the same bytes: for the file (""), for `hooks` and
 * for `hooks/EVENT`, the text of what was empty, or null where there was nothing. What is not named had others in it.
 */
export type Before = Readonly<Record<string, string | null>>;

// ---------------------------------------------------------------- reading

/** The text of a settings file, undefined for one that is not there. Throws `SignalsError` that says what is wrong. */
export function readSettings(path: string): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const what = error instanceof TypeError ? "is not UTF-8 text" : `cannot be read (${code})`;
    throw new SignalsError(what, { cause: error });
  }
}

/**
 * Reads the text of a settings file as the client does: a byte order mark and a blank file are fine, a comment is
 * not. Throws `SignalsError` that begins with the line.
 */
export function parseSettings(text: string): SettingsText {
  const json = text.replace(/^\ufeff/, " ");
  if (json.trim() === "") return { text, root: undefined };
  const { body } = parsed(json);
  if (body.type !== "Object") throw new SignalsError(`line ${lineOf(body)}: is no object in braces`);
  return { text, root: body };
}

function parsed(json: string) {
  try {
    // First, since the other lets a line break in a string pass, and is vague about a file that ends too early.
    JSON.parse(json);
    return parse(json, { mode: "json" });
  } catch (error) {
    const before = json.slice(0, offsetOf(error, json));
    const line = before.split("\n").length;
    throw new SignalsError(`line ${line}: is not JSON: ${reason(json, before)}`, { cause: error });
  }
}

/** Where in the text the fault is that JSON.parse threw: its words say it for some, the other parser for the rest. */
function offsetOf(error: unknown, json: string): number {
  const [, position] = /at position (\d+)/.exec(messageOf(error)) ?? [];
  if (position !== undefined) return Number(position);
  if (/end of JSON input/.test(messageOf(error))) return json.length;
  try {
    parse(json, { mode: "json" });
    return json.length;
  } catch (found) {
    return (found as { offset?: number }).offset ?? json.length;
  }
}

function reason(json: string, before: string): string {
  const rest = json.slice(before.length);
  if (/^\/[/*]/.test(rest)) return "a comment, which the client does not read either";
  if (/^[}\]]/.test(rest) && /,\s*$/.test(before)) return `a comma before "${rest[0]}"`;
  return rest.trim() === "" ? "it ends too early" : `${JSON.stringify(rest[0])} is not expected there`;
}

/** One settings file as a client finds it; an absent one is fine. */
export function lookAt(path: string): { exists: boolean; fault?: string; settings?: SettingsText } {
  try {
    const text = readSettings(path);
    return text === undefined ? { exists: false } : { exists: true, settings: parseSettings(text) };
  } catch (error) {
    return { exists: true, fault: messageOf(error) };
  }
}

/** The value of a key; of several, the last, as the client reads it. */
export function valueAt(object: ValueNode | undefined, key: string): ValueNode | undefined {
  return membersOf(object, key).at(-1)?.value;
}

/** A value as JavaScript has it. */
export function plain(value: ValueNode | undefined): unknown {
  return value && evaluate(value);
}

/** All command handlers of the file, in its order. What is not of the right shape is passed over, as the client does. */
export function handlersOf({ root }: Pick<SettingsText, "root">): Handler[] {
  return [...placesOf(root)].map(({ handler }) => handler);
}

/** A handler, and where it stands in its group, and that among its event's. */
interface Place {
  handler: Handler;
  groupIndex: number;
  handlers: ArrayNode;
  index: number;
}

function* placesOf(root: ObjectNode | undefined): Generator<Place> {
  const hooks = valueAt(root, "hooks");
  for (const event of new Set(membersOf(hooks).map(nameOf))) {
    const groups = valueAt(hooks, event);
    if (groups?.type !== "Array") continue;
    for (const [groupIndex, { value: group }] of groups.elements.entries()) {
      const handlers = valueAt(group, "hooks");
      if (handlers?.type !== "Array") continue;
      for (const [index, { value }] of handlers.elements.entries()) {
        const { type, command, args } = Object(plain(value)) as { [key: string]: unknown };
        if (type !== "command" || typeof command !== "string") continue;
        const words = Array.isArray(args) ? args.map(String) : undefined;
        const handler = { event, command, args: words, line: lineOf(value) };
        yield { handler, groupIndex, handlers, index };
      }
    }
  }
}

/** The members of an object, or those of a key; none of what is no object. */
export function membersOf(object: ValueNode | undefined, key?: string): MemberNode[] {
  if (object?.type !== "Object") return [];
  return key === undefined ? object.members : object.members.filter((member) => nameOf(member) === key);
}

export function nameOf({ name }: MemberNode): string {
  return name.type === "String" ? name.value : name.name;
}

/** Counted from 1. */
export function lineOf({ loc }: ValueNode | MemberNode): number {
  return loc.start.line;
}

// ---------------------------------------------------------------- editing

/** A file's text after an edit, undefined when the file is to go; and what is to be kept for taking it back. */
export interface Edited {
  text: string | undefined;
  before: Before;
}

type Container = ObjectNode | ArrayNode;

/** The keys that lead to a container: none, `hooks`, or `hooks` and an event. */
type Path = readonly string[];

/**
 * Appends entries, each as a group at the end of its event's, in the file's own indentation and line ends; every
 * other byte stays. `text` is undefined for a file that is not there. Throws `SignalsError` that begins with the
 * line, for a file that is not as the client documents it.
 */
export function addEntries(
  text: string | undefined,
  entries: readonly Entry[],
  known: Before = {},
): { text: string; before: Before } {
  let edited = text ?? "";
  const before: Record<string, string | null> = { ...known };
  if (edited.trim() === "" && entries.length > 0) {
    before[nameOfPath([])] = text ?? null;
    edited = `${edited.startsWith("\ufeff") ? "\ufeff" : ""}{}${edited.includes("\r\n") ? "\r\n" : "\n"}`;
  }
  const style = styleOf(edited);
  const append = (path: Path, item: Item) => {
    const container = containerAt(edited, path);
    const name = nameOfPath(path);
    // A blank file and what we made ourselves are known already.
    if (itemsOf(container).length === 0 && !(name in before))
      before[name] = edited.slice(...rangeOf(container));
    edited = insert(edited, container, item, style);
  };
  for (const { event, command, timeout, label } of entries) {
    const member = (path: Path, key: string, value: string) => {
      if (valueAt(containerAt(edited, path), key)) return;
      append(path, () => `${JSON.stringify(key)}:${style.space}${value}`);
      before[nameOfPath([...path, key])] = null;
    };
    member([], "hooks", "{}");
    member(["hooks"], event, "[]");
    const group = { hooks: [{ type: "command", command, timeout, ...label }] };
    append(["hooks", event], (indent) => {
      const compact = indent === undefined;
      const lines = JSON.stringify(group, undefined, compact ? undefined : style.unit).split("\n");
      return lines.join(`${style.end}${indent}`);
    });
  }
  return { text: edited, before };
}

/** Gives handlers the commands that `changed` names for them; every other byte stays, and so all places. */
export function changeCommands(
  text: string | undefined,
  changed: (handler: Handler) => string | undefined,
): string | undefined {
  if (text === undefined) return undefined;
  const edits = [...placesOf(parseSettings(text).root)].flatMap(({ handler, handlers, index }) => {
    const command = valueAt(handlers.elements[index]?.value, "command");
    const now = changed(handler);
    return command && now !== undefined ? [{ range: rangeOf(command), now }] : [];
  });
  // From the end, so that what is still to be changed stays where it was found.
  edits.sort((a, b) => b.range[0] - a.range[0]);
  return edits.reduce(
    (edited, { range: [start, end], now }) =>
      edited.slice(0, start) + JSON.stringify(now) + edited.slice(end),
    text,
  );
}

/**
 * Takes out the handlers that `isOurs` picks: a group with no other goes whole. What becomes empty is put back as it
 * was `before`, and stays empty where others had been in it. When nothing is known of before, an event and `hooks`
 * are taken for ours. Throws as `addEntries`.
 */
export function removeHandlers(
  text: string | undefined,
  isOurs: (handler: Handler) => boolean,
  known: Before | undefined,
): Edited {
  let edited = text;
  const before: Record<string, string | null> = { ...known };
  while (edited !== undefined) {
    const found = [...placesOf(parseSettings(edited).root)].find(({ handler }) => isOurs(handler));
    if (!found) break;
    const { handler, groupIndex, handlers, index } = found;
    const alone = handlers.elements.length === 1;
    edited = alone
      ? removeItem(edited, ["hooks", handler.event], groupIndex, before, known === undefined)
      : without(edited, handlers, index);
  }
  return { text: edited, before };
}

/** The text without an item of a container; one that is empty then becomes what it was before, which is forgotten. */
function removeItem(
  text: string,
  path: Path,
  index: number,
  before: Record<string, string | null>,
  nothingKnown: boolean,
): string | undefined {
  const container = containerAt(text, path);
  if (itemsOf(container).length > 1) return without(text, container, index);
  const name = nameOfPath(path);
  const was = nothingKnown && path.length > 0 ? null : before[name];
  delete before[name];
  if (was === null) {
    if (path.length === 0) return undefined;
    const above = path.slice(0, -1);
    const members = membersOf(containerAt(text, above));
    const place = members.findIndex((member) => nameOf(member) === path.at(-1));
    return removeItem(text, above, place, before, nothingKnown);
  }
  // A file that was blank is blank again, what stands around the braces included.
  if (path.length === 0 && was?.trim() === "") return was;
  const [start, end] = rangeOf(container);
  const empty = container.type === "Array" ? "[]" : "{}";
  return text.slice(0, start) + (was ?? empty) + text.slice(end);
}

/** As `Before` has it. */
function nameOfPath(path: Path): string {
  return path.join("/");
}

/**
 * The object or array at a path. Throws when it is something else, or when a key on the way is there twice: then what
 * the client reads is not what a person sees first.
 */
function containerAt(text: string, path: Path): Container {
  let container: ValueNode | undefined = parseSettings(text).root;
  for (const [depth, key] of path.entries()) {
    const [member, second] = membersOf(container, key);
    if (second) throw new SignalsError(`line ${lineOf(second)}: has ${JSON.stringify(key)} a second time`);
    container = member?.value;
    if (member && container?.type !== (depth === 0 ? "Object" : "Array")) {
      const form = depth === 0 ? "an object in braces" : "a list in brackets";
      throw new SignalsError(`line ${lineOf(member)}: ${JSON.stringify(key)} is not ${form}`);
    }
  }
  if (container?.type !== "Object" && container?.type !== "Array") throw new Error(`settings: no ${path}`);
  return container;
}

function itemsOf(container: Container) {
  return container.type === "Object" ? container.members : container.elements;
}

function rangeOf({ loc }: Pick<ValueNode, "loc">): [start: number, end: number] {
  return [loc.start.offset, loc.end.offset];
}

/** How a file is written. */
interface Style {
  /** Of a line. */
  end: string;
  /** One step of indentation. */
  unit: string;
  /** After a colon, and between items on one line. */
  space: string;
  /** Not all on one line. */
  lines: boolean;
}

function styleOf(text: string): Style {
  const first = text.trim() === "" ? undefined : parseSettings(text).root?.members[0];
  const colon = first && text.slice(rangeOf(first.name)[1], rangeOf(first.value)[0]);
  return {
    end: /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n",
    unit: (first && /\n([ \t]+)$/.exec(text.slice(0, rangeOf(first)[0]))?.[1]) ?? "  ",
    space: colon === undefined || /\s$/.test(colon) ? " " : "",
    lines: !first || text.trim().includes("\n"),
  };
}

/** An item's text, for a line of its own that is indented so, or for the same line as others. */
type Item = (indent: string | undefined) => string;

/** The text with an item more at the end of a container: on a line of its own where the others are. */
function insert(text: string, container: Container, item: Item, { end, unit, space, lines }: Style): string {
  const [opens, closes] = rangeOf(container);
  const items = itemsOf(container);
  const last = items.at(-1);
  if (!last) {
    const line = text.slice(text.lastIndexOf("\n", opens - 1) + 1, opens);
    const base = /^\ufeff?([ \t]*)/.exec(line)?.[1] ?? "";
    const inside = lines ? `${end}${base}${unit}${item(base + unit)}${end}${base}` : item(undefined);
    return text.slice(0, opens + 1) + inside + text.slice(closes - 1);
  }
  const [starts, ends] = rangeOf(last);
  const gap = /\s*$/.exec(text.slice(0, starts))?.[0] ?? "";
  const indent = /\n([ \t]*)$/.exec(gap)?.[1];
  const apart = indent !== undefined ? end + indent : items.length > 1 ? gap : space;
  return `${text.slice(0, ends)},${apart}${item(indent)}${text.slice(ends)}`;
}

/** The text without one of several items, and without the comma that parted it from the others. */
function without(text: string, container: Container, index: number): string {
  const ranges = itemsOf(container).map(rangeOf);
  const [start, end] = ranges[index] ?? [0, 0];
  const before = ranges[index - 1];
  const after = ranges[index + 1];
  return before
    ? text.slice(0, before[1]) + text.slice(end)
    : text.slice(0, start) + text.slice(after?.[0] ?? end);
}
