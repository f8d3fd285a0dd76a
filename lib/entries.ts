import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt, SignalsError, UsageError } from "./errors.ts";
import { BUNDLE } from "./header.ts";
import { nearest } from "./text.ts";

/** A file that people run: a hook, a monitor or a script. */
export interface Entry {
  /** Its path in the package without the ending, such as `hooks/claude-code/stop`. */
  name: string;
  /** Where it is: source, or a bundle when this runs from a bundle. */
  file: string;
}

const FOLDERS = ["hooks", "monitors", "scripts"];

/**
 * The folder that holds `hooks`, `monitors`, `scripts` and `fixtures`: the package itself, or the bundles' own when
 * this runs from one. Throws `SignalsError` in a bundle that was copied without the others.
 */
export function home(): string {
  if (!BUNDLE) return resolve(fileURLToPath(new URL("..", import.meta.url)));
  const file = fileURLToPath(import.meta.url);
  const place = `${sep}${BUNDLE.entry.replaceAll("/", sep)}.mjs`;
  const folder = file.endsWith(place) ? file.slice(0, -place.length) : "";
  // A person's own folder of scripts may have that name too.
  if (folder && existsSync(join(folder, "fixtures", "claude-code"))) return folder;
  throw new SignalsError(
    `${basename(BUNDLE.entry)}: ${file}: stands alone, and works only beside the package's other files; run it there`,
  );
}

/** All entry files, by name. Throws like `home`. */
export function entries(): Entry[] {
  const root = home();
  const ending = BUNDLE ? ".mjs" : ".mts";
  const walk = (folder: string): Entry[] => {
    // Not every package has every folder.
    const items = attempt(() => readdirSync(join(root, folder), { withFileTypes: true })) ?? [];
    return items.flatMap((item) => {
      const name = `${folder}/${item.name}`;
      if (item.isDirectory()) return walk(name);
      return name.endsWith(ending) ? [{ name: name.slice(0, -ending.length), file: join(root, name) }] : [];
    });
  };
  return FOLDERS.flatMap(walk).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The entry that a person means: its name, or as much of its end as says which, with or without the file's ending.
 * Throws `UsageError` that says what to type instead when it says none or several.
 */
export function entryNamed(text: string): Entry {
  const wanted = text.replace(/^\.?\/+|\.m[tj]s$/g, "");
  const all = entries();
  const found = endingIn(wanted, all);
  const typed = (some: readonly Entry[]) => some.map((entry) => shortName(entry, all));
  if (found.length === 1 && found[0]) return found[0];
  if (found.length > 1)
    throw new UsageError(`NAME: ${text}: names several files; write ${typed(found).join(" or ")}`);
  const meant = nearest(
    basename(wanted),
    all.map(({ name }) => basename(name)),
  );
  const hooks = all.filter(({ name }) => name.startsWith("hooks/"));
  const help = meant
    ? `did you mean ${typed(endingIn(meant, all)).join(" or ")}?`
    : `the hooks are ${typed(hooks).join(", ")}, and signals lists the rest`;
  throw new UsageError(`NAME: ${text}: there is no such file in the package; ${help}`);
}

function endingIn(words: string, all: readonly Entry[]): Entry[] {
  return all.filter(({ name }) => name === words || name.endsWith(`/${words}`));
}

/** As much of the end of an entry's name as says which. */
function shortName({ name }: Entry, all: readonly Entry[]): string {
  const words = name.split("/");
  const ends = words.map((_, i) => words.slice(-1 - i).join("/"));
  return ends.find((end) => endingIn(end, all).length === 1) ?? name;
}

/** How an entry is run: node's first arguments, then the file. */
export function runnerOf({ file }: Entry): string[] {
  return BUNDLE ? [file] : ["--import", import.meta.resolve("tsx"), file];
}
