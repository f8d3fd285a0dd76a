import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { bundleOf } from "../bundle.ts";
import { entries, home } from "../entries.ts";
import { attempt } from "../errors.ts";
import { temporaryOf } from "../file.ts";
import { isRunning } from "../process.ts";
import { shellWord } from "../text.ts";
import type { Change } from "./change.ts";
import { commandText, launcherText } from "./launcher.ts";
import { homeOf, realPath, type Situation, sameFile } from "./paths.ts";
import { wordsOf } from "./registered.ts";

// ---------------------------------------------------------------- the files

/** None when the file is as it is to be. */
export function fileChange(path: string, text: string, mode: number): Change[] {
  const was = existsSync(path) ? readFileSync(path, "utf8") : undefined;
  return was === text && (statSync(path).mode & 0o777) === mode ? [] : [{ path, was, text, mode }];
}

export function removal(path: string, upTo?: string): Change {
  return { path, was: "", text: undefined, mode: 0, upTo };
}

/** What an installation consists of: the package as bundles, in its own layout, and the launcher. */
export async function contentsOf(folder: string, launcher: string) {
  const bundles = entries().map(async (entry) => ({
    path: join(folder, `${entry.name}.mjs`),
    text: await bundleOf(entry),
    mode: 0o755,
  }));
  const fixtures = fixtureFiles().map((file) => ({
    path: join(folder, file),
    text: readFileSync(join(home(), file), "utf8"),
    mode: 0o644,
  }));
  const launch = { path: launcher, text: launcherText(folder, process.execPath), mode: 0o755 };
  return [...(await Promise.all(bundles)), ...fixtures, launch];
}

function fixtureFiles(): string[] {
  const all = readdirSync(join(home(), "fixtures"), { recursive: true, encoding: "utf8" }).sort();
  return all.map((file) => join("fixtures", file)).filter((file) => statSync(join(home(), file)).isFile());
}

// ---------------------------------------------------------------- what was left over

/** What a write that was broken off left in an installation, or beside another file that it writes. */
export function leftovers(folder: string, others: readonly string[]): Change[] {
  const inside = attempt(() => readdirSync(folder, { recursive: true, encoding: "utf8" })) ?? [];
  const beside = others.flatMap((path) => {
    const place = dirname(realPath(path));
    const names = attempt(() => readdirSync(place)) ?? [];
    return names
      .filter((name) => name.startsWith(`${basename(realPath(path))}.`))
      .map((name) => join(place, name));
  });
  return [...inside.map((name) => join(folder, name)), ...beside]
    .filter((path) => {
      const pid = temporaryOf(path);
      return pid !== undefined && !isRunning(pid);
    })
    .map((path) => removal(path, folder));
}

// ---------------------------------------------------------------- the command

/** The `signals` command in `~/.local/bin`, unless something else has that name. */
export function planCommand(launcher: string, situation: Situation) {
  const { env } = situation;
  const path = commandPath(env);
  // A link that leads nowhere is in the way too.
  if (attempt(() => lstatSync(path)) && !isOurCommand(path, launcher, situation)) {
    const instead = `${shellWord(launcher)} scripts/signals`;
    return {
      path: null,
      change: [],
      notes: [`${path} is none of ours and stays; for signals type ${instead}`],
    };
  }
  const onPath = (env["PATH"] ?? "").split(delimiter).some((folder) => sameFile(folder, dirname(path)));
  const notes = onPath
    ? []
    : [`${dirname(path)} is not on your PATH; add it, or for signals type ${shellWord(path)}`];
  return { path, change: fileChange(path, commandText(launcher), 0o755), notes };
}

export function commandPath(env: NodeJS.ProcessEnv): string {
  return join(homeOf(env), ".local", "bin", "signals");
}

/** A command that runs our launcher, by whichever path. */
export function isOurCommand(path: string, launcher: string, situation: Situation): boolean {
  try {
    const [, line = ""] = /^exec (.*) scripts\/signals "\$@"$/m.exec(readFileSync(path, "utf8")) ?? [];
    const [word] = wordsOf(line, situation);
    return word !== undefined && sameFile(word, launcher);
  } catch {
    return false;
  }
}
