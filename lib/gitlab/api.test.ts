import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { UsageError } from "../errors.ts";
import { gitlabFrom, projectPath } from "./api.ts";

test("the server is that of the environment, else gitlab.com", () => {
  const rows: [server: string | undefined, api: string][] = [
    [undefined, "https://gitlab.com/api/v4"],
    ["", "https://gitlab.com/api/v4"],
    ["https://gitlab.example.test/", "https://gitlab.example.test/api/v4"],
    ["http://127.0.0.1:3000", "http://127.0.0.1:3000/api/v4"],
    ["https://example.test/gitlab/", "https://example.test/gitlab/api/v4"],
    ["https://ada:secret@gitlab.example.test", "https://gitlab.example.test/api/v4"],
  ];
  for (const [server, api] of rows) assert.equal(gitlabFrom({ CI_SERVER_URL: server }).api, api);
  for (const server of ["gitlab.example.test", "ftp://gitlab.example.test", "localhost:3000"])
    assert.throws(() => gitlabFrom({ CI_SERVER_URL: server }), {
      name: "UsageError",
      message: /^CI_SERVER_URL: /,
    });
});

describe("the token", () => {
  const headers = (env: Record<string, string>) => gitlabFrom(env).headers;

  test("is GITLAB_TOKEN, else GITLAB_ACCESS_TOKEN, and there need be none", () => {
    const [first, second] = [{ GITLAB_TOKEN: " glpat-1\n" }, { GITLAB_ACCESS_TOKEN: "glpat-2" }];
    assert.deepEqual(headers({ ...first, ...second }), { "private-token": "glpat-1" });
    assert.deepEqual(headers({ GITLAB_TOKEN: "", ...second }), { "private-token": "glpat-2" });
    assert.deepEqual(headers({ OAUTH_TOKEN: "of-somebody-else" }), {});
  });

  test("is not told to anybody when it is damaged", () => {
    for (const token of ["glpat secret", "glpat\nsecret", "glpat-secrét", "glpat-secret\u0000"])
      assert.throws(
        () => headers({ GITLAB_TOKEN: token }),
        (error) => error instanceof UsageError && !/glpat|secr/.test(error.message),
      );
  });
});

test("a project is named by its id or by its whole path", () => {
  const rows: [project: string, path: string | undefined][] = [
    ["42", "42"],
    ["acme/api", "acme%2Fapi"],
    ["/acme/tools/api/", "acme%2Ftools%2Fapi"],
    ["acme/a.b_c-d", "acme%2Fa.b_c-d"],
    ["api", undefined],
    ["", undefined],
    ["acme//api", undefined],
    ["acme/api name", undefined],
    ["https://gitlab.com/acme/api", undefined],
  ];
  for (const [project, path] of rows) {
    if (path !== undefined) assert.equal(projectPath(project), path);
    else assert.throws(() => projectPath(project), { name: "UsageError", message: /^PROJECT: / }, project);
  }
});
