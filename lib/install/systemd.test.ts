import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { privateUserManager, ServiceManagers } from "../testing/service-managers.ts";
import { tempDirectory } from "../testing/temp.ts";
import { onPath } from "./presence.ts";
import { systemd } from "./systemd.ts";

/** All that a unit file, or a shell, could trip over. */
const HOSTILE = `a b's "q" $HOME \${HOME} $$ %h %% \\n \\x41 \`x\`;ö`;

test("the unit is the person's own, where systemd looks for those", () => {
  const cases: [env: NodeJS.ProcessEnv, file: string][] = [
    [{ HOME: "/home/ada" }, "/home/ada/.config/systemd/user/ambient-signals.service"],
    [{ HOME: "/home/ada", XDG_CONFIG_HOME: "/etc/ada" }, "/etc/ada/systemd/user/ambient-signals.service"],
    [{ HOME: "/home/ada", XDG_CONFIG_HOME: "etc" }, "/home/ada/.config/systemd/user/ambient-signals.service"],
  ];
  for (const [env, file] of cases) assert.equal(systemd.fileIn(env), file);
});

test("the unit reads well, and never gives up", () => {
  const served = { launcher: "/home/ada lovelace/launch", dir: undefined, path: "/usr/bin:/home/100%/bin" };
  const lines = systemd.textOf(served, {}).split("\n");
  for (const line of [
    'ExecStart=/bin/sh "/home/ada lovelace/launch" scripts/poll',
    'Environment="PATH=/usr/bin:/home/100%%/bin"',
    "Restart=on-failure",
    "RestartSec=10",
    "StartLimitIntervalSec=0",
    "WantedBy=default.target",
  ])
    assert.ok(lines.includes(line), line);
});

test("the launcher is read out of a unit again, whatever its path, and out of none that runs something else", () => {
  const path = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(...HOSTILE) }));
  fc.assert(
    fc.property(path, path, (name, dir) => {
      const launcher = `/${name}`;
      assert.equal(systemd.launcherIn(systemd.textOf({ launcher, dir, path: dir }, {})), launcher);
    }),
  );
  for (const text of ["", "[Service]\nExecStart=/usr/bin/true\n", "ExecStart=scripts/poll\n"])
    assert.equal(systemd.launcherIn(text), undefined);
});

const analyze = onPath("systemd-analyze", process.env);

test("systemd finds nothing wrong with the unit", {
  skip: analyze === undefined && "there is no systemd-analyze",
}, () => {
  const folder = tempDirectory("unit");
  const verify = (text: string) => {
    const file = join(folder, "ambient-signals.service");
    writeFileSync(file, text);
    const env = { PATH: process.env["PATH"], HOME: folder, XDG_RUNTIME_DIR: folder };
    const { status, stderr } = spawnSync(analyze ?? "", ["--user", "verify", file], {
      env,
      encoding: "utf8",
    });
    return { status, stderr };
  };
  const text = systemd.textOf(
    { launcher: `/${HOSTILE}/launch`, dir: `/${HOSTILE}`, path: `/${HOSTILE}` },
    {},
  );
  assert.deepEqual(verify(text), { status: 0, stderr: "" });
  assert.match(verify(text.replace("Restart=", "Rastert=")).stderr, /Rastert/);
});

const beside = privateUserManager();

test("what systemd runs is what was written, to the letter", {
  skip: beside === undefined && "no user manager of one's own can be had here",
}, () => {
  const home = tempDirectory("unit");
  const folder = join(home, HOSTILE);
  mkdirSync(folder);
  const launcher = join(folder, "launch");
  writeFileSync(launcher, '#!/bin/sh\nprintf "%s\\n" "$PATH" "$@"\n');
  const units = join(home, ".config/systemd/user");
  mkdirSync(units, { recursive: true });
  const path = `/usr/bin:/bin:/${HOSTILE}`;
  const text = systemd.textOf({ launcher, dir: `/${HOSTILE}\t\u007f`, path }, {});
  // Else there is no way to know when it has ended.
  const told = text.replace("[Service]\n", `[Service]\nType=oneshot\nStandardOutput=file:${home}/ran\n`);
  writeFileSync(join(units, "ambient-signals.service"), told.replace(/^Restart=.*\n/m, ""));
  const ran = beside?.("systemctl --user start ambient-signals && cat ~/ran", [], {
    cwd: home,
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
  });
  const lines = [path, "scripts/poll", "--dir", `/${HOSTILE}\t\u007f`, ""];
  assert.deepEqual(ran?.stdout.split("\n"), lines, ran?.stderr);
});

describe("how the service is, as systemd says", () => {
  const cases: [
    active: string,
    sub: string,
    file: string,
    isUp: boolean,
    isWell: boolean,
    isKept: boolean,
  ][] = [
    ["active", "running", "enabled", true, true, true],
    ["active", "running", "disabled", true, true, false],
    ["activating", "auto-restart", "enabled", true, false, true],
    ["inactive", "dead", "enabled", false, false, true],
    ["failed", "failed", "enabled", false, false, true],
    ["inactive", "dead", "", false, false, false],
  ];
  for (const [active, sub, file, isUp, isWell, isKept] of cases) {
    test(`${active}, ${sub} and ${file || "unknown"}`, async () => {
      const managers = new ServiceManagers();
      managers.unitIs(active, sub, file);
      const env = { PATH: `${managers.bin}:/usr/bin:/bin`, HOME: managers.bin };
      assert.deepEqual(await systemd.look(env), { isUp, isWell, isKept, says: `${active} (${sub})` });
    });
  }

  test("or why it cannot say", async () => {
    const managers = new ServiceManagers();
    managers.is("silent");
    const env = { PATH: `${managers.bin}:/usr/bin:/bin`, HOME: managers.bin };
    assert.equal(await systemd.look(env), "Failed to connect to bus: No medium found");
    assert.equal(await systemd.look({ PATH: "/nowhere" }), "systemctl is not on PATH");
  });
});

test("that it ends at logout is said where it does", async () => {
  const managers = new ServiceManagers();
  const env = { PATH: `${managers.bin}:/usr/bin:/bin`, HOME: managers.bin };
  const [note, ...more] = await systemd.notes(env);
  assert.match(note ?? "", /; to have it always: loginctl enable-linger$/);
  assert.deepEqual(more, []);
  managers.is("linger");
  assert.deepEqual(await systemd.notes(env), []);
});
