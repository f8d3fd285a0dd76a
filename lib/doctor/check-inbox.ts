import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../config.ts";
import { type Document, isOwed } from "../document.ts";
import { codeOf, messageOf, SignalsError } from "../errors.ts";
import { readFailures } from "../failure.ts";
import { bytesOf } from "../garbage.ts";
import { readHeartbeats } from "../heartbeat.ts";
import { faultText, readDocument } from "../inbox.ts";
import { type Config, configOf, DEFAULTS, NO_SESSION } from "../policy.ts";
import { isLive } from "../session.ts";
import { shellWord } from "../text.ts";
import { plus, relative } from "../time.ts";
import { apply } from "../transaction.ts";
import { deliveryOf, sessionLabel } from "../view.ts";
import { brokenRules, refusedEnvelopes } from "./check-document.ts";
import { count, type Finding, fault, noted, ok, type Place, signals, startSession } from "./check-finding.ts";
import { makeReadable } from "./check-store.ts";

/** inbox.json: readable, of this version, and as the rules rely on it to be. */
export function checkInbox(place: Place): Finding[] {
  const { dir, now } = place;
  let doc: Document;
  try {
    doc = readDocument(dir, now);
  } catch (error) {
    return [unusable(place, error)];
  }
  const file = join(dir, "inbox");
  const aside = `${file}.broken.${now.replaceAll(":", "-")}.json`;
  const rules = brokenRules(doc).map(({ says, by }) =>
    fault(
      `${by} breaks the rule "${says}": what depends on it may be told twice, or never`,
      `mv ${shellWord(`${file}.json`)} ${shellWord(aside)}`,
    ),
  );
  const envelopes = refusedEnvelopes(doc).slice(0, MOST);
  const texts = envelopes.map(({ key, reason }) =>
    fault(
      `signal ${key} holds a text that is refused today: ${reason}`,
      signals(place, `resolve ${shellWord(key)}`),
    ),
  );
  const found = [...rules, ...texts];
  if (found.length > 0) return found;
  const { length } = doc.signals;
  return [
    ok(length === 0 ? "no signal is stored" : `valid: ${count(length, "signal")}, ${bytesOf(doc)} bytes`),
  ];
}

/** As many of one kind as are worth a line each. */
const MOST = 5;

/** Why inbox.json cannot be used, and the way out. */
function unusable(place: Place, error: unknown): Finding {
  const path = join(place.dir, "inbox");
  const file = `${path}.json`;
  // Its readers name the whole path, and say what to do.
  const [what = ""] = messageOf(error)
    .replace(`inbox: ${path}`, "inbox")
    .replace(/^inbox: cannot read .*? \(/, "inbox.json cannot be read (")
    .split(/; (?:it was left as it is|update this copy|check its permissions)/);
  const code = error instanceof SignalsError ? codeOf(error.cause) : undefined;
  if (code === "EACCES") return fault(what, makeReadable(file));
  if (code !== undefined) return fault(what, `see what it is: ls -ld ${shellWord(file)}`);
  const repair = signals(place, "doctor --repair");
  return /is of version \d/.test(what)
    ? fault(what, `update this copy of ambient-signals; to start afresh instead: ${repair}`)
    : fault(what, repair);
}

/** How many signals there are, where their news stands, and whether there is room for more. */
export function checkSignals(place: Place): Finding[] {
  const doc = present(place);
  if (doc === undefined) return [];
  const { max_signals, max_bytes } = configOf(doc);
  const fired = doc.signals.filter(({ state }) => state === "fired").length;
  const deliveries = doc.signals.filter(isOwed).map((signal) => deliveryOf(doc, signal, place.now));
  const held = deliveries.filter(({ status }) => status === "held").map(({ reason = "" }) => reason);
  const numbers = [
    `${fired} fired`,
    `${deliveries.length - held.length} owed to a session`,
    `${held.length} held${held.length > 0 ? ` (${mostCommon(held)})` : ""}`,
  ];
  const isFull = fired >= max_signals || bytesOf(doc) > max_bytes;
  const room =
    "resolve some that no longer hold (signals list), or raise max_signals and max_bytes in config.toml";
  const isAnybody = doc.sessions.some((session) => isLive(doc, session, place.now));
  const homeless = held.filter((reason) => reason === NO_SESSION).length;
  return [
    ok(numbers.join(", ")),
    ...(isFull ? [noted("there are as many as config.toml allows, so new ones may be refused", room)] : []),
    ...(doc.evicted
      ? [noted(`${count(doc.evicted, "unverified signal")} made room for stronger ones`, room)]
      : []),
    ...(isAnybody && homeless > 0 ? [unheard(homeless)] : []),
  ];
}

/** What no session is near to, though some are there. */
function unheard(signals: number): Finding {
  const home = 'repository = "OWNER/NAME" in a [[monitor]], or --repo';
  return noted(
    `no session that is there works where ${count(signals, "signal")} may go, so nobody is told`,
    `say who should hear of such: ${home}; or start a session for the rest: HARN_EXT_SIGNALS_ROLE=control claude`,
  );
}

function mostCommon(reasons: readonly string[]): string {
  const times = (reason: string) => reasons.filter((other) => other === reason).length;
  const [first = ""] = [...reasons].sort((a, b) => times(b) - times(a));
  return times(first) < reasons.length ? `most of them: ${first}` : first;
}

/** config.toml: valid, or what is wrong and what holds meanwhile. */
export function checkConfig(place: Place): Finding[] {
  const { config, file, error } = configIn(place);
  if (config)
    return [ok(error === "absent" ? "no config.toml, so the defaults hold" : "config.toml is valid")];
  const isKept = present(place)?.policy !== undefined;
  const meanwhile = `scripts refuse to work, and hooks ${isKept ? "go on with the last valid settings" : "hold every signal"}`;
  const code = codeOf(error);
  const other = code ? "make it a file that can be read, or remove it" : "correct that line";
  const mend = code === "EACCES" ? makeReadable(file) : other;
  return [fault(`${faultText(file, error)}; until it is mended, ${meanwhile}`, mend)];
}

function configIn({ dir }: Place): { file: string; config?: Config; error?: unknown } {
  const file = join(dir, "config.toml");
  try {
    // A link that leads nowhere is a file that cannot be read.
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
      return { file, config: DEFAULTS, error: "absent" };
    return { file, config: parseConfig(readFileSync(file, "utf8"), file) };
  } catch (error) {
    return { file, error };
  }
}

/**
 * The inbox as it would be now, whatever config.toml is like; undefined when it cannot be read. Unlike `look` this
 * leaves everything as it is, even a sign of life that lies in the future.
 */
function present(place: Place): Document | undefined {
  const { dir, now } = place;
  let stored: Document;
  try {
    stored = readDocument(dir, now);
  } catch {
    return undefined;
  }
  const { config } = configIn(place);
  const policy = config ? { stamp: "", config } : stored.policy;
  const heartbeats = readHeartbeats(dir, Number.POSITIVE_INFINITY);
  return apply({ ...stored, policy }, {}, { heartbeats, newToken: String }, now).doc;
}

/** The sessions that are heard from, and when they last were. */
export function checkSessions(place: Place): Finding[] {
  const { now } = place;
  const doc = present(place);
  if (doc === undefined)
    return [noted("which sessions there are is not known while inbox.json cannot be read")];
  const live = doc.sessions.filter((session) => isLive(doc, session, now));
  const newest = live.sort((a, b) => (a.last_hook > b.last_hook ? -1 : 1))[0];
  if (newest === undefined) {
    return [noted("no session is heard from, so what is fired waits", startSession(place))];
  }
  const last = `${sessionLabel(doc, newest.id)} ${relative(newest.last_hook, now)}`;
  return [ok(`${count(live.length, "session")} heard from, last ${last}`)];
}

/** What went wrong in hooks of late. The other checks say what is wrong now. */
export function checkFailures({ dir, now }: Place): Finding[] {
  const recent = readFailures(dir).filter(({ at }) => at > plus(now, -DAY));
  const newest = recent.at(-1);
  if (newest === undefined) return [ok("no hook failed within a day")];
  const { at, hook, message } = newest;
  const times = recent.length === 1 ? "once" : `${recent.length} times`;
  // What to do about it may be done by now; the other checks know.
  const [what = ""] = message.replace(/^ambient-signals: /, "").split("; ");
  return [
    noted(
      `hooks failed ${times} within a day, so what was due came later; ${relative(at, now)}, ${hook}: ${what}`,
    ),
  ];
}

const DAY = 24 * 3_600_000;
