import { attempt, UsageError } from "../errors.ts";

/** Where GitLab's API is, and how it is asked. */
export interface GitLab {
  /** `https://gitlab.com/api/v4` */
  api: string;
  headers: Record<string, string>;
}

/** As GitLab's own `glab` looks for a token, but for its third, OAUTH_TOKEN, which may be anybody's. */
const TOKENS = ["GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN"];

/** The GitLab that the environment names. Throws `UsageError` when it cannot be used. */
export function gitlabFrom(env: Readonly<Record<string, string | undefined>>): GitLab {
  const server = env["CI_SERVER_URL"]?.trim() || "https://gitlab.com";
  const url = attempt(() => new URL(server));
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      `CI_SERVER_URL: ${server}: is no http(s) URL; write it as https://gitlab.example.com`,
    );
  }
  const api = `${url.origin}${url.pathname.replace(/\/+$/, "")}/api/v4`;
  const name = TOKENS.find((name) => env[name]?.trim());
  const token = name && env[name]?.trim();
  if (!name || !token) return { api, headers: {} };
  // What the request would say of such a header holds the token.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new UsageError(`${name}: holds what no token can, such as a space; copy it anew`);
  }
  return { api, headers: { "private-token": token } };
}

/** A project as the path of the API names it: by its id, or by its whole path. Throws `UsageError`. */
export function projectPath(project: string): string {
  const name = project.replace(/^\/+|\/+$/g, "");
  if (/^\d+$/.test(name) || /^[^\s/:]+(\/[^\s/:]+)+$/.test(name)) return encodeURIComponent(name);
  throw new UsageError(`PROJECT: ${project}: is no project; write GROUP/NAME with all its groups, or its id`);
}
