import { lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

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

const HOST = String.raw`([\w.-]+|\[[\da-f:.]+\])`;
/** The user part reaches to the last `@` before a slash, as a password may hold one too. */
const URL_FORM = new RegExp(
  String.raw`^(?:(?:git\+)?(?:https?|ssh)|git|ssh\+git)://(?:[^/]*@)?${HOST}(?::\d*)?/(.*)$`,
  "i",
);
const SCP_FORM = new RegExp(`^(?:[^/]*@)?${HOST}:(.*)$`, "i");

/**
 * A remote's URL as `host/owner/name`: lower case, the whole path (GitLab has subgroups), without user, password,
 * port, query and `.git`. Undefined for local paths, `file://`, other transports and paths of one segment.
 */
export function repositoryOf(url: string): string | undefined {
  const text = url.trim();
  // One letter before a colon is a Windows drive.
  if (/^[a-z]:/i.test(text)) return undefined;
  const [, host, rest] = (text.includes("://") ? URL_FORM : SCP_FORM).exec(text) ?? [];
  const path = rest?.replace(/[?#].*$/, "");
  // In the path, `@` and `:` are most likely a password with a slash in it, which was taken for the host's end.
  if (host === undefined || path === undefined || /[\s\p{C}\\@:]/u.test(path)) return undefined;
  const names = segments(path);
  if (names.length < 2 || names.some((name) => name === "." || name === "..")) return undefined;
  return [host.toLowerCase(), ...names].join("/");
}

/**
 * Whether two names mean one repository, whatever their case. Two segments are `owner/name`, which is at home on
 * every host; three or more begin with the host. A single segment names no repository.
 */
export function sameRepository(a: string, b: string): boolean {
  const [short, long] = [segments(a), segments(b)].sort((x, y) => x.length - y.length) as [
    string[],
    string[],
  ];
  if (short.length < 2) return false;
  const hostless = short.length === 2 && long.length > 2;
  return short.join("/") === (hostless ? long.slice(1) : long).join("/");
}

function segments(path: string): string[] {
  const names = path.trim().toLowerCase().split("/").filter(Boolean);
  return [...names.slice(0, -1), names.at(-1)?.replace(/\.git$/, "") ?? ""].filter(Boolean);
}

/** Whether the absolute `path` is `ancestor` or lies below it: `/a/b/c` is within `/a/b`, `/a/bc` is not. */
export function isWithin(path: string, ancestor: string): boolean {
  const way = relative(ancestor, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
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

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
