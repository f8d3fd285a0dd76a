import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt } from "../errors.ts";
import { tempDirectory } from "./temp.ts";

const PROGRAM = process.env["ALERTMANAGER_BIN"] ?? "prometheus-alertmanager";

/** Why the real program cannot be tested with here; undefined when it can. */
export function withoutAlertmanager(): string | undefined {
  const version = attempt(() => execFileSync(PROGRAM, ["--version"], { stdio: "pipe" }));
  return version ? undefined : `${PROGRAM} is not installed; apt-get install prometheus-alertmanager`;
}

export interface PostedAlert {
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  generatorURL?: string;
  startsAt?: string;
  endsAt?: string;
}

/** A real Alertmanager on 127.0.0.1, with a configuration and a storage of its own, behind a path. */
export class Alertmanager {
  readonly #dir = tempDirectory("alertmanager");
  readonly #port: number;
  #child: ChildProcess | undefined;

  constructor(config: string, port: number) {
    this.#port = port;
    writeFileSync(join(this.#dir, "alertmanager.yml"), config);
  }

  static async start(config: string): Promise<Alertmanager> {
    const alertmanager = new Alertmanager(config, await freePort());
    await alertmanager.start();
    return alertmanager;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/alerts-of/acme`;
  }

  async start(): Promise<void> {
    const child = spawn(
      PROGRAM,
      [
        `--config.file=${join(this.#dir, "alertmanager.yml")}`,
        `--storage.path=${join(this.#dir, "data")}`,
        "--cluster.listen-address=",
        `--web.listen-address=127.0.0.1:${this.#port}`,
        "--web.route-prefix=/alerts-of/acme",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    this.#child = child;
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-2000);
    });
    process.once("exit", () => child.kill("SIGKILL"));
    for (let tries = 0; !(await this.#isReady()); tries++) {
      if (tries > 200 || child.exitCode !== null) throw new Error(`alertmanager does not start: ${said}`);
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    child.kill();
    await once(child, "exit");
  }

  /** Alerts as Prometheus sends them; what has an `endsAt` in the past is over. */
  async post(...alerts: PostedAlert[]): Promise<void> {
    await this.#send("alerts", alerts);
    // It takes them in one after the other, a moment later.
    const names = alerts
      .filter(({ endsAt }) => endsAt === undefined)
      .map(({ labels }) => labels["alertname"]);
    for (let tries = 0; tries < 200; tries++) {
      const listed = await (await fetch(`${this.url}/api/v2/alerts/groups`)).text();
      if (names.every((name) => listed.includes(`"alertname":"${name}"`))) return;
      await sleep(20);
    }
    throw new Error(`alertmanager does not list ${names.join(", ")}`);
  }

  /** The end of an alert, as Prometheus tells it. */
  async end(alert: PostedAlert): Promise<void> {
    await this.post({ ...alert, endsAt: new Date(Date.now() - 1000).toISOString() });
  }

  /** Silences all alerts of a name for an hour, and returns the silence's id. */
  async silence(alertname: string): Promise<string> {
    const answer = await this.#send("silences", {
      matchers: [{ name: "alertname", value: alertname, isRegex: false, isEqual: true }],
      startsAt: new Date().toISOString(),
      endsAt: new Date(Date.now() + 3_600_000).toISOString(),
      createdBy: "ada",
      comment: "being mended",
    });
    return ((await answer.json()) as { silenceID: string }).silenceID;
  }

  async unsilence(id: string): Promise<void> {
    await fetch(`${this.url}/api/v2/silence/${id}`, { method: "DELETE" });
  }

  async #send(path: string, body: unknown): Promise<Response> {
    const answer = await fetch(`${this.url}/api/v2/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`alertmanager: ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new Error("no free port");
  return address.port;
}
