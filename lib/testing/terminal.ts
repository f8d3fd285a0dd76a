import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { messageOf } from "../errors.ts";
import { isRunning } from "../process.ts";
import type { InTerminal } from "./client.ts";
import type { StandIn } from "./stand-in.ts";

export type TerminalOptions = {
  client: InTerminal;
  /** The home directory, which is used as it is. */
  home: string;
  cwd: string;
  /** The API, which the caller closes after the terminal. */
  api: StandIn;
  /** Further variables. */
  env?: Record<string, string> | undefined;
};

/** Tall enough that a short session never scrolls. */
const [COLUMNS, ROWS] = ["160", "120"];
/** How long anything that a person would wait for may take. */
const PATIENCE_MS = 30_000;

/**
 * An interactive client, in a terminal of its own that is driven as a person would: type, and look at the screen.
 * It needs tmux. Each terminal has its own tmux server, which is given nothing but the client's environment.
 */
export class Terminal {
  readonly #tmux: (...args: string[]) => Promise<string>;
  readonly #client: InTerminal;
  readonly #pid: number;
  /** Ends the tmux server, which hangs up on the client. */
  readonly #hangUp: () => void;

  private constructor(
    tmux: (...args: string[]) => Promise<string>,
    client: InTerminal,
    pid: number,
    hangUp: () => void,
  ) {
    this.#tmux = tmux;
    this.#client = client;
    this.#pid = pid;
    this.#hangUp = hangUp;
  }

  /** Starts the client. Who starts it closes it. */
  static async start({ client, home, cwd, api, env }: TerminalOptions): Promise<Terminal> {
    const commandLine = await client.prepare({ home, cwd, url: api.url });
    const variables = { ...client.environment(home, api.url), TERM: "xterm-256color", ...env };
    const server = ["-S", join(home, "terminal"), "-f", "/dev/null"];
    const limits = { env: variables, timeout: PATIENCE_MS };
    const tmux = async (...words: string[]) => {
      const { stdout } = await promisify(execFile)("tmux", [...server, ...words], limits);
      return stdout;
    };
    const size = ["-x", COLUMNS, "-y", ROWS, "-c", cwd];
    // The client is not to know that it runs under tmux.
    const program = ["env", "-uTMUX", "-uTMUX_PANE", ...commandLine];
    // When it has ended, its screen and its exit status stay to be seen.
    const stay = "set-option -w remain-on-exit on".split(" ");
    try {
      await tmux("new-session", "-d", ...size, "--", ...program, ";", ...stay);
    } catch (error) {
      throw new Error(`terminal: cannot start tmux; install it if it is not there: ${messageOf(error)}`);
    }
    const pid = Number(await tmux("display-message", "-p", "#{pane_pid}"));
    const hangUp = () => {
      process.off("exit", hangUp);
      spawnSync("tmux", [...server, "kill-server"], { env: variables });
    };
    // Before the home directory goes, with the socket in it.
    process.prependListener("exit", hangUp);
    return new Terminal(tmux, client, pid, hangUp);
  }

  /** What is on the screen now, with plain spaces and no more than one empty line in a row. */
  async screen(): Promise<string> {
    const lines = await this.#tmux("capture-pane", "-p");
    return lines.replaceAll("\u00a0", " ").replace(/\n{3,}/g, "\n\n");
  }

  /** Waits until the screen matches, and returns it. Throws with the screen when it does not in time. */
  async sees(pattern: RegExp): Promise<string> {
    return this.#until(`no ${pattern}`, async (screen) => pattern.test(screen));
  }

  /** Waits until the client takes input, and returns the screen. */
  ready(): Promise<string> {
    return this.sees(this.#client.prompt);
  }

  /** Types a line and enters it, once the client is ready for it. */
  async submit(line: string): Promise<void> {
    await this.ready();
    await this.#tmux("send-keys", "-l", line);
    // An Enter that comes before the text is on the screen would be lost.
    await this.#until(`${line} was not typed`, async (screen) =>
      screen.includes(`${this.#client.mark} ${line}`),
    );
    await this.#tmux("send-keys", "Enter");
  }

  /** Presses keys, each by its name in tmux, such as `Enter`. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux("send-keys", ...keys);
  }

  /** Waits until the client has ended, and returns its exit status. */
  async ends(): Promise<number> {
    const format = "#{pane_dead} #{pane_dead_status}";
    let status = "";
    await this.#until("the client did not end", async () => {
      status = (await this.#tmux("display-message", "-p", format)).trim();
      return status.startsWith("1");
    });
    return Number(status.slice(2));
  }

  /** Ends the client, if it has not ended by itself, and waits until it is gone. */
  async close(): Promise<void> {
    this.#hangUp();
    const end = Date.now() + PATIENCE_MS;
    while (isRunning(this.#pid) && Date.now() < end) await sleep(20);
  }

  async #until(what: string, holds: (screen: string) => Promise<boolean>): Promise<string> {
    for (const end = Date.now() + PATIENCE_MS; ; ) {
      const screen = await this.screen();
      if (await holds(screen)) return screen;
      if (Date.now() > end) throw new Error(`terminal: ${what} in ${PATIENCE_MS} ms:\n${screen.trimEnd()}`);
      await sleep(50);
    }
  }
}
