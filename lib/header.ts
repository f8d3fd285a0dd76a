import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** What the bundler puts in the place of `AMBIENT_SIGNALS`: which file this is one of, and of which version. */
interface Bundle {
  version: string;
  /** The entry file's path in the package without its ending, such as `hooks/claude-code/stop`. */
  entry: string;
}

declare const AMBIENT_SIGNALS: Bundle;

/** Set in a bundle, which has all of the library inside; undefined in the source. */
export const BUNDLE: Bundle | undefined =
  typeof AMBIENT_SIGNALS === "undefined" ? undefined : AMBIENT_SIGNALS;

/**
 * The doc comment that an entry file opens with, as plain text: the file's help, and its row in the README's table.
 * There is one copy of it, so they cannot disagree. `url` is the entry file's `import.meta.url`.
 */
export function headerOf(url: string): string {
  return headerIn(readFileSync(fileURLToPath(url), "utf8"));
}

/** The same from the file's text. */
export function headerIn(source: string): string {
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(source)?.[1] ?? "";
  return comment
    .split("\n")
    .map((line) => line.replace(/^ \*? ?/, ""))
    .join("\n")
    .trim();
}

/** The version of the package that this runs from, bundled or not. */
export function packageVersion(): string {
  if (BUNDLE) return BUNDLE.version;
  const file = new URL("../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Name and version of the package, as `--version` prints them. */
export function versionText(): string {
  return `ambient-signals ${packageVersion()}`;
}
