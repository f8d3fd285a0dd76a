import { codeOf } from "./errors.ts";

/** Whether a process of that id is there; one that we may not signal is. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}
