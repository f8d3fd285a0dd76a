import { lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeConfig, type Values, valuesOf } from "./config.ts";
import { faultText, readDocument } from "./inbox.ts";

/** The configuration in force in an inbox directory, for people. */
export interface Settings {
  file: string;
  exists: boolean;
  /** What is wrong with the file; then the values are those of its last valid version, which go on to hold. */
  fault: string | null;
  /** Every value and its source; none when the file is not valid and never was: then every signal is held. */
  values: Values;
}

/** Throws `SignalsError` for a broken file beside an inbox that cannot be read either. */
export function settingsOf(dir: string): Settings {
  const file = join(dir, "config.toml");
  const exists = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  try {
    const text = exists ? readFileSync(file, "utf8") : undefined;
    return { file, exists, fault: null, values: describeConfig(text, file).values };
  } catch (error) {
    const fault = faultText(file, error);
    const { policy } = readDocument(dir, new Date().toISOString());
    return { file, exists, fault, values: policy ? valuesOf(policy.config, () => "last valid version") : {} };
  }
}
