import assert from "node:assert/strict";
import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { tempDirectory } from "../testing/temp.ts";
import type { Api } from "./api.ts";
import { type CiFlags, watchesFrom } from "./watch.ts";

const api: Api = { url: "https://api.github.com", host: "github.com", headers: {} };
/** What the monitor remembers of its looks. */
let memory: Record<string, unknown>;
beforeEach(() => {
  memory = {};
});
const watches = (flags: CiFlags, ...args: string[]) => watchesFrom(flags, args, api, async () => [], memory);

describe("a repository", () => {
  const hints = { repository: "github.com/acme/api" };

  test("is named as people name it, and watched at its default branch", async () => {
    const names = [
      "acme/api",
      "github.com/acme/api",
      "https://github.com/acme/api.git",
      "git@github.com:acme/api.git",
    ];
    for (const name of names)
      assert.deepEqual(
        await watches({}, name),
        { all: [{ owner: "acme", name: "api", branch: undefined, pull: undefined, hints }], follow: false },
        name,
      );
  });

  test("may be watched at another branch, or at a pull request", async () => {
    const [branch] = (await watches({ branch: "release/2" }, "Acme/API")).all;
    assert.deepEqual(branch, { owner: "Acme", name: "API", branch: "release/2", pull: undefined, hints });
    const [pull] = (await watches({ pr: "7" }, "acme/api")).all;
    assert.deepEqual([pull?.branch, pull?.pull], [undefined, 7]);
  });

  test("of another server, or none at all, is refused", async () => {
    for (const name of [
      "api",
      "",
      "acme/api/tree/main",
      "gitlab.com/acme/api",
      "https://gitlab.com/acme/api",
      "acme/a b",
    ])
      await assert.rejects(watches({}, name), { name: "UsageError", message: /^OWNER\/REPO: / }, name);
  });
});

test("what contradicts itself, or says nothing, is refused", async () => {
  const rows: [flags: CiFlags, args: string[], message: RegExp][] = [
    [{ live: true }, ["acme/api"], /^--live: /],
    [{ live: true, branch: "main" }, [], /^--live: /],
    [{ live: true, pr: "7" }, [], /^--live: /],
    [{ branch: "main", pr: "7" }, ["acme/api"], /^--pr: /],
    [{ pr: "0" }, ["acme/api"], /^--pr: 0: /],
    [{ pr: "#7" }, ["acme/api"], /^--pr: #7: /],
    [{ branch: " " }, ["acme/api"], /^--branch: is empty/],
    [{ workflow: "" }, ["acme/api"], /^--workflow: is empty/],
  ];
  for (const [flags, args, message] of rows)
    await assert.rejects(watches(flags, ...args), { name: "UsageError", message });
});

describe("a checkout", () => {
  const root = realpathSync.native(tempDirectory("watch"));
  const back = process.cwd();
  before(() => process.chdir(root));
  after(() => process.chdir(back));

  function checkOut(url: string, head: string): string {
    const git = join(root, ".git");
    mkdirSync(git, { recursive: true });
    writeFileSync(join(git, "HEAD"), `${head}\n`);
    writeFileSync(join(git, "config"), `[remote "origin"]\n\turl = ${url}\n`);
    return root;
  }

  test("is watched at what is checked out, and followed from branch to branch", async () => {
    const rows = [
      ["git@github.com:Acme/API.git", "github.com/acme/api"],
      ["ssh://git@ssh.github.com:443/acme/api.git", "ssh.github.com/acme/api"],
    ];
    for (const [url = "", repository] of rows) {
      const cwd = checkOut(url, "ref: refs/heads/feature/x");
      const hints = { repository, cwd };
      assert.deepEqual(await watches({}), {
        all: [{ owner: "acme", name: "api", branch: "feature/x", pull: undefined, hints }],
        follow: true,
      });
      const asked = await watches({ branch: "main" });
      assert.deepEqual([asked.all[0]?.branch, asked.follow], ["main", false]);
    }
  });

  test("on no branch has nothing to watch, unless a branch or a pull request is named", async () => {
    checkOut("https://github.com/acme/api", "5f".repeat(20));
    const nowhere = "no branch is checked out here; --branch names one";
    assert.deepEqual(await watches({}), { all: [], follow: true, nowhere });
    assert.equal((await watches({ branch: "main" })).all[0]?.branch, "main");
    assert.equal((await watches({ pr: "7" })).all[0]?.pull, 7);
  });

  test("of another server says how to go on", async () => {
    checkOut("https://gitlab.com/acme/api", "ref: refs/heads/main");
    await assert.rejects(watches({}), {
      name: "UsageError",
      message: /gitlab.com\/acme\/api: is not on github.com; .*GITHUB_API_URL/,
    });
  });

  test("that is none needs a repository named", async () => {
    process.chdir(tempDirectory("no-checkout"));
    await assert.rejects(watches({}), { name: "UsageError", message: /^OWNER\/REPO: no repository/ });
    process.chdir(root);
  });

  test("that served before is not wrong now, whatever became of it", async () => {
    checkOut("https://github.com/acme/api", "ref: refs/heads/main");
    await watches({});
    const removed = tempDirectory("removed");
    const rows: [change: () => void, nowhere: RegExp][] = [
      [
        () => checkOut("https://gitlab.com/acme/api", "ref: refs/heads/main"),
        /^gitlab.*: is not on github.com/,
      ],
      [() => writeFileSync(join(root, ".git", "config"), ""), /^no repository is checked out here/],
      [() => rmSync(join(root, ".git"), { recursive: true }), /^no repository is checked out here/],
      [
        () => {
          process.chdir(removed);
          rmSync(removed, { recursive: true });
        },
        /^no repository is checked out here/,
      ],
    ];
    for (const [change, nowhere] of rows) {
      change();
      for (const flags of [{}, { branch: "main" }, { pr: "7" }]) {
        const found = await watches(flags);
        assert.deepEqual(found.all, []);
        assert.match(found.nowhere ?? "", nowhere);
      }
    }
    process.chdir(root);
    await assert.rejects(watches({}, "api"), { name: "UsageError" }, "what is written wrong is");
  });
});
