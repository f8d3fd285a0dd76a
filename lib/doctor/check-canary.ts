import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { type Document, findSignal, putSignal, type Session } from "../document.ts";
import { parseEnvelope } from "../envelope.ts";
import { messageOf } from "../errors.ts";
import { look, transact } from "../inbox.ts";
import { type FireReport, fire, resolve } from "../lifecycle.ts";
import { sessionNamed } from "../registry.ts";
import { isLive } from "../session.ts";
import { formatDuration, plus, type Time } from "../time.ts";
import { type Delivery, deliveryOf, sessionLabel } from "../view.ts";
import { type Finding, fault, ok, type Place, signals, startSession } from "./check-finding.ts";

const LOOK_MS = 250;

/** For withdrawing it. It ends by itself only when this process is killed. */
const LEFT_MS = 5_000;

export interface CanaryOptions {
  /** The session to try; without one, that whose hook ran last. */
  session?: string | undefined;
  waitMs: number;
  /** Ends the wait early. */
  stop: AbortSignal;
  /** Is told, once the signal is fired, whom it waits for. */
  onWait?: (session: string) => void;
}

/**
 * Fires a harmless signal at one live session and waits until that session's hook confirms it: the whole path, with
 * the real parts. What was not confirmed in time is withdrawn, and nobody will ever be told. Throws `SignalsError` when
 * the inbox cannot be used.
 */
export async function checkCanary(place: Place, options: CanaryOptions): Promise<Finding> {
  const { dir, env } = place;
  const { session, waitMs, stop } = options;
  const { doc, now } = await look(dir);
  const target = liveSession(doc, session, now);
  if (target === undefined) {
    return session === undefined
      ? fault("there is no live session that could hear", startSession(place))
      : fault(
          `session ${session} is not live`,
          `choose one of those that are: ${signals(place, "sessions")}`,
        );
  }
  const who = sessionLabel(doc, target.id);
  if (OWN_SESSION.some((name) => env[name] === target.id)) {
    return fault(
      `this runs in ${who} itself, whose hooks wait until it has ended`,
      "run it in another terminal",
    );
  }
  const key = `canary:${crypto.randomUUID()}`;
  const began = performance.now();
  const change = (doc: Document, now: Time) =>
    fire(doc, canary(key, target.id, dir, plus(now, waitMs + LEFT_MS)), now);
  await transact(dir, { change }, { onConfigFault: "throw" });
  options.onWait?.(who);

  const { last, trouble } = await follow(dir, key, began + waitMs, stop);
  const [before, gone] = await withdraw(dir, key).then(
    (before) => [before, "it was withdrawn"] as const,
    (error) => [undefined, `it could not be withdrawn (${messageOf(error)}) and ends by itself`] as const,
  );
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`;
  const limit = formatDuration(waitMs);
  // The ack may have come between the last look and the end.
  if ([last?.status, before?.status].includes("delivered"))
    return ok(`${who} was told, and confirmed it after ${took}`);
  if (trouble !== undefined) return fault(`the test could not be followed: ${trouble}; ${gone}`, AGAIN);
  if (last?.status === "held")
    return fault(`the test is held: ${last.reason}; ${gone}`, last.release ?? AGAIN);
  if (stop.aborted)
    return fault(`stopped after ${took}, before ${who} had confirmed the test; ${gone}`, AGAIN);
  if (last?.status === "leased") {
    return fault(`a hook of ${who} took the test and did not confirm it within ${limit}; ${gone}`, FAILED);
  }
  return performance.now() - began < waitMs
    ? fault(`${who} ended before it was told; ${gone}`, AGAIN)
    : fault(`${who} came to no safe point within ${limit}; ${gone}`, PROMPT);
}

/** Where a command that an agent runs finds the session that it is run in. */
const OWN_SESSION = ["HARN_EXT_SIGNALS_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"];

const AGAIN = "run it again, and let it come to its end";
const FAILED =
  "see the failures of hooks above; one that takes longer than its timeout is ended by the client";
const PROMPT = "run it again, and type a prompt into that session meanwhile: an idle one has no safe point";

/** Looks until the test has an end of its own, the time is over, or the person has enough. */
async function follow(
  dir: string,
  key: string,
  deadline: number,
  stop: AbortSignal,
): Promise<{ last?: Delivery; trouble?: string }> {
  let last: Delivery | undefined;
  try {
    while (!stop.aborted && performance.now() < deadline) {
      const { doc, now } = await look(dir);
      last = delivery(doc, key, now);
      if (last.status !== "owed" && last.status !== "leased") break;
      await sleep(LOOK_MS, undefined, { signal: stop }).catch(() => {});
    }
    return { ...(last && { last }) };
  } catch (error) {
    return { trouble: messageOf(error) };
  }
}

function liveSession(doc: Document, wanted: string | undefined, now: Time): Session | undefined {
  const id = wanted === undefined ? undefined : sessionNamed(doc, wanted);
  return doc.sessions
    .filter((session) => isLive(doc, session, now) && (id === undefined || session.id === id))
    .sort((a, b) => (a.last_hook > b.last_hook ? -1 : 1))[0];
}

/** A warning: a usual `min_severity` lets it through, and it keeps no agent from stopping. */
function canary(key: string, session: string, dir: string, expires_at: Time): FireReport {
  const envelope = parseEnvelope({
    schema: "harn.triage_event.v1",
    provider: "ambient-signals",
    source_kind: "canary",
    source_url: pathToFileURL(dir).href,
    summary:
      "This is only a test: a person ran signals doctor to see whether this session hears. Nothing is wrong.",
    why_it_matters: "It shows that signals reach this session.",
    proposed_action: "Nothing is to be done; go on with the work at hand.",
    dedupe_key: key,
  });
  const from = { producer: "scripts/doctor", signature: "local", origin: "human" } as const;
  return { key, envelope, severity: "warning", ...from, hints: { session }, expires_at, one_shot: true };
}

function delivery(doc: Document, key: string, now: Time): Delivery {
  const signal = findSignal(doc, key);
  return signal ? deliveryOf(doc, signal, now) : { status: "none" };
}

/** Ends the test, and says how far it had come. Whoever was just being told need not hear how it ended. */
async function withdraw(dir: string, key: string): Promise<Delivery> {
  const change = (doc: Document, now: Time): [Document, Delivery] => {
    const before = delivery(doc, key, now);
    const report = { key, producer: "scripts/doctor", signature: "local", origin: "human" } as const;
    const [next] = resolve(doc, report, now);
    const after = findSignal(next, key);
    return [after ? putSignal(next, { ...after, news: false }) : next, before];
  };
  const { value } = await transact(dir, { change }, { onConfigFault: "keep" });
  return value ?? { status: "none" };
}
