import type { Client } from "./client.ts";

/** Far more than a hook needs, and more than the client's own 1.5 s at a session's end. */
const timeout = 10;

/**
 * Claude Code. What is said of versions was looked up in the published packages of the client: the first one whose own
 * list of events has the name.
 */
export const CLAUDE_CODE: Client = {
  harness: "claude-code",
  name: "Claude Code",
  program: "claude",
  points: [
    { event: "SessionStart", hook: "session-start", timeout },
    { event: "UserPromptSubmit", hook: "user-prompt-submit", timeout },
    {
      event: "PostToolBatch",
      hook: "post-tool-batch",
      timeout,
      since: "2.1.118",
      insteadOf: ["PostToolUse", "PostToolUseFailure"],
    },
    { event: "PostToolUse", hook: "post-tool-use", timeout },
    { event: "PostToolUseFailure", hook: "post-tool-use", timeout, since: "2.0.56" },
    { event: "Stop", hook: "stop", timeout },
    { event: "SessionEnd", hook: "session-end", timeout },
  ],
};
