import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import lockfile from "lockfile";
import { messageOf } from "../errors.ts";

/** One version of a client, as an npm package. */
export type PinnedClient = {
  /** Of its folder and of its lock. */
  name: string;
  version: string;
  /** What npm installs. */
  spec: string;
  /** The path of the program below `node_modules`. */
  program: string;
  /** The variable that names another program. */
  variable: string;
};

const CACHE = fileURLToPath(new URL("../../node_modules/.cache/ambient-signals/", import.meta.url));
const INSTALL_MS = 5 * 60_000;

/**
 * The path of a real client: what its variable says when that is set, otherwise the pinned version under
 * `node_modules`, installed from the npm registry when it is not there yet (about 400 MB on disk).
 *
 * The install grows beside its place and is moved there when complete, so what is there is whole.
 */
export async function pinnedProgram(client: PinnedClient): Promise<string> {
  const named = process.env[client.variable];
  if (named) return named;
  const place = join(CACHE, `${client.name}-${client.version}`);
  const program = join(place, "node_modules", client.program);
  if (existsSync(program)) return program;

  // The lock only saves test files that start together from fetching it twice; the rename is what makes it safe.
  await mkdir(CACHE, { recursive: true });
  const lock = `${place}.lock`;
  const patience = { wait: INSTALL_MS, pollPeriod: 200, stale: INSTALL_MS };
  await new Promise<void>((resolve, reject) => {
    lockfile.lock(lock, patience, (error) => (error ? reject(error) : resolve()));
  });
  try {
    if (!existsSync(program)) await install(client, place);
  } finally {
    await promisify(lockfile.unlock)(lock);
  }
  return program;
}

async function install({ name, spec, variable }: PinnedClient, place: string): Promise<void> {
  for (const entry of await readdir(CACHE)) {
    const isLeftOver = entry.startsWith(`${name}-`) && entry.endsWith(".part");
    if (isLeftOver) await rm(join(CACHE, entry), { recursive: true, force: true });
  }
  const part = `${place}.${process.pid}.part`;
  await mkdir(part);
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--no-package-lock"];
  try {
    await promisify(execFile)("npm", ["install", "--prefix", part, ...flags, spec], { timeout: INSTALL_MS });
  } catch (error) {
    throw new Error(`${name}: cannot install ${spec}; set ${variable} to a client: ${messageOf(error)}`);
  }
  await rm(place, { recursive: true, force: true });
  await rename(part, place);
}
