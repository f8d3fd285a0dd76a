import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ServiceManagers } from "../testing/service-managers.ts";
import { launchd } from "./launchd.ts";
import { onPath } from "./presence.ts";
import { take } from "./service-manager.ts";

const HOSTILE = 'a b\'s "q" $HOME %h \\n `x`; <b>&amp;&lt;]]>ö';
const SERVICE = `gui/${process.getuid?.()}/ambient-signals.poll`;

const python = onPath("python3", process.env);

test("a property list as Python reads it", { skip: python === undefined && "there is no python3" }, () => {
  const env = { HOME: `/Users/${HOSTILE}` };
  const served = { launcher: `/${HOSTILE}/launch`, dir: `/${HOSTILE}`, path: `/usr/bin:/${HOSTILE}` };
  const program = "import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
  const read = (input: string) =>
    spawnSync(python ?? "", ["-c", program], { input, encoding: "utf8" }).stdout;
  const log = `${env.HOME}/Library/Logs/ambient-signals.log`;
  assert.deepEqual(JSON.parse(read(launchd.textOf(served, env))), {
    Label: "ambient-signals.poll",
    ProgramArguments: [served.launcher, "scripts/poll", "--dir", served.dir],
    EnvironmentVariables: { PATH: served.path },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    StandardOutPath: log,
    StandardErrorPath: log,
  });
  const { ProgramArguments: words } = JSON.parse(read(launchd.textOf({ ...served, dir: undefined }, env)));
  assert.deepEqual(words, [served.launcher, "scripts/poll"]);
});

test("the launcher is read out of an agent again, whatever its path, and out of none that runs something else", () => {
  const path = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(...HOSTILE) }));
  fc.assert(
    fc.property(path, path, (name, dir) => {
      const launcher = `/${name}`;
      assert.equal(launchd.launcherIn(launchd.textOf({ launcher, dir, path: dir }, { HOME: "/" })), launcher);
    }),
  );
  for (const text of ["", "<string>/usr/bin/true</string>", "<string>scripts/poll</string>"])
    assert.equal(launchd.launcherIn(text), undefined);
});

describe("launchctl is told", () => {
  const setUp = () => {
    const managers = new ServiceManagers();
    return { managers, env: { PATH: `${managers.bin}:/usr/bin:/bin`, HOME: managers.bin } };
  };

  test("to start what does not run yet, and waits while launchd holds on to what was there", async () => {
    const { managers, env } = setUp();
    managers.is("busy", "2");
    for (const step of launchd.start("/a b.plist")) assert.equal(await take(step, env), undefined);
    const again = `launchctl bootstrap gui/${process.getuid?.()} /a b.plist`;
    assert.deepEqual(managers.told(), [`launchctl bootout ${SERVICE}`, again, again, again]);
    assert.deepEqual(await launchd.look(env), { isUp: true, isWell: true, isKept: true, says: "running" });
  });

  test("and what it refuses for another reason is said at once", async () => {
    const { managers, env } = setUp();
    managers.refuse("bootstrap");
    const [, bootstrap] = launchd.start("/x.plist");
    assert.equal(bootstrap && (await take(bootstrap, env)), "Failed: it is refused");
    assert.equal(managers.told().length, 1);
  });

  test("to load it anew when its file has changed, only to restart it when its code has, and nothing of one that is off", () => {
    const words = (changed: boolean, isUp: boolean) =>
      launchd.refresh("/x.plist", { changed, isUp }).map((step) => step.words[1]);
    assert.deepEqual(words(true, true), ["bootout", "bootstrap"]);
    assert.deepEqual(words(false, true), ["kickstart"]);
    assert.deepEqual([words(true, false), words(false, false)], [[], []]);
  });

  test("how it is, or why that cannot be said", async () => {
    const { managers, env } = setUp();
    assert.deepEqual(await launchd.look(env), {
      isUp: false,
      isWell: false,
      isKept: false,
      says: "not loaded",
    });
    managers.is("silent");
    assert.equal(await launchd.look(env), "Domain does not support specified action");
  });
});
