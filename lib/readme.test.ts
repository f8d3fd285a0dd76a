import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Signal } from "./document.ts";
import { headerOf } from "./header.ts";
import { ROOT, run, tempDirectory } from "./testing/process.ts";
import { story } from "./testing/story.ts";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
    ([, text = ""]) => text,
  );

/** One row for each entry file, from its own help, so that the table cannot disagree with it. */
function fileTable(): string {
  const files = ["hooks/claude-code", "hooks/codex", "monitors", "scripts"]
    .filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`))
    .filter((file) => file.endsWith(".mts"));
  const rows = files.sort().map((file) => {
    const [sentence = ""] = headerOf(pathToFileURL(join(ROOT, file)).href).split("\n");
    const lines = readFileSync(join(ROOT, file), "utf8").trimEnd().split("\n").length;
    return `| [\`${file}\`](${file}) | ${sentence} | ${lines} |`;
  });
  return ["| file | does | lines |", "| --- | --- | --- |", ...rows].join("\n");
}

describe("README.md", () => {
  test("lists every entry file with the first line of its help", () => {
    const table = fileTable();
    // UPDATE=1 npx tsx --test lib/readme.test.ts
    if (process.env["UPDATE"]) {
      const updated = readme.replace(/(<!-- files: .* -->\n\n)(?:\|.*\n)*/, (_, mark) => `${mark}${table}\n`);
      return writeFileSync(join(ROOT, "README.md"), updated);
    }
    assert.ok(readme.includes(table), `the table of files should read:\n\n${table}\n`);
  });

  test("links only to what is there", () => {
    const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = ""]) => target);
    assert.deepEqual(
      links.filter((target) => !/^https?:/.test(target) && !existsSync(join(ROOT, target))),
      [],
    );
  });

  test("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const named = [...readme.matchAll(/npm (?:run )?(demo|test|check|[a-z]+:[a-z]+)\b/g)].map(
      ([, name = ""]) => name,
    );
    assert.deepEqual(
      [...new Set(named)].filter((name) => !(name in scripts)),
      [],
    );
  });

  test("shows what the demo really prints", async () => {
    const printed: string[] = [];
    let count = 0;
    for await (const { what, printed: text } of story()) {
      printed.push(
        `${++count}. ${what}`,
        ...(text || "(prints nothing)").split("\n").map((line) => `    | ${line}`),
      );
    }
    const timeless = (line: string) => line.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/, "TIME");
    const [sample = ""] = blocks("text");
    assert.match(sample, /CI breaks/);
    const shown = sample
      .trim()
      .split("\n")
      .filter((line) => line.trim() !== "…");
    const missing = shown.filter((line) => !printed.map(timeless).includes(timeless(line)));
    assert.deepEqual(missing, []);
  });

  test("gives commands that work, in the order in which they stand", { timeout: 180_000 }, async () => {
    const home = tempDirectory("readme");
    const env = {
      HOME: home,
      // Where the first of the commands puts one more.
      PATH: [join(home, ".local", "bin"), process.env["PATH"]].join(delimiter),
      npm_config_cache: join(home, ".npm"),
      npm_config_offline: "true",
    };
    // The two of the first lines would install and test from within the tests; CI runs them as they are.
    const commands = blocks("sh").filter((block) => !/^npm ci\b/.test(block));
    assert.ok(commands.length >= 4);
    const printed: string[] = [];
    // What it tells a reader to save.
    const [monitor = ""] = blocks("ts");
    mkdirSync(join(home, "dotfiles"));
    writeFileSync(join(home, "dotfiles", "disk-space.mts"), monitor);
    assert.ok(monitor.trimEnd().split("\n").length <= 20, "twenty lines");
    for (const block of commands) {
      const { code, stdout, stderr } = await run("bash", ["-euo", "pipefail", "-c", block], { env });
      assert.equal(code, 0, `${block}\n${stdout}\n${stderr}`);
      printed.push(stdout);
    }
    const settings = JSON.parse(readFileSync(join(home, ".claude/settings.json"), "utf8"));
    assert.ok(Object.keys(settings.hooks).includes("SessionStart"), "the hooks are installed");
    const inbox = JSON.parse(readFileSync(join(home, ".harn/signals/inbox.json"), "utf8"));
    assert.deepEqual(
      inbox.signals.map(({ key, hints }: Signal) => [key, hints.repository]),
      [
        ["backup", undefined],
        ["deploy", "acme/api"],
      ],
    );
    const config = join(home, ".harn/signals/config.toml");
    writeFileSync(config, '[[monitor]]\nrun = "~/dotfiles/disk-space.mts"\nargs = ["/"]\n');
    const polled = await run("signals", ["poll", "--once"], { env });
    assert.match(polled.stdout, / disk-space \/ (OK|WARNING|CRITICAL) - \d+ % of the disk of \/ is free$/m);

    const saw = /^DISK-SPACE (OK|WARNING|CRITICAL) - \d+ % of the disk of \/ is free$/m;
    for (const expected of [saw, /^FILE WARNING - /m, /^CHECK OK - /m])
      assert.ok(
        printed.some((text) => expected.test(text)),
        `${expected}\n${printed.join("")}`,
      );
    assert.deepEqual(inbox.sessions, [], "trying a hook leaves no session in the person's own inbox");
    const shown = /"additionalContext":"Ambient signals: .*what happened: It works/;
    assert.ok(
      printed.some((text) => shown.test(text)),
      printed.join(""),
    );
  });
});
