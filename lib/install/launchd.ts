import { existsSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../text.ts";
import { homeOf, NAME } from "./paths.ts";
import { ask, type Manager } from "./service-manager.ts";

const LABEL = `${NAME}.poll`;
const DOMAIN = `gui/${process.getuid?.()}`;
const SERVICE = `${DOMAIN}/${LABEL}`;

/** launchd, of whoever is logged in at a Mac. */
export const launchd: Manager = {
  fileIn: (env) => join(homeOf(env), "Library", "LaunchAgents", `${LABEL}.plist`),
  textOf: ({ launcher, dir, path }, env) => {
    const args = [launcher, "scripts/poll", ...(dir === undefined ? [] : ["--dir", dir])];
    return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by signals install; signals uninstall takes it back. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  ${string(LABEL)}
  <key>ProgramArguments</key>
  <array>
    ${args.map(string).join("\n    ")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    ${string(path)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>StandardOutPath</key>
  ${string(logIn(env))}
  <key>StandardErrorPath</key>
  ${string(logIn(env))}
</dict>
</plist>
`;
  },
  launcherIn: (text) => {
    const words = [...text.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word = ""]) => unescaped(word));
    return words[words.indexOf("scripts/poll") - 1];
  },
  look: async (env) => {
    const domain = await ask(["launchctl", "print", DOMAIN], env);
    if (domain.code !== 0) return domain.error;
    const { code, stdout } = await ask(["launchctl", "print", SERVICE], env);
    const [, state = "not loaded"] = (code === 0 && /^\s*state = (.*)$/m.exec(stdout)) || [];
    // What is loaded is so at the next login too.
    return { isUp: code === 0, isWell: state === "running", isKept: code === 0, says: state };
  },
  start: (file) => [
    { words: ["launchctl", "bootout", SERVICE], mayFail: true },
    // It takes some seconds until launchd has let go of what was there, and refuses until then.
    { words: ["launchctl", "bootstrap", DOMAIN, file], again: [5, 37] },
  ],
  refresh: (file, { changed, isUp }) => {
    if (!isUp) return [];
    return changed ? launchd.start(file) : [{ words: ["launchctl", "kickstart", "-k", SERVICE] }];
  },
  // While it is still under way, it says that it failed.
  stop: () => [{ words: ["launchctl", "bootout", SERVICE], mayFail: true }],
  forget: [],
  traces: (_, env) => [{ path: logIn(env) }].filter(({ path }) => existsSync(path)),
  log: (env) => `less ${shellWord(logIn(env))}`,
  notes: () => Promise.resolve([]),
};

/** Without a file, launchd throws away what a program writes. */
function logIn(env: NodeJS.ProcessEnv): string {
  return join(homeOf(env), "Library", "Logs", `${NAME}.log`);
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

function string(text: string): string {
  return `<string>${text.replace(/[&<>]/g, (char) => ENTITIES[char] ?? char)}</string>`;
}

function unescaped(text: string): string {
  const chars = Object.entries(ENTITIES);
  return text.replace(/&\w+;/g, (entity) => chars.find(([, name]) => name === entity)?.[0] ?? entity);
}
