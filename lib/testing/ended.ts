import { readFileSync } from "node:fs";
import { attempt } from "../errors.ts";
import { isRunning } from "../process.ts";

/** Whether a process is over: gone, or, as in a container in which nobody takes it away, a zombie. */
export function hasEnded(pid: number): boolean {
  const status = attempt(() => readFileSync(`/proc/${pid}/status`, "utf8")) ?? "";
  return !isRunning(pid) || /^State:\s+Z/m.test(status);
}
