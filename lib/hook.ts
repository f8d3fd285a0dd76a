import { appendFileSync } from "node:fs";
import { basename } from "node:path";
import { locate } from "./checkout.ts";
import type { Harness } from "./client.ts";
import { debugStack } from "./debug.ts";
import { attempt, messageOf, SignalsError } from "./errors.ts";
import { type HookEvent, readEvent } from "./event.ts";
import { recordFailure } from "./failure.ts";
import { writeAll } from "./file.ts";
import { headerOf, versionText } from "./header.ts";
import { checkDirectory, inboxDirectory, type Result, transact } from "./inbox.ts";
import { ackAll, type Reminder } from "./lease.ts";
import { lossFrom, noteRecalled, type Recall } from "./recall.ts";
import { type CheckIn, endSession } from "./session.ts";
import { clean, safeJson } from "./text.ts";
import { timeOf } from "./time.ts";
import { meetsFirst, prepareTold } from "./told.ts";
import type { Transaction } from "./transaction.ts";

/** One run of a hook, from the client's event to the last ack. */
export interface Hook {
  event: HookEvent;
  /**
   * Reports the session to the inbox, in the state that this event leaves it in ("unchanged" for one that says
   * nothing of it), and leases what is due to it: all reminders, or the urgent ones of a session about to stop, or
   * none. With the `source` of a session start that means a loss, it finds what is to be shown again. A subagent's
   * event is a sign of life and gets nothing.
   */
  checkIn(
    state: CheckIn["state"] | "unchanged",
    lease?: Transaction<void>["lease"],
    source?: unknown,
  ): Promise<Result<void>>;
  /** Hands text to the model, as context without the user's authority. Returns when the client has all of it. */
  print(additionalContext: string): void;
  /** Tells the inbox that these reached the model. */
  ack(shown: readonly (Reminder | Recall)[]): Promise<void>;
  /** Takes the session out of the registry. The end of a subagent is no end of the session. */
  leave(): Promise<void>;
  /** Tells the session's own shell which session it belongs to, as `HARN_EXT_SIGNALS_SESSION`, where the client is Claude Code. */
  shareSessionId(): void;
}

export interface HookOptions {
  /** Whatever happens, nothing is printed for the client: it has no use for it, or would take it for something else. */
  silent?: boolean;
}

/**
 * Runs one hook: reads the event, runs `work`, and exits 0 whatever happens, since any other status could block the
 * agent. Trouble of our own is one line for the person, as `systemMessage` and on stderr, never for the model.
 * `url` is the entry file's `import.meta.url`; `harness` names the client.
 */
export async function runHook(
  url: string,
  harness: Harness,
  work: (hook: Hook) => Promise<unknown>,
  { silent = false }: HookOptions = {},
): Promise<never> {
  const given = process.argv.slice(2);
  if (given.includes("--help") || given.includes("-h")) exitWith(headerOf(url));
  if (given.includes("--version")) exitWith(versionText());
  // A model that the toolkit itself runs must not be handed reminders.
  if (process.env["HARN_EXT_SIGNALS_OFF"] === "1") process.exit(0);

  // What the person is to know, kept until the one object that a hook may print.
  const notices: string[] = [];
  let event: HookEvent | undefined;
  // Nobody is told a second time, so who cannot be told must not be counted as told.
  let isHeard = !silent;
  const print = (output: { hookSpecificOutput?: object }) => {
    if (!isHeard) return;
    // A hook prints once.
    isHeard = false;
    writeAll(1, safeJson({ ...output, ...(notices.length > 0 && { systemMessage: notices.join(" ") }) }));
  };
  try {
    event = await readEvent(process.stdin);
    if (event === undefined) process.exit(0);
    const dir = inboxDirectory(dirFlag(given));
    const notify = silent ? undefined : (fault: string) => notices.push(fault);
    await work(openHook(event, harness, dir, print, notify));
  } catch (error) {
    const trouble = `ambient-signals: ${clean(messageOf(error))}`;
    // Nobody may be there to read it: that is no reason to end with another status than 0.
    attempt(() => writeAll(2, `${trouble}\n${debugStack(error)}`));
    const dir = attempt(() => inboxDirectory(dirFlag(given))) ?? attempt(() => inboxDirectory());
    const usable = keepRecord(dir, { hook: `${harness} ${basename(url)}`, message: trouble }, event);
    // Another process, time or position in it does not make it another trouble.
    if (isHeard && isNews(usable, event, trouble.replace(/\d+/g, "0"))) notices.push(trouble);
  }
  if (notices.length > 0) attempt(() => print({}));
  process.exit(0);
}

/** Keeps a failure for `signals doctor`. Returns the directory, or undefined when it is not one to write into. */
function keepRecord(
  dir: string | undefined,
  failure: { hook: string; message: string },
  event: HookEvent | undefined,
): string | undefined {
  return attempt(() => {
    if (dir === undefined) return undefined;
    // Nothing is written where others could have laid out links for us.
    checkDirectory(dir, { make: true });
    prepareTold(dir);
    const { hook_event_name, session_id } = event ?? {};
    recordFailure(dir, { at: timeOf(Date.now()), ...failure, event: hook_event_name, session: session_id });
    return dir;
  });
}

/**
 * Whether the person is to hear of this trouble: once per session is enough. What is broken may be what would remember
 * that; then only the moments count that come once a turn.
 */
function isNews(dir: string | undefined, event: HookEvent | undefined, trouble: string): boolean {
  const first = dir && meetsFirst(dir, event?.session_id ?? "", trouble, Date.now());
  return (
    first ||
    (first === undefined && ["SessionStart", "UserPromptSubmit"].includes(event?.hook_event_name ?? ""))
  );
}

function openHook(
  event: HookEvent,
  harness: Harness,
  dir: string,
  print: (output: { hookSpecificOutput: object }) => void,
  notify: ((fault: string) => void) | undefined,
): Hook {
  return {
    event,
    async checkIn(state, lease, source) {
      const transaction = {
        checkIn: describeSession(event, harness, state),
        lease,
        recall: lossFrom(source),
      };
      const result = await transact<void>(dir, transaction, { onConfigFault: "keep", optimistic: true });
      const { configFault: fault } = result;
      if (fault && notify && isNews(dir, event, fault.stamp)) {
        const meanwhile = result.doc.policy ? "the last valid settings hold" : "every signal is held";
        notify(clean(`ambient-signals: ${fault.message} (until then ${meanwhile})`));
      }
      return result;
    },
    print: (additionalContext) =>
      print({ hookSpecificOutput: { hookEventName: event.hook_event_name, additionalContext } }),
    async ack(shown) {
      const tokens = shown.flatMap((one) => ("lease" in one ? one.lease.token : []));
      const recalls = shown.filter((one) => "loss" in one);
      await transact(
        dir,
        { change: (doc, now) => [noteRecalled(ackAll(doc, tokens, now), recalls), undefined] },
        { onConfigFault: "keep" },
      );
    },
    async leave() {
      if (event.agent_id !== undefined) return;
      await transact(
        dir,
        { change: (doc, now) => [endSession(doc, event.session_id, now), undefined] },
        { onConfigFault: "keep" },
      );
    },
    shareSessionId() {
      const file = process.env["CLAUDE_ENV_FILE"];
      const quoted = `'${event.session_id.replaceAll("'", `'\\''`)}'`;
      if (file && event.agent_id === undefined)
        appendFileSync(file, `export HARN_EXT_SIGNALS_SESSION=${quoted}\n`);
    },
  };
}

/** What an event and the client's environment tell of the session. */
function describeSession(event: HookEvent, harness: Harness, state: CheckIn["state"] | "unchanged"): CheckIn {
  const { hook_event_name, session_id, transcript_path, agent_id } = event;
  // Any client may have been started in the shell of a session of Claude Code, and have its variables.
  const own: NodeJS.ProcessEnv = harness === "claude-code" ? process.env : {};
  const pid = Number(own["CLAUDE_PID"]);
  const attended = own["CLAUDE_CODE_SESSION_ATTENDED"];
  return {
    id: session_id,
    harness,
    ...locate(event.cwd),
    role: process.env["HARN_EXT_SIGNALS_ROLE"] || undefined,
    state: state === "unchanged" ? undefined : state,
    transcript_path,
    // Any other value is not known to say either.
    attended: attended === "1" ? true : attended === "0" ? false : undefined,
    pid: Number.isInteger(pid) && pid > 0 ? pid : undefined,
    registers: hook_event_name === "SessionStart" || hook_event_name === "UserPromptSubmit",
    subagent: agent_id !== undefined,
  };
}

/** The one flag that a hook has, as `--dir DIR` or `--dir=DIR`. Throws `SignalsError` for any other. */
function dirFlag(given: readonly string[]): string | undefined {
  const [flag, ...rest] = given;
  if (flag === undefined) return undefined;
  const dir = flag === "--dir" ? rest.shift() : /^--dir=(.*)$/s.exec(flag)?.[1];
  if (dir && rest.length === 0) return dir;
  throw new SignalsError(
    `${given.join(" ")}: not the flags of a hook; the only one is --dir DIR, nothing was delivered`,
  );
}

function exitWith(text: string): never {
  attempt(() => writeAll(1, `${text}\n`));
  process.exit(0);
}
