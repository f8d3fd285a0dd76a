import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDirectory } from "./temp.ts";

/**
 * Programs named systemctl, loginctl and launchctl, to be put on PATH: they note what they are told, and answer as the
 * real ones do of one service, as far as is needed here.
 */
export class ServiceManagers {
  readonly bin = tempDirectory("managers");
  readonly #noted = join(this.bin, "noted");

  constructor() {
    for (const [name, text] of Object.entries(PROGRAMS))
      writeFileSync(join(this.bin, name), `#!/bin/sh\ncd '${this.bin}' || exit 9\n${text}`, { mode: 0o755 });
  }

  /** What they were told since this was last asked, but for questions. */
  told(): string[] {
    const text = existsSync(this.#noted) ? readFileSync(this.#noted, "utf8") : "";
    rmSync(this.#noted, { force: true });
    return text.split("\n").filter((line) => line !== "");
  }

  /** `silent`: there is nobody behind them; `linger`; `busy`: launchd has not let go of a service, so many times. */
  is(what: "silent" | "linger" | "busy", value: string | undefined = ""): void {
    if (value === undefined) rmSync(join(this.bin, what), { force: true });
    else writeFileSync(join(this.bin, what), value);
  }

  /** From here on, whatever has this word in it is refused. */
  refuse(word: string): void {
    writeFileSync(join(this.bin, "refused"), word);
  }

  /** What systemd says of the service from here on: ActiveState, SubState and UnitFileState. */
  unitIs(...[active, sub, file]: [active: string, sub: string, file: string]): void {
    for (const [name, value] of Object.entries({ active, sub, file }))
      writeFileSync(join(this.bin, name), value);
  }

  /** Whether the service runs. */
  get isUp(): boolean {
    const active = join(this.bin, "active");
    return (
      existsSync(join(this.bin, "loaded")) ||
      (existsSync(active) && readFileSync(active, "utf8") === "active")
    );
  }
}

const REFUSE = `
if [ -e refused ] && case " $* " in *" $(cat refused) "*) ;; *) false ;; esac; then
  echo 'Failed: it is refused' >&2
  exit 1
fi
`;

const PROGRAMS = {
  systemctl: `
if [ -e silent ]; then echo 'Failed to connect to bus: No medium found' >&2; exit 1; fi
wants="\${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/default.target.wants"
case $2 in
  show)
    printf 'ActiveState=%s\\nSubState=%s\\nUnitFileState=%s\\n' \\
      "$(cat active 2>/dev/null || echo inactive)" "$(cat sub 2>/dev/null || echo dead)" "$(cat file 2>/dev/null)"
    exit ;;
esac
echo "systemctl $*" >> noted
${REFUSE}
case $2 in
  enable)
    printf enabled > file
    mkdir -p "$wants"
    ln -sf "../$3" "$wants/$3" ;;
  restart) printf active > active; printf running > sub ;;
  stop) printf inactive > active; printf dead > sub ;;
  disable)
    printf inactive > active; printf dead > sub; printf '' > file
    rm -f "$wants/$4"; rmdir "$wants" ;;
esac
`,
  loginctl: `[ -e silent ] && exit 1\n[ -e linger ] && echo Linger=yes || echo Linger=no\n`,
  launchctl: `
case "$1 $2" in
  print\\ gui/*/*) [ -e loaded ] && { printf '\\tstate = running\\n'; exit; }; exit 113 ;;
  print*)
    [ -e silent ] && { echo 'Domain does not support specified action' >&2; exit 125; }
    exit 0 ;;
esac
echo "launchctl $*" >> noted
${REFUSE}
case $1 in
  bootstrap)
    left=$(cat busy 2>/dev/null || echo 0)
    if [ "$left" -gt 0 ]; then
      printf $((left - 1)) > busy
      echo 'Bootstrap failed: 5: Input/output error' >&2
      exit 5
    fi
    : > loaded ;;
  bootout) [ -e loaded ] || { echo 'Boot-out failed: 3: No such process' >&2; exit 3; }; rm loaded ;;
esac
`,
};

/** What is loaded before a script that is to believe itself on a Mac. */
export function onMac(): string {
  const file = join(tempDirectory("mac"), "preload.mjs");
  writeFileSync(file, 'Object.defineProperty(process, "platform", { value: "darwin" });\n');
  return `--import=${file}`;
}

const USER_MANAGER = `
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/$(id -u) || exit 9
export XDG_RUNTIME_DIR=/run/user/$(id -u)
chmod 700 "$XDG_RUNTIME_DIR"
for systemd in /usr/lib/systemd/systemd /lib/systemd/systemd; do
  [ -x "$systemd" ] && break
done
"$systemd" --user >/dev/null 2>&1 &
tries=0
until systemctl --user is-system-running >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ "$tries" -lt 50 ] && kill -0 $! 2>/dev/null || exit 9
  sleep 0.1
done
`;

/** Runs a shell script with these arguments to its end. */
type Beside = (
  script: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
) => { stdout: string; stderr: string; status: number | null };

/**
 * What runs a script beside a real user manager of systemd, which is nobody else's and ends with it. Undefined where
 * that cannot be had.
 */
export function privateUserManager(): Beside | undefined {
  const inside = (flags: string): Beside => {
    return (script, args, options) => {
      const words = [flags, "--kill-child", "--mount-proc", "sh", "-c", `${USER_MANAGER}${script}`, "sh"];
      // unshare ignores the signal that is the usual one.
      const limits = { timeout: 60_000, killSignal: "SIGKILL", encoding: "utf8" } as const;
      return spawnSync("unshare", [...words, ...args], { ...options, ...limits });
    };
  };
  const home = tempDirectory("user-manager");
  const options = { cwd: home, env: { PATH: process.env["PATH"] ?? "", HOME: home } };
  return ["-mpfC", "-UrmpfC"].map(inside).find((beside) => beside("true", [], options).status === 0);
}
