import { pathToFileURL } from "node:url";
import { type Entry, entries } from "./entries.ts";
import { attempt, UsageError } from "./errors.ts";
import { headerOf } from "./header.ts";
import { nearest } from "./text.ts";

/** One line of `signals`: what is typed behind it, and the first sentence of that file's help. */
export interface Command {
  name: string;
  does: string;
}

/** What people type for an entry: `list` for a script, `monitor github-ci` for a monitor. */
function typed({ name }: Entry): string | undefined {
  const [folder, ...rest] = name.split("/");
  if (folder === "scripts" && rest[0] !== "signals") return rest.join(" ");
  return folder === "monitors" ? `monitor ${rest.join(" ")}` : undefined;
}

/** Everything that can be run by name. Throws `SignalsError` in a copy that stands alone. */
export function commands(): Command[] {
  return entries().flatMap((entry) => {
    const name = typed(entry);
    const [does = ""] = headerOf(pathToFileURL(entry.file).href).split("\n");
    return name === undefined ? [] : [{ name, does }];
  });
}

/**
 * The entry that a command line (node, the file, words) begins with. Its words are taken off, so that what is left is
 * the entry's own command line. Undefined when it names none; then the words up to the first flag are left, for
 * `unknownCommand`.
 */
export function takeCommand(argv: string[]): Entry | undefined {
  // `signals help list` is what some type first.
  if (argv[2] === "help") argv.splice(2, argv.length, ...argv.slice(3), ...(argv[3] ? ["--help"] : []));
  const flag = argv.findIndex((word, i) => i >= 2 && word.startsWith("-"));
  const words = argv.slice(2, flag < 0 ? undefined : flag);
  // Whoever cannot list them says so later, in one line.
  const all = attempt(entries) ?? [];
  for (let count = words.length; count > 0; count--) {
    const found = all.find((entry) => typed(entry) === words.slice(0, count).join(" "));
    if (!found) continue;
    argv.splice(1, 1 + count, found.file);
    return found;
  }
  if (words.length > 0) argv.splice(2 + words.length);
  return undefined;
}

/** The error for words that name nothing. */
export function unknownCommand(words: readonly string[]): UsageError {
  const names = commands().map(({ name }) => name);
  const given = words[0] === "monitor" ? words.slice(0, 2).join(" ") : (words[0] ?? "");
  if (names.includes(given)) return new UsageError(`VERB: ${given}: comes first; put the flags behind it`);
  const meant = nearest(given, names);
  return new UsageError(
    `VERB: ${given}: there is no such command; ${meant ? `did you mean ${meant}?` : "signals, alone, lists them"}`,
  );
}
