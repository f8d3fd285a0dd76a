import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * The doc comment that an entry file opens with, as plain text: the file's help, and its row in the README's table.
 * There is one copy of it, so they cannot disagree. `url` is the entry file's `import.meta.url`.
 */
export function headerOf(url: string): string {
  const source = readFileSync(fileURLToPath(url), "utf8");
  const comment = /\/\*\*\n([\s\S]*?)\n \*\//.exec(source)?.[1] ?? "";
  return comment
    .split("\n")
    .map((line) => line.replace(/^ \* ?/, ""))
    .join("\n");
}

/** Name and version of the package, as `--version` prints them. */
export function versionText(): string {
  const file = new URL("../package.json", import.meta.url);
  const { name, version } = JSON.parse(readFileSync(file, "utf8")) as { name: string; version: string };
  return `${name} ${version}`;
}
