import * as z from "zod/mini";
import type { Verdict } from "../monitor/verdict.ts";
import type { Subject } from "./conclusion.ts";

/** A file of `.github/workflows`, or what GitHub itself runs. */
export const WorkflowSchema = z.object({
  id: z.number(),
  name: z.string(),
  path: z.string(),
  state: z.string(),
  html_url: z.optional(z.nullable(z.string())),
});
export type Workflow = z.infer<typeof WorkflowSchema>;

/** States in which nothing runs any more, so that the last run says nothing about today. */
const OFF = ["deleted", "disabled_fork", "disabled_inactivity", "disabled_manually"];

export function isOff({ state }: Workflow): boolean {
  return OFF.includes(state);
}

/** Whether a person means this workflow: by its id, its file or its name. */
export function isNamed({ id, path, name }: Workflow, asked: string): boolean {
  return [String(id), path, path.split("/").at(-1), name].includes(asked);
}

/** What was fired for a workflow that is switched off is over. */
export function offVerdict({ id, name, state, html_url }: Workflow, subject: Subject): Verdict {
  const { repository, branch, hints } = subject;
  return {
    status: "OK",
    kind: "workflow_run",
    identity: [String(repository.id), String(id), branch],
    summary: `CI: ${name} of ${repository.full_name} is switched off (${state})`,
    ...(html_url && { source_url: html_url }),
    ...(hints && { hints }),
  };
}
