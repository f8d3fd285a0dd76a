import { lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { attempt } from "./errors.ts";
import { repositoryOf } from "./repository.ts";

/** Where a session works, as far as the file system tells. All paths are real paths (no symlinks). */
export interface Place {
  cwd: string;
  /** The directory that holds `.git`, the nearest one at or above `cwd`. */
  work_tree?: string;
  /** `host/owner/name` in lower case, from the remote `origin` or, without one, the first remote. */
  repository?: string;
}

/**
 * The work tree and repository around `cwd`. It runs in a hook on every tool call, so it reads a handful of files
 * instead of starting git, and never throws: what is malformed, unreadable or too large is not known.
 */
export function locate(cwd: string): Place {
  const real = attempt(() => realpathSync.native(cwd));
  if (real === undefined) return { cwd: attempt(() => resolve(cwd)) ?? cwd };

  for (let dir = real; ; dir = dirname(dir)) {
    const gitDir = gitDirOf(dir);
    if (gitDir !== undefined) {
      const repository = repositoryIn(gitDir);
      return { cwd: real, work_tree: dir, ...(repository === undefined ? {} : { repository }) };
    }
    if (dir === dirname(dir)) return { cwd: real };
  }
}

/** The branch that is checked out in the work tree at `dir`; undefined on none, as in a rebase, or where none can be read. */
export function branchAt(dir: string): string | undefined {
  const gitDir = gitDirOf(dir);
  if (gitDir === undefined) return undefined;
  const head = join(gitDir, "HEAD");
  // Old versions of git made a symlink of it.
  const target = attempt(() => readlinkSync(head)) ?? readSmall(head)?.replace(/^ref:\s*/, "");
  const [, branch] = /^refs\/heads\/(.+)$/.exec(target ?? "") ?? [];
  // What git writes where the branches are kept in another form than files.
  return branch === ".invalid" ? undefined : branch;
}

/** The git directory of the work tree at `dir`: its `.git`, or where that leads in worktrees and submodules. */
function gitDirOf(dir: string): string | undefined {
  let gitDir = join(dir, ".git");
  const found = attempt(() => statSync(gitDir));
  if (found === undefined) return undefined;
  if (!found.isDirectory()) {
    const [, target] = /^gitdir: (.+)$/s.exec(readSmall(gitDir) ?? "") ?? [];
    if (target === undefined) return undefined;
    gitDir = resolve(dir, target);
  }
  // HEAD may be a symlink to a branch that has no commit yet, so it is not followed.
  return attempt(() => lstatSync(join(gitDir, "HEAD"))) && gitDir;
}

function repositoryIn(gitDir: string): string | undefined {
  const commonDir = resolve(gitDir, readSmall(join(gitDir, "commondir")) ?? "");
  // Besides reading, only the limit of a regular expression's stack could throw here.
  const remotes = attempt(() => remotesIn(readSmall(join(commonDir, "config")) ?? ""));
  const url = remotes?.get("origin") ?? remotes?.values().next().value;
  return url === undefined ? undefined : repositoryOf(url);
}

const ESCAPE = String.raw`\\[\n"\\ntb]`;
const VALUE = String.raw`(?:[^"\\\n#;]|${ESCAPE}|"(?:[^"\\\n]|${ESCAPE})*")*`;
/** White space, a comment, a section header (section, subsection), or an entry up to its end of line (key, value). */
const TOKEN = new RegExp(
  [
    String.raw`[ \t\r\n]+`,
    String.raw`[#;][^\n]*`,
    String.raw`\[([a-z\d.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]`,
    String.raw`([a-z][a-z\d-]*)[ \t]*(?:=(${VALUE})(?:[#;][^\n]*)?)?(?=\n|$)`,
  ].join("|"),
  "giy",
);

/**
 * The first URL of each remote in the text of a git config file, in the order of the file; none when git would
 * refuse the file. `include`, `insteadOf` and `config.worktree` are ignored: they would cost more reads.
 */
function remotesIn(config: string): Map<string, string> {
  const text = `${config.replace(/^\ufeff/, "").replaceAll("\r\n", "\n")}\n`;
  const remotes = new Map<string, string>();
  let remote: string | undefined;
  let end = 0;
  for (const token of text.matchAll(TOKEN)) {
    const [all, section, subsection, key, value] = token;
    end = token.index + all.length;
    if (section !== undefined) {
      const name = subsection === undefined ? "" : `.${subsection.replace(/\\(.)/g, "$1")}`;
      [, remote] = /^remote\.(.+)$/s.exec(section.toLowerCase() + name) ?? [];
    } else if (remote !== undefined && key?.toLowerCase() === "url" && value !== undefined) {
      const url = unquote(value);
      if (url !== "" && !remotes.has(remote)) remotes.set(remote, url);
    }
  }
  return end === text.length ? remotes : new Map();
}

function unquote(value: string): string {
  const escapes: Record<string, string> = { "\n": "", n: "\n", t: "\t", b: "\b" };
  return value.replace(/\\(.)|"/gs, (_, char?: string) => (char ? (escapes[char] ?? char) : "")).trim();
}

const MAX_BYTES = 1 << 20;

/** The file's text without the line breaks at its end. */
function readSmall(file: string): string | undefined {
  return attempt(() => {
    const found = statSync(file);
    if (!found.isFile() || found.size > MAX_BYTES) return undefined;
    return readFileSync(file, "utf8").replace(/(?<![\r\n])[\r\n]+$/, "");
  });
}
