import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";
import { entries, entryNamed, home, runnerOf } from "./entries.ts";
import { messageOf, UsageError } from "./errors.ts";
import { ROOT, run } from "./testing/process.ts";

test("the entries are the .mts files of the package, sorted, and nothing else", () => {
  const tracked = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.mts"],
    {
      cwd: ROOT,
      encoding: "utf8",
    },
  );
  const files = tracked.split("\0").filter((file) => file !== "" && existsSync(join(ROOT, file)));
  assert.deepEqual(
    entries(),
    files.sort().map((file) => ({ name: file.replace(/\.mts$/, ""), file: join(ROOT, file) })),
  );
  assert.equal(home(), resolve(ROOT));
});

const THE_HOOKS = /^the hooks are ([\w/-]+, )+[\w/-]+, and signals lists the rest$/;
const STOP = "did you mean claude-code/stop or codex/stop?";

describe("an entry is named", () => {
  for (const [text, name] of [
    ["post-tool-batch", "hooks/claude-code/post-tool-batch"],
    ["post-tool-batch.mts", "hooks/claude-code/post-tool-batch"],
    ["post-tool-batch.mjs", "hooks/claude-code/post-tool-batch"],
    ["claude-code/stop", "hooks/claude-code/stop"],
    ["codex/stop", "hooks/codex/stop"],
    ["hooks/claude-code/stop", "hooks/claude-code/stop"],
    ["./hooks/claude-code/stop.mts", "hooks/claude-code/stop"],
    ["list", "scripts/list"],
    ["scripts/list", "scripts/list"],
  ] as const) {
    test(`${name} by ${text}`, () => assert.equal(entryNamed(text).name, name));
  }

  test("by a name that two clients have a hook of, with its client", () => {
    const message = "NAME: stop: names several files; write claude-code/stop or codex/stop";
    assert.throws(() => entryNamed("stop"), { name: "UsageError", message });
  });

  test("in every error by what says which: no more than its name, or its client too", () => {
    const words = (text: string) => {
      try {
        return entryNamed(text).name;
      } catch (error) {
        return messageOf(error);
      }
    };
    const [, listed = ""] = /the hooks are (.*), and/.exec(words("*")) ?? [];
    const hooks = entries().flatMap(({ name }) => (name.startsWith("hooks/") ? name : []));
    assert.deepEqual(listed.split(", ").map(words), hooks);
    assert.ok(listed.split(", ").includes("post-tool-batch") && listed.split(", ").includes("codex/stop"));
  });

  for (const [text, help] of [
    ["", THE_HOOKS],
    [".", THE_HOOKS],
    ["/", THE_HOOKS],
    ["top", STOP],
    ["stop.ts", THE_HOOKS],
    ["code/stop", STOP],
    ["codex/stopp", STOP],
    ["*", THE_HOOKS],
    ["st.p", STOP],
    ["../scripts/list", "did you mean list?"],
    ["post-tool", "did you mean claude-code/post-tool-use or codex/post-tool-use?"],
    ["codex/post-tool-batc", "did you mean post-tool-batch?"],
  ] as const) {
    test(`by no ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => entryNamed(text),
        (error) => {
          assert.ok(error instanceof UsageError);
          const start = `NAME: ${text}: there is no such file in the package; `;
          assert.ok(error.message.startsWith(start), error.message);
          const said = error.message.slice(start.length);
          if (typeof help === "string") assert.equal(said, help);
          else assert.match(said, help);
          return true;
        },
      );
    });
  }
});

test("an entry runs with what its runner says", async () => {
  const words = [...runnerOf(entryNamed("list")), "--version"];
  const { code, stdout } = await run(process.execPath, words, { cwd: "/" });
  assert.deepEqual([code, stdout.split(" ")[0]], [0, "ambient-signals"]);
});
