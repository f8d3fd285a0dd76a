import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { writeBundles } from "../lib/bundle.ts";
import type { Check } from "../lib/doctor/doctor.ts";
import { type Document, findSignal, type Signal } from "../lib/document.ts";
import { readDocument, transact } from "../lib/inbox.ts";
import { ROOT, type Run, run, runFile, tempDirectory } from "../lib/testing/process.ts";
import { timeOf } from "../lib/time.ts";

const root = realpathSync(tempDirectory("doctor"));
const children = new Set<ChildProcess>();
before(async () => {
  await writeBundles(root);
  // Another user runs them too.
  chmodSync(root, 0o755);
});
after(() => {
  for (const child of children) child.kill("SIGKILL");
});

const SESSION = "5e551014-7a1e-4c0d-9b1f-2f6c1d0a9e37";

/** A home with an inbox, and what a person and a client run there. */
class Place {
  readonly home = realpathSync(tempDirectory("doctor"));
  readonly dir = join(this.home, "signals");
  readonly env = { HOME: this.home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };

  run(entry: string, args: readonly string[], stdin = ""): Promise<Run> {
    const file = join(root, `${entry}.mjs`);
    return run(process.execPath, [file, ...args, "--dir", this.dir], {
      stdin,
      cwd: this.home,
      env: this.env,
    });
  }

  doctor(...args: string[]): Promise<Run> {
    return this.run("scripts/doctor", args);
  }

  /** What the hook tells the model. */
  async hook(name: string, event: string, id = SESSION, harness = "claude-code"): Promise<string> {
    const payload = JSON.parse(readFileSync(join(ROOT, `fixtures/${harness}/${event}.json`), "utf8"));
    const stdin = JSON.stringify({ ...payload, session_id: id, cwd: this.home });
    const { code, stdout, stderr } = await this.run(`hooks/${harness}/${name}`, [], stdin);
    assert.deepEqual([code, stderr], [0, ""]);
    return stdout === "" ? "" : JSON.parse(stdout).hookSpecificOutput.additionalContext;
  }

  start(id?: string): Promise<string> {
    return this.hook("session-start", "SessionStart", id);
  }

  tool(id?: string): Promise<string> {
    return this.hook("post-tool-use", "PostToolUse", id);
  }

  doc(): Document {
    return readDocument(this.dir, timeOf(Date.now()));
  }

  /** A canary on its way, with the signal that it fired. */
  async canary(...args: string[]): Promise<{ child: ChildProcess; signal: Signal; ended: Promise<Run> }> {
    const before = this.doc().signals.length;
    const file = join(root, "scripts/doctor.mjs");
    const all = [file, "--canary", "--json", "--dir", this.dir, ...args];
    const child = spawn(process.execPath, all, {
      cwd: this.home,
      env: this.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.add(child);
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]).then(
      ([stdout, stderr, [code, signal]]) => ({ code, signal, stdout, stderr }),
    );
    for (;;) {
      const signal = this.doc().signals[before];
      if (signal) return { child, signal, ended };
      assert.equal(child.exitCode, null, "it ended before it fired");
      await sleep(20);
    }
  }
}

function checksOf({ stdout }: Run): Check[] {
  return JSON.parse(stdout);
}

function only({ stdout, stderr, code }: Run, check: string): Check & { code: number | null } {
  assert.equal(stderr, "");
  const [found, ...more] = (JSON.parse(stdout) as Check[]).filter((other) => other.check === check);
  assert.ok(found && more.length === 0, stdout);
  return { ...found, code };
}

describe("signals doctor", () => {
  test("tells each check in a line for people, and as an object in --json, from source and as a bundle", async () => {
    const place = new Place();
    await place.start();
    const [people, json, source] = await Promise.all([
      place.doctor(),
      place.doctor("--json"),
      runFile("scripts/doctor.mts", ["--json", "--dir", place.dir], { cwd: place.home, env: place.env }),
    ]);
    assert.deepEqual([people.code, people.stderr], [0, ""]);
    assert.deepEqual([source.code, source.stderr], [0, ""]);
    const checks = checksOf(json);
    const names = checks.map(({ check }) => check);
    const all =
      "node client environment settings hooks directory space files lock inbox config signals sessions failures";
    assert.deepEqual(names, all.split(" "));
    assert.deepEqual(
      checksOf(source).map(({ check, status }) => `${check} ${status}`),
      checks.map(({ check, status }) => `${check} ${status}`),
    );
    for (const check of checks) {
      assert.deepEqual(Object.keys(check), [
        "check",
        "status",
        "found",
        ...("mend" in check ? ["mend"] : []),
      ]);
      assert.ok(["ok", "note", "fault"].includes(check.status));
    }
    const lines = checks.flatMap(({ check, status, found, mend }) => [
      `${status} ${check}: ${found}`,
      ...(mend ? [`    ${mend}`] : []),
    ]);
    const timeless = (line: string) => line.replace(/\d+s ago|just now|\d+ MiB/, "");
    const notes = checks.filter(({ status }) => status === "note").length;
    const verdict = `no fault, ${notes} note${notes === 1 ? "" : "s"}`;
    assert.deepEqual(people.stdout.trimEnd().split("\n").map(timeless), [...lines, verdict].map(timeless));
  });

  test("exits 1 on a fault only, and 2 for wrong arguments", async () => {
    const place = new Place();
    const cases: [code: number, args: string[], line?: string][] = [
      [0, []],
      [0, ["--json"]],
      [0, ["--repair"]],
      [1, ["--canary"]],
      [2, ["--wait", "1s"], "--wait: belongs to --canary; add that, or leave it out"],
      [2, ["--session", "ada"], "--session: belongs to --canary; add that, or leave it out"],
      [2, ["--canary", "--wait", "soon"], "--wait: soon: is no duration to wait for; write one such as 2m"],
      [2, ["--canary", "--wait", "0s"], "--wait: 0s: is no duration to wait for; write one such as 2m"],
      [2, ["--repiar"], "--repiar: unknown flag; did you mean --repair?"],
      [2, ["all"], "all: unexpected argument; --help shows the usage"],
    ];
    for (const [code, args, line] of cases) {
      const ran = await place.doctor(...args);
      assert.equal(ran.code, code, `${args}\n${ran.stdout}${ran.stderr}`);
      assert.equal(ran.stderr, line === undefined ? "" : `error: ${line}\n`);
      if (code === 1) assert.match(ran.stdout, /\n1 fault, \d+ notes?\n$/);
    }
    assert.ok(!existsSync(place.dir), "and made no directory");
  });

  test("changes nothing, whatever it meets, and never shows a stack", async () => {
    const inboxes: [what: string, content: string | ((doc: Document) => object)][] = [
      ["whole", (doc) => doc],
      ["not JSON", "{"],
      ["empty", ""],
      ["no object", "null"],
      ["of another kind", "[[[]]]"],
      ["newer", (doc) => ({ ...doc, version: 999 })],
      ["newer and of another shape", '{"schema":"ambient-signals.inbox","version":999}'],
      ["older", (doc) => ({ ...doc, version: 1 })],
      [
        "with nonsense that has the right shape",
        (doc) => ({
          ...doc,
          signals: doc.signals.map((signal) => ({
            ...signal,
            generation: -1,
            envelope: { ...signal.envelope, actors: 7 },
          })),
        }),
      ],
      ["a big number", "1e999"],
    ];
    for (const [what, content] of inboxes) {
      const place = new Place();
      await place.start();
      await place.run("scripts/fire", ["--summary", "red", "--session", SESSION]);
      const doc = place.doc();
      writeFileSync(
        join(place.dir, "inbox.json"),
        typeof content === "string" ? content : JSON.stringify(content(doc)),
      );
      writeFileSync(join(place.dir, "config.toml"), what === "empty" ? "lease = 1\n" : "");
      // A clock that was set back leaves signs of life in the future.
      utimesSync(join(place.dir, "hook", SESSION), 2e9, 2e9);
      mkdirSync(join(place.dir, "staging", `1.${Date.now()}.x`));
      const before = snapshot(place.home);
      const { code, stdout, stderr } = await place.doctor("--json");
      assert.deepEqual(snapshot(place.home), before, what);
      assert.equal(stderr, "", what);
      assert.equal(code, /^(whole|older)$/.test(what) ? 0 : 1, `${what}: ${stdout}`);
      assert.doesNotMatch(stdout, /\n\s+at |node:internal|TypeError|undefined/, what);
      assert.ok(checksOf({ stdout } as Run).length >= 12, what);
    }
  });

  test("keeps text from outside from the terminal's controls", async () => {
    const place = new Place();
    await place.start();
    writeFileSync(join(place.dir, "config.toml"), '"\x1b[31m" = 1\n');
    writeFileSync(
      join(place.dir, "failures.jsonl"),
      `${JSON.stringify({ at: timeOf(Date.now()), hook: "x", message: "a\x1b[2Jb\nfault c" })}\n`,
    );
    const { stdout } = await place.doctor();
    assert.match(stdout, /a \[2Jb fault c/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    assert.doesNotMatch(stdout, /\x1b/);
  });

  test("says what another user, or a directory that is not to be written, keeps it from", async () => {
    const uid = process.getuid?.() === 0 ? 65_534 : undefined;
    const place = new Place();
    await place.start();
    const own = (path: string) => uid !== undefined && chownSync(path, uid, uid);
    chmodSync(place.home, 0o755);
    const inside = readdirSync(place.dir, { recursive: true, encoding: "utf8" });
    for (const path of [place.dir, ...inside.map((name) => join(place.dir, name))]) own(path);
    const look = async () => {
      const child = spawn(
        process.execPath,
        [join(root, "scripts/doctor.mjs"), "--json", "--dir", place.dir],
        {
          cwd: "/",
          env: { ...place.env, HOME: "/nonexistent", CLAUDE_CONFIG_DIR: place.home },
          stdio: ["ignore", "pipe", "pipe"],
          ...(uid !== undefined && { uid, gid: uid }),
        },
      );
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, "close"),
      ]);
      return { code, signal: null, stdout, stderr };
    };
    assert.equal(only(await look(), "directory").status, "ok");

    chmodSync(place.dir, 0o500);
    const unwritable = only(await look(), "directory");
    assert.match(unwritable.found, /cannot be written \(EACCES\), so nothing can be stored$/);
    assert.equal(unwritable.mend, `chmod 700 ${place.dir}`);
    chmodSync(place.dir, 0o000);
    const closed = await look();
    assert.match(only(closed, "directory").found, /cannot be written \(EACCES\)/);
    assert.equal(closed.code, 1);

    chmodSync(place.dir, 0o700);
    for (const name of ["inbox.json", "config.toml"]) {
      const file = join(place.dir, name);
      if (name === "config.toml") writeFileSync(file, "");
      own(file);
      chmodSync(file, 0o000);
      const { status, found, mend } = only(await look(), name.replace(/\..*/, ""));
      assert.equal(status, "fault");
      assert.match(found, /cannot be read \(EACCES\)/);
      assert.equal(mend, `chmod 600 ${file}`);
      spawnSync("sh", ["-c", mend ?? ""]);
      assert.equal(only(await look(), name.replace(/\..*/, "")).status, "ok");
    }
    const settings = join(place.home, "settings.json");
    writeFileSync(settings, "{}");
    own(settings);
    chmodSync(settings, 0o000);
    const unread = only(await look(), "settings");
    assert.match(unread.found, /settings\.json: .*\bEACCES\b.*: the client passes it over$/);
    assert.equal(unread.mend, `chmod 600 ${settings}`);
    spawnSync("sh", ["-c", unread.mend ?? ""]);
    assert.equal(only(await look(), "settings").status, "ok");

    if (uid === undefined) return;
    const file = join(place.dir, "inbox.json");
    chownSync(file, 0, 0);
    assert.equal(only(await look(), "inbox").mend, `sudo chown ${uid} ${file}`);
    chownSync(place.dir, 0, 0);
    chmodSync(place.dir, 0o755);
    const foreign = only(await look(), "directory");
    assert.match(foreign.found, /belongs to another user \(0\), so nothing in it is believed$/);
    assert.match(foreign.mend ?? "", /^use a directory of your own: --dir DIR, or HARN_EXT_SIGNALS_DIR/);
  });

  test("says when the disk is full, or not to be written at all", (t: TestContext) => {
    const inside = [
      ["unshare", "-m"],
      ["unshare", "-Urm"],
    ].find(([command = "", ...args]) => {
      const script = 'mount -t tmpfs -o size=64k tmpfs "$1"';
      return spawnSync(command, [...args, "sh", "-c", script, "sh", root]).status === 0;
    });
    if (inside === undefined) return t.diagnostic("no mount namespaces here");
    const { dir, env } = new Place();
    mkdirSync(dir);
    const cases: [options: string, fill: string, found: RegExp][] = [
      [
        "size=64k",
        "dd if=/dev/zero of=big bs=4k",
        /^fault space: the disk is full, so nothing can be stored$/m,
      ],
      [
        "size=1m,nr_inodes=8",
        "touch 1 2 3 4 5 6 7 8 9",
        /^fault space: the disk can take no more files, so nothing can be stored$/m,
      ],
      ["size=64k", 'mount -o remount,ro "$1"', /^fault directory: .* cannot be written \(EROFS\)/m],
    ];
    for (const [options, fill, found] of cases) {
      const script = `mount -t tmpfs -o mode=700,${options} tmpfs "$1" && cd "$1" && { ${fill} 2>/dev/null; "$2" "$3" --dir "$1"; }`;
      const [command = "", ...args] = [...inside, "sh", "-c", script, "sh", dir];
      const { stdout } = spawnSync(command, [...args, process.execPath, join(root, "scripts/doctor.mjs")], {
        env,
        encoding: "utf8",
      });
      assert.match(stdout, found);
    }
  });
});

/** Names, times and contents of everything below a folder. */
function snapshot(folder: string): Record<string, unknown> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name);
      const { mode, mtimeMs, size } = lstatSync(path);
      return [name, [mode, mtimeMs, size, lstatSync(path).isFile() && readFileSync(path, "utf8")]];
    }),
  );
}

describe("signals doctor --repair", () => {
  for (const [what, text] of [
    ["is not JSON", "{"],
    ["is not valid", '{"schema":"ambient-signals.inbox","version":1}'],
    ["is of a newer version", '{"schema":"ambient-signals.inbox","version":999}'],
  ] as const) {
    test(`moves an inbox aside that ${what}, and hooks go on`, async () => {
      const place = new Place();
      await place.start();
      writeFileSync(join(place.dir, "inbox.json"), text);
      assert.equal((await place.doctor()).code, 1);
      const repaired = await place.doctor("--repair", "--json");
      const { code, status, found } = only(repaired, "repair");
      assert.deepEqual([code, status], [0, "ok"]);
      const [, aside = ""] = /^the broken inbox is now (\S+); a new one is begun$/.exec(found) ?? [];
      assert.equal(readFileSync(aside, "utf8"), text);
      assert.equal(only(repaired, "inbox").found, "no signal is stored");

      await place.run("scripts/fire", ["--summary", "it goes on", "--session", SESSION]);
      assert.match(await place.tool(), /it goes on/);
      assert.equal((await place.doctor()).code, 0);
    });
  }

  test("leaves a valid inbox alone, says so, and tells of one that it may not touch", async () => {
    const place = new Place();
    await place.start();
    const before = readFileSync(join(place.dir, "inbox.json"), "utf8");
    const { stdout, code } = await place.doctor("--repair");
    assert.equal(stdout.split("\n")[0], "ok repair: no inbox is broken, so nothing was moved");
    assert.equal(code, 0);
    assert.equal(readFileSync(join(place.dir, "inbox.json"), "utf8"), before);

    writeFileSync(join(place.dir, "inbox.json"), "{");
    chmodSync(place.dir, 0o777);
    const refused = only(await place.doctor("--repair", "--json"), "repair");
    assert.deepEqual(
      [refused.status, refused.found, refused.mend],
      ["fault", `did not work: inbox: other users can write in ${place.dir}`, `chmod 700 ${place.dir}`],
    );
    assert.equal(readFileSync(join(place.dir, "inbox.json"), "utf8"), "{");
  });
});

describe("signals doctor --canary", () => {
  const unheard = async (place: Place, { key }: Signal) => {
    assert.notEqual(findSignal(place.doc(), key)?.state, "fired");
    for (const name of ["stop", "session-start"] as const) {
      const event = name === "stop" ? "Stop" : "SessionStart";
      assert.equal(await place.hook(name, event), "", "it is never delivered later");
    }
    assert.equal(await place.tool(), "");
    const { stdout } = await place.run("scripts/pending", ["--json"]);
    assert.deepEqual(JSON.parse(stdout), []);
  };

  test("is told and confirmed by the hook of the session that was heard of last", async () => {
    const place = new Place();
    await place.start("earlier");
    await place.start();
    const { signal, ended } = await place.canary();
    assert.match(signal.key, /^canary:[\da-f-]{36}$/);
    const { severity, one_shot, producer, hints, signature } = signal;
    assert.deepEqual(
      { severity, one_shot, producer, hints, signature, provider: signal.envelope.provider },
      {
        severity: "warning",
        one_shot: true,
        producer: "scripts/doctor",
        hints: { session: SESSION },
        signature: "local",
        provider: "ambient-signals",
      },
    );
    assert.equal(await place.tool("earlier"), "", "no other session hears it");
    const told = await place.tool();
    assert.match(told, /only a test: a person ran signals doctor/);
    assert.match(told, /Nothing is to be done/);
    const { code, status, found } = only(await ended, "canary");
    assert.deepEqual([code, status], [0, "ok"]);
    assert.match(found, /^5e551014 \(claude-code, .*\) was told, and confirmed it after \d+\.\d s$/);
    assert.equal(await place.tool(), "", "and hears no more of it");
  });

  test("is told and confirmed by the hook of a session of Codex too", async () => {
    const place = new Place();
    await place.start("earlier");
    await place.hook("session-start", "SessionStart", "ada", "codex");
    const { ended } = await place.canary();
    assert.match(await place.hook("post-tool-use", "PostToolUse", "ada", "codex"), /only a test/);
    assert.match(only(await ended, "canary").found, /^ada \(codex, .*\) was told, and confirmed it after /);
  });

  for (const [id, named] of [
    ["named", "named"],
    ["0dd5e551-7a1e-4c0d-9b1f-2f6c1d0a9e37", "0dd5e551"],
  ] as const) {
    test(`goes to the session that is named, as ${named}`, async () => {
      const place = new Place();
      await place.start(id);
      await place.start();
      const { ended } = await place.canary("--session", named);
      assert.equal(await place.tool(), "");
      assert.match(await place.tool(id), /only a test/);
      assert.match(only(await ended, "canary").found, new RegExp(`^${named} \\(claude-code, `));
    });
  }

  test("that comes to no safe point in time is withdrawn, and never told", async () => {
    const place = new Place();
    await place.start();
    const { signal, ended } = await place.canary("--wait", "1s");
    const { code, status, found, mend } = only(await ended, "canary");
    assert.deepEqual([code, status], [1, "fault"]);
    assert.match(found, /^5e551014 \(.*\) came to no safe point within 1s; it was withdrawn$/);
    assert.match(mend ?? "", /^run it again, and type a prompt into that session meanwhile/);
    assert.equal(findSignal(place.doc(), signal.key)?.state, "resolved");
    await unheard(place, signal);
  });

  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    test(`that a person ends with ${name} is withdrawn, and never told`, async () => {
      const place = new Place();
      await place.start();
      const { child, signal, ended } = await place.canary();
      child.kill(name);
      const { code, status, found } = only(await ended, "canary");
      assert.deepEqual([code, status], [1, "fault"]);
      assert.match(
        found,
        /^stopped after \d+\.\d s, before 5e551014 \(.*\) had confirmed the test; it was withdrawn$/,
      );
      await unheard(place, signal);
    });
  }

  test("that a hook took and did not confirm is withdrawn, and how it ended is told nobody", async () => {
    const place = new Place();
    await place.start();
    const { signal, ended } = await place.canary("--wait", "2s");
    const checkIn = {
      id: SESSION,
      harness: "claude-code",
      cwd: place.home,
      registers: true,
      subagent: false,
    };
    await transact(place.dir, { checkIn, lease: "any" }, { onConfigFault: "keep" });
    const { found, mend } = only(await ended, "canary");
    assert.match(
      found,
      /^a hook of 5e551014 \(.*\) took the test and did not confirm it within 2s; it was withdrawn$/,
    );
    assert.match(mend ?? "", /^see the failures of hooks above/);
    await unheard(place, signal);
  });

  test("that is held says why at once, and is withdrawn", async () => {
    const place = new Place();
    await place.start();
    for (const [config, reason] of [
      ['min_severity = "urgent"\n', "below min_severity urgent"],
      ['[[mute]]\nproducer = "scripts/*"\nreason = "quiet"\n', "muted (quiet)"],
    ] as const) {
      writeFileSync(join(place.dir, "config.toml"), config);
      const { signal, ended } = await place.canary();
      const { code, found, mend } = only(await ended, "canary");
      assert.equal(code, 1);
      assert.equal(found, `the test is held: ${reason}; it was withdrawn`);
      assert.match(mend ?? "", /config\.toml$/);
      writeFileSync(join(place.dir, "config.toml"), "");
      await unheard(place, signal);
    }
  });

  test("whose session ends meanwhile says so", async () => {
    const place = new Place();
    await place.start();
    const { ended } = await place.canary();
    await place.hook("session-end", "SessionEnd");
    assert.match(
      only(await ended, "canary").found,
      /^5e551014 \(.*\) ended before it was told; it was withdrawn$/,
    );
  });

  test("that nobody could hear, or that cannot be stored, is not fired", async () => {
    const place = new Place();
    await place.start();
    const unknown = only(await place.doctor("--canary", "--session", "nobody", "--json"), "canary");
    assert.equal(unknown.found, "session nobody is not live");
    assert.equal(unknown.mend, `choose one of those that are: signals sessions --dir ${place.dir}`);
    assert.deepEqual(place.doc().signals, []);

    for (const name of ["HARN_EXT_SIGNALS_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID"]) {
      const args = [join(root, "scripts/doctor.mjs"), "--canary", "--json", "--dir", place.dir];
      const inside = await run(process.execPath, args, {
        cwd: place.home,
        env: { ...place.env, [name]: SESSION },
      });
      const { code, found, mend } = only(inside, "canary");
      assert.match(found, /^this runs in 5e551014 \(.*\) itself, whose hooks wait until it has ended$/);
      assert.deepEqual([code, mend], [1, "run it in another terminal"]);
    }
    assert.deepEqual(place.doc().signals, []);

    await place.hook("session-end", "SessionEnd");
    const none = only(await place.doctor("--canary", "--json"), "canary");
    assert.deepEqual([none.code, none.found], [1, "there is no live session that could hear"]);
    assert.match(none.mend ?? "", /^start one in your project, with the hooks installed: (claude|codex)/);
    assert.deepEqual(place.doc().signals, []);

    writeFileSync(join(place.dir, "inbox.json"), "{");
    const broken = only(await place.doctor("--canary", "--json"), "canary");
    assert.equal(broken.status, "fault");
    assert.match(broken.found, /^did not work: inbox: .* is not JSON/);
    assert.equal(readFileSync(join(place.dir, "inbox.json"), "utf8"), "{");
  });
});
