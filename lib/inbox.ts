import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type Document, emptyDocument, findSession, type Policy, SCHEMA, VERSION } from "./document.ts";
import { attempt, cannotWrite, codeOf, messageOf, SignalsError } from "./errors.ts";
import { writeDurably } from "./file.ts";
import { shed } from "./garbage.ts";
import { readHeartbeats, sweepHeartbeats, writeHeartbeat } from "./heartbeat.ts";
import { Fenced, withLock } from "./lock.ts";
import { migrate } from "./migration.ts";
import { configOf, DEFAULTS } from "./policy.ts";
import { structuralFault } from "./shape.ts";
import { shellWord } from "./text.ts";
import { type Time, timeOf } from "./time.ts";
import { prepareTold, sweepTold } from "./told.ts";
import { type Applied, apply, type Transaction } from "./transaction.ts";

/** How one caller meets the store. */
export interface Options {
  /**
   * A config.toml that cannot be used: a script fails with it ("throw"), a hook goes on with the last valid policy
   * ("keep") and finds the fault in the result.
   */
  onConfigFault: "throw" | "keep";
  /**
   * Try without the lock first. Where nothing changes, what was read is the answer, and nothing need be written;
   * else the transaction runs again under the lock. For callers that mostly find nothing to do.
   */
  optimistic?: boolean;
}

export interface Result<T> extends Applied<T> {
  now: Time;
  /** What is wrong with config.toml as it is now, and which version of the file that is. */
  configFault: Document["config_fault"];
  /** The document as it was stored, when it was of an older version. */
  older?: Older | undefined;
}

/** The inbox directory: `dir` if given, else `HARN_EXT_SIGNALS_DIR`, else `~/.harn/signals`. Throws `SignalsError`. */
export function inboxDirectory(dir?: string): string {
  const named = process.env["HARN_EXT_SIGNALS_DIR"];
  if (dir) return dir;
  // Hooks run in the session's directory, so each would have an inbox of its own.
  if (named && !isAbsolute(named)) {
    throw new SignalsError(`HARN_EXT_SIGNALS_DIR: ${named}: is no absolute path; write it whole, without ~`);
  }
  if (named) return named;
  // With an empty HOME every folder would get an inbox of its own; and not every account has one.
  const home = attempt(homedir) ?? "";
  if (!isAbsolute(home)) throw new SignalsError("HOME: is empty; set it, or name the inbox with --dir");
  return join(home, ".harn", "signals");
}

/**
 * Runs one transaction on the inbox: the only way to change it. Any number of processes may do so at once, be killed
 * or be suspended at any instruction: no reader sees a torn file and no writer loses another's change.
 * Throws `SignalsError` when the store cannot be used, the lock is not to be had in two seconds, or the caller's
 * change refuses; then nothing was stored.
 */
export async function transact<T>(
  dir: string,
  transaction: Transaction<T>,
  options: Options,
): Promise<Result<T>> {
  checkDirectory(dir, { make: true });
  if (options.optimistic) {
    const result = await readAndApply(dir, transaction, options, (run) => Promise.resolve(run()));
    if (!result.changed) return finish(dir, transaction, result);
  }
  const stored = await readAndApply(dir, transaction, options, (run) =>
    withLock(dir, (stage) => {
      const result = run();
      if (result !== "needs config" && result.changed) commit(dir, stage, result);
      return result;
    }),
  );
  return finish(dir, transaction, stored);
}

/** The inbox as it would be now, for reading: nothing is written, and no lock is taken. */
export async function look(
  dir: string,
  { onConfigFault = "throw" }: Partial<Options> = {},
): Promise<{ doc: Document; now: Time; configFault: Document["config_fault"] }> {
  checkDirectory(dir, { make: false });
  return readAndApply(dir, {}, { onConfigFault }, (run) => Promise.resolve(run()));
}

/**
 * Reads and applies, reading config.toml only when its stamp is not the one the document knows. TOML and its
 * validation are loaded outside the lock, and only then.
 */
async function readAndApply<T>(
  dir: string,
  transaction: Transaction<T>,
  options: Options,
  inside: (run: () => Result<T> | "needs config") => Promise<Result<T> | "needs config">,
): Promise<Result<T>> {
  let config: ConfigFile | undefined;
  for (;;) {
    const stamp = configStamp(dir);
    const result = await inside(() => {
      const nowMs = Date.now();
      const now = timeOf(nowMs);
      const { doc: stored, older } = readStored(dir, now);
      const known = stored.policy?.stamp === stamp || stored.config_fault?.stamp === stamp;
      if (!known && config?.stamp !== stamp) return "needs config";
      const doc = known ? stored : withConfig(stored, config as ConfigFile);
      const fault = doc.config_fault?.stamp === stamp ? doc.config_fault : undefined;
      if (fault && options.onConfigFault === "throw") throw new SignalsError(fault.message);

      const heartbeats = readHeartbeats(dir, nowMs);
      const applied = apply(doc, transaction, { heartbeats, newToken: () => crypto.randomUUID() }, now);
      const changed = applied.changed || doc !== stored || older !== undefined;
      return { ...applied, changed, now, configFault: fault, older };
    });
    if (result !== "needs config") return result;
    config = await readConfig(dir, stamp);
  }
}

/** After the transaction: the sign of life that its document may not carry. */
function finish<T>(dir: string, { checkIn }: Transaction<T>, result: Result<T>): Result<T> {
  try {
    if (checkIn) writeHeartbeat(dir, checkIn, Date.parse(result.now));
  } catch (error) {
    // A document that was written has it too, and stands: then nothing may fail any more.
    if (!result.changed) throw cannotWrite(dir, error);
  }
  return result;
}

// ---------------------------------------------------------------- the file

/** A document of an older version, byte for byte. */
interface Older {
  version: number;
  text: string;
}

/**
 * Reads `inbox.json`, brought to this version. Throws `SignalsError` for one that is not ours to touch; an absent one
 * is an empty inbox.
 */
export function readDocument(dir: string, now: Time): Document {
  return readStored(dir, now).doc;
}

function readStored(dir: string, now: Time): { doc: Document; older?: Older | undefined } {
  const path = join(dir, "inbox.json");
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return { doc: emptyDocument(now) };
    throw new SignalsError(`inbox: cannot read ${path} (${codeOf(error)}); check its permissions`, {
      cause: error,
    });
  }
  const aside = `it was left as it is; to start afresh, moving it aside: signals doctor --repair --dir ${shellWord(dir)}`;
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch (error) {
    throw new SignalsError(`inbox: ${path} is not JSON (${messageOf(error)}); ${aside}`, { cause: error });
  }
  const { schema, version } = (stored ?? {}) as Partial<Document>;
  if (schema === SCHEMA && Number(version) > VERSION) {
    throw new SignalsError(
      `inbox: ${path} is of version ${version} and this copy knows ${VERSION}; update this copy of ambient-signals; ` +
        aside,
    );
  }
  const doc = migrate(stored);
  const fault = structuralFault(doc);
  if (fault) throw new SignalsError(`inbox: ${path} is not valid: ${fault}; ${aside}`);
  return { doc: doc as Document, older: doc === stored ? undefined : { version: Number(version), text } };
}

/** Writes the document beside the old one and moves it into place, all or nothing. */
function commit<T>(dir: string, stage: string, result: Result<T>): void {
  const { max_bytes, stale_after } = configOf(result.doc);
  let text = JSON.stringify(result.doc);
  const excess = Buffer.byteLength(text) - max_bytes;
  if (excess > 0) {
    result.doc = shed(result.doc, excess);
    text = JSON.stringify(result.doc);
  }
  const { doc, older } = result;
  try {
    // Before its successor: a crash between the two does it once more.
    if (older) putInPlace(dir, stage, `inbox.v${older.version}.json`, older.text);
    putInPlace(dir, stage, "inbox.json", `${text}\n`);
  } catch (error) {
    // Whoever took over removed our directory, and what we read may be out of date.
    if (codeOf(error) === "ENOENT") throw new Fenced();
    throw cannotWrite(dir, error);
  }
  try {
    const nowMs = Date.parse(result.now);
    prepareTold(dir);
    sweepHeartbeats(dir, (id) => findSession(doc, id) !== undefined, nowMs, stale_after);
    sweepTold(dir, nowMs);
  } catch {
    // The change is stored, so it may not be reported as failed; the next rewrite sweeps again.
  }
}

/** Moves a file out of our staging directory; one that is overtaken has none any more. */
function putInPlace(dir: string, stage: string, name: string, text: string): void {
  writeDurably(join(stage, name), text);
  renameSync(join(stage, name), join(dir, name));
}

/**
 * Moves an inbox.json that cannot be used aside, one that is not JSON, not valid, or of a newer version, and begins a
 * new one. Returns where it is then; undefined when there was none to move. Throws `SignalsError` when it cannot be
 * read or moved.
 */
export async function moveAside(dir: string): Promise<string | undefined> {
  checkDirectory(dir, { make: false });
  if (!isBroken(dir)) return undefined;
  return withLock(dir, (stage) => {
    // Somebody else may have been faster.
    if (!isBroken(dir)) return undefined;
    const now = timeOf(Date.now());
    // Not every file system takes colons.
    const aside = join(dir, `inbox.broken.${now.replaceAll(":", "-")}.json`);
    let kept = false;
    try {
      // A second name for it: it goes only by the commit of its successor, which whoever was overtaken cannot do.
      linkSync(join(dir, "inbox.json"), aside);
      kept = true;
      putInPlace(dir, stage, "inbox.json", `${JSON.stringify(emptyDocument(now))}\n`);
      return aside;
    } catch (error) {
      if (kept) rmSync(aside, { force: true });
      if (codeOf(error) === "ENOENT") throw new Fenced();
      throw cannotWrite(dir, error);
    }
  });
}

function isBroken(dir: string): boolean {
  try {
    readDocument(dir, timeOf(0));
    return false;
  } catch (error) {
    // What the system does not let us read may be fine.
    if (error instanceof SignalsError && codeOf(error.cause) !== undefined) throw error;
    return true;
  }
}

/**
 * Refuses a directory that somebody else could write into, also for reading: what it holds would be theirs to say.
 * With `make`, an absent one is made, and one that others can read is made private.
 */
export function checkDirectory(dir: string, { make }: { make: boolean }): void {
  try {
    if (make) mkdirSync(dir, { recursive: true, mode: 0o700 });
    const stat = statSync(dir, { throwIfNoEntry: false });
    if (stat === undefined) return;
    if (process.getuid && stat.uid !== process.getuid()) {
      throw new SignalsError(`inbox: ${dir} belongs to another user; use a directory of your own`);
    }
    if (stat.mode & 0o022) {
      throw new SignalsError(`inbox: other users can write in ${dir}; run: chmod 700 ${shellWord(dir)}`);
    }
    // One that is read-only stays so.
    if (make && stat.mode & 0o055) chmodSync(dir, stat.mode & 0o700);
  } catch (error) {
    if (error instanceof SignalsError) throw error;
    throw new SignalsError(`inbox: cannot use ${dir} (${codeOf(error)}); choose another with --dir`, {
      cause: error,
    });
  }
}

// ---------------------------------------------------------------- config.toml

/** One version of config.toml, read. */
type ConfigFile = { stamp: string } & ({ policy: Policy } | { fault: string });

/** Changes with the settings that this code knows, so that an upgrade reads the file anew. */
const CONFIG_VERSION = 2;

/** Which version of the file is there, as this code reads it; a changed file has another stamp. */
export function configStamp(dir: string): string {
  const path = join(dir, "config.toml");
  try {
    const stat = statSync(path);
    return `${CONFIG_VERSION}:${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  } catch (error) {
    // A link that leads nowhere is a file that cannot be read, and not the wish to have none.
    const absent = codeOf(error) === "ENOENT" && lstatSync(path, { throwIfNoEntry: false }) === undefined;
    return absent ? NO_CONFIG : `${CONFIG_VERSION}:unreadable:${codeOf(error)}`;
  }
}

const NO_CONFIG = `${CONFIG_VERSION}:none`;

async function readConfig(dir: string, stamp: string): Promise<ConfigFile> {
  if (stamp === NO_CONFIG) return { stamp, policy: { stamp, config: DEFAULTS } };
  const path = join(dir, "config.toml");
  try {
    const { parseConfig } = await import("./config.ts");
    return { stamp, policy: { stamp, config: parseConfig(readFileSync(path, "utf8"), path) } };
  } catch (error) {
    return { stamp, fault: faultText(path, error) };
  }
}

/** What is wrong with a config.toml whose reading threw this. */
export function faultText(path: string, error: unknown): string {
  return error instanceof SignalsError ? error.message : `${path}: cannot be read (${codeOf(error)})`;
}

/** A broken file never un-mutes anything: the last valid policy stays, beside what is wrong now. */
function withConfig(doc: Document, file: ConfigFile): Document {
  return "policy" in file
    ? { ...doc, policy: file.policy, config_fault: undefined }
    : { ...doc, config_fault: { stamp: file.stamp, message: file.fault } };
}
