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

/** Whether `path`, absolute and resolved, is `ancestor` or lies below it: `/a/b/c` is within `/a/b`, `/a/bc` is not. */
export function isWithin(path: string, ancestor: string): boolean {
  const parts = path.split("/").filter(Boolean);
  return ancestor
    .split("/")
    .filter(Boolean)
    .every((name, i) => parts[i] === name);
}
