import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Harness } from "../client.ts";
import { home } from "../entries.ts";
import { BUNDLE } from "../header.ts";
import { shellWord } from "../text.ts";
import { type Scope, sameFile } from "./paths.ts";
import { clientsThere } from "./presence.ts";

/** The command line that installs the same once more, from any directory; the flags below go behind it. */
export function installCommand(): string {
  const tsx = join(home(), "node_modules", ".bin", "tsx");
  const [runner, file] = BUNDLE
    ? ["node", "install.mjs"]
    : [existsSync(tsx) ? shellWord(tsx) : "npx tsx", "install.mts"];
  return `${runner} ${shellWord(join(home(), "scripts", file))} --yes`;
}

/** What makes a command one for this scope. */
export function scopeFlag(scope: Scope): string {
  return scope === "user" ? "" : ` --scope ${scope}`;
}

/** What makes a command one for the project of a settings file; it needs nothing in `cwd`, or for the user's own. */
export function insideOf(scope: Scope | "plugin", path: string, cwd?: string): string {
  const project = dirname(dirname(path));
  const isHere = cwd !== undefined && sameFile(project, cwd);
  return isHere || scope === "user" || scope === "plugin" ? "" : `cd ${shellWord(project)} && `;
}

/** What keeps a command that installs again for these clients from adding another that is there. */
export function harnessFlag(harnesses: readonly Harness[], env: NodeJS.ProcessEnv): string {
  const [only, ...more] = harnesses;
  const adds = clientsThere(env).some((harness) => !harnesses.includes(harness));
  return only && more.length === 0 && adds ? ` --harness ${only}` : "";
}
