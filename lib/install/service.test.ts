import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { DATA, Home, POLL, servedBundles } from "../testing/service-home.ts";
import { privateUserManager } from "../testing/service-managers.ts";
import { tempDirectory } from "../testing/temp.ts";

const BUNDLES = await servedBundles();

const UNIT = ".config/systemd/user/ambient-signals.service";
const AGENT = "Library/LaunchAgents/ambient-signals.poll.plist";
const systemctl = (...words: string[]) => words.map((word) => `systemctl --user ${word}`);
const unit = (word: string) => `${word} ambient-signals.service`;
const START = systemctl("daemon-reload", unit("enable"), unit("restart"));
const STOP = systemctl(unit("disable --now"), "daemon-reload");

const domain = `gui/${process.getuid?.()}`;
const agent = `${domain}/ambient-signals.poll`;
const MANAGERS = [
  {
    name: "systemd",
    make: () => new Home(),
    file: UNIT,
    start: () => START,
    renew: () => systemctl(unit("try-restart")),
    stop: STOP,
    log: () => "journalctl --user -u ambient-signals",
  },
  {
    name: "launchd",
    make: () => Home.onMac(),
    file: AGENT,
    start: (home: Home) => [`launchctl bootout ${agent}`, `launchctl bootstrap ${domain} ${home.at(AGENT)}`],
    renew: () => [`launchctl kickstart -k ${agent}`],
    stop: [`launchctl bootout ${agent}`],
    log: (home: Home) => `less '${home.at("Library/Logs/ambient-signals.log")}'`,
  },
];

for (const { name, make, file, start, renew, stop, log } of MANAGERS) {
  describe(`a service of ${name}`, { concurrency: 2 }, () => {
    test("is there and runs after install --service, once, and uninstall leaves nothing of it", async () => {
      const home = make();
      const before = home.all;
      const { stdout } = await home.install("--service");
      assert.ok(stdout.includes(`\nthe service runs the monitors; its log: ${log(home)}\n`), stdout);
      assert.deepEqual(home.managers.told(), start(home));
      assert.ok(home.managers.isUp);
      assert.ok(home.read(file).includes(home.PATH), "it keeps this shell's PATH");

      const after = home.all;
      for (const args of [["--service"], []]) {
        assert.match((await home.install(...args)).stdout, /^nothing to do: /);
        assert.deepEqual([home.all, home.managers.told()], [after, []]);
      }

      if (name === "launchd") home.write("Library/Logs/ambient-signals.log", "of a run\n");
      const gone = await home.uninstall();
      assert.match(gone.stdout, /^uninstalled: 5 hooks .*, the service is gone$/m);
      assert.deepEqual(home.managers.told(), stop);
      assert.deepEqual([home.all, home.managers.isUp], [before, false]);
      assert.match((await home.uninstall()).stdout, /^nothing to do: /);
      assert.deepEqual(home.managers.told(), []);
    });

    test("is shown before anything is done, with the commands", async () => {
      const home = make();
      const before = home.all;
      const commands = start(home).map(
        (text) => `also run: ${text.replace(home.at(file), `'${home.at(file)}'`)}`,
      );
      for (const [args, code] of [
        [[], 1],
        [["--dry-run"], 0],
      ] as const) {
        const shown = await home.run("install", ["--service", ...args], "n\n");
        assert.equal(shown.code, code);
        assert.ok(shown.stdout.includes(`\n+++ ${home.at(file)}\n`), shown.stdout);
        const lines = shown.stdout.trimEnd().split("\n");
        assert.deepEqual(lines.slice(-commands.length), commands);
        assert.deepEqual([home.all, home.managers.told()], [before, []]);
      }
      const { stdout } = await home.run("install", ["--service", "--dry-run", "--json"]);
      const { service, files, changed } = JSON.parse(stdout);
      assert.deepEqual([service.path, changed], [home.at(file), true]);
      assert.equal(service.commands.length, commands.length);
      assert.ok(files.includes(home.at(file)));

      await home.install("--service");
      home.managers.told();
      const after = home.all;
      const refused = await home.run("uninstall", [], "n\n");
      assert.ok(refused.stdout.includes(`\n--- ${home.at(file)}\n`));
      assert.deepEqual(
        refused.stdout.split("\n").filter((line) => line.startsWith("also run: ")),
        stop.map((text) => `also run: ${text}`),
      );
      assert.deepEqual([home.all, home.managers.told()], [after, []]);
    });

    test("is restarted by an update when it runs, and only then", async () => {
      const home = make();
      await home.install("--service");
      home.managers.told();
      home.age();
      const { stdout } = await home.install();
      assert.match(stdout, /^installed: /m);
      assert.deepEqual(home.managers.told(), renew());

      if (name === "launchd") rmSync(join(home.managers.bin, "loaded"));
      else home.managers.unitIs("inactive", "dead", "enabled");
      home.age();
      await home.install();
      assert.deepEqual(home.managers.told(), [], "a person has stopped it");
      await home.install("--service");
      assert.deepEqual(home.managers.told(), start(home), "and wants it again");
    });

    test("that somebody else has made stays, and is told apart", async () => {
      const home = make();
      const path = home.write(file, "[Service]\nExecStart=/usr/bin/true\n");
      const before = home.all;
      const refused = await home.run("install", ["--yes", "--service"]);
      const says = `--service: ${path}: is none of ours; move it away, or leave --service out`;
      assert.deepEqual([refused.code, refused.stderr], [1, `error: ${says}\n`]);
      assert.deepEqual(home.all, before);
      await home.install();
      assert.equal(home.manifest.service, undefined);
      await home.uninstall();
      assert.deepEqual([home.all, home.managers.told()], [before, []]);
    });
  });
}

describe("a service", { concurrency: 4 }, () => {
  test("that is asked for where there is no manager is refused with the way out", async () => {
    const home = new Home();
    home.env["PATH"] = home.path;
    const { code, stderr } = await home.run("install", ["--yes", "--service"]);
    const way = "leave it out, and start signals poll in a terminal, or by cron";
    assert.deepEqual(
      [code, stderr],
      [1, `error: --service: there is no systemd and no launchd here to run it; ${way}\n`],
    );
    assert.equal(existsSync(home.at(".local")), false);
  });

  const inboxes: [what: string, env: string | undefined, args: string[], dir: string | undefined][] = [
    ["none, when it is the usual one", undefined, [], undefined],
    ["none, when the environment names the usual one", ".harn/signals", [], undefined],
    ["the one of the environment, which it does not have", "in box", [], "in box"],
    ["the one of --dir before that of the environment", "in box", ["--dir", "%h"], "api/%h"],
  ];
  for (const [what, env, args, dir] of inboxes) {
    test(`is told of ${what}, and keeps it`, async () => {
      const home = new Home();
      if (env !== undefined) home.env["HARN_EXT_SIGNALS_DIR"] = home.at(env);
      await home.install("--service", ...args);
      const said = dir === undefined ? "" : ` --dir "${home.at(dir).replace("%", "%%")}"`;
      const lines = home.read(UNIT).split("\n");
      assert.ok(
        lines.includes(`ExecStart=/bin/sh "${home.at(DATA)}/launch" scripts/poll${said}`),
        home.read(UNIT),
      );
      home.env = { HARN_EXT_SIGNALS_DIR: home.at("later"), PATH: `/opt/later:${home.PATH}` };
      home.age();
      await home.install();
      assert.deepEqual(home.read(UNIT).split("\n"), lines, "an update does not ask its own shell");
      await home.install("--service");
      assert.match(
        home.read(UNIT),
        /^Environment="PATH=\/opt\/later:/m,
        "who asks for it asks for this shell",
      );
    });
  }

  test("works on the inbox that the hooks were told of earlier", async () => {
    const home = new Home();
    await home.install("--dir", "box");
    await home.install("--service");
    assert.ok(home.read(UNIT).includes(` --dir "${home.at("api/box")}"\n`), home.read(UNIT));
    await home.install("--dir", "other");
    assert.ok(home.read(UNIT).includes(` --dir "${home.at("api/other")}"\n`), "as they are told of another");
    assert.deepEqual(home.managers.told(), [...START, ...systemctl("daemon-reload", unit("try-restart"))]);
  });

  test("that a person has changed stays so, until it is asked for anew", async () => {
    const home = new Home();
    await home.install("--service");
    const written = home.read(UNIT);
    home.write(UNIT, written.replace("RestartSec=10", "RestartSec=60"));
    home.managers.told();
    home.age();
    const { stderr } = await home.install();
    assert.match(
      stderr,
      /^note: .*\.service was changed by hand and stays so; .*: signals install --service$/m,
    );
    assert.match(home.read(UNIT), /^RestartSec=60$/m);
    assert.deepEqual(home.managers.told(), systemctl(unit("try-restart")), "its code is ours");
    const again = await home.install("--service");
    assert.match(again.stdout, /^-RestartSec=60\n\+RestartSec=10$/m);
    assert.equal(home.read(UNIT), written);

    home.write(UNIT, "[Service]\nExecStart=/usr/bin/true\n");
    home.managers.told();
    const gone = await home.uninstall();
    assert.match(gone.stderr, /^note: .*\.service is none of ours any more, and stays$/m);
    assert.equal(home.read(UNIT), "[Service]\nExecStart=/usr/bin/true\n");
    assert.deepEqual(home.managers.told(), []);
  });

  test("whose file leads elsewhere is a person's own, such as one that is masked", async () => {
    const home = new Home();
    mkdirSync(dirname(home.at(UNIT)), { recursive: true });
    symlinkSync("/dev/null", home.at(UNIT));
    const { code, stderr } = await home.run("install", ["--yes", "--service"]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: --service: .*\.service: is none of ours; /);
  });

  test("whose file is gone is put back by an update, and started", async () => {
    const home = new Home();
    await home.install("--service");
    const written = home.read(UNIT);
    home.managers.told();
    rmSync(home.at(UNIT));
    await home.install();
    assert.equal(home.read(UNIT), written);
    assert.deepEqual(home.managers.told(), START);
    rmSync(home.at(UNIT));
    await home.uninstall();
    assert.deepEqual(home.managers.told(), systemctl(unit("stop"), "daemon-reload"));
    assert.deepEqual(home.all, { api: undefined });
  });

  test("is written where nobody can be told to run it, which is said with the commands", async () => {
    const home = new Home();
    home.managers.is("silent");
    const lines: string[] = [];
    for (const _ of [1, 2]) {
      const { stdout, stderr } = await home.install("--service");
      const why = "Failed to connect to bus: No medium found";
      assert.ok(stderr.includes(`note: the service manager cannot be reached from here: ${why}\n`), stderr);
      lines.push(stdout.split("\n").find((line) => line.startsWith("the service ")) ?? "");
    }
    assert.deepEqual(
      lines,
      Array(2).fill(`the service does not run yet; in a session of yours: ${START.join(" && ")}`),
    );
    assert.ok(existsSync(home.at(UNIT)));
    home.age();
    const { stdout } = await home.install();
    assert.match(
      stdout,
      /^the service goes on as it was; in a session of yours: systemctl --user try-restart /m,
    );

    // As the person did who typed that.
    mkdirSync(home.at(".config/systemd/user/default.target.wants"));
    symlinkSync(home.at(UNIT), home.at(".config/systemd/user/default.target.wants/ambient-signals.service"));
    const { stderr } = await home.uninstall();
    assert.match(
      stderr,
      /No medium found\); what runs goes on until: systemctl --user stop ambient-signals\.service$/m,
    );
    assert.deepEqual([home.all, home.managers.told()], [{ api: undefined }, []]);
  });

  test("that its manager refuses is an error, and the rest is installed; in uninstalling it keeps nothing", async () => {
    const home = new Home();
    home.managers.refuse("enable");
    const { code, stderr } = await home.run("install", ["--yes", "--service"]);
    const failed = "systemctl --user enable ambient-signals.service failed: Failed: it is refused";
    assert.equal(code, 1);
    assert.ok(
      stderr.endsWith(`\nerror: service: all is written, but ${failed}; mend that, and type it yourself\n`),
      stderr,
    );
    assert.ok(existsSync(home.at(UNIT)) && existsSync(home.at(".claude/settings.json")));
    home.managers.refuse("nothing");
    await home.install("--service");
    assert.ok(home.managers.isUp, "the next one finishes it");

    home.managers.refuse("disable");
    const gone = await home.uninstall();
    assert.match(
      gone.stderr,
      /^note: systemctl --user disable --now .* failed: Failed: it is refused; type it yourself$/m,
    );
    assert.deepEqual(home.all, { api: undefined });
  });

  test("stays as long as any client has hooks, and goes with the last", async () => {
    const home = new Home();
    home.client("codex", "codex-cli 0.171.0");
    await home.install("--service");
    home.managers.told();
    await home.uninstall("--harness", "codex");
    assert.ok(existsSync(home.at(UNIT)) && home.manifest.service.path === home.at(UNIT));
    assert.deepEqual(home.managers.told(), []);
    await home.uninstall("--harness", "claude-code");
    assert.deepEqual(home.managers.told(), STOP);
    assert.deepEqual(home.all, { api: undefined });
  });

  test("is known by the launcher that it runs when nothing else is known any more", async () => {
    const home = new Home();
    await home.install("--service");
    rmSync(home.at(`${DATA}/installed.json`));
    home.managers.told();
    await home.uninstall();
    assert.deepEqual(home.managers.told(), STOP);
    assert.equal(existsSync(home.at(UNIT)), false);
  });

  test("is installed and taken back by what is installed itself", async () => {
    const home = new Home();
    await home.install();
    const inside = (name: string, ...args: string[]) => home.run(name, ["--yes", ...args], "", home.at(DATA));
    assert.equal((await inside("install", "--service")).code, 0);
    assert.deepEqual(home.managers.told(), START);
    assert.equal((await inside("uninstall")).code, 0);
    assert.deepEqual([home.managers.told(), home.all], [STOP, { api: undefined }]);
  });
});

describe("broken off anywhere, the next run finishes it:", { concurrency: 2 }, () => {
  /** What is loaded before a script so that it is killed at its so many-th change of a file. */
  const killedAt = (count: number) => `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { renameSync, rmSync } = fs;
let left = ${count};
const change = (work) => (...args) => --left === 0 ? process.kill(process.pid, "SIGKILL") : work(...args);
Object.assign(fs, { renameSync: change(renameSync), rmSync: change(rmSync) });
syncBuiltinESMExports();
`;
  for (const back of [0, 1, 2, 3, 40]) {
    test(`${back} steps before its end`, async () => {
      const home = new Home();
      const { stdout } = await home.run("install", ["--dry-run", "--json", "--service"]);
      const steps = JSON.parse(stdout).files.length + 1;
      const preload = join(tempDirectory("killed"), "preload.mjs");
      writeFileSync(preload, killedAt(steps - back));
      for (const [verb, args] of [
        ["install", ["--service"]],
        ["uninstall", []],
      ] as const) {
        home.env["NODE_OPTIONS"] = `--import=${preload}`;
        assert.equal((await home.run(verb, ["--yes", ...args])).signal, "SIGKILL");
        home.env = {};
        await home[verb](...args);
        assert.equal(home.managers.isUp, verb === "install");
      }
      assert.deepEqual(
        Object.keys(home.all).filter((name) => home.all[name] !== undefined || name.startsWith(".config")),
        [],
      );
    });
  }
});

describe("the last lines say what is still off, and the command for it:", { concurrency: 4 }, () => {
  const MONITOR = '[[monitor]]\nrun = "disk"\n';
  const watching = /^nothing watches anything yet; .*: signals poll --help; .*: signals fire --help$/m;
  const unserved = /^no service runs the monitors of config\.toml; to have one: signals install --service$/m;
  const cases: [what: string, config: string | undefined, args: string[], says: RegExp[]][] = [
    ["no monitors", undefined, [], [watching]],
    ["no monitors, beside a service", "", ["--service"], [watching]],
    ["no service for the monitors", MONITOR, [], [unserved]],
    ["nothing of both", MONITOR, ["--service"], []],
    ["nothing of what cannot be read, which doctor does", "monitor = 1\n", [], []],
  ];
  for (const [what, config, args, says] of cases) {
    test(what, async () => {
      const home = new Home();
      if (config !== undefined) home.write(".harn/signals/config.toml", config);
      const { stdout } = await home.install(...args);
      for (const one of [watching, unserved]) assert.equal(one.test(stdout), says.includes(one), stdout);
      assert.match(
        stdout,
        /^nothing was tried yet; to check the whole path: signals doctor\nto take it all back: /m,
      );
    });
  }

  test("of the inbox that the hooks and the service use", async () => {
    const home = new Home();
    home.write("api/box/config.toml", MONITOR);
    assert.match((await home.install("--dir", "box")).stdout, unserved);
    home.age();
    assert.match((await home.install()).stdout, unserved);
    home.age();
    home.write("api/box/config.toml", "");
    assert.match((await home.install("--service")).stdout, watching);
  });
});

const beside = privateUserManager();

test("with a real systemd it runs, is restarted by an update, and ends", {
  skip: beside === undefined && "no user manager of one's own can be had here",
}, () => {
  const home = new Home();
  home.write("nodes/% $HOME 'a'/x", "");
  const later = tempDirectory("bundles");
  cpSync(BUNDLES, later, { recursive: true });
  writeFileSync(join(later, "scripts/poll.mjs"), `${POLL}// newer\n`);
  const script = `
node=$1 bundles=$2 later=$3
polled() {
  tries=0
  until [ "$(wc -l < ~/polls)" -ge "$1" ] || [ "$tries" -ge 200 ]; do tries=$((tries + 1)); sleep 0.1; done
}
: > ~/polls
"$node" "$bundles/scripts/install.mjs" --yes --service && polled 1
systemctl --user is-active ambient-signals && systemctl --user is-enabled ambient-signals
"$node" "$bundles/scripts/install.mjs" --yes --service
"$node" "$later/scripts/install.mjs" --yes && polled 3
"$node" "$later/scripts/doctor.mjs" | grep service:
"$node" "$later/scripts/uninstall.mjs" --yes && polled 4
systemctl --user is-active ambient-signals
systemctl --user show --property=LoadState ambient-signals
`;
  // The real ones; and a folder with all that could be misread on the way.
  const PATH = [home.path, home.at("nodes/% $HOME 'a'"), "/usr/bin", "/bin"].join(":");
  const env = { HOME: home.home, PATH };
  const args = [process.execPath, BUNDLES, later];
  const { stdout = "", stderr = "" } = beside?.(script, args, { env, cwd: home.home }) ?? {};
  const said = stdout.split("\n").filter((line) => !/^[-+@]|^also /.test(line));
  assert.deepEqual(
    said.filter((line) =>
      /^(active|inactive|enabled|LoadState|nothing to do|uninstalled|ok service|fault|error)/.test(line),
    ),
    [
      "active",
      "enabled",
      "nothing to do: Claude Code runs 5 hooks of ambient-signals already",
      "ok service: the service runs; config.toml has 0 monitors",
      "uninstalled: 5 hooks are out of the settings of Claude Code, the service is gone",
      "inactive",
      "LoadState=not-found",
    ],
    `${stdout}\n${stderr}`,
  );
  const polls = home
    .read("polls")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const [first, , second] = polls;
  assert.deepEqual(polls, [
    { args: [], PATH, pid: first.pid },
    { ended: true, pid: first.pid },
    { args: [], PATH, pid: second.pid },
    { ended: true, pid: second.pid },
  ]);
  assert.notEqual(first.pid, second.pid);
  assert.equal(existsSync(home.at(".config")), false, "what it made there goes too");
});
