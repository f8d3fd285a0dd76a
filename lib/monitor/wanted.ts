import { SignalsError } from "../errors.ts";
import { configStamp, look } from "../inbox.ts";
import type { MonitorEntry } from "../policy.ts";

/** The `[[monitor]]` entries of a config.toml, for whoever runs while it changes. */
export class Wanted {
  readonly #dir: string;
  readonly #says: (text: string) => void;
  /** The version of the file that was read last. */
  #stamp: string | undefined;
  /** It was not valid. */
  #isFaulty = false;
  /** What keeps a changed one from being read. */
  #trouble: string | undefined;

  /** `says` is told, once for each version of the file, what is wrong with it. */
  constructor(dir: string, says: (text: string) => void) {
    this.#dir = dir;
    this.#says = says;
  }

  /**
   * The entries when the file has changed, the first time in any case; undefined when they are what they were. A file
   * that is not valid changes nothing: the last valid one holds. Throws `SignalsError`, the first time only, when there
   * is none.
   */
  async changed(): Promise<readonly MonitorEntry[] | undefined> {
    const stamp = configStamp(this.#dir);
    if (stamp === this.#stamp) return undefined;
    const isFirst = this.#stamp === undefined;
    try {
      const { doc, configFault } = await look(this.#dir, { onConfigFault: "keep" });
      if (isFirst && doc.policy === undefined) throw new SignalsError(configFault?.message ?? "");
      this.#stamp = stamp;
      this.#trouble = undefined;
      if (configFault)
        this.#says(`config.toml: goes on with the last valid settings: ${configFault.message}`);
      else if (this.#isFaulty) this.#says("config.toml: is valid again");
      this.#isFaulty = configFault !== undefined;
      // What an older version stored has none.
      return isFirst || !configFault ? (doc.policy?.config.monitor ?? []) : undefined;
    } catch (error) {
      if (isFirst || !(error instanceof SignalsError)) throw error;
      // The inbox may be gone for a while; the file is read when it is back.
      if (error.message !== this.#trouble) this.#says(`error: ${error.message}`);
      this.#trouble = error.message;
      return undefined;
    }
  }
}
