import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { writeBundles } from "../bundle.ts";
import { fireReport } from "../by-hand.ts";
import { CLIENTS, type Harness } from "../client.ts";
import type { Document } from "../document.ts";
import { recordFailure } from "../failure.ts";
import { moveAside, readDocument, transact } from "../inbox.ts";
import { versionOf } from "../install/client-version.ts";
import { fire } from "../lifecycle.ts";
import { lockHolder, withLock } from "../lock.ts";
import { registerByHand } from "../registry.ts";
import { ROOT, run, tempDirectory } from "../testing/process.ts";
import { plus, timeOf } from "../time.ts";
import type { Finding, Place } from "./check-finding.ts";
import { examine, verdict } from "./doctor.ts";

let bundles: string;
before(async () => {
  bundles = tempDirectory("bundles");
  await writeBundles(bundles);
});

/** A folder for PATH in which nothing but node is, whatever else the one has that runs this. */
function onlyNode(): string {
  const folder = tempDirectory("node");
  symlinkSync(process.execPath, join(folder, "node"));
  return folder;
}

/** A program that answers as Codex does: which version it is of and, as its app server, what stands in a file. */
function standInCodex(known: string): string {
  return `#!${process.execPath}
const { readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");
if (process.argv[2] === "--version") console.log("codex-cli 0.171.0");
else createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const listed = () => {
    const { hooks, ...said } = JSON.parse(readFileSync(${JSON.stringify(known)}, "utf8"));
    // Unless it is told to, it loads plugins.
    const isSeen = ({ pluginId }) => !pluginId || !process.argv.includes("features.plugins=false");
    return { data: [{ hooks: hooks.filter(isSeen), ...said }] };
  };
  const result = method === "hooks/list" ? listed() : { codexHome: "/home/ada/.codex" };
  if (id !== undefined) console.log(JSON.stringify({ id, result }));
});
`;
}

/** A home directory in which nothing is wrong yet: an inbox with one signal and one session. */
class Patient {
  readonly home = realpathSync(tempDirectory("doctor"));
  readonly dir: string;
  readonly project = join(this.home, "project");
  readonly bin = join(this.home, "bin");
  readonly env: Record<string, string> = {
    HOME: this.home,
    PATH: [this.bin, onlyNode(), "/usr/bin", "/bin"].join(":"),
  };
  versions: Record<Harness, string | undefined> = { "claude-code": undefined, codex: undefined };

  constructor(dir = "my signals") {
    this.dir = join(this.home, dir);
    for (const folder of [this.project, this.bin]) mkdirSync(folder);
    this.program("signals", `exec node ${bundles}/scripts/signals.mjs "$@"`);
    this.update("2.1.332");
  }

  /** Claude Code is of this version from now on. */
  update(version: string): void {
    this.versions["claude-code"] = version;
    this.program("claude", `echo '${version} (Claude Code)'`);
  }

  /** The client is not there any more. */
  remove(harness: Harness): void {
    this.versions[harness] = undefined;
    rmSync(join(this.bin, CLIENTS[harness].program));
  }

  /** Codex is there, and says of hooks what `knows` says. */
  addCodex(): void {
    this.versions.codex = "0.171.0";
    writeFileSync(join(this.bin, "codex"), standInCodex(join(this.home, "known.json")), { mode: 0o755 });
    this.knows([]);
  }

  /** What Codex knows of hooks, from now on. */
  knows(hooks: readonly object[], more: { warnings?: string[]; errors?: object[] } = {}): void {
    const { warnings = [], errors = [] } = more;
    writeFileSync(join(this.home, "known.json"), JSON.stringify({ hooks, warnings, errors }));
  }

  async sh(command: string): Promise<void> {
    const { code, stdout, stderr } = await run("sh", ["-c", command], { cwd: this.project, env: this.env });
    assert.equal(code, 0, `${command}\n${stdout}${stderr}`);
  }

  program(name: string, text: string): void {
    writeFileSync(join(this.bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  async fire(key = "ci:main"): Promise<void> {
    const change = (doc: Document, now: string) =>
      fire(doc, fireReport({ key, summary: `${key} is red`, "no-hint": true }, now), now);
    await transact(this.dir, { change }, { onConfigFault: "keep" });
  }

  /** A session that hears of what no other is near to. */
  async register(): Promise<void> {
    const who = { register: "ada", harness: "claude-code", cwd: this.project, role: "control" };
    const session = registerByHand(who);
    await transact(this.dir, { ...session }, { onConfigFault: "keep" });
  }

  edit(change: (doc: Document) => object): void {
    const doc = readDocument(this.dir, timeOf(Date.now()));
    writeFileSync(this.path("inbox.json"), JSON.stringify({ ...doc, ...change(doc) }));
  }

  async look(check: string, cwd = this.project): Promise<Finding[]> {
    const { dir, env, versions } = this;
    const place: Place = { dir, cwd, env, versions, now: timeOf(Date.now()) };
    const found = [];
    for await (const { check: name, ...finding } of examine(place)) if (name === check) found.push(finding);
    return found;
  }
}

/** One thing that is wrong, how it is told, and whether the mend is a command that makes it well. */
interface Case {
  check: string;
  when: string;
  arrange: (patient: Patient) => unknown;
  found: RegExp;
  status: "note" | "fault";
  mend: RegExp | undefined;
  /** The mend is no command, or one whose effect is not to be had here. */
  bySentence?: true;
}

const lockFor = (patient: Patient, pid: number | undefined, ageMs: number) => {
  writeFileSync(patient.path("inbox.lock"), "");
  const stage = `${pid}.${Date.now() - ageMs}.x`;
  if (pid !== undefined) mkdirSync(join(patient.dir, "staging", stage), { recursive: true });
};
const ended = () => spawnSync("true").pid;

const CASES: Case[] = [
  {
    check: "directory",
    when: "is a file",
    arrange: ({ dir }) => {
      rmSync(dir, { recursive: true });
      writeFileSync(dir, "");
    },
    status: "fault",
    found: /^\/.*\/my signals is no directory, so nothing can be stored$/,
    mend: /^mv '\/.*\/my signals' '\/.*\/my signals\.aside'$/,
  },
  {
    check: "directory",
    when: "is a link that leads nowhere",
    arrange: ({ dir }) => {
      rmSync(dir, { recursive: true });
      symlinkSync("nowhere", dir);
    },
    status: "fault",
    found: /is a link that leads nowhere/,
    mend: /^rm '/,
  },
  {
    check: "directory",
    when: "can be written by others",
    arrange: ({ dir }) => chmodSync(dir, 0o770),
    status: "fault",
    found: /^other users can write in \/.*, so nothing in it is believed$/,
    mend: /^chmod 700 '/,
  },
  {
    check: "directory",
    when: "can be read by others",
    arrange: ({ dir }) => chmodSync(dir, 0o755),
    status: "note",
    found: /^other users can look into \//,
    mend: /^chmod 700 '/,
  },
  {
    check: "files",
    when: "can be read by others",
    arrange: (patient) => {
      writeFileSync(patient.path("config.toml"), "");
      for (const name of ["config.toml", "inbox.json"]) chmodSync(patient.path(name), 0o644);
    },
    status: "note",
    found: /^nothing but the directory keeps other users from reading config\.toml and 1 more$/,
    mend: /^chmod go-rwx '\/.*config\.toml' '\/.*inbox\.json'$/,
  },
  {
    check: "lock",
    when: "was left by a process that has ended",
    arrange: (patient) => lockFor(patient, ended(), 60_000),
    status: "note",
    found:
      /^held by process \d+ since [\d-]+T[\d:.]+Z \(1m ago\), which has ended: the next change takes it over/,
    mend: undefined,
  },
  {
    check: "lock",
    when: "is held too long by a process that is there",
    arrange: (patient) => lockFor(patient, process.pid, 60_000),
    status: "fault",
    found: /^held by process \d+ since .*, which hangs or was suspended: the next change takes it over/,
    mend: /^look at it with: ps -p \d+; if it does not go on: kill \d+$/,
    bySentence: true,
  },
  {
    check: "inbox",
    when: "is not JSON",
    arrange: (patient) => writeFileSync(patient.path("inbox.json"), "{ it was left"),
    status: "fault",
    found: /^inbox\.json is not JSON \([^;]*\)$/,
    mend: /^signals doctor --repair --dir '\/.*\/my signals'$/,
  },
  {
    check: "inbox",
    when: "is not valid",
    arrange: (patient) => patient.edit(() => ({ signals: [{}] })),
    status: "fault",
    found: /^inbox\.json is not valid: signals\[0\]\.key$/,
    mend: /^signals doctor --repair --dir '/,
  },
  {
    check: "inbox",
    when: "is of a newer version",
    arrange: (patient) => patient.edit(({ version }) => ({ version: version + 1 })),
    status: "fault",
    found: /^inbox\.json is of version \d+ and this copy knows \d+$/,
    mend: /^update this copy of ambient-signals; to start afresh instead: signals doctor --repair --dir '/,
    bySentence: true,
  },
  {
    check: "inbox",
    when: "is a directory",
    arrange: (patient) => {
      rmSync(patient.path("inbox.json"));
      mkdirSync(patient.path("inbox.json"));
    },
    status: "fault",
    found: /^inbox\.json cannot be read \(EISDIR\)$/,
    mend: /^see what it is: ls -ld '/,
    bySentence: true,
  },
  {
    check: "inbox",
    when: "breaks a rule",
    arrange: (patient) =>
      patient.edit(({ signals }) => ({ signals: signals.map((signal) => ({ ...signal, generation: 0 })) })),
    status: "fault",
    found:
      /^signal ci:main breaks the rule "a generation is a whole number from 1 on": what depends on it may be told twice, or never$/,
    mend: /^mv '\/.*\/inbox\.json' '\/.*\/inbox\.broken\.[\dTZ.-]+\.json'$/,
  },
  {
    check: "inbox",
    when: "holds a text that would be refused",
    arrange: (patient) =>
      patient.edit(({ signals }) => ({
        signals: signals.map((signal) => ({ ...signal, envelope: { ...signal.envelope, urgency: "mild" } })),
      })),
    status: "fault",
    found:
      /^signal ci:main holds a text that is refused today: envelope: urgency is not one of critical, high, normal, low: "mild"$/,
    mend: /^signals resolve ci:main --dir '/,
  },
  {
    check: "config",
    when: "is not valid, and never was",
    arrange: (patient) => writeFileSync(patient.path("config.toml"), '\nmin_severty = "info"\n'),
    status: "fault",
    found:
      /config\.toml:2: min_severty: unknown key; did you mean min_severity\?; until it is mended, scripts refuse to work, and hooks go on with the last valid settings$/,
    mend: /^correct that line$/,
    bySentence: true,
  },
  {
    check: "config",
    when: "leads nowhere, and there was none before",
    arrange: (patient) => {
      rmSync(patient.path("inbox.json"));
      symlinkSync("nowhere", patient.path("config.toml"));
    },
    status: "fault",
    found:
      /config\.toml: cannot be read \(ENOENT\); until it is mended, scripts refuse to work, and hooks hold every signal$/,
    mend: /^make it a file that can be read, or remove it$/,
    bySentence: true,
  },
  {
    check: "signals",
    when: "are more than the cap allows",
    arrange: async (patient) => {
      await patient.fire("second");
      writeFileSync(patient.path("config.toml"), "max_signals = 1\n");
    },
    status: "note",
    found: /^there are as many as config\.toml allows, so new ones may be refused$/,
    mend: /^resolve some that no longer hold/,
    bySentence: true,
  },
  {
    check: "signals",
    when: "are at home where no session works",
    arrange: (patient) =>
      patient.edit(({ sessions, signals }) => ({
        sessions: sessions.map(({ role: _, ...session }) => session),
        signals: signals.map(({ assigned: _, ...signal }) => signal),
      })),
    status: "note",
    found: /^no session that is there works where 1 signal may go, so nobody is told$/,
    mend: /^say who should hear of such: repository = "OWNER\/NAME" in a \[\[monitor\]\], or --repo; or start a session/,
    bySentence: true,
  },
  {
    check: "signals",
    when: "made room for stronger ones",
    arrange: (patient) => patient.edit(() => ({ evicted: 2 })),
    status: "note",
    found: /^2 unverified signals made room for stronger ones$/,
    mend: /^resolve some that no longer hold/,
    bySentence: true,
  },
  {
    check: "sessions",
    when: "are not heard from",
    arrange: (patient) => patient.edit(() => ({ sessions: [] })),
    status: "note",
    found: /^no session is heard from, so what is fired waits$/,
    mend: /^start one in your project, with the hooks installed: claude$/,
    bySentence: true,
  },
  {
    check: "sessions",
    when: "are not known",
    arrange: (patient) => writeFileSync(patient.path("inbox.json"), ""),
    status: "note",
    found: /^which sessions there are is not known while inbox\.json cannot be read$/,
    mend: undefined,
  },
  {
    check: "failures",
    when: "were recorded",
    arrange: ({ dir }) => {
      const now = timeOf(Date.now());
      const hook = "claude-code stop";
      recordFailure(dir, { at: plus(now, -25 * 3_600_000), hook, message: "long ago" });
      recordFailure(dir, { at: plus(now, -3 * 3_600_000), hook, message: "earlier" });
      recordFailure(dir, {
        at: plus(now, -2 * 3_600_000 - 1),
        hook,
        session: "ada",
        message: "ambient-signals: inbox: busy; chmod 700 /what/was/done/by/now; then again",
      });
    },
    status: "note",
    found:
      /^hooks failed 2 times within a day, so what was due came later; 2h ago, claude-code stop: inbox: busy$/,
    mend: undefined,
  },
  {
    check: "environment",
    when: "switches hooks off",
    arrange: ({ env }) => Object.assign(env, { HARN_EXT_SIGNALS_OFF: "1" }),
    status: "note",
    found: /^HARN_EXT_SIGNALS_OFF=1 is set: hooks of sessions that are started here do nothing$/,
    mend: /^unset HARN_EXT_SIGNALS_OFF$/,
    bySentence: true,
  },
];

/** One of ours in the settings: what a hook runs, which settings file that is. */
const settingsOf = ({ home, project }: Patient, scope = "user") =>
  join(scope === "user" ? home : project, ".claude", "settings.json");

function editJson(file: string, change: (json: Record<string, unknown>) => object): void {
  const json = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...json, ...change(json) }, undefined, 2));
}

const entry = (event: string, command: string) => ({
  hooks: { [event]: [{ hooks: [{ type: "command", command, timeout: 10 }] }] },
});

/** An entry more at an event, behind those that are there. */
function addEntry(file: string, event: string, command: string): void {
  editJson(file, (json) => {
    const hooks = json["hooks"] as Record<string, object[]>;
    return {
      hooks: { ...hooks, [event]: [...(hooks[event] ?? []), ...(entry(event, command).hooks[event] ?? [])] },
    };
  });
}

const installed = (patient: Patient, file: string) =>
  join(patient.home, ".local/share/ambient-signals", file);

/** The package as a plugin that the client has installed, with bundles or without. */
function enablePlugin(patient: Patient, { built }: { built: boolean }): void {
  const path = join(patient.home, ".claude/plugins/cache/ambient-signals");
  cpSync(join(ROOT, "hooks/hooks.json"), join(path, "hooks/hooks.json"), { recursive: true });
  if (built) cpSync(join(bundles, "hooks"), join(path, "dist/hooks"), { recursive: true });
  const plugins = { "ambient-signals@acme": [{ scope: "user", installPath: path, version: "0.1.0" }] };
  editJson(join(patient.home, ".claude/plugins/installed_plugins.json"), () => ({ version: 2, plugins }));
  editJson(settingsOf(patient), () => ({ enabledPlugins: { "ambient-signals@acme": true } }));
}

/** The same of Codex. */
function enableCodexPlugin({ home }: Patient): string {
  const path = join(home, ".codex/plugins/cache/acme/ambient-signals/0.1.0");
  for (const file of [".codex-plugin/plugin.json", "hooks/codex/hooks.json"])
    cpSync(join(ROOT, file), join(path, file), { recursive: true });
  cpSync(join(bundles, "hooks"), join(path, "dist/hooks"), { recursive: true });
  writeFileSync(join(home, ".codex/config.toml"), '[plugins."ambient-signals@acme"]\nenabled = true\n');
  return path;
}

function reversion(patient: Patient, version: string): void {
  const file = installed(patient, "hooks/claude-code/stop.mjs");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/(of ambient-signals )\S+( as one file)/, `$1${version}$2`));
}

/** With the hooks installed and nothing wrong, until something is. */
const HOOK_CASES: Case[] = [
  {
    check: "hooks",
    when: "are none",
    arrange: (patient) => patient.sh("signals uninstall --yes"),
    status: "note",
    found: /^none is registered here, so no session hears of anything$/,
    mend: /^signals install$/,
  },
  {
    check: "hooks",
    when: "are some",
    arrange: (patient) =>
      editJson(settingsOf(patient), ({ hooks }) => {
        const { Stop: _, SessionEnd: __, PostToolBatch: ___, ...rest } = hooks as Record<string, unknown>;
        return { hooks: rest };
      }),
    status: "note",
    found:
      /^not registered, and so missing: news after tool calls \(PostToolBatch\), urgent news before the agent stops \(Stop\), the end of a session \(SessionEnd\)$/,
    mend: /^signals install$/,
  },
  {
    check: "hooks",
    when: "are for an event that this client does not know",
    arrange: (patient) => patient.update("2.1.100"),
    status: "fault",
    found:
      /^Claude Code 2\.1\.100 does not know PostToolBatch, in \/.*settings\.json: it warns at every start$/,
    mend: /^signals install --yes$/,
  },
  {
    check: "hooks",
    when: "are for each call where the client knows of batches",
    arrange: async (patient) => {
      patient.update("2.1.100");
      await patient.sh("signals install --yes");
      patient.update("2.1.332");
    },
    status: "note",
    found:
      /^PostToolUse and PostToolUseFailure in \/.*settings\.json run at each tool call; PostToolBatch would run once for several$/,
    mend: /^signals install --yes$/,
  },
  {
    check: "hooks",
    when: "stand in two settings files",
    arrange: async (patient) => {
      await patient.sh("signals copy claude-code/stop .");
      editJson(settingsOf(patient, "project"), () => entry("Stop", `node '${patient.project}/stop.mjs'`));
    },
    status: "note",
    found:
      /^the hooks of \/.*\/project\/\.claude\/settings\.json for Stop run beside those of \/.*: all is done twice$/,
    mend: /^take these entries out of \/.*\/project\/\.claude\/settings\.json: line 6$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "stand in one settings file twice",
    arrange: async (patient) => {
      await patient.sh("signals copy claude-code/stop .");
      addEntry(settingsOf(patient), "Stop", `node '${patient.project}/stop.mjs'`);
      // Which is the same command as one that is there, and runs once.
      addEntry(settingsOf(patient), "Stop", `node '${patient.project}/stop.mjs'`);
    },
    status: "note",
    found:
      /^\/.*\/\.claude\/settings\.json runs stop at Stop by lines \d+ and \d+ and \d+: all is done twice$/,
    mend: /^take these entries out of \/.*\/\.claude\/settings\.json: line \d+$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are those of a plugin too",
    arrange: (patient) => enablePlugin(patient, { built: true }),
    status: "note",
    found:
      /^the hooks of \/.*\/hooks\.json for SessionStart, UserPromptSubmit, Stop, SessionEnd run beside those of \/.*: all is done twice$/,
    mend: /^claude plugin uninstall ambient-signals@acme$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are those of a plugin that was not built",
    arrange: async (patient) => {
      await patient.sh("signals uninstall --yes");
      enablePlugin(patient, { built: false });
    },
    status: "fault",
    found: /^plugin ambient-signals@acme, in \/.*, has no hook that could run$/,
    mend: /^build it there: npm ci && npm run build$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are those of a plugin that the client does not keep",
    arrange: async (patient) => {
      await patient.sh("signals uninstall --yes");
      editJson(settingsOf(patient), () => ({ enabledPlugins: { "ambient-signals@acme": true } }));
    },
    status: "note",
    found: /^plugin ambient-signals@acme is enabled, and is not where the client keeps plugins$/,
    mend: /^claude plugin list$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "have no launcher",
    arrange: (patient) => rmSync(installed(patient, "launch")),
    status: "fault",
    found: /^\/.*\/launch, which is to run the hooks, is not there or no program$/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "hooks",
    when: "have a launcher that may not be run",
    arrange: (patient) => chmodSync(installed(patient, "launch"), 0o644),
    status: "fault",
    found: /^\/.*\/launch, which is to run the hooks, is not there or no program$/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "hooks",
    when: "lack a file",
    arrange: (patient) => {
      for (const name of ["stop", "session-end"]) rmSync(installed(patient, `hooks/claude-code/${name}.mjs`));
    },
    status: "fault",
    found: /^\/.*settings\.json runs stop, session-end, of which there is no file$/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "hooks",
    when: "name a copy that is not there",
    arrange: (patient) =>
      editJson(settingsOf(patient, "project"), () => entry("Stop", "node ~/dotfiles/stop.mjs")),
    status: "fault",
    found: /^\/.*\/settings\.json:6 runs \/.*\/dotfiles\/stop\.mjs, which is not there$/,
    mend: /^copy it there again: signals copy claude-code\/stop \/.*\/dotfiles; or remove the entry$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are of an older version",
    arrange: (patient) => reversion(patient, "0.0.9"),
    status: "note",
    found: /^the hooks of \/.*settings\.json are of 0\.0\.9, older than this, \d/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "hooks",
    when: "are of a newer version",
    arrange: (patient) => reversion(patient, "99.0.0"),
    status: "note",
    found: /^the hooks of \/.*settings\.json are of 99\.0\.0, newer than this, \d/,
    mend: /^update this copy of ambient-signals$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "work on another inbox",
    arrange: (patient) => patient.sh("signals install --yes --dir '/tmp/an other'"),
    status: "note",
    found:
      /^the hooks of \/.*settings\.json work on the inbox in \/tmp\/an other, and this one is in \/.*\/signals$/,
    mend: /^signals doctor --dir '\/tmp\/an other'$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are a copy for each call beside one for batches",
    arrange: async (patient) => {
      await patient.sh("signals copy claude-code/post-tool-use .");
      const command = `node '${patient.project}/post-tool-use.mjs'`;
      editJson(settingsOf(patient, "project"), () => entry("PostToolUse", command));
    },
    status: "note",
    found:
      /^PostToolUse in \/.*\/project\/\.claude\/settings\.json run at each tool call; PostToolBatch would run once/,
    mend: /^take these entries out of \/.*\/project\/\.claude\/settings\.json: line 6$/,
    bySentence: true,
  },
  {
    check: "installation",
    when: "lost files",
    arrange: (patient) => {
      for (const name of ["list", "show", "ack"]) rmSync(installed(patient, `scripts/${name}.mjs`));
    },
    status: "fault",
    found: /^in \/.*\/ambient-signals, scripts\/ack\.mjs and 2 more are gone, or not as they were written$/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "installation",
    when: "has a changed file",
    arrange: (patient) => writeFileSync(installed(patient, "hooks/claude-code/stop.mjs"), "// changed\n"),
    status: "fault",
    found: /^in \/.*\/ambient-signals, hooks\/claude-code\/stop\.mjs is gone, or not as it was written$/,
    mend: /^\/.*\/\.bin\/tsx \/.*\/scripts\/install\.mts --yes$/,
  },
  {
    check: "installation",
    when: "have a command where PATH does not lead",
    arrange: ({ bin }) => rmSync(join(bin, "signals")),
    status: "note",
    found: /^signals is in \/.*\/\.local\/bin, which is not on PATH of this shell$/,
    mend: /^export PATH=\/.*\/\.local\/bin:"\$PATH"$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "are not JSON",
    arrange: (patient) => writeFileSync(settingsOf(patient), '{\n  "hooks": {},\n}\n'),
    status: "fault",
    found: /^\/.*settings\.json: line 3: is not JSON: .*: the client passes it over$/,
    mend: /^correct that line$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "switch hooks off",
    arrange: (patient) => editJson(settingsOf(patient), () => ({ disableAllHooks: true })),
    status: "fault",
    found: /^\/.*settings\.json says disableAllHooks: no hook runs until that line is taken out$/,
    mend: /^take that line out of it$/,
    bySentence: true,
  },
  {
    check: "node",
    when: "is not the one that hooks were installed with",
    arrange: (patient) =>
      editJson(installed(patient, "installed.json"), (manifest) => ({ ...manifest, node: "/gone/node" })),
    status: "note",
    found:
      /^\/gone\/node, which hooks were installed with, is gone; they run with \/.*\/node, the one on PATH$/,
    mend: /^signals install --yes$/,
  },
  {
    check: "node",
    when: "is gone, and that on PATH is too old",
    arrange: (patient) => {
      editJson(installed(patient, "installed.json"), (manifest) => ({ ...manifest, node: "/gone/node" }));
      writeFileSync(join(patient.bin, "node"), "#!/bin/sh\necho v18.20.0\n", { mode: 0o755 });
      patient.env["PATH"] = `${patient.bin}:${patient.env["PATH"]}`;
    },
    status: "fault",
    found: /^\/gone\/node, .* is gone, and \/.*\/node, the one on PATH, is not 20 or newer$/,
    mend: /^put one that is first on PATH, then: signals install --yes$/,
    bySentence: true,
  },
  {
    check: "node",
    when: "is not to be found",
    arrange: (patient) => {
      editJson(installed(patient, "installed.json"), (manifest) => ({ ...manifest, node: "/gone/node" }));
      patient.env["PATH"] = patient.bin;
    },
    status: "fault",
    found: /^\/gone\/node, which hooks were installed with, is gone, and no node is on PATH: no hook runs$/,
    mend: /^install node, then: signals install --yes$/,
    bySentence: true,
  },
  {
    check: "client",
    when: "is not there",
    arrange: (patient) => {
      patient.remove("claude-code");
    },
    status: "note",
    found: /^claude is not on PATH, so it is not known which hook events it knows$/,
    mend: /^try it in this shell: claude --version$/,
    bySentence: true,
  },
];

/** As a person does who says so when Codex asks. */
function trustProject({ home, project }: Patient): void {
  const text = `[projects.${JSON.stringify(project)}]\ntrust_level = "trusted"\n`;
  appendFileSync(join(home, ".codex/config.toml"), text);
}

/** A hooks file of Codex: the person's own, or that of the project. */
const codexHooksOf = ({ home, project }: Patient, scope: "user" | "project" = "user") =>
  join(scope === "user" ? home : project, ".codex", "hooks.json");

/** Codex knows all hooks in its files, and trusts them, but for what `more` says of each. */
function know(patient: Patient, more: object = {}, said?: Parameters<Patient["knows"]>[1]): void {
  const files = [codexHooksOf(patient), codexHooksOf(patient, "project")].filter((file) => existsSync(file));
  const known = files.flatMap((file) => knownIn(file, more));
  patient.knows(known, said);
}

/** The same, but for what `more` says of the one at a stop. */
function knowBut(patient: Patient, more: object): void {
  const known = knownIn(codexHooksOf(patient), {});
  patient.knows(
    known.map((hook) => ("eventName" in hook && hook.eventName === "stop" ? { ...hook, ...more } : hook)),
  );
}

/** The hooks of one file as Codex lists them, which has resolved links on the way to its folder. */
function knownIn(file: string, more: object): object[] {
  const { hooks } = JSON.parse(readFileSync(file, "utf8"));
  const sourcePath = join(realpathSync(dirname(file)), basename(file));
  return Object.entries<{ hooks: { command: string; timeout: number }[] }[]>(hooks).flatMap(
    ([event, groups]) =>
      groups.flatMap((group, i) =>
        group.hooks.map(({ command, timeout: timeoutSec }) => ({
          key: `${sourcePath}:${event}:${i}:0`,
          eventName: event.replace(/^./, (first) => first.toLowerCase()),
          command,
          timeoutSec,
          sourcePath,
          source: "user",
          pluginId: null,
          enabled: true,
          currentHash: "sha256:0",
          trustStatus: "trusted",
          ...more,
        })),
      ),
  );
}

/** With the hooks installed for both clients, all of Codex's trusted, and nothing wrong, until something is. */
const CODEX_CASES: Case[] = [
  {
    check: "client",
    when: "is gone",
    arrange: (patient) => patient.remove("codex"),
    status: "note",
    found: /^codex is not on PATH$/,
    mend: /^try it in this shell: codex --version$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "have a key that Codex does not know",
    arrange: (patient) => editJson(codexHooksOf(patient), () => ({ version: 1 })),
    status: "fault",
    found: /^\/.*\/\.codex\/hooks\.json: line \d+: has the key "version", .*: the client passes it over$/,
    mend: /^take that key out$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "are those of a project, with a hook of a kind that Codex does not know",
    arrange: (patient) => {
      trustProject(patient);
      editJson(codexHooksOf(patient, "project"), () => ({
        hooks: { Stop: [{ hooks: [{ type: "http", url: "http://127.0.0.1" }] }] },
      }));
    },
    status: "fault",
    found:
      /\/project\/\.codex\/hooks\.json: line \d+: has a hook of the type "http", .*: the client passes it over$/,
    mend: /^correct that line$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "are a config.toml that is none",
    arrange: ({ home }) => writeFileSync(join(home, ".codex/config.toml"), 'model = "x"\nfeatures = [\n'),
    status: "fault",
    found: /^\/.*\/\.codex\/config\.toml: line \d+: is not TOML: .*: Codex does not start$/,
    mend: /^correct that line$/,
    bySentence: true,
  },
  {
    check: "settings",
    when: "switch the hooks of Codex off",
    arrange: ({ home }) => writeFileSync(join(home, ".codex/config.toml"), "[features]\nhooks = false\n"),
    status: "fault",
    found:
      /^\/.*\/config\.toml says hooks = false under \[features\]: Codex runs no hook until that line is taken out$/,
    mend: /^take that line out of it$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are none with Codex",
    arrange: (patient) => patient.sh("signals uninstall --yes --harness codex"),
    status: "note",
    found: /^none is registered with Codex, so no session of it hears of anything$/,
    mend: /^signals install --harness codex$/,
  },
  {
    check: "hooks",
    when: "are none with Claude Code",
    arrange: (patient) => patient.sh("signals uninstall --yes --harness claude-code"),
    status: "note",
    found: /^none is registered with Claude Code, so no session of it hears of anything$/,
    mend: /^signals install --harness claude-code$/,
  },
  {
    check: "hooks",
    when: "are some with Codex",
    arrange: (patient) =>
      editJson(codexHooksOf(patient), ({ hooks }) => {
        const { Stop: _, PostToolUse: __, ...rest } = hooks as Record<string, unknown>;
        return { hooks: rest };
      }),
    status: "note",
    found:
      /^not registered with Codex, and so missing: news after a tool call \(PostToolUse\), that a session is idle \(Stop\)$/,
    mend: /^signals install --harness codex$/,
  },
  {
    check: "hooks",
    when: "name a copy that is not there, with Codex",
    arrange: (patient) =>
      editJson(codexHooksOf(patient, "project"), () => entry("Stop", "node ~/dotfiles/stop.mjs")),
    status: "fault",
    found: /\/\.codex\/hooks\.json:6 runs \/.*\/dotfiles\/stop\.mjs, which is not there$/,
    mend: /^copy it there again: signals copy codex\/stop \/.*\/dotfiles; or remove the entry$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are a copy of Claude Code's, with Codex",
    arrange: async (patient) => {
      await patient.sh("signals copy claude-code/stop .");
      editJson(codexHooksOf(patient, "project"), () => entry("Stop", `node '${patient.project}/stop.mjs'`));
    },
    status: "fault",
    found: /\/project\/\.codex\/hooks\.json runs hooks\/claude-code\/stop, which is not for Codex$/,
    mend: /^take these entries out of \/.*: line 6; Codex has its own: signals copy codex\/stop FOLDER$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are those of Codex, with Claude Code",
    arrange: (patient) =>
      editJson(settingsOf(patient), ({ hooks }) => ({
        hooks: JSON.parse(JSON.stringify(hooks).replaceAll("hooks/claude-code/stop", "hooks/codex/stop")),
      })),
    status: "fault",
    found: /\/\.claude\/settings\.json runs hooks\/codex\/stop, which is not for Claude Code$/,
    mend: /^signals install --yes --harness claude-code$/,
  },
  {
    check: "hooks",
    when: "stand in two files of Codex, be it as the same command",
    arrange: (patient) =>
      cpSync(codexHooksOf(patient), codexHooksOf(patient, "project"), { recursive: true }),
    status: "note",
    found:
      /^the hooks of \/.*\/project\/\.codex\/hooks\.json for SessionStart, .*, SessionEnd run beside those of \/.*: all is done twice$/,
    mend: /^take these entries out of \/.*\/project\/\.codex\/hooks\.json: line \d+(, \d+){5}$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "stand in one file of Codex twice, be it as the same commands",
    arrange: (patient) =>
      editJson(codexHooksOf(patient), ({ hooks }) => ({
        hooks: Object.fromEntries(
          Object.entries(hooks as Record<string, object[]>).map(([event, groups]) => [
            event,
            /^(Stop|PostToolUse)$/.test(event) ? [...groups, ...groups] : groups,
          ]),
        ),
      })),
    status: "note",
    found:
      /^\/.*\/hooks\.json runs post-tool-use at PostToolUse by lines \d+ and \d+, stop at Stop by lines \d+ and \d+: all is done twice$/,
    mend: /^take these entries out of \/.*\/\.codex\/hooks\.json: line \d+, \d+$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are one copy, with Codex",
    arrange: async (patient) => {
      await patient.sh("signals uninstall --yes --harness codex && signals copy codex/stop .");
      editJson(codexHooksOf(patient), () => entry("Stop", `node '${patient.project}/stop.mjs'`));
    },
    status: "note",
    found: /^not registered with Codex, and so missing: news at a session's start \(SessionStart\), /,
    mend: /^copy more of them, such as: signals copy codex\/session-start FOLDER; or take the copies out of the settings, then: signals install --harness codex$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are copies of all but one, with Codex",
    arrange: async (patient) => {
      await patient.sh("signals uninstall --yes --harness codex");
      editJson(codexHooksOf(patient), () => ({ hooks: {} }));
      for (const { event, hook } of CLIENTS.codex.points.filter(({ event }) => event !== "Stop")) {
        await patient.sh(`signals copy codex/${hook} .`);
        addEntry(codexHooksOf(patient), event, `node '${patient.project}/${hook}.mjs'`);
      }
    },
    status: "note",
    found: /^not registered with Codex, and so missing: that a session is idle \(Stop\)$/,
    mend: /^copy it too: signals copy codex\/stop FOLDER; or take the copies out of the settings, then: signals install --harness codex$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are those of a plugin of Codex too",
    arrange: (patient) => enableCodexPlugin(patient),
    status: "note",
    found:
      /^the hooks of \/.*\/hooks\/codex\/hooks\.json for SessionStart, UserPromptSubmit, PostToolUse, Stop, Interrupt, SessionEnd run beside those of \/.*: all is done twice$/,
    mend: /^codex plugin remove ambient-signals@acme$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "are an older copy, with Codex",
    arrange: async (patient) => {
      await patient.sh("signals uninstall --yes --harness codex && signals copy codex/stop .");
      const file = join(patient.project, "stop.mjs");
      const text = readFileSync(file, "utf8");
      writeFileSync(file, text.replace(/(of ambient-signals )\S+( as one file)/, "$10.0.9$2"));
      editJson(codexHooksOf(patient), () => entry("Stop", `node '${file}'`));
    },
    status: "note",
    found: /^the hooks of \/.*\/\.codex\/hooks\.json are of 0\.0\.9, older than this, \d/,
    mend: /^copy again: signals copy codex\/stop FOLDER$/,
    bySentence: true,
  },
  {
    check: "hooks",
    when: "leave it to the environment of Codex which inbox they work on",
    arrange: ({ env }) => Object.assign(env, { HARN_EXT_SIGNALS_DIR: "/tmp/an other" }),
    status: "note",
    found:
      /^the hooks of \/.*\/\.codex\/hooks\.json name no inbox, and Codex may run them where HARN_EXT_SIGNALS_DIR is not set$/,
    mend: /^signals install --yes --harness codex --dir '\/tmp\/an other'$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is missing",
    arrange: (patient) => know(patient, { trustStatus: "untrusted" }),
    status: "fault",
    found:
      /^Codex does not run 6 hooks of \/.*\/hooks\.json: not trusted, and codex exec says nothing of that$/,
    mend: /^start codex and choose Review hooks, or type \/hooks in a session; or: signals install --harness codex --trust-codex-hooks$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "was for something else",
    arrange: (patient) => know(patient, { trustStatus: "modified" }),
    status: "fault",
    found: /^Codex does not run 6 hooks of \/.*\/hooks\.json: not trusted, /,
    mend: /^start codex and choose Review hooks/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is missing for a command that a person has changed",
    arrange: (patient) => {
      const file = codexHooksOf(patient);
      writeFileSync(file, readFileSync(file, "utf8").replace('/stop"', '/stop 2>/dev/null"'));
      knowBut(patient, { trustStatus: "modified" });
    },
    status: "fault",
    found: /^Codex does not run 1 hook of \/.*\/hooks\.json: not trusted, /,
    mend: /^start codex and choose Review hooks, or type \/hooks in a session$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is only that of another hook at the same event",
    arrange: (patient) => knowBut(patient, { command: "true" }),
    status: "fault",
    found: /^Codex does not run 1 hook of \/.*\/hooks\.json: it does not find that there$/,
    mend: /^see what it says of itself: codex doctor$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is only that of the same hook in another file",
    arrange: (patient) => knowBut(patient, { sourcePath: "/other/hooks.json" }),
    status: "fault",
    found: /^Codex does not run 1 hook of \/.*\/hooks\.json: it does not find that there$/,
    mend: /^see what it says of itself: codex doctor$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is for hooks that a person has switched off",
    arrange: (patient) => know(patient, { enabled: false }),
    status: "fault",
    found: /^Codex does not run 6 hooks of \/.*\/hooks\.json: switched off by hand$/,
    mend: /^start codex, type \/hooks, and switch it on$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is not asked for in a project that Codex does not trust",
    arrange: async (patient) => {
      await patient.sh("signals copy codex/stop .");
      editJson(codexHooksOf(patient, "project"), () => entry("Stop", `node '${patient.project}/stop.mjs'`));
    },
    status: "fault",
    found: /^Codex does not run 1 hook of \/.*\/project\/\.codex\/hooks\.json: it does not find that there$/,
    mend: /^start codex in \/.*\/project, and say that you trust that directory$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "does not matter, since Codex refuses the file",
    arrange: (patient) => {
      const refusal = `failed to parse hooks config ${codexHooksOf(patient)}: duplicate field \`hooks\``;
      patient.knows([], { warnings: [refusal] });
    },
    status: "fault",
    found: /^Codex says: failed to parse hooks config \/.*: duplicate field `hooks`: it runs nothing of it$/,
    mend: /^correct that line$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "is there, and Codex has something to say of the file",
    arrange: (patient) =>
      know(
        patient,
        {},
        { warnings: [`loading hooks from both ${codexHooksOf(patient)} and more`, "of others"] },
      ),
    status: "note",
    found: /^Codex warns at every start: loading hooks from both \/.*\/hooks\.json and more$/,
    mend: undefined,
  },
  {
    check: "trust",
    when: "is there, and Codex fails",
    arrange: (patient) => know(patient, {}, { errors: [{ path: "/", message: "it is too late" }] }),
    status: "fault",
    found: /^Codex says: it is too late$/,
    mend: /^mend that$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "cannot be asked for, since Codex is gone",
    arrange: (patient) => patient.remove("codex"),
    status: "note",
    found: /^whether Codex trusts our hooks cannot be read: codex: is not on PATH$/,
    mend: /^put it there, and run this again$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "cannot be asked for, since Codex does not answer in a form that is known",
    arrange: (patient) => patient.knows([{ key: 1 }]),
    status: "note",
    found: /^whether Codex trusts our hooks cannot be read: codex app-server: answers hooks\/list in a form /,
    mend: /^update ambient-signals$/,
    bySentence: true,
  },
  {
    check: "trust",
    when: "cannot be asked for, since Codex is too old for that",
    arrange: (patient) => patient.program("codex", "echo 'no such command' >&2; exit 2"),
    status: "note",
    found:
      /^whether Codex trusts our hooks cannot be read: codex app-server: ended early \(2\): no such command$/,
    mend: /^try it: codex doctor$/,
    bySentence: true,
  },
];

async function prove(
  patient: Patient,
  { check, arrange, status, found, mend, bySentence }: Case,
): Promise<void> {
  const well = await patient.look(check);
  assert.ok(well.length > 0 && well.every(({ status }) => status === "ok"), JSON.stringify(well));

  await arrange(patient);
  const findings = await patient.look(check);
  const ill = findings.find((finding) => found.test(finding.found));
  assert.ok(ill, JSON.stringify(findings));
  assert.equal(ill.status, status);
  if (mend === undefined) assert.equal(ill.mend, undefined);
  else assert.match(ill.mend ?? "", mend);
  if (mend === undefined || bySentence) return;

  // A person says yes to what is shown.
  await patient.sh(`${ill.mend}${/^signals install(?! --yes)/.test(ill.mend ?? "") ? " --yes" : ""}`);
  const again = await patient.look(check);
  const isFine = ({ status, found }: Finding) => status === "ok" || /is not there yet/.test(found);
  assert.ok(again.every(isFine), JSON.stringify(again));
}

describe("what is wrong is said in a sentence, and the mend makes it well:", () => {
  for (const one of CASES) {
    test(`${one.check}, when it ${one.when}`, async () => {
      const patient = new Patient();
      await patient.fire();
      await patient.register();
      await prove(patient, one);
    });
  }
  for (const one of HOOK_CASES) {
    test(`${one.check}, when they ${one.when}`, async () => {
      const patient = new Patient(".harn/signals");
      await patient.sh("signals install --yes");
      await prove(patient, one);
    });
  }
});

describe("of Codex beside Claude Code, what is wrong is said in a sentence too:", () => {
  for (const one of CODEX_CASES) {
    test(`${one.check} that ${one.when}`, async () => {
      const patient = new Patient(".harn/signals");
      patient.addCodex();
      await patient.sh("signals install --yes");
      know(patient);
      await prove(patient, one);
    });
  }
});

describe("a client that is not there, and has no hooks of ours, is not spoken of:", () => {
  const machines: [clients: Harness[], installed: boolean, words: Record<string, RegExp[]>][] = [
    [
      ["claude-code"],
      true,
      {
        client: [/^Claude Code 2\.1\.332$/],
        settings: [/^1 settings file of the client, all readable$/],
        hooks: [/^5 hooks, at every safe point, each once$/],
        trust: [],
        sessions: [/^no session is heard from, .*: claude$/],
      },
    ],
    [
      ["codex"],
      true,
      {
        client: [/^Codex 0\.171\.0$/],
        settings: [/^1 settings file of the client, all readable$/],
        hooks: [/^6 hooks, at every safe point, each once$/],
        trust: [/^6 hooks, all trusted by Codex$/],
        sessions: [/^no session is heard from, .*: codex$/],
      },
    ],
    [
      ["claude-code", "codex"],
      true,
      {
        client: [/^Claude Code 2\.1\.332$/, /^Codex 0\.171\.0$/],
        settings: [
          /^1 settings file of Claude Code, all readable$/,
          /^1 settings file of Codex, all readable$/,
        ],
        hooks: [
          /^5 hooks of Claude Code, at every safe point, each once$/,
          /^6 hooks of Codex, at every safe point, each once$/,
        ],
        trust: [/^6 hooks, all trusted by Codex$/],
        sessions: [/^no session is heard from, .*: claude or codex$/],
      },
    ],
    [
      [],
      false,
      {
        client: [/^neither claude nor codex is on PATH, .*: claude --version; codex --version$/],
        settings: [/^0 settings files of the client, all readable$/],
        hooks: [/^none is registered here, so no session hears of anything signals install$/],
        trust: [],
        sessions: [/^no session is heard from, .*: claude or codex$/],
      },
    ],
  ];
  for (const [clients, installed, words] of machines) {
    test(`with ${clients.join(" and ") || "none"} there`, async () => {
      const patient = new Patient(".harn/signals");
      if (!clients.includes("claude-code")) patient.remove("claude-code");
      if (clients.includes("codex")) patient.addCodex();
      // As many have it who keep such files elsewhere.
      if (clients.includes("codex")) {
        mkdirSync(join(patient.home, "dotfiles"));
        symlinkSync("dotfiles", join(patient.home, ".codex"));
      }
      if (installed) await patient.sh("signals install --yes");
      const others = { warnings: ["skipping prompt hook in /elsewhere/hooks.json"] };
      if (clients.includes("codex")) know(patient, {}, others);
      await patient.fire();
      for (const [check, expected] of Object.entries(words)) {
        const found = (await patient.look(check)).map(({ found, mend = "" }) => `${found} ${mend}`.trim());
        assert.equal(found.length, expected.length, found.join("\n"));
        for (const [i, text] of found.entries()) assert.match(text, expected[i] ?? /^$/);
      }
    });
  }
});

describe("what install refuses to change is a fault in the same words, and nobody is sent to install there:", () => {
  const files = { "claude-code": settingsOf, codex: codexHooksOf };
  const shapes: [text: string, what: string][] = [
    ['{\n"hooks": [] }', 'line 2: "hooks" is not an object in braces'],
    ['{ "hooks": {\n\n"Stop": {} } }', 'line 3: "Stop" is not a list in brackets'],
    ['{ "hooks": {},\n "hooks": {} }', 'line 2: has "hooks" a second time'],
    ['{\n"hooks": {}', "line 2: is not JSON: it ends too early"],
    ["[]", "line 1: is no object in braces"],
  ];
  for (const [text, what] of shapes) {
    test(JSON.stringify(text), async () => {
      for (const [harness, other] of [
        ["claude-code", "codex"],
        ["codex", "claude-code"],
      ] as const) {
        const patient = new Patient(".harn/signals");
        patient.addCodex();
        const file = files[harness](patient);
        mkdirSync(dirname(file));
        writeFileSync(file, text);
        const all = await patient.look("settings");
        const [fault, ...more] = all.filter(({ status }) => status === "fault");
        assert.ok(fault && more.length === 0, JSON.stringify(all));
        assert.equal(fault.found.replace(/: [^:]*$/, ""), `${file}: ${what}`);
        assert.equal(fault.mend, "correct that line");
        const refused = await run("sh", ["-c", "signals install --yes"], {
          cwd: patient.project,
          env: patient.env,
        });
        const says = `error: settings: ${file}: ${what}; nothing was changed, mend that first\n`;
        assert.deepEqual([refused.code, refused.stderr], [1, says]);
        assert.equal(readFileSync(file, "utf8"), text);

        const { name } = CLIENTS[other];
        assert.deepEqual(await patient.look("hooks"), [
          {
            status: "note",
            found: `none is registered with ${name}, so no session of it hears of anything`,
            mend: `signals install --harness ${other}`,
          },
        ]);
        await patient.sh(`signals install --harness ${other} --yes`);
        assert.deepEqual(
          (await patient.look("hooks")).map(({ status }) => status),
          ["ok"],
        );
      }
    });
  }

  test("but for what it leaves alone", async () => {
    const patient = new Patient(".harn/signals");
    editJson(settingsOf(patient), () => ({ hooks: { PreToolUse: {} } }));
    const status = async (check: string) => (await patient.look(check)).map(({ status }) => status);
    assert.deepEqual([await status("settings"), await status("hooks")], [["ok"], ["note"]]);
    await patient.sh("signals install --yes");
    editJson(settingsOf(patient), ({ hooks }) => ({ hooks: { ...(hooks as object), Notification: "x" } }));
    assert.deepEqual([await status("settings"), await status("hooks")], [["ok"], ["ok"]]);
    await patient.sh("signals install --yes");
  });

  test("and what is missing comes second", async () => {
    const patient = new Patient(".harn/signals");
    await patient.sh("signals install --yes");
    editJson(settingsOf(patient), ({ hooks }) => ({ hooks: { ...(hooks as object), Stop: {} } }));
    assert.deepEqual(await patient.look("hooks"), [
      {
        status: "note",
        found: "not registered, and so missing: urgent news before the agent stops (Stop)",
        mend: "mend the settings first, then: signals install",
      },
    ]);
  });
});

test("a command that PATH does not lead to is found after the mend; of one that is gone nothing is said", async () => {
  const patient = new Patient(".harn/signals");
  await patient.sh("signals install --yes");
  rmSync(join(patient.bin, "signals"));
  const [well, { mend = "" } = {}, ...more] = await patient.look("installation");
  assert.deepEqual([well?.status, more], ["ok", []]);
  await patient.sh(`! command -v signals && ${mend} && signals --version`);
  rmSync(installed(patient, "scripts/list.mjs"));
  assert.deepEqual(
    (await patient.look("installation")).map(({ status }) => status),
    ["fault", "note"],
  );
  rmSync(join(patient.home, ".local/bin/signals"));
  assert.equal((await patient.look("installation")).length, 1);
});

test("what Codex does not trust of a plugin, or of a copy, only a person can trust", async () => {
  const patient = new Patient(".harn/signals");
  patient.addCodex();
  await patient.sh("signals copy codex/stop .");
  editJson(codexHooksOf(patient), () => entry("Stop", `node '${patient.project}/stop.mjs'`));
  const plugin = join(enableCodexPlugin(patient), "hooks/codex/hooks.json");
  const untrusted = { trustStatus: "untrusted" };
  const ofPlugin = knownIn(plugin, {
    ...untrusted,
    pluginId: "ambient-signals@acme",
    command: "node /put/in",
  });
  patient.knows([...knownIn(codexHooksOf(patient), untrusted), ...ofPlugin]);
  const not = "not trusted, and codex exec says nothing of that";
  const mend = "start codex and choose Review hooks, or type /hooks in a session";
  assert.deepEqual(await patient.look("trust"), [
    {
      status: "fault",
      found: `Codex does not run 1 hook of ${codexHooksOf(patient)}: ${not}`,
      mend,
    },
    { status: "fault", found: `Codex does not run 6 hooks of ${plugin}: ${not}`, mend },
  ]);
  rmSync(codexHooksOf(patient));
  patient.knows(ofPlugin.map((hook) => ({ ...hook, trustStatus: "trusted" })));
  assert.deepEqual(
    (await patient.look("trust")).map(({ found }) => found),
    ["6 hooks, all trusted by Codex"],
  );
  assert.deepEqual(
    (await patient.look("hooks")).map(({ found }) => found),
    [
      "none is registered with Claude Code, so no session of it hears of anything",
      "6 hooks of Codex, at every safe point, each once",
    ],
  );
});

test("of hooks in a file that Codex does not read, or that are all switched off, nothing is said of trust", async () => {
  for (const [name, text] of [
    ["config.toml", "[features]\nhooks = false\n"],
    ["config.toml", "features = ["],
    ["hooks.json", undefined],
  ] as const) {
    const patient = new Patient(".harn/signals");
    patient.addCodex();
    await patient.sh("signals install --yes --harness codex");
    know(patient);
    assert.equal((await patient.look("trust")).length, 1);
    if (text === undefined) editJson(codexHooksOf(patient), () => ({ more: 1 }));
    else writeFileSync(join(patient.home, ".codex", name), text);
    patient.knows([], { warnings: [`failed to parse hooks config ${codexHooksOf(patient)}: unknown field`] });
    assert.deepEqual(await patient.look("trust"), []);
    assert.deepEqual(
      (await patient.look("settings")).map(({ status }) => status),
      ["ok", "fault"],
    );
  }
});

test("a launcher that is gone is told once for all clients, and put back for all by one command", async () => {
  const patient = new Patient(".harn/signals");
  patient.addCodex();
  await patient.sh("signals install --yes");
  const well = await patient.look("hooks");
  rmSync(installed(patient, "launch"));
  const [gone, ...more] = await patient.look("hooks");
  assert.deepEqual([gone?.status, more], ["fault", []]);
  await patient.sh(gone?.mend ?? "");
  assert.deepEqual(await patient.look("hooks"), well);
});

test("what is mended in a project is mended there, wherever one is", async () => {
  const patient = new Patient(".harn/signals");
  patient.addCodex();
  await patient.sh("git init -q && signals install --yes --harness codex --scope project && mkdir -p a");
  const command = "signals install --harness codex --scope project --trust-codex-hooks";
  know(patient, { trustStatus: "untrusted" });
  const mends = async (cwd?: string) =>
    (await patient.look("trust", cwd)).map(({ mend }) => mend?.split("or: ")[1]);
  assert.deepEqual(await mends(), [command]);
  assert.deepEqual(await mends(join(patient.project, "a")), [`cd ${patient.project} && ${command}`]);
  await patient.sh(`rm ${installed(patient, "launch")}`);
  const [gone] = (await patient.look("hooks", join(patient.project, "a"))).filter(
    ({ status }) => status === "fault",
  );
  assert.match(gone?.mend ?? "", /^cd \/\S+\/project && \S+ \S+ --yes --harness codex --scope project$/);
});

test("one copied hook, the same entry in two files, and a plugin alone are no fault", async () => {
  const copied = new Patient(".harn/signals");
  await copied.sh("signals copy claude-code/post-tool-use .");
  const command = `node '${copied.project}/post-tool-use.mjs'`;
  for (const scope of ["user", "project"])
    editJson(settingsOf(copied, scope), () => entry("PostToolUse", command));
  const notes = await copied.look("hooks");
  assert.deepEqual(
    notes.filter(({ status, found }) => status !== "note" || /done twice/.test(found)),
    [],
  );
  const [missing, perCall] = notes;
  assert.match(
    missing?.found ?? "",
    /^not registered, and so missing: news at a session's start \(SessionStart\), /,
  );
  assert.doesNotMatch(missing?.found ?? "", /PostToolBatch/);
  assert.match(
    missing?.mend ?? "",
    /^copy more of them, such as: signals copy claude-code\/session-start FOLDER; or .*, then: signals install$/,
  );
  assert.equal(
    perCall?.mend,
    "register post-tool-batch for PostToolBatch instead: signals copy claude-code/post-tool-batch FOLDER",
  );

  const plugged = new Patient(".harn/signals");
  enablePlugin(plugged, { built: true });
  assert.deepEqual(await plugged.look("hooks"), [
    { status: "ok", found: "6 hooks, at every safe point, each once" },
  ]);
});

test("where no client is found, hooks at each batch of calls are not missing at each call", async () => {
  const patient = new Patient(".harn/signals");
  await patient.sh("signals install --yes");
  const [well] = await patient.look("hooks");
  patient.remove("claude-code");
  assert.deepEqual(await patient.look("hooks"), [well]);
  assert.equal(well?.status, "ok");
});

test("what all checks come to is said in numbers", () => {
  const cases: [statuses: Finding["status"][], said: string][] = [
    [["ok"], "no fault, 0 notes"],
    [["ok", "note", "fault"], "1 fault, 1 note"],
    [["fault", "note", "fault", "note"], "2 faults, 2 notes"],
  ];
  for (const [statuses, said] of cases)
    assert.equal(verdict(statuses.map((status) => ({ check: "x", status, found: "y" }))), said);
});

test("the client's version is what it says itself, if it does in time", async () => {
  const patient = new Patient();
  assert.equal(await versionOf("claude", patient.env), "2.1.332");
  for (const text of ["exit 1", "echo no number", "sleep 8; echo 1.2.3"]) {
    patient.program("claude", text);
    assert.equal(await versionOf("claude", patient.env), undefined, text);
  }
  patient.versions["claude-code"] = undefined;
  const [finding] = await patient.look("client");
  assert.match(finding?.found ?? "", /^claude does not tell its version, so it is not known which/);
  rmSync(join(patient.bin, "claude"));
  assert.equal(await versionOf("claude", { ...patient.env, PATH: patient.bin }), undefined);
});

test("what is well is said in a few words", async () => {
  const patient = new Patient();
  await patient.fire();
  await patient.fire("second");
  await patient.register();
  const words = async (check: string) => (await patient.look(check)).map(({ found }) => found);
  assert.deepEqual(await words("directory"), [`${patient.dir} is yours alone`]);
  assert.deepEqual(await words("lock"), ["free"]);
  assert.match((await words("inbox"))[0] ?? "", /^valid: 2 signals, \d+ bytes$/);
  assert.deepEqual(await words("config"), ["no config.toml, so the defaults hold"]);
  assert.deepEqual(await words("signals"), ["2 fired, 2 owed to a session, 0 held"]);
  assert.deepEqual(await words("sessions"), [
    "1 session heard from, last ada (claude-code, project) just now",
  ]);
  writeFileSync(patient.path("config.toml"), '[[mute]]\nkey = "second"\n');
  assert.deepEqual(await words("config"), ["config.toml is valid"]);
  assert.match((await words("signals"))[0] ?? "", /^2 fired, 1 owed to a session, 1 held \(muted\)$/);
});

describe("moving an inbox aside", () => {
  const broken = (dir: string) => readdirSync(dir).filter((name) => name.startsWith("inbox.broken."));

  for (const [what, text] of [
    ["is not JSON", Buffer.from([0xff, 0xfe, 0x00, 0x7b])],
    ["is not valid", Buffer.from('{"schema":"ambient-signals.inbox","version":1}')],
    ["is of a newer version", Buffer.from('{"schema":"ambient-signals.inbox","version":999,"more":1}')],
  ] as const) {
    test(`keeps one that ${what}, byte for byte, and begins a new one`, async () => {
      const patient = new Patient();
      await patient.fire();
      writeFileSync(patient.path("inbox.json"), text);
      const aside = await moveAside(patient.dir);
      assert.match(aside ?? "", /\/inbox\.broken\.\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.json$/);
      assert.deepEqual(readFileSync(aside ?? ""), text);
      assert.deepEqual(readDocument(patient.dir, timeOf(0)).signals, []);
      assert.equal(statSync(patient.path("inbox.json")).mode & 0o777, 0o600);
      await patient.fire("next");
      assert.equal(readDocument(patient.dir, timeOf(0)).signals.length, 1);

      writeFileSync(patient.path("inbox.json"), text);
      await moveAside(patient.dir);
      assert.equal(broken(patient.dir).length, 2, "an earlier one stays");
      assert.equal(lockHolder(patient.dir), undefined);
    });
  }

  test("leaves alone what is valid, of an older version, absent, or not to be read", async () => {
    const patient = new Patient();
    assert.equal(await moveAside(patient.dir), undefined);
    assert.ok(!existsSync(patient.dir), "and makes no directory");
    await patient.fire();
    const whole = readFileSync(patient.path("inbox.json"));
    assert.equal(await moveAside(patient.dir), undefined);
    assert.deepEqual(readFileSync(patient.path("inbox.json")), whole);

    patient.edit(() => ({ version: 1 }));
    const old = readFileSync(patient.path("inbox.json"));
    assert.equal(await moveAside(patient.dir), undefined);
    assert.deepEqual(readFileSync(patient.path("inbox.json")), old);

    rmSync(patient.path("inbox.json"));
    mkdirSync(patient.path("inbox.json"));
    await assert.rejects(moveAside(patient.dir), /^SignalsError: inbox: cannot read .* \(EISDIR\)/);
    assert.deepEqual(broken(patient.dir), []);
  });

  test("that cannot be finished changes nothing", async () => {
    const patient = new Patient();
    await patient.fire();
    writeFileSync(patient.path("inbox.json"), "{");
    chmodSync(patient.dir, 0o720);
    await assert.rejects(moveAside(patient.dir), /other users can write/);
    chmodSync(patient.dir, 0o700);
    assert.deepEqual(broken(patient.dir), []);
    assert.equal(readFileSync(patient.path("inbox.json"), "utf8"), "{");
  });

  test("happens once, however many do so at the same time", async () => {
    const patient = new Patient();
    await patient.fire();
    for (let round = 0; round < 3; round++) {
      writeFileSync(patient.path("inbox.json"), `{ ${round}`);
      const args = [join(bundles, "scripts/doctor.mjs"), "--repair", "--json", "--dir", patient.dir];
      const runs = await Promise.all([1, 2, 3].map(() => run(process.execPath, args, patient)));
      const said = runs.map(({ stdout }) => JSON.parse(stdout)[0]);
      for (const { check, status } of said) assert.deepEqual([check, status], ["repair", "ok"]);
      const movers = said.filter(({ found }) => /^the broken inbox is now /.test(found));
      assert.equal(movers.length, 1, JSON.stringify(said));
      assert.equal(broken(patient.dir).length, round + 1);
      await patient.fire(`round ${round}`);
      assert.equal(readDocument(patient.dir, timeOf(0)).signals.length, 1);
    }
  });
});

test("the holder of a lock is known by its process and since when, and a free one has none", async () => {
  const { dir } = new Patient();
  mkdirSync(dir);
  assert.equal(lockHolder(dir), undefined);
  const before = timeOf(Date.now());
  const holder = await withLock(dir, () => lockHolder(dir));
  assert.equal(holder?.pid, process.pid);
  assert.ok(holder && holder.since >= before && holder.since <= timeOf(Date.now()));
  assert.equal(lockHolder(dir), undefined);

  writeFileSync(join(dir, "inbox.lock"), "");
  const { pid, since } = lockHolder(dir) ?? {};
  assert.equal(pid, undefined);
  assert.ok(since && since >= before);
});
