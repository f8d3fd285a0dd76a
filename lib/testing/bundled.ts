import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { bundleOf } from "../bundle.ts";
import { entryNamed } from "../entries.ts";
import { type Run, type RunOptions, run } from "./process.ts";
import { tempDirectory } from "./temp.ts";

/** Runs an entry file, such as `monitors/http`, as it is installed: bundled, by node alone. It starts several times faster. */
export async function runBundle(
  name: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  const file = made.get(name) ?? make(name);
  made.set(name, file);
  return run(process.execPath, [await file, ...args], options);
}

/** Each once per process. */
const made = new Map<string, Promise<string>>();

async function make(name: string): Promise<string> {
  const file = join(tempDirectory("bundled"), `${name}.mjs`);
  const text = await bundleOf(entryNamed(name));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
