import { spawnSync } from "node:child_process";
import { tempDirectory } from "./temp.ts";

/**
 * The beginning of a command line that may mount what nobody else sees: as root, or as root of a user namespace.
 * Undefined where neither is allowed.
 */
export function privateMounts(): string[] | undefined {
  return [
    ["unshare", "-m"],
    ["unshare", "-Urm"],
  ].find(([command = "", ...args]) => {
    const mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tempDirectory("mount")];
    return spawnSync(command, [...args, ...mount]).status === 0;
  });
}
