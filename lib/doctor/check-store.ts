import { accessSync, constants, existsSync, lstatSync, readdirSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { codeOf } from "../errors.ts";
import { lockHolder } from "../lock.ts";
import { isRunning } from "../process.ts";
import { shellWord } from "../text.ts";
import { between, relative } from "../time.ts";
import { type Finding, fault, noted, ok, type Place } from "./check-finding.ts";

/** Whether the inbox directory is there and can be entered: else there is nothing in it to look at. */
export function hasDirectory({ dir }: Place): boolean {
  return existsSync(`${dir}/.`);
}

/** The inbox directory: ours, ours alone, and writable. */
export function checkDirectory({ dir }: Place): Finding[] {
  const name = shellWord(dir);
  const stat = statSync(dir, { throwIfNoEntry: false });
  if (stat === undefined) {
    return lstatSync(dir, { throwIfNoEntry: false })
      ? [fault(`${dir} is a link that leads nowhere, so nothing can be stored`, `rm ${name}`)]
      : [noted(`${dir} is not there yet: the first hook that runs, or signals fire, makes it`)];
  }
  if (!stat.isDirectory())
    return [
      fault(`${dir} is no directory, so nothing can be stored`, `mv ${name} ${shellWord(`${dir}.aside`)}`),
    ];
  if (process.getuid && stat.uid !== process.getuid()) {
    const found = `${dir} belongs to another user (${stat.uid}), so nothing in it is believed`;
    return [
      fault(found, "use a directory of your own: --dir DIR, or HARN_EXT_SIGNALS_DIR for the hooks too"),
    ];
  }
  if (stat.mode & 0o022)
    return [fault(`other users can write in ${dir}, so nothing in it is believed`, `chmod 700 ${name}`)];
  try {
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = codeOf(error);
    const mend = code === "EROFS" ? "use another: --dir DIR, or HARN_EXT_SIGNALS_DIR" : `chmod 700 ${name}`;
    return [fault(`${dir} cannot be written (${code}), so nothing can be stored`, mend)];
  }
  if (stat.mode & 0o055) return [noted(`other users can look into ${dir}`, `chmod 700 ${name}`)];
  return [ok(`${dir} is yours alone`)];
}

/** What makes a file readable that the system does not let us read. */
export function makeReadable(file: string): string {
  const uid = process.getuid?.();
  const isOurs = uid === undefined || lstatSync(file).uid === uid;
  return isOurs ? `chmod 600 ${shellWord(file)}` : `sudo chown ${uid} ${shellWord(file)}`;
}

/** Room for a changed inbox, where it is or will be. */
export function checkSpace({ dir }: Place): Finding[] {
  let place = resolve(dir);
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize, files, ffree } = statfsSync(place);
  const mend = `make room on its file system: df ${shellWord(place)} shows which that is`;
  if (bavail === 0) return [fault("the disk is full, so nothing can be stored", mend)];
  // Some file systems do not count files.
  if (files > 0 && ffree === 0)
    return [fault("the disk can take no more files, so nothing can be stored", mend)];
  return [ok(`${Math.floor((bavail * bsize) / 2 ** 20)} MiB free`)];
}

/** What is in the directory, readable by its owner only. */
export function checkFiles({ dir }: Place): Finding[] {
  const open = filesIn(dir, 2).filter((path) => {
    // It may be gone meanwhile; and what a link leads to is kept elsewhere, as the person wishes.
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() && (stat.mode & 0o077) !== 0 && !isLock(path);
  });
  const [first = "", ...more] = open.sort();
  if (open.length === 0) return [ok("only you can read what is stored")];
  const which = more.length > 0 ? `${basename(first)} and ${more.length} more` : basename(first);
  const found = `nothing but the directory keeps other users from reading ${which}`;
  return [noted(found, `chmod go-rwx ${open.slice(0, MOST).map(shellWord).join(" ")}`)];
}

/** A lock is empty, and for the first moment as open as the person's umask makes it. */
function isLock(path: string): boolean {
  return path.endsWith(".lock");
}

/** As many as go into one command. */
const MOST = 20;

/** The paths in a folder, so many levels deep: whoever names another directory has not asked for a look at all of it. */
function filesIn(folder: string, levels: number): string[] {
  return list(folder).flatMap((item) => {
    const path = join(folder, item.name);
    return item.isDirectory() ? (levels > 1 ? filesIn(path, levels - 1) : []) : [path];
  });
}

/** Hooks that run meanwhile make folders, and remove them. */
function list(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** A transaction takes milliseconds; this long, and its process hangs. */
const LONG_MS = 3_000;

/** The lock: free, or held by somebody who is at work. */
export function checkLock({ dir, now }: Place): Finding[] {
  const holder = lockHolder(dir);
  if (holder === undefined) return [ok("free")];
  const { pid, since } = holder;
  const who = `${pid ? `process ${pid}` : "an unknown process"} since ${since} (${relative(since, now)})`;
  const takenOver = "the next change takes it over, half a second late";
  const isLong = Math.abs(between(since, now)) > LONG_MS;
  if (pid && !isRunning(pid)) return [noted(`held by ${who}, which has ended: ${takenOver}`)];
  if (!isLong) return [ok(`held by ${who}: it is at work`)];
  if (!pid) return [noted(`held by ${who}: ${takenOver}`)];
  const found = `held by ${who}, which hangs or was suspended: ${takenOver}`;
  return [fault(found, `look at it with: ps -p ${pid}; if it does not go on: kill ${pid}`)];
}
