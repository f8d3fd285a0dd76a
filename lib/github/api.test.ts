import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import * as z from "zod/mini";
import { UsageError } from "../errors.ts";
import { Source, Unreadable } from "../monitor/source.ts";
import { type GithubApi, startGithubApi } from "../testing/github-api.ts";
import { tempDirectory } from "../testing/temp.ts";
import { githubApi, pathTo, readAll } from "./api.ts";

const never = new AbortController().signal;
const tokenOf = async (env: Record<string, string>, signal = never) =>
  (await githubApi(env, signal)).headers["authorization"];

test("the server is that of the environment, else github.com, and says where repositories are", async () => {
  const rows: [api: string | undefined, server: string | undefined, url: string, host: string][] = [
    [undefined, undefined, "https://api.github.com", "github.com"],
    ["", "", "https://api.github.com", "github.com"],
    ["https://ghe.example.test/api/v3/", undefined, "https://ghe.example.test/api/v3", "ghe.example.test"],
    ["https://api.acme.ghe.test", undefined, "https://api.acme.ghe.test", "acme.ghe.test"],
    ["http://127.0.0.1:3000", "https://github.com", "http://127.0.0.1:3000", "github.com"],
    [
      "https://ada:secret@GHE.example.test/api/v3?a=b",
      undefined,
      "https://ghe.example.test/api/v3",
      "ghe.example.test",
    ],
  ];
  for (const [GITHUB_API_URL = "", GITHUB_SERVER_URL = "", url, host] of rows) {
    const api = await githubApi({ GITHUB_API_URL, GITHUB_SERVER_URL, GH_TOKEN: "t" }, never);
    assert.deepEqual([api.url, api.host], [url, host]);
  }
  for (const url of ["ghe.example.test", "ftp://ghe.example.test", "localhost:3000"])
    await assert.rejects(githubApi({ GITHUB_API_URL: url }, never), {
      name: "UsageError",
      message: /^GITHUB_API_URL: /,
    });
});

describe("the token", () => {
  /** A program `gh` that does this. */
  function gh(script: string): Record<string, string> {
    const dir = tempDirectory("gh");
    writeFileSync(join(dir, "gh"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(dir, "gh"), 0o755);
    return { PATH: `${dir}:/usr/bin:/bin` };
  }
  const nobody = { PATH: tempDirectory("no-gh") };

  test("is GH_TOKEN, else GITHUB_TOKEN, else that of gh for this server, and there need be none", async () => {
    const logged = gh('[ "$*" = "auth token --hostname ghe.example.test" ] && echo gho_3');
    assert.equal(await tokenOf({ ...logged, GH_TOKEN: " ghp_1\n", GITHUB_TOKEN: "ghp_2" }), "Bearer ghp_1");
    assert.equal(await tokenOf({ ...logged, GH_TOKEN: "", GITHUB_TOKEN: "ghp_2" }), "Bearer ghp_2");
    const GITHUB_API_URL = "https://ghe.example.test/api/v3";
    assert.equal(await tokenOf({ ...logged, GITHUB_API_URL }), "Bearer gho_3");
    assert.equal(await tokenOf(logged), undefined, "it is logged in to another server");
    assert.equal(await tokenOf(nobody), undefined);
  });

  test("is not waited for when gh hangs", async () => {
    const controller = new AbortController();
    const asked = tokenOf(gh("exec sleep 60"), controller.signal);
    controller.abort();
    assert.equal(await asked, undefined);
  });

  test("is not told to anybody when it is damaged", async () => {
    for (const token of ["ghp secret", "ghp\nsecret", "ghp_secrét", "ghp_secret\u0000"])
      await assert.rejects(
        tokenOf({ GH_TOKEN: token }),
        (error) => error instanceof UsageError && !/ghp|secr/.test(error.message),
      );
  });
});

test("a path holds its values, whatever is in them", () => {
  assert.equal(pathTo`commits/${"heads/a/b#c?d e%"}/status`, "commits/heads%2Fa%2Fb%23c%3Fd%20e%25/status");
  assert.equal(pathTo`/repos/${"acme"}/${"api"}/pulls/${7}`, "/repos/acme/api/pulls/7");
});

describe("a list", () => {
  let github: GithubApi;
  before(async () => {
    github = await startGithubApi();
  });
  beforeEach(() => github.heal());
  after(() => github.close());

  const row = z.object({ id: z.number() });
  const rowsOf = (count: number) => Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const memory = {};
  async function list(more: { most?: number; enough?: (rows: readonly { id: number }[]) => boolean } = {}) {
    const api = await githubApi({ GITHUB_API_URL: github.url, GH_TOKEN: "t" }, never);
    github.counted();
    const { rows, cut } = await readAll(new Source(memory, never), api, "/things?kind=a", {
      name: "things",
      row,
      ...more,
    });
    return { count: rows.length, cut: cut?.message, ...github.counted() };
  }

  test("is read page after page, and costs nothing when it has not changed", async () => {
    github.list("/things", "things", rowsOf(250));
    assert.deepEqual(await list(), { count: 250, cut: undefined, asked: 3, unchanged: 0 });
    assert.deepEqual(await list(), { count: 250, cut: undefined, asked: 3, unchanged: 3 });
    assert.ok(github.requests.every(({ path }) => path.startsWith("/things?kind=a&per_page=100")));
  });

  test("is read no further than is enough, nor than as many pages as are worth it", async () => {
    github.list("/things", "things", rowsOf(250));
    const enough = (rows: readonly { id: number }[]) => rows.some(({ id }) => id === 150);
    assert.deepEqual(await list({ enough }), { count: 200, cut: undefined, asked: 2, unchanged: 2 });
    const two = { enough: () => false, most: 2 };
    assert.deepEqual(await list(two), { count: 200, cut: undefined, asked: 2, unchanged: 2 });
  });

  test("that is longer than anybody reads was cut off", async () => {
    github.list("/things", "things", rowsOf(250));
    const { count, cut } = await list({ most: 2 });
    assert.deepEqual([count, cut], [200, "things: 50 of 250 rows are missing"]);
  });

  test("with fewer rows than it says was cut off", async () => {
    github.put("/things", { total_count: 30, things: rowsOf(29) });
    assert.equal((await list()).cut, "things: 1 of 30 rows are missing");
    assert.equal((await list({ enough: () => false })).cut, "things: 1 of 30 rows are missing");
  });

  test("whose later page cannot be read was cut off, and its first pages are there", async () => {
    github.list("/things", "things", rowsOf(250));
    for (const fault of [{ status: 502, body: "<html>" }, { cut: true }, { body: { message: "odd" } }]) {
      github.heal();
      github.fail(/page=2/, fault);
      const { count, cut } = await list();
      assert.equal(count, 100);
      assert.match(cut ?? "", /^127.0.0.1:\d+\/things: /);
    }
  });

  test("whose first page cannot be read is no list", async () => {
    github.list("/things", "things", rowsOf(250));
    github.fail(/things/, { status: 500 });
    await assert.rejects(list(), Unreadable);
  });

  test("may get a row while it is read", async () => {
    github.list("/things", "things", rowsOf(150));
    github.fail(/&page=2/, { body: { total_count: 151, things: rowsOf(150).slice(99) } });
    assert.deepEqual(await list(), { count: 150, cut: undefined, asked: 2, unchanged: 0 });
  });
});
