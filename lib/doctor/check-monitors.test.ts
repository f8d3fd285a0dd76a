import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { readDocument, transact } from "../inbox.ts";
import { type State, watchOf, writeState } from "../monitor/state.ts";
import { tempDirectory } from "../testing/process.ts";
import { plus, timeOf } from "../time.ts";
import type { Finding } from "./check-finding.ts";
import { checkMonitors } from "./check-monitors.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** An inbox directory with a config.toml, and what its monitors know. */
class Place {
  readonly dir = join(tempDirectory("check-monitors"), "signals");
  readonly now = timeOf(Date.now());

  constructor() {
    this.polled("http", ["http://127.0.0.1:9/none"], 0);
    this.config("");
  }

  config(text: string): void {
    writeFileSync(join(this.dir, "config.toml"), text);
  }

  /** A monitor polled so long ago. */
  polled(name: string, args: readonly string[], agoMs: number, fields: Partial<State> = {}): void {
    const at = plus(this.now, -agoMs);
    const fresh: State = {
      ...watchOf(name, args, this.dir),
      failures: 0,
      status: "OK",
      summary: "",
      tracks: {},
      memory: {},
    };
    writeState(this.dir, { ...fresh, polled_at: at, read_at: at, ...fields });
  }

  check(): Finding[] {
    const { dir, now } = this;
    const env = { HOME: dir, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HARN_EXT_SIGNALS_DIR: dir };
    return checkMonitors({
      dir,
      cwd: "/",
      env,
      versions: { "claude-code": undefined, codex: undefined },
      now,
    });
  }
}

const HTTP = '[[monitor]]\nrun = "http"\nargs = ["http://127.0.0.1:9/"]\n';
const DISK = '[[monitor]]\nrun = "./disk.sh"\nevery = "5m"\n';

test("where config.toml has no monitor, there is nothing to say", () => {
  assert.deepEqual(new Place().check(), []);
});

test("all that is polled and reads its source is well, also what is polled rarely and what backs off", () => {
  const place = new Place();
  place.config(`${HTTP}\n${DISK}`);
  writeFileSync(join(place.dir, "disk.sh"), "#!/bin/sh\n", { mode: 0o755 });
  place.polled("http", ["http://127.0.0.1:9/"], 90 * SECOND);
  place.polled("check", ["--", "./disk.sh"], 14 * MINUTE);
  assert.deepEqual(place.check(), [{ status: "ok", found: "2 monitors, all read their sources within 14m" }]);
});

test("what was never polled, or not for three times its interval, is one note that says what polls", () => {
  const place = new Place();
  place.config(HTTP);
  const note: Finding = {
    status: "note",
    found: "1 monitor: not polled for three times as long as config.toml says, so signals poll may not run",
    mend: "in a terminal: signals poll; or at every login: signals install --service",
  };
  assert.deepEqual(place.check(), [note]);
  place.polled("http", ["http://127.0.0.1:9/"], 4 * MINUTE);
  assert.deepEqual(place.check(), [note]);

  place.config(`${HTTP}\n${DISK}`);
  writeFileSync(join(place.dir, "disk.sh"), "#!/bin/sh\n", { mode: 0o755 });
  place.polled("check", ["--", "./disk.sh"], 4 * MINUTE);
  assert.deepEqual(
    place.check().map(({ found }) => found.split(":")[0]),
    ["http http"],
    "those that are polled are not among them",
  );
});

test("one that the source asked for time, or that backs off, is not overdue", () => {
  const place = new Place();
  place.config(HTTP);
  const later = { not_before: plus(place.now, 30 * MINUTE) };
  place.polled("http", ["http://127.0.0.1:9/"], 10 * MINUTE, later);
  assert.equal(place.check()[0]?.status, "ok");
  place.polled("http", ["http://127.0.0.1:9/"], 10 * MINUTE, { failures: 5, error: "no route" });
  assert.match(place.check()[0]?.found ?? "", /no route/, "it is polled, and fails");
});

test("what cannot read its source is a note with the error, and since when", () => {
  const place = new Place();
  place.config(`${HTTP}\n${DISK}`);
  writeFileSync(join(place.dir, "disk.sh"), "#!/bin/sh\n", { mode: 0o755 });
  const failing = {
    failures: 4,
    error: "127.0.0.1:9/: answered 503",
    read_at: plus(place.now, -120 * MINUTE),
  };
  place.polled("http", ["http://127.0.0.1:9/"], 10 * SECOND, failing);
  place.polled("check", ["--", "./disk.sh"], 10 * SECOND, { failures: 1, error: "gone", read_at: undefined });
  assert.deepEqual(place.check(), [
    {
      status: "note",
      found:
        "http http://127.0.0.1:9/ last read its source 2h ago; 4 polls have failed since: 127.0.0.1:9/: answered 503",
    },
    { status: "note", found: "./disk.sh never read its source; 1 poll has failed: gone" },
  ]);
});

test("what cannot be run at all is a fault that names what was meant, or where it should be", () => {
  const place = new Place();
  const file = join(place.dir, "config.toml");
  place.config(`[[monitor]]\nrun = "htpp"\n\n${DISK}`);
  const says = () => place.check().filter(({ status }) => status === "fault");
  assert.deepEqual(says(), [
    {
      status: "fault",
      found: "htpp: run: htpp: is no monitor, and no program on PATH",
      mend: `in ${file}: did you mean http?`,
    },
    {
      status: "fault",
      found: "./disk.sh: run: ./disk.sh: there is no such file",
      mend: `in ${file}: put it at ${join(place.dir, "disk.sh")}`,
    },
  ]);
  place.config(DISK);
  writeFileSync(join(place.dir, "disk.sh"), "");
  chmodSync(join(place.dir, "disk.sh"), 0o644);
  assert.match(says()[0]?.found ?? "", /may not be run$/);
  assert.match(says()[0]?.mend ?? "", /: chmod \+x \/.*\/disk\.sh$/);
});

test("of a config.toml that is not valid, the monitors of its last valid version are looked at", async () => {
  const place = new Place();
  place.config(HTTP);
  await transact(
    place.dir,
    { change: (doc) => [{ ...doc, evicted: 1 }, undefined] },
    { onConfigFault: "keep" },
  );
  place.config("evry = 1");
  assert.ok(readDocument(place.dir, place.now).policy);
  assert.match(place.check()[0]?.found ?? "", /^1 monitor: not polled/);
});
