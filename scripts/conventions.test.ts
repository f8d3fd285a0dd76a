import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { writeBundles } from "../lib/bundle.ts";
import { type FireFlags, fireReport } from "../lib/by-hand.ts";
import { pointsOf } from "../lib/client.ts";
import type { Document } from "../lib/document.ts";
import { entries } from "../lib/entries.ts";
import { transact } from "../lib/inbox.ts";
import { fire } from "../lib/lifecycle.ts";
import {
  calm,
  commentOf,
  HOSTILE,
  HOSTILE_NAME,
  isTrouble,
  LINUX,
  PATH,
  RAW,
  STACK,
  VERSION,
} from "../lib/testing/conventions.ts";
import { ROOT, type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";
import { shellWord } from "../lib/text.ts";

/** What holds for every entry file of the package, whoever wrote it: held against its bundle, as a process. */

/** Where one script runs: a home directory of its own. */
interface Place {
  home: string;
  /** The inbox, at the place where it is looked for when nothing names another. */
  dir: string;
}

/** What must be known of a script to hold it to the conventions. */
interface Row {
  /** Arguments with which it succeeds in the prepared inbox, and changes nothing outside its home directory. */
  args: readonly string[];
  /** Arguments that are right, and yet refused. */
  refused?: readonly string[];
  /** It uses the inbox, so it finds what is wrong there. */
  inbox?: true;
  /** It shows text that came from outside. */
  shows?: true;
  /** There is nothing to print as JSON. */
  forPeople?: true;
  /** Without it, it works in a directory that is gone as well; with it, it says so. */
  directory?: "needed";
  /** What it needs to have something to print. */
  arrange?(place: Place): void;
}

const TOKEN = "c0ffee00-0000-4000-8000-000000000001";

const ROWS: Record<string, Row> = {
  ack: { args: [TOKEN], refused: ["no-such-token"], inbox: true },
  config: { args: [], inbox: true },
  copy: {
    args: ["claude-code/stop", "."],
    refused: ["claude-code/stop", "no-such-folder"],
    directory: "needed",
  },
  demo: { args: ["ci-breaks-and-recovers"], refused: ["no-such"], forPeople: true },
  doctor: { args: [], inbox: true },
  fire: {
    args: ["--summary", "It is red"],
    refused: ["--event", "no-such"],
    inbox: true,
    directory: "needed",
  },
  install: { args: ["--dry-run"] },
  list: { args: [], inbox: true, shows: true },
  pending: { args: [], inbox: true, shows: true },
  poll: {
    args: ["--once"],
    inbox: true,
    arrange({ dir }) {
      writeFileSync(join(dir, "config.toml"), '[[monitor]]\nrun = "./plugin"\n');
      writeFileSync(join(dir, "plugin"), `#!/bin/sh\necho '${HOSTILE.replace(/\r\n.*/s, "")}'\n`, {
        mode: 0o755,
      });
    },
  },
  resolve: { args: ["ci:main"], inbox: true },
  sessions: { args: [], refused: ["--end", "no-such"], inbox: true, shows: true },
  show: { args: ["ci:main"], refused: ["no-such"], inbox: true, shows: true },
  signals: { args: [] },
  uninstall: { args: ["--dry-run"] },
};

const PARALLEL = { concurrency: 2 };

// What holds for monitors, whose exit status means something else, is told beside them.
const ALL = entries().filter(({ name }) => !name.startsWith("monitors/"));
const SCRIPTS = ALL.filter(({ name }) => name.startsWith("scripts/")).map(({ name }) =>
  name.slice("scripts/".length),
);
const HOOKS = ALL.filter(({ name }) => name.startsWith("hooks/")).map(({ name }) => name);

const root = tempDirectory("conventions");
const bundles = join(root, "bundles");
const bundle = (name: string) => join(bundles, `${name}.mjs`);

// ---------------------------------------------------------------- a home directory full of hostile text

const prepared = join(root, "prepared");

before(async () => {
  await writeBundles(bundles);
  await prepare();
});

async function prepare(): Promise<void> {
  const dir = join(prepared, ".harn", "signals");
  const fireIn = async (flags: FireFlags) => {
    const given = { summary: "red", "no-hint": true, ...flags };
    const change = (doc: Document, now: string) => fire(doc, fireReport(given, now), now);
    await transact(dir, { change }, { onConfigFault: "throw" });
  };
  await fireIn({ key: "ci:main", repo: "acme/api", severity: "urgent" });
  const ada = { id: "ada", harness: "claude-code", cwd: "/src/api", repository: "acme/api", role: "control" };
  const checkIn = { ...ada, state: "busy", registers: true, subagent: false } as const;
  await transact(dir, { checkIn, lease: "urgent" }, { onConfigFault: "throw" });
  await fireIn({ key: "prod:down", session: "ada", severity: "urgent" });
  await fireIn({ key: "evil", repo: "acme/web" });

  const file = join(dir, "inbox.json");
  const doc = JSON.parse(readFileSync(file, "utf8"));
  for (const { envelope } of doc.signals) {
    for (const field of ["provider", "source_url", "summary", "why_it_matters", "proposed_action"]) {
      envelope[field] += HOSTILE;
    }
  }
  const [ci, prod, evil] = doc.signals;
  ci.lease.token = TOKEN;
  prod.producer += HOSTILE;
  evil.key += HOSTILE;
  evil.hints.cwd = `/${HOSTILE}`;
  const [session] = doc.sessions;
  for (const field of ["harness", "cwd", "role", "repository"]) session[field] += HOSTILE;
  session.title = HOSTILE;
  writeFileSync(file, JSON.stringify(doc));

  const failure = { at: doc.stamped_at, hook: HOSTILE, message: HOSTILE };
  writeFileSync(join(dir, "failures.jsonl"), `${JSON.stringify(failure)}\n`);
  // In JSON, control characters are always escaped, and the others need not be.
  const hook = { type: "command", command: `echo ${HOSTILE}` };
  mkdirSync(join(prepared, ".claude"));
  writeFileSync(
    join(prepared, ".claude", "settings.json"),
    JSON.stringify({ hooks: { Stop: [{ hooks: [hook] }] } }, null, 2),
  );
}

/** A fresh copy of it. */
function place(): Place {
  const home = join(mkdtempSync(join(root, "home-")), HOSTILE_NAME);
  cpSync(prepared, home, { recursive: true });
  return { home, dir: join(home, ".harn", "signals") };
}

// ---------------------------------------------------------------- runs, and what holds for each of them

type Environment = Record<string, string>;

interface Options {
  env?: Environment | undefined;
  cwd?: string;
  stdin?: string;
  /** It is to show a stack. */
  stack?: boolean;
  /** A copy of the bundle. */
  file?: string;
}

async function runBundle(
  name: string,
  args: readonly string[],
  { home }: Pick<Place, "home"> = place(),
  { env = {}, cwd = home, stdin = "", stack = false, file = bundle(name) }: Options = {},
): Promise<Run> {
  const result = await run(process.execPath, [file, ...args], {
    cwd,
    stdin,
    env: { PATH, HOME: home, ...env },
  });
  return calm(result, [file, ...args], { stack });
}

const script = (name: string, args: readonly string[], at?: Pick<Place, "home">, options: Options = {}) =>
  runBundle(`scripts/${name}`, args, at, options);

// ---------------------------------------------------------------- every entry file

test("every script has a row in the table above, and every row a script", () => {
  const missing = SCRIPTS.filter((name) => !(name in ROWS));
  const help = "add to ROWS in scripts/conventions.test.ts the arguments with which it succeeds";
  assert.deepEqual(missing, [], `${missing}: ${help}`);
  const gone = Object.keys(ROWS).filter((name) => !SCRIPTS.includes(name));
  assert.deepEqual(gone, [], `${gone}: there is no such script; take its row out of ROWS`);
  const others = ALL.filter(({ name }) => !/^(hooks|scripts)\//.test(name)).map(({ name }) => name);
  assert.deepEqual(others, [], `${others}: say below what holds for the files of that folder`);
});

describe("every entry file", PARALLEL, () => {
  for (const { name } of ALL) {
    test(`${name} explains itself, also without a home and through a symbolic link`, async () => {
      const at = place();
      const link = join(at.home, "a link");
      symlinkSync(bundle(name), link);
      const [help, version] = await Promise.all([
        runBundle(name, ["--help"], at, { env: { HOME: "" } }),
        // By its own first line.
        run(link, ["--version"], { cwd: at.home, env: { PATH, HOME: at.home } }),
      ]);
      assert.deepEqual([help.code, help.stdout, help.stderr], [0, `${commentOf(bundle(name))}\n`, ""]);
      assert.deepEqual([version.code, version.stdout, version.stderr], [0, VERSION, ""]);
    });
  }

  for (const file of ["scripts/list.mts", "scripts/signals.mts", "hooks/claude-code/stop.mts"]) {
    test(`${file} does so as source too`, async () => {
      const [help, version] = await Promise.all(
        ["-h", "--version"].map((flag) => runFile(file, [flag], { env: { HOME: "" } })),
      );
      assert.deepEqual([help?.code, help?.stdout], [0, `${commentOf(join(ROOT, file))}\n`]);
      assert.deepEqual([version?.code, version?.stdout], [0, VERSION]);
    });
  }
});

// ---------------------------------------------------------------- scripts

for (const name of SCRIPTS) {
  // Without a row, it is the first test that says what to do.
  const { args, refused, inbox, shows, forPeople, directory, arrange }: Row = ROWS[name] ?? { args: [] };

  const ready = () => {
    const at = place();
    arrange?.(at);
    return at;
  };

  describe(`scripts/${name}`, PARALLEL, () => {
    test("names the flag that was meant, and takes no flags behind --", async () => {
      const [typo, ended] = await Promise.all([
        script(name, [...args, "--vrsion"], place(), { env: { DEBUG: "1" }, stack: true }),
        script(name, ["--", "--help"]),
      ]);
      const [first, ...stack] = typo.stderr.split("\n");
      assert.deepEqual([typo.code, typo.stdout], [2, ""]);
      assert.equal(first, "error: --vrsion: unknown flag; did you mean --version?");
      assert.match(stack.join("\n"), STACK, "DEBUG=1 shows where an error comes from");
      assert.doesNotMatch(ended.stderr, /unknown flag/);
      assert.ok(!ended.stdout.includes(commentOf(bundle(`scripts/${name}`))), "--help was no flag");
    });

    test("ends with 0 when it is done, wherever it is, with 1 when it is refused and 2 for wrong arguments", async () => {
      const at = place();
      const alone = join(at.home, "alone.mjs");
      copyFileSync(bundle(`scripts/${name}`), alone);
      const needsOthers = /^Needs .*other files/m.test(commentOf(alone));
      const file = needsOthers ? bundle(`scripts/${name}`) : alone;
      const [done, wrong, no] = await Promise.all([
        script(name, name === "copy" ? ["claude-code/stop", at.home] : args, at, { cwd: "/", file }),
        script(name, [...args, "one", `two ${HOSTILE}`, "too many"]),
        refused && script(name, refused),
      ]);
      assert.equal(done.code, 0, done.stderr || done.stdout);
      isTrouble(wrong, 2);
      if (no) isTrouble(no, 1);
    });

    test(`prints ${forPeople ? "no JSON" : "one JSON document with --json"}, and nothing else on stdout`, async () => {
      const result = await script(name, [...args, "--json"], ready());
      if (forPeople) return isTrouble(result, 2);
      assert.equal(result.code, 0, result.stderr);
      const printed = JSON.stringify(JSON.parse(result.stdout));
      assert.ok(result.stdout.endsWith("\n"));
      const whole = JSON.stringify(HOSTILE).slice(1, -1);
      if (shows) assert.ok(printed.includes(whole), "nothing of a text is lost in JSON");
    });

    if (inbox) {
      test("uses the inbox of --dir, else of the environment, else of the home directory", async () => {
        const { home, inboxes, cases } = directories("config.toml", "lease = 3\n");
        await Promise.all(
          cases.map(async ([flags, env, dir]) => {
            const { code, stdout, stderr } = await script(name, [...args, ...flags], { home }, { env });
            const found = inboxes.filter((one) => (stdout + stderr).includes(join(one, "config.toml")));
            assert.deepEqual([code, found], [1, [dir]], "by the fault that it finds there");
          }),
        );
      });
    }

    test("shows trouble as one line", async () => {
      // Of the store only those find out who use it.
      const breakages = BREAKAGES.filter(({ breaks }) => inbox || !breaks);
      await Promise.all(
        breakages.map(async ({ what, env, breaks }) => {
          const at = place();
          breaks?.(at);
          const result = await script(name, args, at, { env });
          if (name === "doctor" && result.stdout !== "") assert.equal(result.code, 1, what);
          else if (inbox || result.code !== 0) isTrouble(result, 1);
        }),
      );
    });

    test(
      "is not put off by a directory that is gone, a full disk, or a reader that has gone",
      LINUX,
      async () => {
        const words = [process.execPath, bundle(`scripts/${name}`), ...args];
        const [gone, full, reader] = await Promise.all([
          shell(IN_A_GONE_DIRECTORY, words),
          shell('exec "$@" > /dev/full', words, ready()),
          withoutReader(words),
        ]);
        calm(gone, words);
        if (directory === "needed") isTrouble(gone, 1);
        else assert.equal(gone.code, 0, gone.stderr);
        assert.equal(calm(full, words).code, 1);
        assert.match(full.stderr, /(^|\n)error: output: cannot be written \(ENOSPC\); [^\n]+\n$/);
        assert.equal(calm(reader, words).code, 0, reader.stderr);
        assert.doesNotMatch(reader.stderr, /^error/m);
      },
    );

    test("has colours on a terminal only, and none there with NO_COLOR", LINUX, async () => {
      const words = [process.execPath, bundle(`scripts/${name}`), ...args].map(shellWord).join(" ");
      const { home } = place();
      const env = { PATH, HOME: home, SHELL: "/bin/sh", TERM: "xterm-256color" };
      const twice = `set -e; ${words}; echo; echo without; NO_COLOR=1 ${words}`;
      const { code, stdout } = await run("script", ["-qec", twice, "/dev/null"], { cwd: home, env });
      assert.equal(code, 0, stdout);
      // What a terminal itself adds: it ends lines in two characters, and shows the end of its input.
      const [coloured = "", plain] = stdout
        .replaceAll("\r\n", "\n")
        .replaceAll("^D\b\b", "")
        .split("\nwithout\n");
      if (["list", "pending"].includes(name)) assert.match(coloured, OWN_COLOURS);
      assert.doesNotMatch(coloured.replace(OWN_COLOURS, ""), RAW);
      assert.ok(plain);
      assert.doesNotMatch(plain, RAW);
    });
  });
}

test(
  "a script that cannot say what is wrong ends as if it had, and a hostile flag does no harm",
  LINUX,
  async () => {
    const words = [process.execPath, bundle("scripts/list"), `--${HOSTILE}`];
    const [loud, deaf] = await Promise.all([
      shell('exec "$@"', words),
      shell('exec "$@" 2> /dev/full', words),
    ]);
    isTrouble(calm(loud, words), 2);
    assert.equal(deaf.code, 2);
  },
);

// ---------------------------------------------------------------- hooks

for (const name of HOOKS) {
  const [point] = pointsOf(name);
  const event = point?.event ?? "";
  const [, harness = ""] = name.split("/");
  /** Whether its client takes anything from it. */
  const isHeard = !["hooks/codex/stop", "hooks/codex/interrupt"].includes(name) && event !== "SessionEnd";

  const hook = (args: readonly string[], at: Pick<Place, "home">, options: Options = {}) =>
    runBundle(name, args, at, { stdin: payload(at), ...options });
  const payload = ({ home }: Pick<Place, "home">) => {
    const fixture = join(ROOT, "fixtures", harness, `${event}.json`);
    return JSON.stringify({ ...JSON.parse(readFileSync(fixture, "utf8")), session_id: "ada", cwd: home });
  };
  const inboxOf = ({ dir }: Place) => readFileSync(join(dir, "inbox.json"), "utf8");

  describe(name, PARALLEL, () => {
    test("is for an event that the client has", () => {
      assert.notEqual(event, "", "add it to the points of its client in lib");
    });

    test("prints one object or nothing, and what is due without harm", async () => {
      const at = place();
      const { code, stdout, stderr } = await hook([], at);
      assert.deepEqual([code, stderr], [0, ""]);
      if (!isHeard) return assert.equal(stdout, "");
      const { hookSpecificOutput } = JSON.parse(stdout);
      assert.equal(hookSpecificOutput.hookEventName, event);
      assert.match(hookSpecificOutput.additionalContext, /^signal: prod:down#1$/m);
    });

    test("does nothing and says nothing with HARN_EXT_SIGNALS_OFF=1", async () => {
      const at = place();
      const before = inboxOf(at);
      const { code, stdout, stderr } = await hook([], at, { env: { HARN_EXT_SIGNALS_OFF: "1" } });
      assert.deepEqual([code, stdout, stderr], [0, "", ""]);
      assert.equal(inboxOf(at), before);
    });

    test("tells the person of an unknown flag, and goes on to nothing", async () => {
      const at = place();
      const before = inboxOf(at);
      const debug = { env: { DEBUG: "1" }, stack: true };
      const { code, stdout, stderr } = await hook([`--dri${HOSTILE}`], at, debug);
      const [systemMessage = "", ...stack] = stderr.split("\n");
      assert.equal(code, 0);
      assert.match(systemMessage, /^ambient-signals: --dri .*--dir DIR/);
      assert.match(stack.join("\n"), STACK, "DEBUG=1 shows where an error comes from");
      assert.deepEqual(stdout && JSON.parse(stdout), isHeard ? { systemMessage } : "");
      assert.equal(inboxOf(at), before);
    });

    test("uses the inbox of --dir, else of the environment, else of the home directory", async () => {
      const { home, inboxes, cases } = directories("inbox.json", "no JSON");
      await Promise.all(
        cases.map(async ([flags, env, dir]) => {
          const { code, stderr } = await hook(flags, { home }, { env });
          const found = inboxes.filter((one) => stderr.includes(join(one, "inbox.json")));
          assert.deepEqual([code, found], [0, [dir]], "by the fault that it finds there");
        }),
      );
    });

    test("ends with 0 whatever is wrong, and says so in one line", async () => {
      await Promise.all(
        BREAKAGES.map(async ({ what, env, breaks, forgets }) => {
          const at = place();
          breaks?.(at);
          const { code, stdout, stderr } = await hook([], at, { env });
          assert.equal(code, 0, what);
          assert.match(stderr, /^ambient-signals: [^\n]+\n$/, what);
          // Where nothing can be remembered, only the moments that come once a turn are for the person.
          const isTold = forgets ? /^(SessionStart|UserPromptSubmit)$/.test(event) : isHeard;
          const systemMessage = stderr.trimEnd();
          assert.deepEqual(stdout && JSON.parse(stdout), isTold ? { systemMessage } : "", what);
        }),
      );
    });

    test("ends with 0 in a directory that is gone, on a full disk and when nobody reads", LINUX, async () => {
      const words = [process.execPath, bundle(name)];
      const [at, full] = [place(), place()];
      const results = await Promise.all([
        shell(IN_A_GONE_DIRECTORY, words, at, payload(at)),
        shell('exec "$@" > /dev/full 2> /dev/full', words, full, payload(full)),
        withoutReader(words, payload(at)),
      ]);
      for (const result of results) assert.equal(calm(result, words).code, 0);
      if (isHeard) assert.match(results[0]?.stdout ?? "", /prod:down/);
    });
  });
}

// ---------------------------------------------------------------- helpers of the tests above

/** Three inboxes with the same fault, and which of them is meant. */
function directories(file: string, text: string) {
  const home = mkdtempSync(join(root, "dirs-"));
  const [given, named, usual] = [join(home, "a"), join(home, "b"), join(home, ".harn", "signals")] as const;
  const inboxes = [given, named, usual];
  for (const dir of inboxes) {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, file), text);
  }
  const cases: [args: string[], env: Environment, dir: string][] = [
    [["--dir", given], { HARN_EXT_SIGNALS_DIR: named }, given],
    [[], { HARN_EXT_SIGNALS_DIR: named }, named],
    [[], { HARN_EXT_SIGNALS_DIR: "" }, usual],
  ];
  return { home, inboxes, cases };
}

/** Ways in which a store cannot be used, whoever is root. */
const BREAKAGES: { what: string; env?: Environment; breaks?(place: Place): void; forgets?: true }[] = [
  {
    what: "an inbox that is no JSON, beside settings that are none",
    breaks({ dir }) {
      writeFileSync(join(dir, "inbox.json"), `{ "${HOSTILE}`);
      writeFileSync(join(dir, "config.toml"), '"\\u001b[31m\u202e" = 1\n');
    },
  },
  {
    what: "a directory in the place of the inbox, and a link that leads nowhere in that of the settings",
    breaks({ dir }) {
      rmSync(join(dir, "inbox.json"));
      mkdirSync(join(dir, "inbox.json"));
      symlinkSync("nowhere", join(dir, "config.toml"));
    },
  },
  {
    what: "a file in the place of the directory",
    forgets: true,
    breaks({ dir }) {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, "");
    },
  },
  { what: "no home directory", forgets: true, env: { HOME: "" } },
];

const IN_A_GONE_DIRECTORY = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';

/** Runs words through a line of shell, as a person would redirect them. */
function shell(line: string, words: readonly string[], { home } = place(), stdin = ""): Promise<Run> {
  return run("sh", ["-c", line, "sh", ...words], { cwd: home, stdin, env: { PATH, HOME: home } });
}

/** Runs a program whose reader has gone before it writes. */
async function withoutReader([program = "", ...args]: readonly string[], stdin = ""): Promise<Run> {
  const { home } = place();
  const child = spawn(program, args, { cwd: home, env: { PATH, HOME: home } });
  child.stdout.destroy();
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout: "", stderr };
}

const OWN_COLOURS = new RegExp(`${"\x1b"}\\[(?:0|2|31|32|33)m`, "g");
