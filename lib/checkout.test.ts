import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { branchAt } from "./checkout.ts";
import { tempDirectory } from "./testing/temp.ts";

const root = tempDirectory("checkout");
const env = {
  PATH: process.env["PATH"],
  HOME: root,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
};

function git(cwd: string, ...args: string[]): void {
  const who = ["-c", "user.name=Test", "-c", "user.email=test@example.test"];
  execFileSync("git", [...who, ...args], { cwd, env, stdio: "pipe" });
}

describe("the branch of a work tree", () => {
  const tree = join(root, "tree");
  mkdirSync(tree);
  git(tree, "init", "--quiet", "--initial-branch", "main");

  test("is known before there is a commit, and whatever its name", () => {
    assert.equal(branchAt(tree), "main");
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "first");
    git(tree, "switch", "--quiet", "--create", "feature/größer#1");
    assert.equal(branchAt(tree), "feature/größer#1");
  });

  test("is a work tree's own", () => {
    const other = join(root, "other");
    git(tree, "worktree", "add", "--quiet", "-b", "release/2", other);
    assert.deepEqual([branchAt(other), branchAt(tree)], ["release/2", "feature/größer#1"]);
  });

  test("is read from a symlink, as old versions of git made one", () => {
    const head = join(tree, ".git", "HEAD");
    rmSync(head);
    symlinkSync("refs/heads/old/style", head);
    assert.equal(branchAt(tree), "old/style");
  });

  test("is none where HEAD is detached, says nothing, or is not there", () => {
    for (const head of [
      "1f3a9c0de5b7462819a0c4d2e6f8b1a3c5d7e9f0\n",
      "ref: refs/heads/.invalid\n",
      "",
      "ref: refs/tags/v1",
    ]) {
      rmSync(join(tree, ".git", "HEAD"), { force: true });
      writeFileSync(join(tree, ".git", "HEAD"), head);
      assert.equal(branchAt(tree), undefined, head);
    }
    rmSync(join(tree, ".git", "HEAD"));
    assert.equal(branchAt(tree), undefined);
    assert.equal(branchAt(join(root, "nowhere")), undefined);
  });
});
