import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh directory, removed when the process ends, also by Ctrl-C. */
export function tempDirectory(name = "ambient-signals"): string {
  if (temporary.length === 0) {
    process.once("SIGINT", () => process.exit(130));
    process.once("SIGTERM", () => process.exit(143));
    process.on("exit", () => {
      for (const dir of temporary) rmSync(dir, { recursive: true, force: true });
    });
  }
  const dir = mkdtempSync(join(tmpdir(), `${name}-`));
  temporary.push(dir);
  return dir;
}

const temporary: string[] = [];
