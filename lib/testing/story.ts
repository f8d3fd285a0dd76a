import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryNamed, home as packageHome, runnerOf } from "../entries.ts";
import { tempDirectory } from "./temp.ts";

/** One step of the story: what happens, what is run for it, and what that printed. */
export interface StoryStep {
  what: string;
  ran: string;
  printed: string;
}

/**
 * The whole story with the real files, each step as its own process in a throw-away inbox: a session starts, CI
 * breaks, the hook tells the session once, CI recovers, the hook tells it that too. The payloads are those of a
 * real client, but for the directory, which has to exist. Throws when a step fails.
 */
export async function* story(): AsyncGenerator<StoryStep> {
  const home = tempDirectory("demo");
  const project = join(home, "acme-api");
  makeCheckout(project, "git@github.com:acme/api.git");
  // Nothing of a session that this may run in.
  const outside = Object.entries(process.env).filter(([name]) => !/^(CLAUDE|HARN_)/.test(name));
  const env = { ...Object.fromEntries(outside), HARN_EXT_SIGNALS_DIR: join(home, "signals") };
  // Not at the top: a scenario does without it.
  const { $ } = await import("zx");
  const here = $({ cwd: home, env, quiet: true });

  const script = async (what: string, name: string, ...args: string[]): Promise<StoryStep> => {
    const { stdout } = await here`${process.execPath} ${runnerOf(entryNamed(`scripts/${name}`))} ${args}`;
    const shown = args.map((arg) => (/\s/.test(arg) ? `"${arg}"` : arg)).join(" ");
    return { what, ran: `signals ${name} ${shown}`, printed: stdout.trim() };
  };
  const hook = async (what: string, name: string, event: string): Promise<StoryStep> => {
    const file = `fixtures/claude-code/${event}.json`;
    const payload = { ...JSON.parse(readFileSync(join(packageHome(), file), "utf8")), cwd: project };
    const entry = entryNamed(`hooks/claude-code/${name}`);
    const input = JSON.stringify(payload);
    const { stdout } = await here({ input })`${process.execPath} ${runnerOf(entry)}`;
    const output = stdout === "" ? {} : JSON.parse(stdout);
    return {
      what,
      ran: `${entry.name} < ${file}`,
      printed: output.hookSpecificOutput?.additionalContext ?? "",
    };
  };

  const fire = ["--key", "ci:acme/api:main", "--summary", "CI on main of acme/api is failing"];
  const more = [
    "--repo",
    "acme/api",
    "--source-url",
    "https://ci.example.test/main",
    "--producer",
    "demo/ci",
  ];
  yield await hook(
    "A coding agent's session starts in a checkout of acme/api",
    "session-start",
    "SessionStart",
  );
  yield await script("CI breaks: a script that watches it fires a signal", "fire", ...fire, ...more);
  yield await hook("The agent's next tool call ends: the hook tells it", "post-tool-use", "PostToolUse");
  yield await script("The script looks again, and CI is still red", "fire", ...fire, ...more);
  yield await hook("The next tool call ends: no news, so silence", "post-tool-use", "PostToolUse");
  yield await script(
    "CI recovers",
    "resolve",
    "ci:acme/api:main",
    "--summary",
    "CI on main of acme/api is green again",
  );
  yield await hook(
    "The next tool call ends: who was told hears how it ended",
    "post-tool-use",
    "PostToolUse",
  );
  yield await hook("The session ends", "session-end", "SessionEnd");
}

/** A git checkout as far as the hooks look: no git needed. */
function makeCheckout(dir: string, remote: string): void {
  mkdirSync(join(dir, ".git"), { recursive: true });
  writeFileSync(join(dir, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(join(dir, ".git", "config"), `[remote "origin"]\n\turl = ${remote}\n`);
}
