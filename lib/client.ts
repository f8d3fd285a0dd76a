import { CLAUDE_CODE } from "./claude-code.ts";
import { CODEX } from "./codex.ts";

/** The clients that have hooks of ours, as the inbox and the folders below `hooks` name them. */
export const HARNESSES = ["claude-code", "codex"] as const;
export type Harness = (typeof HARNESSES)[number];

/** A client: where it lets a hook run, and which of ours runs there. */
export interface Client {
  harness: Harness;
  /** As people call it. */
  name: string;
  /** What runs it, on PATH. */
  program: string;
  /** In the order of a session. */
  points: readonly HookPoint[];
  /** What is written into each entry besides: how the client names the hook to the person. */
  label?: { statusMessage: string };
}

export interface HookPoint {
  event: string;
  /** The entry file in the client's folder, such as `session-start`. */
  hook: string;
  /** Seconds that the client gives it. */
  timeout: number;
  /** The first version that knows the event; without one, every version that has hooks at all. */
  since?: string;
  /** Takes the place of these where it is known. */
  insteadOf?: readonly string[];
}

export const CLIENTS: Readonly<Record<Harness, Client>> = { "claude-code": CLAUDE_CODE, codex: CODEX };

/**
 * The points to register with a client of this version (`2.1.332`), in the order of a session. An event that a
 * client does not know may open a warning at every start, so for an unknown version it is those that all know.
 */
export function hookPoints({ points }: Client, version: string | undefined): HookPoint[] {
  const known = points.filter(({ since }) => since === undefined || isAtLeast(version, since));
  const replaced = known.flatMap(({ insteadOf = [] }) => insteadOf);
  return known.filter(({ event }) => !replaced.includes(event));
}

/** The points that a hook is for, whatever the version; `entry` is such as `hooks/codex/stop`. */
export function pointsOf(entry: string): HookPoint[] {
  const [folder, harness, hook] = entry.split("/");
  const client = Object.values(CLIENTS).find((client) => client.harness === harness);
  return folder === "hooks" && client ? client.points.filter((point) => point.hook === hook) : [];
}

/** Whether a version, such as `2.1.332`, is `least` or newer; an unknown one is not. */
export function isAtLeast(version: string | undefined, least: string): boolean {
  if (version === undefined) return false;
  // What stands behind a dash makes it no other version here.
  const numbers = (text: string) => text.split(".").map((part) => Number.parseInt(part, 10));
  const parts = numbers(version);
  const wanted = numbers(least);
  const first = wanted.findIndex((part, i) => part !== (parts[i] ?? 0));
  return first < 0 || (parts[first] ?? 0) > (wanted[first] ?? 0);
}
