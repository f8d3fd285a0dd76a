import assert from "node:assert/strict";
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import type { MonitorEntry } from "../policy.ts";
import { ROOT, TSX, tempDirectory } from "../testing/process.ts";
import { type Configured, commandOf, configuredIn, faultOf } from "./configured.ts";

const dir = realpathSync(tempDirectory("configured"));
const bin = join(dir, "bin");
mkdirSync(bin);
for (const name of ["check_disk", "a disk.sh"])
  writeFileSync(join(bin, name), "#!/bin/sh\n", { mode: 0o755 });
const env = { HOME: dir, PATH: bin };

const entry = (run: string, args: string[] = [], more: Partial<MonitorEntry> = {}): MonitorEntry => ({
  run,
  every: 60_000,
  args,
  ...more,
});

function only(one: MonitorEntry): Configured {
  const [configured, ...others] = configuredIn(dir, [one], env);
  assert.ok(configured && others.length === 0);
  return configured;
}

/** What the file is given, behind its name. */
function given(one: MonitorEntry): string[] {
  const { args } = commandOf(only(one), dir, env);
  const file = args.findIndex((arg) => /monitors\/\w+\.mts$/.test(arg));
  return [basename(args[file] ?? "", ".mts"), ...args.slice(file + 1)];
}

test("a monitor is run as it is, and any other program by check", () => {
  const common = ["--json", "--dir", dir];
  const cases: [entry: MonitorEntry, given: string[], label: string][] = [
    [
      entry("http", ["http://x/", "--contains", "a b"]),
      ["http", ...common, "http://x/", "--contains", "a b"],
      "http http://x/ --contains 'a b'",
    ],
    [
      entry("check", ["--name", "n", "--", "true"]),
      ["check", ...common, "--name", "n", "--", "true"],
      "check n",
    ],
    [
      entry("check_disk", ["-w", "10 %", "$HOME"]),
      ["check", ...common, "--", "check_disk", "-w", "10 %", "$HOME"],
      "check_disk -w '10 %' '$HOME'",
    ],
    [entry("./a disk.sh"), ["check", ...common, "--", "./a disk.sh"], "'./a disk.sh'"],
    [entry("~/bin/check_disk"), ["check", ...common, "--", `${bin}/check_disk`], `${bin}/check_disk`],
    [entry("~ada/x"), ["check", ...common, "--", "~ada/x"], "'~ada/x'"],
  ];
  for (const [one, words, label] of cases) {
    assert.deepEqual(given(one), words);
    assert.equal(only(one).label, label);
  }
});

test("a monitor of one's own is run as it is too, with the tsx of the package that it imports", () => {
  const modules = join(dir, "dotfiles", "node_modules");
  mkdirSync(modules, { recursive: true });
  symlinkSync(ROOT, join(modules, "ambient-signals"));
  for (const [name, text] of [
    ["own.mts", "await runMonitor(import.meta.url, {});"],
    ["own.mjs", "await runMonitor(import.meta.url, {});"],
    ["other.mjs", "process.exit(2);"],
  ] as const)
    writeFileSync(join(dir, "dotfiles", name), text, { mode: 0o755 });
  const own = only(entry("~/dotfiles/own.mts", ["/"]));
  assert.deepEqual([own.label, own.isForeign, own.watch.name], ["own /", false, "own"]);
  const [flag, tsx, ...rest] = commandOf(own, dir, env).args;
  assert.deepEqual([flag, tsx], ["--import", TSX[1]]);
  assert.deepEqual(rest, [join(dir, "dotfiles", "own.mts"), "--json", "--dir", dir, "/"]);
  assert.equal(commandOf(only(entry("./dotfiles/own.mjs")), dir, env).args[0], join(dir, "dotfiles/own.mjs"));
  assert.equal(only(entry("./dotfiles/other.mjs")).isForeign, true, "a program like any other");
  assert.match(faultOf(only(entry("./dotfiles/gone.mts")), dir, env) ?? "", /there is no such file/);
});

test("it runs in the directory of config.toml, at home where the entry says, else nowhere", () => {
  const { cwd, env: with_ } = commandOf(
    only(entry("http", [], { repository: "acme/api", every: 90_000 })),
    dir,
    env,
  );
  assert.equal(cwd, dir);
  assert.deepEqual(with_, {
    ...env,
    HARN_EXT_SIGNALS_REPOSITORY: "acme/api",
    HARN_EXT_SIGNALS_POLLED_EVERY: "90s",
  });
  assert.equal(commandOf(only(entry("http")), dir, env).env["HARN_EXT_SIGNALS_REPOSITORY"], "");
});

test("two entries that watch the same are one, whatever else they say", () => {
  const all = [
    entry("http", ["http://x/"]),
    entry("http", ["http://x/", "--timeout", "5s"], { every: 5_000 }),
    entry("http", ["http://x/", "--severity", "warning"]),
    entry("http", ["http://x/", "--contains", "ok"]),
    entry("check", ["--", "./x"]),
    entry("./x"),
  ];
  assert.deepEqual(
    configuredIn(dir, all, env).map(({ entry }) => all.indexOf(entry)),
    [0, 3, 4],
  );
});

test("what cannot be run is named, with what was meant or where it should be", () => {
  writeFileSync(join(dir, "no.sh"), "");
  chmodSync(join(dir, "no.sh"), 0o644);
  symlinkSync("nowhere", join(dir, "link"));
  const cases: [entry: MonitorEntry, fault: RegExp | undefined][] = [
    [entry("http", ["anything"]), undefined],
    [entry("check_disk"), undefined],
    [entry("./bin/check_disk"), undefined],
    [entry(`${bin}/a disk.sh`), undefined],
    [entry("~/bin/a disk.sh"), undefined],
    [entry("htpp"), /^run: htpp: is no monitor, and no program on PATH; did you mean http\?$/],
    [
      entry("nagios"),
      /^run: nagios: is no monitor, and no program on PATH; the monitors are .*\bcheck, .*http$/,
    ],
    [entry("./gone.sh"), /^run: \.\/gone\.sh: there is no such file; put it at \/.*\/gone\.sh$/],
    [entry("./link"), /^run: \.\/link: there is no such file; put it at \/.*\/link$/],
    [entry("./no.sh"), /^run: \.\/no\.sh: may not be run; chmod \+x \/.*\/no\.sh$/],
    [entry("./bin"), /^run: \.\/bin: is no file; name a program$/],
    [entry("./no.sh/x"), /^run: \.\/no\.sh\/x: there is no such file/],
    [
      entry("http", ["http://x/", "--every", "5s"]),
      /^args: --every: has a line of its own; write every there$/,
    ],
    [entry("http", ["--every=5s", "http://x/"]), /^args: --every: /],
    [entry("check", ["--", "watch", "--every", "5s"]), undefined],
    [entry("check_disk", ["--every", "5s"]), undefined],
  ];
  for (const [one, fault] of cases) {
    const found = faultOf(only(one), dir, env);
    const name = JSON.stringify(one);
    if (fault) assert.match(found ?? "", fault, name);
    else assert.equal(found, undefined, name);
  }
});
