/** What the admin scripts are made of: `ambient-signals/cli`. */

export {
  FIRE_FLAGS,
  fireReport,
  readEnvelope,
  repositoryFrom,
  resolvingText,
  withSession,
} from "./by-hand.ts";
export { commands, takeCommand, unknownCommand } from "./command.ts";
export { adviceOn, copyAll, copyEntry } from "./copy.ts";
export { DOCTOR_FLAGS, diagnose, printCheck, verdict } from "./doctor/doctor.ts";
export { findSession, findSignal, isOwed } from "./document.ts";
export { entryNamed } from "./entries.ts";
export { parseEnvelope } from "./envelope.ts";
export { SignalsError, UsageError } from "./errors.ts";
export { look, transact } from "./inbox.ts";
export { planInstall } from "./install/install.ts";
export { installedLines } from "./install/notes.ts";
export { situation } from "./install/paths.ts";
export { carryOut, INSTALL_FLAGS, planReport, requestFrom, UNINSTALL_FLAGS } from "./install/plan.ts";
export { planUninstall, uninstalledLines } from "./install/uninstall.ts";
export { requireSignal, shortKey, signalNamed } from "./key.ts";
export { ack, leaseOrder } from "./lease.ts";
export { fire, resolve } from "./lifecycle.ts";
export { lastReads } from "./monitor/last-read.ts";
export { pollMonitors } from "./monitor/poller.ts";
export { deliveryShown, printSignals, sessionLine, timeShown } from "./people.ts";
export { endByHand, registerByHand, sessionNamed } from "./registry.ts";
export { previewReminder } from "./render.ts";
export { sameRepository } from "./repository.ts";
export { indented, line, note, noteJson, oneOf, printJson, runScript } from "./script.ts";
export { settingsOf } from "./settings.ts";
export { nearest, wrap } from "./text.ts";
export { deliveryOf, sessionView, signalView } from "./view.ts";
