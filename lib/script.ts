import { type ParseArgsConfig, parseArgs } from "node:util";
import { debugStack } from "./debug.ts";
import { codeOf, messageOf, SignalsError, UsageError } from "./errors.ts";
import { headerOf, versionText } from "./header.ts";
import { inboxDirectory } from "./inbox.ts";
import { clean, nearest, safeJson } from "./text.ts";

type Flags = NonNullable<ParseArgsConfig["options"]>;

/** What a script works with. */
export interface Cli<F extends Flags> {
  /** The flags that were given, by name. */
  flags: ReturnType<typeof parseArgs<{ options: F & typeof COMMON; allowPositionals: true }>>["values"];
  /** What is not a flag, in order. */
  args: string[];
  /** The inbox directory: `--dir`, else the environment's, else the default. */
  dir: string;
  json: boolean;
  /** `-v`: times on the person's own clock instead of how long ago. */
  verbose: boolean;
}

/** The flags that every script has. */
const COMMON = {
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
  json: { type: "boolean" },
  dir: { type: "string" },
  verbose: { type: "boolean", short: "v" },
} as const satisfies Flags;

export interface ScriptOptions<F extends Flags> {
  flags?: F;
  /** Names of the arguments that must be given. */
  required?: readonly string[];
  /** Names of the arguments that may be given after those. */
  optional?: readonly string[];
  /** Any number of arguments may follow. */
  rest?: boolean;
  /** What helps whoever gave a flag that is not known, after all. */
  advice?: string | undefined;
  /** There is nothing to print as JSON. */
  forPeople?: boolean;
  /** What the help says after the file's own: of flags that it has from elsewhere. */
  help?: string;
  /**
   * The status of help and version, of wrong arguments, and of what failed: those of a script, unless said otherwise.
   * A monitor has one for all three, so that one that is called wrong never reads as well.
   */
  exits?: { help: number; wrong: number; failed: number };
}

const SCRIPT_EXITS = { help: 0, wrong: 2, failed: 1 };

/**
 * Runs one script: reads its flags, and turns trouble into one line on stderr and an exit status: 1 refused or
 * failed, 2 wrong arguments, if not said otherwise. A number that `main` returns is the status otherwise, else it is 0. `url` is the
 * entry file's `import.meta.url`, whose doc comment is the help.
 */
export async function runScript<const F extends Flags = Record<never, never>>(
  url: string,
  options: ScriptOptions<F>,
  main: (cli: Cli<F>) => Promise<unknown>,
): Promise<void> {
  const { exits = SCRIPT_EXITS } = options;
  process.stdout.on("error", (error) => {
    // `list | head` closes our stdout: there is nobody left to tell.
    if (codeOf(error) === "EPIPE") process.exit(0);
    note(`error: output: cannot be written (${codeOf(error)}); make room, or send it elsewhere`);
    process.exit(exits.failed);
  });
  process.stderr.on("error", () => {});
  try {
    const { cli, help, version } = parse(process.argv.slice(2), options);
    if (help || version) {
      process.exitCode = exits.help;
      return writeOut(help ? [headerOf(url), options.help].filter(Boolean).join("\n\n") : versionText());
    }
    checkArguments(cli.args, options);
    if (cli.json && options.forPeople)
      throw new UsageError("--json: this one prints for people only; leave it out");
    const status = await main(cli);
    process.exitCode = typeof status === "number" ? status : 0;
  } catch (error) {
    // What is no SignalsError is a fault of ours, or one of the system that nobody foresaw.
    const gone = "directory: the current one was removed; change to one that is there";
    const unforeseen = /uv_cwd/.test(messageOf(error))
      ? gone
      : `unexpected: ${messageOf(error)}; DEBUG=1 shows where`;
    note(`error: ${error instanceof SignalsError ? error.message : unforeseen}`);
    process.stderr.write(debugStack(error));
    process.exitCode = error instanceof UsageError ? exits.wrong : exits.failed;
  }
}

/** One line of data for people, on stdout. Text from outside in it cannot start another line or move the cursor. */
export function line(text: string, colour?: Colour): void {
  cleanLine(clean(text), colour);
}

/** The same for a line that is clean already, and whose spaces are to stay. */
export function cleanLine(text: string, colour?: Colour): void {
  writeOut(coloured(text, colour));
}

/** A text as stdout shows it: in a colour only on a terminal, and where nobody asked for none. */
export function coloured(text: string, colour: Colour | undefined): string {
  const isOn = colour !== undefined && process.stdout.isTTY && !process.env["NO_COLOR"];
  return isOn ? `\x1b[${COLOURS[colour]}m${text}\x1b[0m` : text;
}

/** A line of what belongs to the line before it. */
export function indented(text: string): void {
  writeOut(`    ${clean(text)}`);
}

/** One line about the run itself, on stderr; it may be indented. */
export function note(text: string): void {
  process.stderr.write(`${/^ */.exec(text)?.[0]}${clean(text)}\n`);
}

/** A JSON document on stderr, for a person to paste: every string in it stays as it is. */
export function noteJson(value: unknown): void {
  process.stderr.write(`${safeJson(value, 2)}\n`);
}

/** The one JSON document of a `--json` run: nothing of its strings is lost, and none of it can harm a terminal. */
export function printJson(value: unknown): void {
  writeOut(safeJson(value, 2));
}

/** The same as one line, of a run that goes on to print more. */
export function printJsonLine(value: unknown): void {
  writeOut(safeJson(value));
}

const COLOURS = { red: 31, yellow: 33, green: 32, dim: 2 } as const;
type Colour = keyof typeof COLOURS;

function writeOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

function parse<F extends Flags>(argv: string[], { flags, advice }: ScriptOptions<F>) {
  const options = { ...flags, ...COMMON } as F & typeof COMMON;
  const known = Object.keys(options).map((name) => `--${name}`);
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
    const common = values as { [name in keyof typeof COMMON]?: boolean } & { dir?: string };
    if (common.dir === "") throw new UsageError("--dir: is empty; name a directory, or leave it out");
    const { dir, json = false, verbose = false, help, version } = common;
    const cli: Cli<F> = {
      flags: values as Cli<F>["flags"],
      args: positionals,
      // Only when a script asks: help, and what needs no inbox, work without a home directory too.
      get dir() {
        return inboxDirectory(dir);
      },
      json,
      verbose,
    };
    return { cli, help, version };
  } catch (error) {
    throw new UsageError(flagTrouble(error, known, advice));
  }
}

/** One line for what parseArgs says in three. */
function flagTrouble(error: unknown, known: readonly string[], advice?: string): string {
  const said = messageOf(error);
  const flag = /'(--?[^' ]+)/.exec(said)?.[1] ?? "";
  if (codeOf(error) === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const meant = nearest(flag, known);
    const help = meant ? `did you mean ${meant}?` : `known are ${known.join(", ")}`;
    return `${flag}: unknown flag; ${advice && !meant ? advice : help}`;
  }
  if (/argument missing|is ambiguous/.test(said)) {
    return `${flag}: needs a value; write ${flag}=VALUE if it begins with a dash`;
  }
  return /does not take an argument/.test(said) ? `${flag}: takes no value; leave it out` : said;
}

function checkArguments(args: readonly string[], options: ScriptOptions<Flags>): void {
  const { required = [], optional = [], rest = false } = options;
  const missing = required[args.length];
  if (missing) throw new UsageError(`${missing}: is missing; --help shows the usage`);
  if (rest) return;
  const extra = args[required.length + optional.length];
  if (extra !== undefined) throw new UsageError(`${extra}: unexpected argument; --help shows the usage`);
}

/** The value of a flag that takes one of a few words. Throws `UsageError` that names them. */
export function oneOf<T extends string>(flag: string, value: string, words: readonly T[]): T {
  const word = words.find((candidate) => candidate === value);
  if (word !== undefined) return word;
  const meant = nearest(value, words);
  throw new UsageError(
    `${flag}: ${value}: is not one of ${words.join(", ")}${meant ? `; did you mean ${meant}?` : ""}`,
  );
}
