import { CLIENTS, HARNESSES, type Harness } from "../client.ts";
import { defaultInbox } from "../install/paths.ts";
import { onPath } from "../install/presence.ts";
import { shellWord } from "../text.ts";
import type { Time } from "../time.ts";

/** What one check of `signals doctor` found. */
export interface Finding {
  /** A note is worth knowing and may be meant so; a fault keeps signals from being stored or told. */
  status: "ok" | "note" | "fault";
  /** One sentence: what is there, and what that means. */
  found: string;
  /** A command, or one sentence, that mends it. */
  mend?: string;
}

/** Where `signals doctor` looks. */
export interface Place {
  /** The inbox directory. */
  dir: string;
  /** The directory whose project settings count. */
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Of the machine; that of this process where it is not said. */
  platform?: NodeJS.Platform | undefined;
  /** Of each client the version on PATH, such as `2.1.332`; undefined when there is none, or none that answers. */
  versions: Readonly<Record<Harness, string | undefined>>;
  now: Time;
}

export function ok(found: string): Finding {
  return { status: "ok", found };
}

export function noted(found: string, mend?: string): Finding {
  return { status: "note", found, ...(mend !== undefined && { mend }) };
}

export function fault(found: string, mend: string): Finding {
  return { status: "fault", found, mend };
}

/** A command of ours on the inbox of this place, to be typed as it stands. */
export function signals({ dir, env }: Pick<Place, "dir" | "env">, words: string): string {
  return `signals ${words}${dir === usualInbox(env) ? "" : ` --dir ${shellWord(dir)}`}`;
}

/** The inbox that a command or a hook in this environment uses when it is not told of another. */
export function usualInbox(env: NodeJS.ProcessEnv): string {
  return env["HARN_EXT_SIGNALS_DIR"] || defaultInbox(env);
}

/** What gives signals somebody to go to. */
export function startSession({ env }: Pick<Place, "env">): string {
  const programs = HARNESSES.map((harness) => CLIENTS[harness].program);
  const there = programs.filter((program) => onPath(program, env));
  const any = (there.length > 0 ? there : programs).join(" or ");
  return `start one in your project, with the hooks installed: ${any}`;
}

/** `1 signal`, `2 signals`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
