import * as z from "zod/mini";
import { type Judged, type Subject, verdictOn } from "./conclusion.ts";

/** What some service posted about a commit, under a context of its own. */
export const CommitStatusSchema = z.object({
  id: z.number(),
  state: z.string(),
  context: z.string(),
  target_url: z.optional(z.nullable(z.string())),
  updated_at: z.string(),
});
export type CommitStatus = z.infer<typeof CommitStatusSchema>;

/**
 * The verdict on each context, by its newest status: UNKNOWN for one that is pending. The state of all of them together
 * is no verdict: it is `pending` where nothing was ever posted. `link` is for a status that names none.
 */
export function statusVerdicts(statuses: readonly CommitStatus[], subject: Subject, link?: string): Judged[] {
  const newest = new Map<string, CommitStatus>();
  for (const status of statuses) {
    const other = newest.get(status.context);
    if (!other || isNewer(status, other)) newest.set(status.context, status);
  }
  return [...newest.values()].map(({ context, state, target_url, updated_at }) =>
    verdictOn(subject, {
      kind: "status",
      parts: ["status", context],
      name: context,
      conclusion: state,
      url: target_url || link,
      at: updated_at,
    }),
  );
}

function isNewer(a: CommitStatus, b: CommitStatus): boolean {
  return (Date.parse(a.updated_at) - Date.parse(b.updated_at) || a.id - b.id) > 0;
}
