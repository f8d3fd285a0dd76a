import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { codexHooks } from "./codex-app-server.ts";
import { SignalsError } from "./errors.ts";
import { tempDirectory } from "./testing/temp.ts";

/** A machine whose `codex` is a program of this text for node, which `answer` may use to answer a method. */
function machine(program: string) {
  const bin = tempDirectory("bin");
  const text = `#!${process.execPath}
import { createInterface } from "node:readline";
const say = (message) => console.log(JSON.stringify(message));
const answer = (methods) =>
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (methods[method]) say({ id, ...methods[method](params) });
  });
${program}
`;
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  writeFileSync(join(bin, "codex"), text, { mode: 0o755 });
  return { cwd: bin, env: { PATH: [bin, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter) } };
}

const INITIALIZE = "initialize: () => ({ result: {} })";
const HOOK = {
  key: "/home/ada/.codex/hooks.json:stop:0:0",
  eventName: "stop",
  sourcePath: "/home/ada/.codex/hooks.json",
  pluginId: null,
  enabled: true,
  currentHash: "sha256:1",
  trustStatus: "untrusted",
};

test("what Codex knows of its hooks for a directory is asked of its own server, as it is run there", async () => {
  const place = machine(`
say({ method: "configWarning", params: {} });
console.log("no message at all");
answer({
  ${INITIALIZE},
  "hooks/list": ({ cwds }) => ({
    result: {
      data: cwds.map((cwd) => ({
        cwd,
        hooks: [{ ...${JSON.stringify(HOOK)}, command: process.argv.slice(2).join(" "), new: 1 }],
        warnings: [process.cwd() === cwd ? "here" : "elsewhere"],
        errors: [{ path: "p", message: "m" }],
      })),
    },
  }),
});`);
  const errors = [{ message: "m" }];
  const without = { ...HOOK, command: "app-server -c features.plugins=false" };
  assert.deepEqual(await codexHooks(place), { hooks: [without], warnings: ["here"], errors });
  const { hooks } = await codexHooks(place, { plugins: true });
  assert.deepEqual(
    hooks,
    [{ ...HOOK, command: "app-server" }],
    "only with plugins it may look for more of them",
  );
});

describe("when there is no answer, one line says why:", () => {
  const cases: [what: string, program: string, says: RegExp][] = [
    [
      "it ends before it has answered",
      'console.error("first\\nCODEX_HOME is no folder"); process.exit(3);',
      /^codex app-server: ended early \(3\): CODEX_HOME is no folder; try it: codex doctor$/,
    ],
    [
      "it is killed",
      'process.kill(process.pid, "SIGKILL");',
      /^codex app-server: ended early \(SIGKILL\); try it: codex doctor$/,
    ],
    [
      "it refuses",
      `answer({ ${INITIALIZE}, "hooks/list": () => ({ error: { message: "unknown variant" + "x".repeat(9999) } }) });`,
      /^codex app-server: refuses hooks\/list: unknown variantx{200,300}; mend that, or update Codex$/,
    ],
    [
      "it answers in another form",
      `answer({ ${INITIALIZE}, "hooks/list": () => ({ result: { data: [{ hooks: [{}] }] } }) });`,
      /^codex app-server: answers hooks\/list in a form that is not known here; update ambient-signals$/,
    ],
    [
      "it does not answer, nor end when it is to",
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);',
      /^codex app-server: does not answer within 0.5 s; run this again$/,
    ],
    [
      "it does not answer, and another process holds its streams",
      'import { spawn } from "node:child_process"; spawn("sleep", ["40"], { stdio: "inherit" });',
      /^codex app-server: does not answer within 0.5 s; run this again$/,
    ],
  ];
  for (const [what, program, says] of cases) {
    // Only one that hangs takes that long.
    test(what, { timeout: 30_000 }, async () => {
      const asked = codexHooks(machine(program), { limitMs: what.includes("not answer") ? 500 : 20_000 });
      await assert.rejects(asked, (error) => error instanceof SignalsError && says.test(error.message));
    });
  }

  test("there is none", async () => {
    const asked = codexHooks({ cwd: "/", env: { PATH: tempDirectory("empty") } });
    await assert.rejects(asked, { message: "codex: is not on PATH; put it there, and run this again" });
  });

  test("it is no program", async () => {
    const place = machine("");
    writeFileSync(join(place.cwd, "codex"), "#!/nowhere/at/all\n");
    const asked = codexHooks({ ...place, env: { PATH: place.cwd } });
    await assert.rejects(asked, SignalsError);
  });
});
