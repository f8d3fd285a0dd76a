import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDirectory } from "./temp.ts";

const KILL = 'process.kill(process.pid, "SIGKILL");';

/** How a hook can come to a bad end at its first output, and the code that does it there. */
const ENDS = {
  "killed before it prints": KILL,
  "killed before it acks": `writeSync(file, ...what); ${KILL}`,
  "stuck before it prints": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000);",
} as const;

export type Cut = keyof typeof ENDS;

/**
 * A module that, loaded into a hook's process before the hook itself, ends it so once: the first time that it has
 * something to say. `happened` tells whether it has.
 */
export function cutting(how: Cut): { preload: string; happened: () => boolean } {
  const folder = tempDirectory("cut");
  const [preload, done] = [join(folder, "cut.mjs"), join(folder, "done")];
  const code = `
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
const { writeSync } = fs;
const done = ${JSON.stringify(done)};
fs.writeSync = (file, ...what) => {
  if (file !== 1 || fs.existsSync(done)) return writeSync(file, ...what);
  fs.writeFileSync(done, "");
  ${ENDS[how]}
};
syncBuiltinESMExports();
`;
  writeFileSync(preload, code);
  return { preload, happened: () => existsSync(done) };
}
