import * as z from "zod/mini";
import { type Judged, outcomeOf, type Subject, verdictOn } from "./conclusion.ts";

const text = z.optional(z.nullable(z.string()));

/** One check of a commit, by whichever app. */
export const CheckRunSchema = z.object({
  id: z.number(),
  name: z.string(),
  status: text,
  conclusion: text,
  started_at: text,
  html_url: text,
  app: z.nullable(z.object({ id: z.number(), slug: text })),
});
export type CheckRun = z.infer<typeof CheckRunSchema>;

/** The app whose check runs are the jobs of workflows: their runs tell it all. */
export const ACTIONS_APP = "github-actions";

/** The verdict on each check, by the newest of its runs that ended well or badly: UNKNOWN where none did. */
export function checkRunVerdicts(runs: readonly CheckRun[], subject: Subject): Judged[] {
  const newest = new Map<string, CheckRun>();
  for (const run of runs) {
    const key = JSON.stringify([run.app?.id, run.name]);
    const other = newest.get(key);
    if (!other || countsMore(run, other)) newest.set(key, run);
  }
  return [...newest.values()].map((run) => {
    const { name, html_url: url, started_at: at } = run;
    const parts = [String(run.app?.id ?? 0), name];
    return verdictOn(subject, { kind: "check_run", parts, name, conclusion: endOf(run), url, at });
  });
}

function endOf({ status, conclusion }: CheckRun): string | null | undefined {
  return status === "completed" ? conclusion : undefined;
}

function countsMore(a: CheckRun, b: CheckRun): boolean {
  const [tells, told] = [a, b].map((run) => outcomeOf(endOf(run)) !== "none");
  if (tells !== told) return tells === true;
  const later = Date.parse(a.started_at ?? "") - Date.parse(b.started_at ?? "");
  return (later || a.id - b.id) > 0;
}
