/**
 * Where Claude Code lets a hook run, and which of ours runs there. What is said of versions was looked up in the
 * published packages of the client: the first one whose own list of events has the name.
 */
export interface HookPoint {
  event: string;
  /** The entry file in `hooks/claude-code`. */
  hook: string;
  /** The first version that knows the event; without one, every version that has hooks at all. */
  since?: string;
  /** Takes the place of these where it is known. */
  insteadOf?: readonly string[];
}

const POINTS: readonly HookPoint[] = [
  { event: "SessionStart", hook: "session-start" },
  { event: "UserPromptSubmit", hook: "user-prompt-submit" },
  {
    event: "PostToolBatch",
    hook: "post-tool-batch",
    since: "2.1.118",
    insteadOf: ["PostToolUse", "PostToolUseFailure"],
  },
  { event: "PostToolUse", hook: "post-tool-use" },
  { event: "PostToolUseFailure", hook: "post-tool-use", since: "2.0.56" },
  { event: "Stop", hook: "stop" },
  { event: "SessionEnd", hook: "session-end" },
];

/** Seconds: far more than a hook needs, and more than the client's own 1.5 s at a session's end. */
export const HOOK_TIMEOUT = 10;

/**
 * The points to register with a client of this version (`2.1.332`), in the order of a session. An event that a
 * client does not know opens a warning at every start, so for an unknown version it is those that all know.
 */
export function hookPoints(version: string | undefined): HookPoint[] {
  const known = POINTS.filter(({ since }) => since === undefined || isAtLeast(version, since));
  const replaced = known.flatMap(({ insteadOf = [] }) => insteadOf);
  return known.filter(({ event }) => !replaced.includes(event));
}

/** The points that a hook is for, whatever the version. */
export function pointsOf(hook: string): HookPoint[] {
  return POINTS.filter((point) => point.hook === hook);
}

/** Whether a version, such as `2.1.332`, is `least` or newer; an unknown one is not. */
export function isAtLeast(version: string | undefined, least: string): boolean {
  if (version === undefined) return false;
  // What stands behind a dash makes it no other version here.
  const numbers = (text: string) => text.split(".").map((part) => Number.parseInt(part, 10));
  const parts = numbers(version);
  const wanted = numbers(least);
  const first = wanted.findIndex((part, i) => part !== (parts[i] ?? 0));
  return first < 0 || (parts[first] ?? 0) > (wanted[first] ?? 0);
}
