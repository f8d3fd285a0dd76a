import { lstatSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { homeOf, NAME } from "./paths.ts";
import { ask, type Manager, type Step } from "./service-manager.ts";

const UNIT = `${NAME}.service`;
const RELOAD = step("daemon-reload");

/** systemd, as each person has one. */
export const systemd: Manager = {
  fileIn: (env) => {
    const xdg = env["XDG_CONFIG_HOME"];
    const config = xdg && isAbsolute(xdg) ? xdg : join(homeOf(env), ".config");
    return join(config, "systemd", "user", UNIT);
  },
  textOf: ({ launcher, dir, path }) => {
    const args = [launcher, "scripts/poll", ...(dir === undefined ? [] : ["--dir", dir])];
    // By sh: as a program, systemd takes none whose path has a quote in it.
    return `# Written by signals install; signals uninstall takes it back. What you want added: systemctl --user edit ${NAME}
[Unit]
Description=Ambient signals: runs the monitors of config.toml
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh ${args.map(argument).join(" ")}
Environment=${quoted(`PATH=${path}`)}
Restart=on-failure
RestartSec=10

[Install]
WantedBy=default.target
`;
  },
  launcherIn: (text) => {
    const [, line = ""] = /^ExecStart=(.*)$/m.exec(text) ?? [];
    const words = (line.match(/"(?:\\.|[^"\\])*"|[^\s"]+/g) ?? []).map(unquoted);
    return words[words.indexOf("scripts/poll") - 1];
  },
  look: async (env) => {
    const { code, stdout, error } = await ask(
      ["systemctl", "--user", "show", "--property=ActiveState,SubState,UnitFileState", UNIT],
      env,
    );
    if (code !== 0) return error;
    const property = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
    const active = property("ActiveState");
    return {
      isUp: /^(active|activating|reloading)$/.test(active),
      isWell: /^(active|reloading)$/.test(active),
      isKept: property("UnitFileState").startsWith("enabled"),
      says: `${active} (${property("SubState")})`,
    };
  },
  start: () => [RELOAD, step("enable", UNIT), step("restart", UNIT)],
  refresh: (_, { changed, isUp }) => [
    ...(changed ? [RELOAD] : []),
    ...(isUp ? [step("try-restart", UNIT)] : []),
  ],
  stop: (hasFile) => [hasFile ? step("disable", "--now", UNIT) : step("stop", UNIT)],
  forget: [RELOAD],
  traces: (file) => {
    // Made by enabling it, and removed by disabling it, if there is anybody to ask for that.
    const upTo = join(dirname(file), "default.target.wants");
    const path = join(upTo, basename(file));
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? [{ path, upTo }] : [];
  },
  log: () => `journalctl --user -u ${NAME}`,
  notes: async (env) => {
    const { stdout } = await ask(
      ["loginctl", "show-user", String(process.getuid?.()), "--property=Linger"],
      env,
    );
    return /^Linger=yes$/m.test(stdout)
      ? []
      : [
          "the service ends when you log out, and starts when you log in; to have it always: loginctl enable-linger",
        ];
  },
};

function step(...words: string[]): Step {
  return { words: ["systemctl", "--user", ...words] };
}

/** A word of a command, in which `$` would be the beginning of a variable. */
function argument(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : quoted(text.replaceAll("$", "$$$$"));
}

/** In quotes, in which `%` would be the beginning of a specifier. */
function quoted(text: string): string {
  const escaped = text.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%");
  return `"${escaped.replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`;
}

function unquoted(word: string): string {
  return word
    .replace(/^"(.*)"$/, "$1")
    .replace(/\\(?:x([\da-f]{2})|(.))|\$\$|%%/g, (all, hex?: string, char?: string) =>
      hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (char ?? all[0] ?? ""),
    );
}
