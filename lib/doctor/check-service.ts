import { resolve } from "node:path";
import { harnessFlag } from "../install/again.ts";
import { clientsIn, readManifest } from "../install/manifest.ts";
import { defaultInbox, installationOf } from "../install/paths.ts";
import { isProgram } from "../install/presence.ts";
import { type Found, managerHere, monitorsIn, serviceIn } from "../install/service-found.ts";
import { typedAll } from "../install/service-manager.ts";
import { againOf } from "./check-client.ts";
import { count, type Finding, fault, noted, ok, type Place, signals } from "./check-finding.ts";

/** What runs the monitors of config.toml. Nothing to say where there are none, and no service. */
export async function checkService(place: Place): Promise<Finding[]> {
  const { dir, env } = place;
  const { launcher, manifest: file } = installationOf(env);
  const manifest = readManifest(file);
  const record = manifest?.service;
  const found = serviceIn(record, place);
  const monitors = monitorsIn(dir) ?? 0;
  const install = signals(place, `install --service${harnessFlag(clientsIn(manifest), env)}`);
  if (found === undefined || (record === undefined && !found.isOurs))
    return unserved(monitors, install, place);

  const { path, text, isAsWritten, isOurs } = found;
  if (text === undefined)
    return [fault(`${path} is gone, so nothing runs the monitors after the next login`, install)];
  if (!isOurs)
    return [
      fault(`${path} does not run ${launcher}`, `move it away if you can do without it, then: ${install}`),
    ];
  if (!isProgram(launcher)) {
    const mend = againOf(place, "user", clientsIn(manifest));
    return [fault(`${launcher}, which the service runs, is not there or no program`, mend)];
  }
  const inbox = record?.dir ?? defaultInbox(env);
  const other = `the service works on the inbox in ${inbox}, and this one is in ${dir}`;
  return [
    ...(isAsWritten ? [] : [noted(`${path} is not as it was written`, install)]),
    ...(resolve(inbox) === resolve(dir) ? [] : [noted(other, signals({ dir: inbox, env }, "doctor"))]),
    await stateOf(found, monitors, env),
  ];
}

function unserved(monitors: number, install: string, place: Place): Finding[] {
  if (monitors === 0) return [];
  const found = `config.toml has ${count(monitors, "monitor")}, and no service runs ${monitors === 1 ? "it" : "them"}`;
  const poll = signals(place, "poll");
  return [
    noted(
      found,
      managerHere(place) ? `${install}; or in a terminal: ${poll}` : `in a terminal, or by cron: ${poll}`,
    ),
  ];
}

/** Whether it runs, as far as its manager says. */
async function stateOf({ manager, path }: Found, monitors: number, env: NodeJS.ProcessEnv): Promise<Finding> {
  const state = await manager.look(env);
  const see = `see what it wrote: ${manager.log(env)}`;
  if (typeof state === "string")
    return noted(`whether the service runs cannot be asked from here: ${state}`, see);
  const start = typedAll(manager.start(path));
  if (!state.isWell) return noted(`the service does not run: ${state.says}`, `${see}; to start it: ${start}`);
  if (!state.isKept) return noted("the service runs, and will not after the next login", start);
  return ok(`the service runs; config.toml has ${count(monitors, "monitor")}`);
}
