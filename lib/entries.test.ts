import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { entries, entryNamed, home, runnerOf } from "./entries.ts";
import { UsageError } from "./errors.ts";
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

const HOOKS = entries().flatMap(({ name }) => (name.startsWith("hooks/") ? basename(name) : []));
const THE_HOOKS = `the hooks are ${[...new Set(HOOKS)].join(", ")}, and signals lists the rest`;

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
    const both = "hooks/claude-code/stop, hooks/codex/stop";
    const message = `NAME: stop: could be any of ${both}; write more of it`;
    assert.throws(() => entryNamed("stop"), { name: "UsageError", message });
  });

  for (const [text, help] of [
    ["", THE_HOOKS],
    [".", THE_HOOKS],
    ["/", THE_HOOKS],
    ["top", "did you mean stop?"],
    ["stop.ts", THE_HOOKS],
    ["code/stop", "did you mean stop?"],
    ["*", THE_HOOKS],
    ["st.p", "did you mean stop?"],
    ["../scripts/list", "did you mean list?"],
    ["post-tool", "did you mean post-tool-use?"],
  ] as const) {
    test(`by no ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => entryNamed(text),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.equal(error.message, `NAME: ${text}: there is no such file in the package; ${help}`);
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
