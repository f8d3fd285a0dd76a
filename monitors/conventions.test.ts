import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleOf } from "../lib/bundle.ts";
import { entries } from "../lib/entries.ts";
import {
  calm,
  commentOf,
  HOSTILE,
  HOSTILE_NAME,
  isTrouble,
  LINUX,
  PATH,
  RAW,
  VERSION,
} from "../lib/testing/conventions.ts";
import { type GithubApi, startGithubApi } from "../lib/testing/github-api.ts";
import { run as githubRun, Repository, workflow } from "../lib/testing/github-rows.ts";
import { addPipeline, GITLAB_TOKEN, type GitLabApi, startGitLabApi } from "../lib/testing/gitlab-api.ts";
import { privateMounts } from "../lib/testing/mounts.ts";
import { type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";

/** What holds for every monitor of the pack, whoever wrote it: held against its bundle, as a process. */

/** What a monitor is to find: nothing that is wrong, or something with a text that would do harm. */
type Kind = "well" | "bad";

/** What must be known of a monitor to hold it to the conventions. */
interface Row {
  /** Arguments with which it finds that in a home directory, or at one of the servers below. */
  args(kind: Kind, home: string): readonly string[];
  /** Arguments that are wrong. */
  wrong: readonly string[];
  env?(kind: Kind): Record<string, string>;
  /** What it says is of the directory that it runs in, so it cannot do without. */
  directory?: "needed";
}

const ROWS: Record<string, Row> = {
  alertmanager: { args: (kind) => [`${site}/${kind}/alertmanager`], wrong: ["nowhere"] },
  check: { args: (kind, home) => ["--", join(home, `${kind}.sh`)], wrong: [], directory: "needed" },
  file: { args: (kind) => [`~/${kind}/*.dmp`], wrong: ["--stale", "long", "*.dmp"], directory: "needed" },
  "github-ci": {
    args: (kind) => [kind === "well" ? "acme/api" : "acme/web"],
    env: () => ({ GITHUB_API_URL: github.url, GH_TOKEN: "t" }),
    wrong: ["acme"],
  },
  "github-runners": {
    args: (kind) => ["--org", kind === "well" ? "acme" : "umbrella"],
    env: () => ({ GITHUB_API_URL: github.url, GH_TOKEN: "t" }),
    wrong: ["--org", "acme/api"],
  },
  "gitlab-ci": {
    args: (kind) => ["acme/tools/api", "--branch", kind === "well" ? "main" : HOSTILE],
    env: () => ({ CI_SERVER_URL: gitlab.url, GITLAB_TOKEN }),
    wrong: [],
  },
  http: {
    args: (kind) => (kind === "well" ? [site] : [site, "--contains", HOSTILE]),
    wrong: ["ftp://example.test/"],
  },
};

const PARALLEL = { concurrency: 2 };
const PATIENCE_MS = 30_000;
const CODES = { codes: [0, 1, 2, 3] };

const MONITORS = entries().filter(({ name }) => name.startsWith("monitors/"));
const NAMES = MONITORS.map(({ name }) => name.slice("monitors/".length));

const root = tempDirectory("conventions");
const bundle = (name: string) => join(root, `${name}.mjs`);

// ---------------------------------------------------------------- sources

let github: GithubApi;
let gitlab: GitLabApi;
let site = "";
const server = createServer(({ url = "" }, response) => {
  const { status, text } = answerTo(url);
  response.writeHead(status, { "content-type": "application/json" }).end(text);
});

before(async () => {
  for (const entry of MONITORS)
    writeFileSync(`${join(root, entry.name.slice("monitors/".length))}.mjs`, await bundleOf(entry), {
      mode: 0o755,
    });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  [github, gitlab] = await Promise.all([startGithubApi(), startGitLabApi()]);

  new Repository(github).runs(githubRun(1));
  const about = {
    id: 4218,
    full_name: "acme/web",
    default_branch: "main",
    html_url: "https://github.com/acme/web",
  };
  const web = new Repository(github, about);
  web.workflows(workflow(501, { name: HOSTILE }));
  const ids = { repository: { id: 4218 }, head_repository: { id: 4218 } };
  web.runs(githubRun(2, { ...ids, name: HOSTILE, conclusion: "failure" }));
  const runner = { id: 1, name: "gpu-1", os: "linux", status: "online", busy: false, ephemeral: false };
  const labels = [{ name: "self-hosted", type: "read-only" }];
  github.list("/orgs/acme/actions/runners", "runners", [{ ...runner, labels }]);
  const down = { ...runner, name: HOSTILE, status: "offline", labels };
  github.list("/orgs/umbrella/actions/runners", "runners", [down]);

  addPipeline(gitlab, { ref: "main" });
  addPipeline(gitlab, { ref: HOSTILE, status: "failed" });
});

after(async () => {
  server.close();
  await Promise.all([github.close(), gitlab.close()]);
});

/** What Alertmanager says of one alert; anything else is a page that is well. */
function answerTo(url: string): { status: number; text: string } {
  const [, kind, path] = /^\/(\w+)\/alertmanager\/api\/v2\/(\S+)$/.exec(url) ?? [];
  if (path === undefined) return { status: 200, text: "well" };
  const receiver = { name: "team-a" };
  const alert = {
    labels: { alertname: HOSTILE, severity: "critical" },
    annotations: { summary: HOSTILE, description: HOSTILE },
    fingerprint: "8f2bd1c94a0e6d73",
    generatorURL: "",
    receivers: [receiver],
    status: { state: "active", silencedBy: [], inhibitedBy: [], mutedBy: [] },
  };
  const alerts = kind === "well" ? [] : [alert];
  const answers: Record<string, unknown> = {
    alerts,
    "alerts/groups": [{ receiver, alerts }],
    receivers: [receiver],
  };
  return path in answers ? { status: 200, text: JSON.stringify(answers[path]) } : { status: 404, text: "{}" };
}

/** A home directory with what those monitors find that look at no server. */
function homeDirectory(): string {
  const home = join(mkdtempSync(join(root, "home-")), HOSTILE_NAME);
  for (const folder of ["well", "bad"]) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, "bad", `${HOSTILE}.dmp`.replaceAll("/", "")), "");
  writeFileSync(join(home, "well.sh"), "#!/bin/sh\necho 'all is well'\n", { mode: 0o755 });
  writeFileSync(join(home, "bad.sh"), `#!/bin/sh\necho '${HOSTILE}'\nexit 1\n`, { mode: 0o755 });
  return home;
}

// ---------------------------------------------------------------- every monitor

test("every monitor has a row in the table above, and every row a monitor", () => {
  const missing = NAMES.filter((name) => !(name in ROWS));
  const help = "add to ROWS in monitors/conventions.test.ts with what it finds something well, and bad";
  assert.deepEqual(missing, [], `${missing}: ${help}`);
  const gone = Object.keys(ROWS).filter((name) => !NAMES.includes(name));
  assert.deepEqual(gone, [], `${gone}: there is no such monitor; take its row out of ROWS`);
});

for (const name of NAMES) {
  // Without a row, it is the first test that says what to do.
  const { args, wrong, env = () => ({}), directory }: Row = ROWS[name] ?? { args: () => [], wrong: [] };

  /** One run, which ends by itself and does no harm. */
  const look = async (
    kind: Kind,
    flags: readonly string[] = [],
    home = homeDirectory(),
    {
      cwd = home,
      file = bundle(name),
      more = {},
    }: { cwd?: string; file?: string; more?: Record<string, string> } = {},
  ): Promise<Run> => {
    const words = [file, ...flags, ...args(kind, home)];
    const result = await run(process.execPath, words, {
      cwd,
      env: { PATH, HOME: home, ...env(kind), ...more },
    });
    return calm(result, words, CODES);
  };

  /** Through a line of shell, as a person would redirect it. */
  const shell = async (
    line: string,
    [command = "sh", ...before]: readonly string[] = [],
    home = homeDirectory(),
  ) => {
    const words = [process.execPath, bundle(name), ...args("well", home)];
    const all = [...before, ...(command === "sh" ? [] : ["sh"]), "-c", line, "sh", ...words];
    const options = {
      cwd: home,
      env: { PATH, HOME: home, DIR: join(home, ".harn", "signals"), ...env("well") },
    };
    return calm(await run(command, all, options), words, CODES);
  };

  describe(`monitors/${name}`, PARALLEL, () => {
    test("explains itself, and ends with 3 as whatever is no look at its source", async () => {
      const home = homeDirectory();
      const only = (...flags: string[]) => run(bundle(name), flags, { cwd: home, env: { PATH, HOME: "" } });
      const [help, version, source] = await Promise.all([
        only("--help"),
        only("--version"),
        runFile(`monitors/${name}.mts`, ["-h"], { env: { HOME: "" } }),
      ]);
      for (const { code, stdout, stderr } of [help, source]) {
        assert.deepEqual([code, stderr], [3, ""]);
        const own = `${commentOf(bundle(name))}\n\n`;
        assert.equal(stdout.slice(0, own.length), own);
        assert.match(stdout.slice(own.length), /--every .*--dry-run/s);
      }
      assert.deepEqual([version.code, version.stdout, version.stderr], [3, VERSION, ""]);
    });

    test("says what is wrong with its arguments, and ends with 3 and nothing kept", async () => {
      const home = homeDirectory();
      const called = (...words: string[]) =>
        run(process.execPath, [bundle(name), ...words], {
          cwd: home,
          env: { PATH, HOME: home, ...env("well") },
        });
      const [typo, every, missing] = await Promise.all([
        look("well", ["--dry-rum"], home),
        look("well", ["--every", "soon"], home),
        called(...wrong),
      ]);
      isTrouble(typo, 3);
      assert.equal(typo.stderr, "error: --dry-rum: unknown flag; did you mean --dry-run?\n");
      isTrouble(every, 3);
      isTrouble(calm(missing, wrong, CODES), 3);
      assert.ok(!existsSync(join(home, ".harn")));
    });

    test("ends with 0 when all is well, wherever it is, as one file that plain node runs", async () => {
      const home = homeDirectory();
      const alone = join(home, `${name}.mjs`);
      copyFileSync(bundle(name), alone);
      const { code, stdout, stderr } = await look("well", [], home, { cwd: "/", file: alone });
      assert.deepEqual([code, stderr], [0, ""], stdout);
      assert.match(stdout, new RegExp(`^${name.toUpperCase()} OK - [^\n]+\n`));
    });

    test("tells what is bad without harm, and with --json in one document", async () => {
      const [people, json] = await Promise.all([look("bad"), look("bad", ["--json"])]);
      for (const { code, stderr } of [people, json])
        assert.deepEqual([code === 1 || code === 2, stderr], [true, ""]);
      assert.match(people.stdout, new RegExp(`^${name.toUpperCase()} (WARNING|CRITICAL) - [^\n]+\n`));
      const report = JSON.parse(json.stdout);
      assert.deepEqual([report.monitor, report.read, report.verdicts.length > 0], [name, true, true]);
      assert.equal(["WARNING", "CRITICAL"].indexOf(report.status) + 1, json.code);
      for (const { summary } of report.verdicts) assert.doesNotMatch(summary, RAW);
    });

    test("writes nothing with --dry-run, and ends as without", async () => {
      const home = homeDirectory();
      const filesIn = () => readdirSync(home, { recursive: true }).sort();
      const before = filesIn();
      const [well, bad] = [await look("well", ["--dry-run"], home), await look("bad", ["--dry-run"], home)];
      assert.deepEqual([well.code, bad.code], [0, (await look("bad")).code]);
      assert.deepEqual(filesIn(), before);
    });

    test("shows trouble with the inbox as one line, and ends with 3", async () => {
      const places: [what: string, text: string, file: string][] = [
        ["a config.toml that is not valid", "lease = 3\n", "config.toml"],
        ["an inbox that is no JSON", "{", "inbox.json"],
        ["a file in the place of what it keeps", "", "monitors"],
      ];
      const results = await Promise.all(
        places.map(async ([what, text, file]) => {
          const home = homeDirectory();
          const dir = join(home, ".harn", "signals");
          mkdirSync(dir, { recursive: true, mode: 0o700 });
          writeFileSync(join(dir, file), text);
          const result = await look("well", [], home);
          assert.deepEqual([what, result.code, result.stdout], [what, 3, ""]);
          assert.match(result.stderr, /^error: [^\n]+\n$/);
          return result;
        }),
      );
      assert.match(results[0]?.stderr ?? "", /config\.toml:1: lease: 3 is not a duration; /);
      isTrouble(await look("well", [], homeDirectory(), { more: { HOME: "" } }), 3);
    });

    for (const [what, fill] of [
      ["is full", "cat /dev/zero > zeros"],
      ["is read-only", "mount -o remount,ro ."],
    ])
      test(`says so when the disk of the inbox ${what}`, LINUX, async (t: TestContext) => {
        const inside = privateMounts();
        if (inside === undefined) {
          assert.notEqual(process.getuid?.(), 0, "root can mount");
          return t.diagnostic("no mount namespaces here");
        }
        const home = homeDirectory();
        mkdirSync(join(home, ".harn", "signals"), { recursive: true });
        const line = `mount -t tmpfs -o size=64k,mode=700 tmpfs "$DIR" && cd "$DIR" && { ${fill} 2>/dev/null; "$@"; }`;
        const { code, stdout, stderr } = await shell(line, inside, home);
        assert.deepEqual([code, stdout], [3, ""], stderr);
        assert.match(stderr, /^error: inbox: [^\n]+ \((ENOSPC|EROFS)\)[^\n]*\n$/);
      });

    test(
      "is not put off by a directory that is gone, a full disk for its output, or a reader that has gone",
      LINUX,
      async () => {
        const [gone, full, reader] = await Promise.all([
          shell('mkdir gone && cd gone && rmdir ../gone && exec "$@"'),
          shell('exec "$@" > /dev/full'),
          shell('"$@" | true'),
        ]);
        if (directory === "needed")
          assert.deepEqual([gone.code, /directory/.test(gone.stdout + gone.stderr)], [3, true]);
        else assert.equal(gone.code, 0, gone.stderr);
        assert.deepEqual([full.code, full.stderr.match(/^error: output: .*\(ENOSPC\)/m)?.length], [3, 1]);
        assert.deepEqual([reader.code, reader.stderr], [0, ""]);
      },
    );

    test("goes on with --every while config.toml is not valid, says so, and ends with 0 when it is told to", async () => {
      await Promise.all(
        (["SIGTERM", "SIGINT", "SIGHUP"] as const).map(async (signal) => {
          const home = homeDirectory();
          const dir = join(home, ".harn", "signals");
          mkdirSync(dir, { recursive: true, mode: 0o700 });
          writeFileSync(join(dir, "config.toml"), "lease = 3\n");
          const words = [bundle(name), "--every", "1h", ...args("bad", home)];
          const child = spawn(process.execPath, words, {
            cwd: home,
            env: { PATH, HOME: home, ...env("bad") },
            stdio: "pipe",
          });
          const said = { stdout: "", stderr: "" };
          for (const stream of ["stdout", "stderr"] as const)
            child[stream].setEncoding("utf8").on("data", (text: string) => {
              said[stream] += text;
            });
          const closed = once(child, "close");
          const end = Date.now() + PATIENCE_MS;
          while (!/goes on/.test(said.stderr) && child.exitCode === null && Date.now() < end) await sleep(20);
          child.kill(signal);
          const [code, by] = await closed;
          calm({ code, signal: by, ...said }, words, CODES);
          assert.deepEqual(
            [code, /^[\w-]+ (WARNING|CRITICAL) - /i.test(said.stdout)],
            [0, true],
            said.stdout,
          );
          assert.match(
            said.stderr,
            /config\.toml: goes on with the last valid settings: \/.*config\.toml:1: lease: /,
          );
        }),
      );
    });
  });
}
