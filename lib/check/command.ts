import { setTimeout as sleep } from "node:timers/promises";
import { SignalsError } from "../errors.ts";
import { type Ran, runGroup } from "../process-group.ts";

/** Of each stream the first or the last part is kept; one line of it is shown. */
const OPTIONS = { bytes: 64 * 1024, grace: 2_000 };
/** How long others that were told to end have to do so. */
const TIDYING_MS = 1_000;

/**
 * Runs a command to its end, with what it starts in a group of its own. When `stop` is aborted, or this process is told
 * to end, the whole group is ended. Throws `SignalsError` when it cannot be started or was stopped.
 */
export async function runCommand(
  command: readonly string[],
  keep: "first" | "last",
  stop: AbortSignal,
): Promise<Ran> {
  stop.throwIfAborted();
  const { stopped, forget } = listen(stop);
  try {
    const ran = await runGroup(command, { ...OPTIONS, keep }, stopped);
    if (stopped.aborted) throw new SignalsError("was stopped");
    return ran;
  } finally {
    await forget();
  }
}

/** Whether to stop. A terminal's Ctrl-C reaches only its own group, so it has to be passed on; then it is obeyed. */
function listen(stop: AbortSignal): { stopped: AbortSignal; forget(): Promise<void> } {
  let told: NodeJS.Signals | undefined;
  const controller = new AbortController();
  const end = () => controller.abort();
  const hear = (signal: NodeJS.Signals) => {
    told = signal;
    end();
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, hear);
  stop.addEventListener("abort", end, { once: true });
  const forget = async () => {
    stop.removeEventListener("abort", end);
    for (const signal of signals) process.off(signal, hear);
    // Who runs on aborts `stop` as well, and ends by itself. Others listen only to tidy up, and wait for us.
    if (!told || stop.aborted) return;
    process.kill(process.pid, told);
    // They may need a turn, and this look must not count as one that failed.
    await sleep(TIDYING_MS);
  };
  return { stopped: controller.signal, forget };
}
