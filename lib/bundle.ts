import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Metafile } from "esbuild";
import { type Entry, entries, home } from "./entries.ts";
import { replaceFile } from "./file.ts";
import { BUNDLE, packageVersion } from "./header.ts";

/**
 * An entry file as one self-contained text that needs only node: its doc comment, its own code and that of all it
 * imports, and the licences of the packages among them. From source it is made with esbuild; a bundle finds it
 * beside itself.
 */
export async function bundleOf(entry: Entry): Promise<string> {
  if (BUNDLE) return readFile(entry.file, "utf8");
  // Only here: it is slow to load, and no bundle has it.
  const { build } = await import("esbuild");
  const version = packageVersion();
  const { outputFiles, metafile } = await build({
    absWorkingDir: home(),
    entryPoints: [entry.file],
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    target: "node20",
    format: "esm",
    legalComments: "none",
    external: ["esbuild"],
    logLevel: "silent",
    define: { AMBIENT_SIGNALS: JSON.stringify({ version, entry: entry.name }) },
  });
  const [output] = outputFiles;
  const code = (output?.text ?? "").replace(/^#!.*\n/, "");
  const source = readFileSync(entry.file, "utf8");
  return `${opening(entry.name, source, version)}\n${code}${notices(metafile)}`;
}

/** Writes every entry into `folder`, one file each in the package's own layout, with the fixtures that they play. */
export async function writeBundles(folder: string): Promise<string[]> {
  const written = await Promise.all(
    entries().map(async (entry) => {
      const file = join(folder, `${entry.name}.mjs`);
      const text = await bundleOf(entry);
      mkdirSync(dirname(file), { recursive: true });
      replaceFile(file, text, 0o755);
      return file;
    }),
  );
  cpSync(join(home(), "fixtures"), join(folder, "fixtures"), { recursive: true });
  return written;
}

/** The first lines: the doc comment as it is true of a bundle, what this is, and `require` for CommonJS packages. */
function opening(name: string, source: string, version: string): string {
  const comment = /\/\*\*\n[\s\S]*?\n \*\//.exec(source)?.[0] ?? "";
  const told = comment
    .replace(/npx tsx \S*?([\w-]+)\.mts/g, "node $1.mjs")
    .replace(/ambient-signals in a folder at or above this file's/, "Node 20 or newer");
  return `#!/usr/bin/env node
${told}
// ${name}.mts of ambient-signals ${version} as one file that needs only node. Do not edit it: edit that, and copy again.
import { createRequire as __createRequire } from "node:module";
const require = __createRequire(import.meta.url);`;
}

/** The licence of the package and of each one inside, as those licences ask. */
function notices({ inputs }: Metafile): string {
  // Where this package is installed, the others lie beside it.
  const places = Object.keys(inputs).flatMap(
    (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(resolve(home(), input))?.[0] ?? [],
  );
  return [...new Set([home(), ...places.sort()])]
    .map((place) => {
      const about = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
      const { name, version, license, author, homepage } = about;
      const file = readdirSync(place).find((item) => /^licen[cs]e/i.test(item));
      // Not every package holds the text.
      const named = `License: ${license}; by ${author?.name ?? author}; ${homepage}`;
      const text = file ? readFileSync(join(place, file), "utf8").trim() : named;
      const lines = `${name} ${version}\n\n${text}`.split(/\r?\n/);
      return `\n${lines.map((line) => `// ${line}`.trimEnd()).join("\n")}\n`;
    })
    .join("");
}
