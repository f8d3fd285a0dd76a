import * as z from "zod/mini";
import { SignalsError, UsageError } from "../errors.ts";
import type { Look } from "../monitor/poll.ts";
import type { Reading } from "../monitor/verdict.ts";
import { gitlabFrom, projectPath } from "./api.ts";
import { branchVerdict, type Judged, newestJudged, PipelineSchema, ProjectSchema } from "./pipeline.ts";

/** How far it looks back for a verdict: so many pages of the newest pipelines. */
const PAGES = 5;
const PER_PAGE = 50;

/**
 * Looks at the newest verdict on a branch of a GitLab project, without a branch at its default one. Throws `UsageError`
 * for what cannot be asked, and `Unreadable` or `SignalsError` when GitLab does not tell.
 */
export async function lookAtPipelines(
  { source, memory }: Pick<Look, "source" | "memory">,
  asked: { project: string; branch?: string | undefined },
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Reading> {
  if (asked.branch?.trim() === "") throw new UsageError("--branch: is empty; name one, or leave it out");
  const { api, headers } = gitlabFrom(env);
  const request = { headers, remember: true };
  const { data: project } = await source.json(
    `${api}/projects/${projectPath(asked.project)}`,
    ProjectSchema,
    request,
  );
  const branch = asked.branch ?? project.default_branch;
  if (!branch) {
    throw new SignalsError(
      `${project.path_with_namespace}: shows no default branch; name one with --branch, or use a token that may read code`,
    );
  }

  const known = memory["judged"] as Judged | undefined;
  const list = `${api}/projects/${project.id}/pipelines`;
  const query = `ref=${encodeURIComponent(branch)}&order_by=id&sort=desc&per_page=${PER_PAGE}`;
  let newest: ReturnType<typeof newestJudged>;
  for (let page = 1; page <= PAGES && !newest; page++) {
    // By number: behind a proxy, the links to the next page may lead to another address.
    const { data } = await source.json(`${list}?${query}&page=${page}`, z.array(PipelineSchema), request);
    newest = newestJudged(data, branch, known);
    if (data.length < PER_PAGE) break;
  }
  if (newest) {
    const { id, status, at } = newest;
    memory["judged"] = { id, status, at } satisfies Judged;
  }
  return {
    verdicts: [branchVerdict(project, branch, newest)],
    gone: `${project.path_with_namespace}: another branch is watched now`,
  };
}
