import * as z from "zod/mini";
import type { Verdict } from "../monitor/verdict.ts";
import { repositoryOf } from "../repository.ts";
import { plus } from "../time.ts";

/** A project, as far as it is needed to watch its pipelines. */
export const ProjectSchema = z.object({
  id: z.number(),
  path_with_namespace: z.string(),
  web_url: z.url({ protocol: /^https?$/ }),
  /** Missing while the repository is empty, or may not be seen. */
  default_branch: z.optional(z.nullable(z.string())),
});
export type Project = z.infer<typeof ProjectSchema>;

/** One pipeline of a list. */
export const PipelineSchema = z.object({
  id: z.number(),
  status: z.string(),
  source: z.nullable(z.string()),
  ref: z.string(),
  created_at: z.string(),
  web_url: z.string(),
});
export type Pipeline = z.infer<typeof PipelineSchema>;

/** The verdict that a pipeline came to, kept from poll to poll. */
export interface Judged {
  id: number;
  status: "success" | "failed";
  /**
   * When it was created, as that is the order of pipelines; a webhook says it as `2026-12-01 10:20:30 UTC`. Each other
   * verdict of the same pipeline is a millisecond later: at the same instant, one that was heard before is no news.
   */
  at: string;
}

/**
 * What a pipeline speaks for: the branch that it ran on, a merge request, or nothing: a child speaks through its
 * parent, and others answer a person or a scan. Those of the branch are the ones that GitLab's own badge counts, but
 * for `chat`, which runs one job that somebody asked for. A source that nobody knows yet speaks for nothing.
 */
export function sourceClass(source: string | null): "branch" | "merge_request" | undefined {
  if (source === "merge_request_event") return "merge_request";
  const ofTheBranch = ["push", "web", "schedule", "api", "trigger", "pipeline", "external"];
  return source !== null && ofTheBranch.includes(source) ? "branch" : undefined;
}

/**
 * The parts that make the identity of the signal: whoever else reports on the same branch, such as a webhook from
 * `project.web_url`, `project.id`, `object_attributes.ref` and the class of its `source`, meets it with these.
 */
export function pipelineIdentity(
  project: Pick<Project, "id" | "web_url">,
  ref: string,
  of: "branch" | "merge_request",
): readonly string[] {
  return [new URL(project.web_url).host, String(project.id), ref, of];
}

/**
 * The newest pipeline of a branch, by its creation, that came to a verdict. `canceled`, `skipped`, `manual` and all
 * that still run have none. A pipeline that runs again keeps the verdict that it had (`known`) until it has a new one:
 * the one before it is old news.
 */
export function newestJudged(
  pipelines: readonly Pipeline[],
  ref: string,
  known?: Judged,
): (Pipeline & Judged) | undefined {
  return pipelines
    .filter((pipeline) => pipeline.ref === ref && sourceClass(pipeline.source) === "branch")
    .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at) || b.id - a.id)
    .flatMap((pipeline) => {
      const before = pipeline.id === known?.id ? known : undefined;
      const status = verdictIn(pipeline.status) ?? before?.status;
      if (!status) return [];
      const at = !before ? pipeline.created_at : status === before.status ? before.at : plus(before.at, 1);
      return [{ ...pipeline, status, at }];
    })[0];
}

/** A pipeline whose only failed jobs are allowed to fail is a `success` to GitLab too. */
function verdictIn(status: string): Judged["status"] | undefined {
  return status === "success" || status === "failed" ? status : undefined;
}

/** What is said of a branch whose newest verdict this is. */
export function branchVerdict(
  project: Project,
  ref: string,
  newest: (Pipeline & Judged) | undefined,
): Verdict {
  const name = `${project.path_with_namespace}: the pipeline on ${ref}`;
  const repository = repositoryOf(project.web_url);
  const common = {
    kind: "pipeline",
    identity: pipelineIdentity(project, ref, "branch"),
    ...(repository !== undefined && { hints: { repository } }),
  };
  if (!newest) return { ...common, status: "UNKNOWN", summary: `${name} has come to no verdict` };
  const { id, status, source, web_url, at } = newest;
  return {
    ...common,
    status: status === "failed" ? "WARNING" : "OK",
    summary: `${name} ${status === "failed" ? "failed" : "passed"} (${source}, #${id})`,
    source_url: web_url,
    at,
  };
}
