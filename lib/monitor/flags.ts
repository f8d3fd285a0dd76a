/** The flags that every monitor has, besides those of every script. */
export const MONITOR_FLAGS = {
  every: { type: "string" },
  "dry-run": { type: "boolean" },
  severity: { type: "string" },
  polls: { type: "string" },
  over: { type: "string" },
  timeout: { type: "string" },
  repo: { type: "string" },
  cwd: { type: "string" },
  session: { type: "string" },
  "no-hint": { type: "boolean" },
} as const;
