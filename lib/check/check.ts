import { stripVTControlCharacters } from "node:util";
import { locate } from "../checkout.ts";
import { codeOf, messageOf, SignalsError, UsageError } from "../errors.ts";
import { commandLine } from "../monitor/state.ts";
import { STATUSES, type Verdict } from "../monitor/verdict.ts";
import type { Ran } from "../process-group.ts";
import { clean, shellWord } from "../text.ts";
import { runCommand } from "./command.ts";

export const CHECK_FLAGS = { name: { type: "string" }, "any-failure": { type: "boolean" } } as const;

interface CheckAsked {
  flags: { name?: string | undefined; "any-failure"?: boolean | undefined };
  args: readonly string[];
  signal: AbortSignal;
}

/**
 * Runs the command behind `--`, and takes its exit status for a verdict. Throws `UsageError` for a command line that is
 * wrong, and `SignalsError` for an end that tells nothing of what is checked.
 */
export async function checkCommand({ flags, args, signal }: CheckAsked): Promise<Verdict> {
  const command = commandFrom(process.argv.slice(2), args);
  if (flags.name !== undefined && clean(flags.name) === "")
    throw new UsageError("--name: is empty; give it a value, or leave it out");
  const name = flags.name ?? commandLine(command);
  const judge = flags["any-failure"] ? judgeCommand : judgePlugin;
  const keep = flags["any-failure"] ? "last" : "first";
  const { cwd, work_tree = cwd } = locate(process.cwd());
  const label = cut(clean(name), LONGEST_NAME);
  try {
    const judged = judge(label, await runCommand(command, keep, signal));
    return { kind: "command", identity: [name, work_tree], ...judged };
  } catch (error) {
    throw new SignalsError(`${label}: ${missing(error, command[0]) ?? messageOf(error)}`, { cause: error });
  }
}

/** What to say of a program that is not there, which may be a whole line that no shell took apart. */
function missing(error: unknown, program = ""): string | undefined {
  if (!(error instanceof SignalsError) || codeOf(error.cause) !== "ENOENT") return undefined;
  const help = /\s/.test(program) ? "; write its words without quotes, or use sh -c" : "";
  return `there is no program ${shellWord(cut(clean(program), LONGEST_NAME))}${help}`;
}

/** The command of a command line. Without `--`, its flags would be taken for the monitor's own. */
export function commandFrom(argv: readonly string[], args: readonly string[]): readonly string[] {
  const command = argv.slice(argv.indexOf("--") + 1);
  if (!argv.includes("--") || command.length !== args.length)
    throw new UsageError(`COMMAND: ${args[0]}: has to stand behind --; write -- before it`);
  if (command[0] === "") throw new UsageError("COMMAND: is empty; name a program behind --");
  return command;
}

type Judged = Pick<Verdict, "status" | "summary">;

/** A Nagios plugin: its status decides, and never its words. Throws `SignalsError` for what is not OK, WARNING or CRITICAL. */
export function judgePlugin(name: string, { status, signal, stdout, stderr }: Ran): Judged {
  const [line = ""] = linesOf(stdout);
  const text = sayable(line.split("|")[0] ?? "");
  const aside = firstOf(stderr);
  const said = text || (aside ? `says nothing, but on stderr: ${aside}` : "says nothing");
  if (signal) throw new SignalsError(`was ended by ${signal}: ${said}`);
  const meant = STATUSES[status ?? -1];
  if (meant === undefined)
    throw new SignalsError(
      `ended with status ${status}, as no plugin does (--any-failure is for other commands): ${said}`,
    );
  if (meant === "UNKNOWN") throw new SignalsError(said);
  return { status: meant, summary: `${name}: ${said}` };
}

/** Any command: whatever is not 0 is a failure. Throws `SignalsError` when it never ran. */
export function judgeCommand(name: string, { status, signal, stdout, stderr }: Ran): Judged {
  const [out, err] = [lastOf(stdout), lastOf(stderr)];
  const said = [out, err && `on stderr: ${err}`].filter(Boolean).join("; ");
  const and = said && `: ${said}`;
  // What a shell, env and the like say of a program that they could not start.
  if (status === 126 || status === 127)
    throw new SignalsError(`cannot be started, it seems (status ${status})${and}`);
  if (status === 0) return { status: "OK", summary: `${name} succeeded${and}` };
  const how = signal ? `was ended by ${signal}` : `failed with status ${status}`;
  return { status: "WARNING", summary: `${name} ${how}${and}` };
}

/** A progress bar goes back to the start of its line, and begins another to whoever reads it later. */
function linesOf(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

/** The first line that says anything; the last one. */
function firstOf(text: string): string {
  return linesOf(text).map(sayable).find(Boolean) ?? "";
}

function lastOf(text: string): string {
  return linesOf(text).map(sayable).findLast(Boolean) ?? "";
}

/** A line as people read it: without colours, in a length that leaves room for another. */
function sayable(line: string): string {
  return cut(clean(stripVTControlCharacters(line)), LONGEST_LINE);
}

const LONGEST_NAME = 80;
const LONGEST_LINE = 250;

function cut(text: string, longest: number): string {
  const chars = Array.from(text);
  return chars.length > longest ? `${chars.slice(0, longest - 1).join("")}…` : text;
}
