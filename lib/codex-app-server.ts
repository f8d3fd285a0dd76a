import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { CODEX } from "./codex.ts";
import { attempt, codeOf, SignalsError } from "./errors.ts";
import { packageVersion } from "./header.ts";
import { NAME, type Situation } from "./install/paths.ts";

/** For all that is asked of one server, its start included; it takes a tenth of a second. */
const LIMIT_MS = 20_000;
/** Between the end of its input and its own end. */
const END_MS = 2_000;
/** Of what it says besides, and of an error, which may list all that it knows: characters. */
const WORDS = 300;

export interface AppServerOptions {
  /**
   * Loads the plugins too, hooks of theirs among them. As at every start of Codex, it then looks on the network for new
   * ones; without them, it opens no connection.
   */
  plugins?: boolean;
  limitMs?: number;
}

/** Asks the server, and checks the form of its answer. Throws `SignalsError`. */
export type Ask = <T>(method: string, params: object, answer: z.ZodMiniType<T>) => Promise<T>;

/** What Codex knows of a hook. */
const HOOK = z.object({
  /** Where it stands: the file, the event, and its place in it. Trust is bound to that. */
  key: z.string(),
  /** Such as `sessionStart`. */
  eventName: z.string(),
  /** None of a handler that is no command. */
  command: z.optional(z.string()),
  sourcePath: z.string(),
  pluginId: z.nullable(z.string()),
  /** Not switched off by the person. */
  enabled: z.boolean(),
  /** Of its event, command and timeout: what is to be trusted. */
  currentHash: z.string(),
  /** `untrusted`, `trusted`, `modified` (another one was trusted in its place) or `managed`. */
  trustStatus: z.string(),
});

export type CodexHook = z.infer<typeof HOOK>;

const HOOKS = z.object({
  hooks: z.array(HOOK),
  warnings: z.array(z.string()),
  errors: z.array(z.object({ message: z.string() })),
});

/** The hooks that Codex finds for a directory, none of a project that it does not trust, and what it says of them. */
export type CodexHooks = z.infer<typeof HOOKS>;

/**
 * What Codex knows of the hooks that it would run in `cwd`. It writes nothing but what every start of Codex writes into
 * its folder. Throws `SignalsError` when there is no Codex that could say.
 */
export function codexHooks(situation: Situation, options: AppServerOptions = {}): Promise<CodexHooks> {
  return withAppServer(situation, (ask) => listHooks(ask, situation.cwd), options);
}

/** The same of a server that runs already. */
export async function listHooks(ask: Ask, cwd: string): Promise<CodexHooks> {
  const { data } = await ask("hooks/list", { cwds: [cwd] }, z.object({ data: z.array(HOOKS) }));
  return data[0] ?? { hooks: [], warnings: [], errors: [] };
}

/**
 * Starts `codex app-server`, the client's own door for programs, lets `work` ask it, and ends it. Throws
 * `SignalsError` when it cannot be started, ends early, refuses, or takes too long.
 */
export async function withAppServer<T>(
  { cwd, env }: Situation,
  work: (ask: Ask) => Promise<T>,
  { plugins = false, limitMs = LIMIT_MS }: AppServerOptions = {},
): Promise<T> {
  const flags = plugins ? [] : ["-c", "features.plugins=false"];
  const child = spawn(CODEX.program, ["app-server", ...flags], { cwd, env, stdio: "pipe" });
  const answers = new Map<unknown, (answer: Answer) => void>();
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-WORDS);
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const answer: Answer = attempt(() => JSON.parse(line)) ?? {};
    // What it tells of its own accord is of no use here.
    answers.get(answer.id)?.(answer);
  });
  // Its end says why.
  child.stdin.on("error", () => {});
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);

  const ask: Ask = async (method, params, answer) => {
    const id = answers.size + 1;
    const { error, result } = await new Promise<Answer>((resolve) => {
      answers.set(id, resolve);
      send({ id, method, params });
    });
    if (error)
      throw trouble(`refuses ${method}: ${error.message?.slice(0, WORDS)}`, "mend that, or update Codex");
    const { success, data } = z.safeParse(answer, result);
    if (!success)
      throw trouble(`answers ${method} in a form that is not known here`, "update ambient-signals");
    return data;
  };
  const ended = once(child, "close").then(
    ([status, signal]) => {
      const last = said.trim().split("\n").at(-1);
      throw trouble(`ended early (${signal ?? status})${last ? `: ${last}` : ""}`, "try it: codex doctor");
    },
    (error) => {
      throw codeOf(error) === "ENOENT"
        ? new SignalsError("codex: is not on PATH; put it there, and run this again")
        : trouble(`cannot be started (${codeOf(error)})`, "try it: codex --version");
    },
  );
  const done = new AbortController();
  const late = sleep(limitMs, undefined, { signal: done.signal }).then(() => {
    throw trouble(`does not answer within ${limitMs / 1000} s`, "run this again");
  });
  // They lose the race, or come after it.
  for (const loser of [ended, late]) loser.catch(() => {});
  const talk = async () => {
    const clientInfo = { name: NAME, title: null, version: packageVersion() };
    await ask("initialize", { clientInfo }, z.unknown());
    send({ method: "initialized" });
    return work(ask);
  };
  try {
    return await Promise.race([talk(), ended, late]);
  } finally {
    done.abort();
    child.stdin.end();
    const kill = setTimeout(() => {
      child.kill("SIGKILL");
      // A process that it started may hold them.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    }, END_MS);
    await ended.catch(() => {});
    clearTimeout(kill);
  }
}

interface Answer {
  id?: unknown;
  result?: unknown;
  error?: { message?: string };
}

function trouble(what: string, mend: string): SignalsError {
  return new SignalsError(`codex app-server: ${what}; ${mend}`);
}
