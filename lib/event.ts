import { SignalsError } from "./errors.ts";
import { isSessionId } from "./session.ts";

/** The event that a client hands to a hook on stdin, as far as the hooks here read it. */
export interface HookEvent {
  hook_event_name: string;
  session_id: string;
  cwd: string;
  transcript_path?: string | undefined;
  /** Set inside a subagent, which carries its parent's session id. */
  agent_id?: string | undefined;
  /** Of a SessionStart: startup, resume, clear, compact, fork. */
  source?: unknown;
  [field: string]: unknown;
}

const SILENCE_MS = 3_000;
const LARGEST_EVENT = 256 * 1024 * 1024;
const TOO_LARGE = `stdin: an event of more than ${LARGEST_EVENT >> 20} MiB`;

/**
 * The event on a stream, taken as complete as soon as it is one JSON object: some clients never close their end.
 * Undefined for nothing at all, and after three seconds without a byte. Throws `SignalsError` for what is no event, or
 * too large to be one.
 */
export async function readEvent(stream: NodeJS.ReadStream): Promise<HookEvent | undefined> {
  const text = await readObject(stream);
  if (text === undefined || text.trim() === "") return undefined;
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch {
    throw new SignalsError("stdin: is not JSON; give one hook event of the client");
  }
  return checkEvent(input);
}

/** The text up to the end of the first whole object, or of the stream. */
function readObject(stream: NodeJS.ReadStream): Promise<string | undefined> {
  return new Promise((done, fail) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const closes = braceCounter();
    const end = (settle: () => void) => {
      clearTimeout(silence);
      stream.off("data", take);
      settle();
    };
    const finish = () => end(() => done(Buffer.concat(chunks).toString("utf8")));
    const giveUp = () => end(() => done(undefined));
    const refuse = () => end(() => fail(new SignalsError(`${TOO_LARGE}; nothing was delivered`)));
    const take = (chunk: Buffer) => {
      clearTimeout(silence);
      silence = setTimeout(giveUp, SILENCE_MS);
      chunks.push(chunk);
      size += chunk.length;
      if (size > LARGEST_EVENT) refuse();
      else if (closes(chunk)) finish();
    };
    let silence = setTimeout(giveUp, SILENCE_MS);
    stream.on("data", take);
    stream.on("end", finish);
    stream.on("error", giveUp);
  });
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = Buffer.from('"\\{}');

/**
 * Tells of each chunk of a JSON text whether the outermost brace closes in it. Parsing on mere suspicion, at every
 * chunk that ends in a brace, would take seconds on a tool result of many megabytes.
 */
function braceCounter(): (chunk: Buffer) => boolean {
  let depth = 0;
  let inString = false;
  let escaped = false;
  return (chunk) => {
    let closed = false;
    for (const byte of chunk) {
      if (escaped) escaped = false;
      else if (byte === BACKSLASH) escaped = inString;
      else if (byte === QUOTE) inString = !inString;
      else if (inString) continue;
      else if (byte === OPEN) depth++;
      else if (byte === CLOSE) closed = --depth === 0;
    }
    return closed;
  };
}

function checkEvent(input: unknown): HookEvent {
  const event = (typeof input === "object" && input !== null ? input : {}) as Record<string, unknown>;
  const { hook_event_name, session_id, cwd, transcript_path, agent_id } = event;
  if (typeof hook_event_name !== "string" || typeof session_id !== "string") {
    throw new SignalsError("stdin: is no hook event: hook_event_name or session_id is missing");
  }
  if (!isSessionId(session_id)) {
    throw new SignalsError(`session_id: not usable: ${session_id.slice(0, 80)}; nothing was delivered`);
  }
  return {
    ...event,
    hook_event_name,
    session_id,
    cwd: typeof cwd === "string" && cwd !== "" ? cwd : process.cwd(),
    transcript_path: typeof transcript_path === "string" ? transcript_path : undefined,
    // Whatever it is, it says that this is not the session itself.
    agent_id: agent_id === undefined || agent_id === null ? undefined : String(agent_id),
  };
}
