import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../testing/temp.ts";
import { ask, shellPath, take, typedAll } from "./service-manager.ts";

test("the PATH of a shell is that which it had before npm, without what is no whole path", () => {
  const npm = "/src/node_modules/.bin:/node_modules/.bin:/lib/npm/run-script/lib/node-gyp-bin";
  const cases: [path: string | undefined, own: string][] = [
    ["/usr/bin:/bin", "/usr/bin:/bin"],
    ["/home/ada/node_modules/.bin:/bin", "/home/ada/node_modules/.bin:/bin"],
    [`${npm}:/usr/bin:/bin`, "/usr/bin:/bin"],
    [`${npm}:${npm}:/home/ada/node_modules/.bin:/bin`, "/home/ada/node_modules/.bin:/bin"],
    ["/bin::bin:.:/usr/bin:/bin", "/bin:/usr/bin"],
    [undefined, ""],
  ];
  for (const [path, own] of cases) assert.equal(shellPath(path === undefined ? {} : { PATH: path }), own);
});

test("steps are shown as they are typed, each after the one that it needs", () => {
  const steps = [{ words: ["a", "b c"], mayFail: true as const }, { words: ["d"] }, { words: ["e"] }];
  assert.equal(typedAll(steps), "a 'b c'; d && e");
  assert.equal(typedAll([{ words: ["a"] }]), "a");
  assert.equal(typedAll([]), "");
});

test("a step that fails says why in one line, and a question never waits for ever", async () => {
  const bin = tempDirectory("bin");
  const program = (name: string, text: string) =>
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program("fails", "printf '\\nno\\nsuch thing\\n' >&2; exit 4");
  program("mute", "exit 4");
  program("hangs", "exec sleep 60");
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  assert.equal(await take({ words: ["fails"] }, env), "no");
  assert.equal(await take({ words: ["fails"], mayFail: true }, env), undefined);
  assert.equal(await take({ words: ["true"] }, env), undefined);
  assert.equal(await take({ words: ["gone"] }, env), "gone is not on PATH");
  assert.match((await take({ words: ["mute", "x"] }, env)) ?? "", /^mute Command failed: mute x/);
  assert.deepEqual(await ask(["hangs"], env, 50), { code: -1, stdout: "", error: "hangs does not answer" });
  assert.deepEqual(await ask(["fails"], env), { code: 4, stdout: "", error: "no" });
});
