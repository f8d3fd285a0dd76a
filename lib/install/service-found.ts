import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../config.ts";
import { attempt } from "../errors.ts";
import { launchd } from "./launchd.ts";
import { hashOf, type Manifest } from "./manifest.ts";
import { installationOf, type Situation, sameFile } from "./paths.ts";
import { onPath } from "./presence.ts";
import type { Manager } from "./service-manager.ts";
import { systemd } from "./systemd.ts";

/** What an installation has noted of its service. */
export type ServiceRecord = NonNullable<Manifest["service"]>;

/** The service manager of this machine. */
export function managerHere({ env, platform = process.platform }: Situation): Manager | undefined {
  if (platform === "darwin") return launchd;
  return platform === "linux" && onPath("systemctl", env) !== undefined ? systemd : undefined;
}

export function managerOf({ path }: Pick<ServiceRecord, "path">): Manager {
  return path.endsWith(".plist") ? launchd : systemd;
}

/** Our service as it is found, be it that only its file or only our record of it is there. */
export interface Found {
  manager: Manager;
  path: string;
  /** Of the file; undefined when it is not there. */
  text: string | undefined;
  /** The file is as it was written. */
  isAsWritten: boolean;
  /** It is, or it runs our launcher all the same. */
  isOurs: boolean;
}

/** The service of this person, or what is in its place; undefined when there is none. */
export function serviceIn(record: ServiceRecord | undefined, situation: Situation): Found | undefined {
  const manager = record ? managerOf(record) : managerHere(situation);
  if (manager === undefined) return undefined;
  const path = record?.path ?? manager.fileIn(situation.env);
  const text = textIn(path);
  if (record === undefined && text === undefined) return undefined;
  const isAsWritten = text !== undefined && hashOf(text) === record?.hash;
  const launcher = text === undefined ? undefined : manager.launcherIn(text);
  const isOurs = launcher !== undefined && sameFile(launcher, installationOf(situation.env).launcher);
  return { manager, path, text, isAsWritten, isOurs: isAsWritten || isOurs };
}

function textIn(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A link is none that we made, wherever it leads: one to /dev/null keeps a service from ever starting.
  return found && ((found.isFile() && attempt(() => readFileSync(path, "utf8"))) || "");
}

/** How many monitors the config.toml of an inbox names; undefined when it cannot be used. */
export function monitorsIn(inbox: string): number | undefined {
  const file = join(inbox, "config.toml");
  if (!existsSync(file)) return 0;
  return attempt(() => parseConfig(readFileSync(file, "utf8"), file).monitor.length);
}
