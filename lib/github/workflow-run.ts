import * as z from "zod/mini";
import { type Judged, outcomeOf, type Subject, verdictOn } from "./conclusion.ts";

const text = z.optional(z.nullable(z.string()));

/** One run of a workflow, as far as it matters here. Its id stays when it is run again, so that what it says may change. */
export const WorkflowRunSchema = z.object({
  id: z.number(),
  workflow_id: z.number(),
  name: text,
  path: text,
  head_branch: text,
  event: z.string(),
  status: text,
  conclusion: text,
  run_number: z.optional(z.number()),
  run_attempt: z.optional(z.number()),
  run_started_at: text,
  created_at: z.string(),
  html_url: z.string(),
  repository: z.object({ id: z.number() }),
  head_repository: z.optional(z.nullable(z.object({ id: z.number() }))),
});
export type WorkflowRun = z.infer<typeof WorkflowRunSchema>;

/** Events whose runs tell about the branch itself, and not about a proposal to change it. */
const EVENTS = ["push", "schedule", "workflow_dispatch", "repository_dispatch"];

/**
 * The branch that a run tells about; undefined when it tells about none: a pull request, also one of a fork whose branch
 * has the same name, or the merge queue.
 */
export function branchOf(run: WorkflowRun): string | undefined {
  const isOurs = run.head_repository?.id === run.repository.id;
  const branch = run.head_branch ?? "";
  if (!isOurs || !EVENTS.includes(run.event) || branch.startsWith("gh-readonly-queue/")) return undefined;
  return branch || undefined;
}

/**
 * Per workflow, the newest of these runs that ended well or badly. One that was cancelled or skipped, or that goes on,
 * tells nothing, and the one before it counts. But one that was run again hides how it ended before: then there is no
 * telling, and the workflow is here without a run. A workflow that is not here may have an older run that tells.
 */
export function newestConclusive(runs: readonly WorkflowRun[]): Map<number, WorkflowRun | undefined> {
  const newest = new Map<number, WorkflowRun | undefined>();
  for (const run of [...runs].sort(newestFirst)) {
    if (newest.has(run.workflow_id)) continue;
    if (isConclusive(run)) newest.set(run.workflow_id, run);
    else if ((run.run_attempt ?? 1) > 1) newest.set(run.workflow_id, undefined);
  }
  return newest;
}

/** When it began: an attempt that was started later is newer, whatever its id. Old servers do not say. */
export function startOf(run: WorkflowRun): string {
  return run.run_started_at ?? run.created_at;
}

function newestFirst(a: WorkflowRun, b: WorkflowRun): number {
  return (
    Date.parse(startOf(b)) - Date.parse(startOf(a)) ||
    (b.run_attempt ?? 1) - (a.run_attempt ?? 1) ||
    (b.run_number ?? 0) - (a.run_number ?? 0)
  );
}

function isConclusive(run: WorkflowRun): boolean {
  return run.status === "completed" && outcomeOf(run.conclusion) !== "none";
}

/** The verdict on each workflow that has one. `names` are those of the workflows: a run may bear its file's. */
export function workflowVerdicts(
  runs: readonly WorkflowRun[],
  subject: Subject,
  names: ReadonlyMap<number, string> = new Map(),
): Judged[] {
  return [...newestConclusive(runs).values()].flatMap((run) => {
    if (!run) return [];
    const name = names.get(run.workflow_id) || run.name || run.path || `workflow ${run.workflow_id}`;
    const { conclusion, html_url: url } = run;
    const parts = [String(run.workflow_id)];
    return [verdictOn(subject, { kind: "workflow_run", parts, name, conclusion, url, at: startOf(run) })];
  });
}
