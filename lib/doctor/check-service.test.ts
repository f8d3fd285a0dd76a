import assert from "node:assert/strict";
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { run } from "../testing/process.ts";
import { DATA, Home } from "../testing/service-home.ts";
import type { Finding } from "./check-finding.ts";
import { checkService } from "./check-service.ts";

const UNIT = ".config/systemd/user/ambient-signals.service";
const INBOX = ".harn/signals";
const MONITOR = '[[monitor]]\nrun = "disk"\n';

function look(home: Home, dir = INBOX, platform?: NodeJS.Platform): Promise<Finding[]> {
  const { home: HOME, PATH, env } = home;
  return checkService({
    dir: home.at(dir),
    cwd: home.at("api"),
    env: { HOME, PATH, ...env },
    platform,
    versions: { "claude-code": undefined, codex: undefined },
    now: "2026-12-01T08:00:00Z",
  });
}

function sh(home: Home, command: string) {
  return run("/bin/sh", ["-c", command], { cwd: home.at("api"), env: { HOME: home.home, PATH: home.PATH } });
}

async function installed(): Promise<Home> {
  const home = new Home();
  home.write(`${INBOX}/config.toml`, MONITOR);
  await home.install("--service");
  return home;
}

const OK = { status: "ok", found: "the service runs; config.toml has 1 monitor" };
const LOG = "see what it wrote: journalctl --user -u ambient-signals";
const START =
  "systemctl --user daemon-reload && systemctl --user enable ambient-signals.service && systemctl --user restart ambient-signals.service";

/** What is wrong with a service that ran well, how it is told, and the end of the mend, which is a command. */
interface Case {
  when: string;
  arrange: (home: Home) => unknown;
  status: "note" | "fault";
  found: RegExp;
  mend: RegExp;
  /** What makes it well again; undefined where that is not to be had by a command alone. */
  command: ((mend: string) => string) | undefined;
}

const CASES: Case[] = [
  {
    when: "its file is gone",
    arrange: (home) => rmSync(home.at(UNIT)),
    status: "fault",
    found: /^\/.*\.service is gone, so nothing runs the monitors after the next login$/,
    mend: /^signals install --service$/,
    command: (mend) => `${mend} --yes`,
  },
  {
    when: "its file was changed",
    arrange: (home) => home.write(UNIT, home.read(UNIT).replace("RestartSec=10", "RestartSec=60")),
    status: "note",
    found: /^\/.*\.service is not as it was written$/,
    mend: /^signals install --service$/,
    command: (mend) => `${mend} --yes`,
  },
  {
    when: "its file runs something else",
    arrange: (home) => home.write(UNIT, "[Service]\nExecStart=/usr/bin/true\n"),
    status: "fault",
    found: /^\/.*\.service does not run \/.*\/launch$/,
    mend: /^move it away if you can do without it, then: signals install --service$/,
    command: (mend) => `rm ~/${UNIT} && ${mend.replace(/^.*then: /, "")} --yes`,
  },
  {
    when: "its launcher is gone",
    arrange: (home) => rmSync(home.at(`${DATA}/launch`)),
    status: "fault",
    found: /^\/.*\/launch, which the service runs, is not there or no program$/,
    mend: /scripts\/install\.mts --yes$/,
    command: undefined,
  },
  {
    when: "its launcher may not be run",
    arrange: (home) => chmodSync(home.at(`${DATA}/launch`), 0o644),
    status: "fault",
    found: /^\/.*\/launch, which the service runs, is not there or no program$/,
    mend: /scripts\/install\.mts --yes$/,
    command: undefined,
  },
  {
    when: "all that it runs is gone, and what is known of it",
    arrange: (home) => rmSync(home.at(DATA), { recursive: true }),
    status: "fault",
    found: /^\/.*\/launch, which the service runs, is not there or no program$/,
    mend: /scripts\/install\.mts --yes$/,
    command: undefined,
  },
  {
    when: "it fails again and again",
    arrange: (home) => home.managers.unitIs("activating", "auto-restart", "enabled"),
    status: "note",
    found: /^the service does not run: activating \(auto-restart\)$/,
    mend: new RegExp(`^${LOG}; to start it: ${START}$`),
    command: (mend) => mend.replace(/^.*to start it: /, ""),
  },
  {
    when: "it was stopped",
    arrange: (home) => home.managers.unitIs("inactive", "dead", "enabled"),
    status: "note",
    found: /^the service does not run: inactive \(dead\)$/,
    mend: new RegExp(`^${LOG}; to start it: ${START}$`),
    command: (mend) => mend.replace(/^.*to start it: /, ""),
  },
  {
    when: "it runs this time only",
    arrange: (home) => home.managers.unitIs("active", "running", "disabled"),
    status: "note",
    found: /^the service runs, and will not after the next login$/,
    mend: new RegExp(`^${START}$`),
    command: (mend) => mend,
  },
  {
    when: "nobody can be asked",
    arrange: (home) => home.managers.is("silent"),
    status: "note",
    found: /^whether the service runs cannot be asked from here: Failed to connect to bus: No medium found$/,
    mend: new RegExp(`^${LOG}$`),
    command: undefined,
  },
  {
    when: "its manager hangs",
    arrange: (home) => writeFileSync(join(home.managers.bin, "systemctl"), "#!/bin/sh\nexec sleep 60\n"),
    status: "note",
    found: /^whether the service runs cannot be asked from here: systemctl does not answer$/,
    mend: new RegExp(`^${LOG}$`),
    command: undefined,
  },
];

describe("a service is told of with what mends it, when", { concurrency: 4 }, () => {
  for (const { when, arrange, status, found, mend, command } of CASES) {
    test(when, async () => {
      const home = await installed();
      assert.deepEqual(await look(home), [OK]);
      await arrange(home);
      const [finding, ...more] = await look(home);
      assert.equal(finding?.status, status, JSON.stringify(finding));
      assert.match(finding.found, found);
      assert.match(finding.mend ?? "", mend);
      assert.deepEqual(more, when === "its file was changed" ? [OK] : []);
      if (command === undefined) return;
      const { code, stderr } = await sh(home, command(finding.mend ?? ""));
      assert.equal(code, 0, stderr);
      assert.deepEqual(await look(home), [OK]);
    });
  }

  test("it works on another inbox", async () => {
    const home = await installed();
    home.write("box/config.toml", "");
    assert.deepEqual(await look(home, "box"), [
      {
        status: "note",
        found: `the service works on the inbox in ${home.at(INBOX)}, and this one is in ${home.at("box")}`,
        mend: "signals doctor",
      },
      { status: "ok", found: "the service runs; config.toml has 0 monitors" },
    ]);
    await home.install("--dir", home.at("box"));
    assert.deepEqual((await look(home, "box")).length, 1);
    assert.equal((await look(home))[0]?.mend, `signals doctor --dir '${home.at("box")}'`);
  });
});

describe("where there is no service", { concurrency: 4 }, () => {
  const none = (monitors: string, mend: string) => [
    { status: "note", found: `config.toml has ${monitors}`, mend },
  ];
  const cases: [what: string, config: string | undefined, platform: NodeJS.Platform, finding: object[]][] = [
    ["nothing is said without monitors", undefined, "linux", []],
    [
      "nothing is said of a config.toml that is broken, which another check tells",
      "monitor = 1\n",
      "linux",
      [],
    ],
    [
      "monitors are told of with the command for one, and another way",
      MONITOR + MONITOR,
      "linux",
      none(
        "2 monitors, and no service runs them",
        "signals install --service; or in a terminal: signals poll",
      ),
    ],
    [
      "so they are on a Mac",
      MONITOR,
      "darwin",
      none("1 monitor, and no service runs it", "signals install --service; or in a terminal: signals poll"),
    ],
    [
      "and where none can be, with that way alone",
      MONITOR,
      "freebsd",
      none("1 monitor, and no service runs it", "in a terminal, or by cron: signals poll"),
    ],
  ];
  for (const [what, config, platform, finding] of cases) {
    test(what, async () => {
      const home = new Home();
      if (config !== undefined) home.write(`${INBOX}/config.toml`, config);
      assert.deepEqual(await look(home, INBOX, platform), finding);
      if (!/install --service/.test(JSON.stringify(finding)) || platform !== "linux") return;
      await home.install();
      assert.deepEqual(await look(home), finding);
      await sh(home, "signals install --service --yes");
      assert.ok(existsSync(home.at(UNIT)));
      assert.equal((await look(home))[0]?.status, "ok");
    });
  }

  test("one of that name that somebody else has made is none", async () => {
    const home = new Home();
    home.write(UNIT, "[Service]\nExecStart=/usr/bin/true\n");
    assert.deepEqual(await look(home), []);
  });
});

test("a service of launchd is told of in the same words", async () => {
  const home = Home.onMac();
  home.write(`${INBOX}/config.toml`, MONITOR);
  await home.install("--service");
  assert.deepEqual(await look(home, INBOX, "darwin"), [OK]);
  rmSync(join(home.managers.bin, "loaded"));
  const [finding] = await look(home, INBOX, "darwin");
  assert.equal(finding?.found, "the service does not run: not loaded");
  assert.match(
    finding?.mend ?? "",
    /^see what it wrote: less '.*\.log'; to start it: launchctl bootout gui\/\d+\/ambient-signals\.poll; launchctl bootstrap /,
  );
});
