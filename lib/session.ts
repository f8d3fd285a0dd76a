import {
  type Document,
  filterSame,
  findSession,
  mapSame,
  type Session,
  type SessionState,
  withSignals,
} from "./document.ts";
import { configOf } from "./policy.ts";
import { hasForbidden } from "./text.ts";
import { plus, type Time } from "./time.ts";

/** What a hook of a session says about it, or a person who registers one by hand. */
export interface CheckIn {
  id: string;
  harness: string;
  cwd: string;
  work_tree?: string | undefined;
  repository?: string | undefined;
  role?: string | undefined;
  title?: string | undefined;
  /** Without one the session is as it was, a new one idle. */
  state?: SessionState | undefined;
  transcript_path?: string | undefined;
  attended?: boolean | undefined;
  pid?: number | undefined;
  /** A session start or a prompt registers any id; another hook none that has ended, so no late one leaves a ghost. */
  registers: boolean;
  /** Payloads of subagents only count as a sign of life. */
  subagent: boolean;
}

/** A sign of life: when the session was last seen, and when one of its own hooks last ran. */
export interface Heartbeat {
  id: string;
  seen?: Time | undefined;
  hook?: Time | undefined;
}

/** Longer ids, or ids with characters that nobody sees, come from no client. */
export const LONGEST_ID = 128;

/** A session's heartbeat file bears its id as its name, and no file system takes a longer one. */
const LONGEST_NAME = 255;

/** Whether a session id can be stored and shown. */
export function isSessionId(id: string): boolean {
  if (id.trim() === "" || id.length > LONGEST_ID || hasForbidden(id)) return false;
  return encodeURIComponent(id).length <= LONGEST_NAME;
}

/** Newer than `stale_after`: its process may still be there. */
export function isLive(doc: Document, session: Session, now: Time): boolean {
  return isFresh(doc, session.last_seen, configOf(doc).stale_after, now);
}

/** Its own hooks ran within one lease window: what is leased to it now will probably be told. */
export function isResponsive(doc: Document, session: Session, now: Time): boolean {
  return isFresh(doc, session.last_hook, configOf(doc).lease, now);
}

/**
 * Whether a stamp is newer than `window` ms, or was when the machine fell asleep and has grace since it woke. A grace
 * that ends more than one lease window from now was given before the clock was set back.
 */
function isFresh(doc: Document, stamp: Time, window: number, now: Time): boolean {
  const until = plus(stamp, window);
  if (until > now || doc.grace === undefined) return until > now;
  const inGrace = now < doc.grace.until && doc.grace.until <= plus(now, configOf(doc).lease);
  return inGrace && until > doc.grace.from;
}

export function hasEnded(doc: Document, id: string): boolean {
  return doc.ended.some((ended) => ended.id === id);
}

/** Folds signs of life into the registry. A stamp in the future (the clock moved) counts as now. */
export function foldHeartbeats(doc: Document, heartbeats: readonly Heartbeat[], now: Time): Document {
  if (heartbeats.length === 0) return doc;
  const byId = new Map(heartbeats.map((heartbeat) => [heartbeat.id, heartbeat]));
  const sessions = mapSame(doc.sessions, (session) => {
    const beat = byId.get(session.id);
    if (beat === undefined) return session;
    const last_hook = latest(session.last_hook, beat.hook, now);
    const last_seen = latest(session.last_seen, latest(last_hook, beat.seen, now), now);
    return last_hook === session.last_hook && last_seen === session.last_seen
      ? session
      : { ...session, last_hook, last_seen };
  });
  return sessions === doc.sessions ? doc : { ...doc, sessions };
}

function latest(a: Time, b: Time | undefined, now: Time): Time {
  const newer = b !== undefined && b > a ? b : a;
  return newer > now ? now : newer;
}

/**
 * Marks the machine as having slept when nothing at all happened for a lease window: then every session that was
 * there gets one lease window to be heard from before it counts as silent or gone. One that had been silent before
 * gets none, or a crashed session would live on from pause to pause. Call it before the caller's own sign of life is
 * folded in, which would hide the silence.
 */
export function noticeSleep(doc: Document, now: Time): Document {
  if (doc.sessions.length === 0) return doc;
  const { lease } = configOf(doc);
  const last = doc.sessions.reduce((newest, { last_seen }) => latest(newest, last_seen, now), doc.stamped_at);
  return plus(last, lease) <= now ? { ...doc, grace: { from: last, until: plus(now, lease) } } : doc;
}

/**
 * Registers or refreshes the session, an upsert. Returns the very same document when only the time stamps would
 * move, which the caller's heartbeat already says.
 */
export function checkIn(doc: Document, event: CheckIn, now: Time): Document {
  const known = findSession(doc, event.id);
  if (event.subagent) return doc;
  if (known === undefined) {
    const endedAt = doc.ended.find(({ id }) => id === event.id)?.at;
    if (!event.registers && endedAt && plus(endedAt, configOf(doc).stale_after) > now) return doc;
    const { registers: _, subagent: __, ...fields } = event;
    const session: Session = {
      ...fields,
      state: event.state ?? "idle",
      last_seen: now,
      last_hook: now,
      started_at: now,
    };
    const ended = filterSame(doc.ended, ({ id }) => id !== event.id);
    return { ...doc, ended, sessions: [...doc.sessions, session] };
  }
  const fresh: Session = {
    ...known,
    harness: event.harness,
    cwd: event.cwd,
    work_tree: event.work_tree,
    repository: event.repository,
    state: event.state ?? known.state,
    role: event.role ?? known.role,
    title: event.title ?? known.title,
    transcript_path: event.transcript_path ?? known.transcript_path,
    attended: event.attended ?? known.attended,
    pid: event.pid ?? known.pid,
  };
  return putSession(doc, fresh);
}

/** The document with this entry for its session; the very same one when it says nothing new. */
export function putSession(doc: Document, session: Session): Document {
  const sessions = mapSame(doc.sessions, (other) =>
    other.id === session.id && JSON.stringify(other) !== JSON.stringify({ ...other, ...session })
      ? session
      : other,
  );
  return sessions === doc.sessions ? doc : { ...doc, sessions };
}

/** The session said goodbye: its entry goes, and what it was routed or leased and did not ack returns to the router. */
export function endSession(doc: Document, id: string, now: Time): Document {
  const sessions = filterSame(doc.sessions, (session) => session.id !== id);
  const ended = [...doc.ended.filter((other) => other.id !== id), { id, at: now }];
  const signals = mapSame(doc.signals, (signal) => {
    const leased = signal.lease?.session === id ? signal.lease : undefined;
    if (signal.assigned?.session !== id && leased === undefined) return signal;
    return {
      ...signal,
      assigned: undefined,
      lease: leased ? undefined : signal.lease,
      past: leased ? [...signal.past, leased] : signal.past,
    };
  });
  return { ...withSignals(doc, signals), sessions, ended };
}

/**
 * Time passes for the registry: sessions not seen for `stale_after` go (they are absent, not ended), and stamps
 * that a clock set back has left in the future become now, or they would count as live until it catches up.
 */
export function removeStale(doc: Document, now: Time): Document {
  const stamped = mapSame(doc.sessions, (session) =>
    session.last_seen <= now && session.last_hook <= now
      ? session
      : {
          ...session,
          last_seen: latest(session.last_seen, undefined, now),
          last_hook: latest(session.last_hook, undefined, now),
        },
  );
  const sessions = filterSame(stamped, (session) => isLive(doc, session, now));
  return sessions === doc.sessions ? doc : { ...doc, sessions };
}
