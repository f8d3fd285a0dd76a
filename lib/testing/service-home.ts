import assert from "node:assert/strict";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type Run, run } from "./process.ts";
import { onMac, ServiceManagers } from "./service-managers.ts";
import { tempDirectory } from "./temp.ts";
import { bundles } from "./workshop.ts";

export const DATA = ".local/share/ambient-signals";

/** Notes how it is run, until it is told to end. */
export const POLL = `
import { appendFileSync } from "node:fs";
const note = (what) => appendFileSync(process.env.HOME + "/polls", JSON.stringify({ ...what, pid: process.pid }) + "\\n");
note({ args: process.argv.slice(2), PATH: process.env.PATH });
const going = setInterval(() => {}, 1000);
process.once("SIGTERM", () => {
  note({ ended: true });
  clearInterval(going);
});
`;

let made: Promise<string> | undefined;

/** The folder of the bundles, made once per process, with a poller that only notes how it is run. */
export function servedBundles(): Promise<string> {
  made ??= bundles().then((folder) => {
    writeFileSync(join(folder, "scripts/poll.mjs"), POLL);
    return folder;
  });
  return made;
}

/** A person's home directory, with Claude Code and stand-ins for service managers on PATH. */
export class Home {
  readonly home = join(realpathSync(tempDirectory("service")), "ada lovelace");
  readonly managers = new ServiceManagers();
  readonly path = tempDirectory("path");
  env: Record<string, string> = {};

  constructor() {
    mkdirSync(join(this.home, "api"), { recursive: true });
    symlinkSync(process.execPath, join(this.path, "node"));
    this.client("claude", "2.1.332 (Claude Code)");
  }

  /** A client of the name is on PATH from here on. */
  client(name: string, version: string): void {
    writeFileSync(join(this.path, name), `#!/bin/sh\necho '${version}'\n`, { mode: 0o755 });
  }

  static onMac(): Home {
    const home = new Home();
    mkdirSync(home.at("Library/Logs"), { recursive: true });
    home.env["NODE_OPTIONS"] = onMac();
    return home;
  }

  get PATH(): string {
    return [this.managers.bin, this.path, this.at(".local/bin"), "/usr/bin", "/bin"].join(":");
  }

  at(path: string): string {
    return join(this.home, path);
  }

  read(path: string): string {
    return readFileSync(this.at(path), "utf8");
  }

  write(path: string, text: string): string {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
    return this.at(path);
  }

  /** Everything in the home directory: of a file its text. */
  get all(): Record<string, string | undefined> {
    const names = readdirSync(this.home, { recursive: true, encoding: "utf8" }).sort();
    const text = (name: string) => (statSync(this.at(name)).isFile() ? this.read(name) : undefined);
    return Object.fromEntries(names.map((name) => [name, text(name)]));
  }

  get manifest() {
    return JSON.parse(this.read(`${DATA}/installed.json`));
  }

  /** Runs a script from the bundles, or from where they are installed. */
  async run(name: string, args: readonly string[], stdin = "", from?: string): Promise<Run> {
    const folder = from ?? (await servedBundles());
    return run(process.execPath, [join(folder, "scripts", `${name}.mjs`), ...args], {
      cwd: this.at("api"),
      env: { HOME: this.home, PATH: this.PATH, ...this.env },
      stdin,
    });
  }

  async #well(name: string, args: readonly string[]): Promise<Run> {
    const result = await this.run(name, ["--yes", ...args]);
    assert.equal(result.code, 0, result.stderr);
    return result;
  }

  install(...args: string[]): Promise<Run> {
    return this.#well("install", args);
  }

  uninstall(...args: string[]): Promise<Run> {
    return this.#well("uninstall", args);
  }

  /** What is installed is of another version from here on. */
  age(): void {
    this.write(`${DATA}/scripts/list.mjs`, "// of an older version\n");
  }
}
