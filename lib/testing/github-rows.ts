import type { GithubApi } from "./github-api.ts";

type Row = Record<string, unknown>;

/** The repository of the tests. */
export const ACME = {
  id: 4217,
  full_name: "acme/api",
  default_branch: "main",
  html_url: "https://github.com/acme/api",
};

/** Its workflows, by id. */
export const WORKFLOWS: Record<number, string> = {
  501: "test",
  502: "lint",
  503: "deploy",
  504: "nightly",
  505: "docs",
};

export function workflow(id: number, more: Row = {}): Row {
  const name = WORKFLOWS[id];
  const path = `.github/workflows/${name}.yml`;
  return { id, name, path, state: "active", html_url: `${ACME.html_url}/blob/main/${path}`, ...more };
}

/** A run of a workflow on main that a push started and that ended well, unless it is said otherwise. */
export function run(id: number, more: Row = {}): Row {
  const started = new Date(Date.UTC(2026, 2, 9) + id * 1000).toISOString().replace(".000", "");
  return {
    id,
    workflow_id: 501,
    name: "test",
    path: ".github/workflows/test.yml",
    head_branch: "main",
    head_sha: "5f".repeat(20),
    event: "push",
    status: "completed",
    conclusion: "success",
    run_number: id,
    run_attempt: 1,
    run_started_at: started,
    created_at: started,
    html_url: `${ACME.html_url}/actions/runs/${id}`,
    repository: { id: ACME.id },
    head_repository: { id: ACME.id },
    ...more,
  };
}

/** A check by an app that ended well. */
export function check(id: number, more: Row = {}): Row {
  return {
    id,
    name: "scan",
    status: "completed",
    conclusion: "success",
    started_at: "2026-03-09T12:00:00Z",
    html_url: `${ACME.html_url}/runs/${id}`,
    app: { id: 6700, slug: "acme-scan" },
    ...more,
  };
}

/** A status that a service posted. */
export function status(id: number, more: Row = {}): Row {
  const target_url = `https://build.example.test/${id}`;
  return { id, context: "build", state: "success", target_url, updated_at: "2026-03-09T12:00:00Z", ...more };
}

/** What the simulator shows of a repository; the names are those of its parts below it. */
export class Repository {
  readonly #github: GithubApi;
  readonly #path: string;

  constructor(github: GithubApi, about: Row = ACME) {
    this.#github = github;
    this.#path = `/repos/${about["full_name"]}`;
    github.put(this.#path, about);
    this.workflows(...Object.keys(WORKFLOWS).map((id) => workflow(Number(id))));
    this.runs();
    this.head("heads/main");
  }

  workflows(...rows: readonly Row[]): void {
    this.#github.list(`${this.#path}/actions/workflows`, "workflows", rows);
  }

  /** All runs, and those of each workflow. */
  runs(...rows: readonly Row[]): void {
    this.#github.list(`${this.#path}/actions/runs`, "workflow_runs", rows);
    for (const id of Object.keys(WORKFLOWS)) {
      const own = rows.filter((row) => row["workflow_id"] === Number(id));
      this.#github.list(`${this.#path}/actions/workflows/${id}/runs`, "workflow_runs", own);
    }
  }

  /** What others say of the newest commit of a ref. */
  head(
    ref: string,
    { statuses = [], checks = [] }: { statuses?: readonly Row[]; checks?: readonly Row[] } = {},
  ): void {
    const commit = `${this.#path}/commits/${ref}`;
    const state = statuses.some(({ state }) => state === "failure") ? "failure" : "pending";
    this.#github.list(`${commit}/status`, "statuses", statuses, { state, sha: "5f".repeat(20) });
    this.#github.list(`${commit}/check-runs`, "check_runs", checks);
  }

  /** A branch that is there no more. */
  drop(ref: string): void {
    for (const what of ["status", "check-runs"]) this.#github.remove(`${this.#path}/commits/${ref}/${what}`);
  }

  pull(number: number, state: string, sha: string): void {
    this.#github.put(`${this.#path}/pulls/${number}`, { number, state, head: { sha, ref: "topic" } });
  }
}
