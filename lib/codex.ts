import type { Client } from "./client.ts";

/** Far more than a hook needs; the client's own 600 seconds would hold up a turn for ten minutes. */
const timeout = 10;

/** At an interrupt and at a session's end the client gives 3 seconds at most, and warns of more. */
const LAST = 3;

/** Codex, which passes over an event that it does not know, so all are registered with every version. */
export const CODEX: Client = {
  harness: "codex",
  name: "Codex",
  program: "codex",
  // Else it asks the person to trust an unnamed hook. It is a part of what is trusted, so it stays as it is.
  label: { statusMessage: "Ambient signals" },
  points: [
    { event: "SessionStart", hook: "session-start", timeout },
    { event: "UserPromptSubmit", hook: "user-prompt-submit", timeout },
    { event: "PostToolUse", hook: "post-tool-use", timeout },
    { event: "Stop", hook: "stop", timeout },
    { event: "Interrupt", hook: "interrupt", timeout: LAST },
    { event: "SessionEnd", hook: "session-end", timeout: LAST },
  ],
};
