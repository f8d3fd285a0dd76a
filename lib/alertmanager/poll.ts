import * as z from "zod/mini";
import { SignalsError } from "../errors.ts";
import { shown, targetFrom } from "../http/target.ts";
import type { Look } from "../monitor/poll.ts";
import { Unreadable } from "../monitor/source.ts";
import type { Reading } from "../monitor/verdict.ts";
import { Group, isActive, Listed, readingFrom } from "./list.ts";

/**
 * Looks at all alerts of an Alertmanager, or at those of one receiver. `text` is its address, with a path and
 * credentials if it has them. Throws `UsageError` for an address that is none, and `SignalsError` when it does not tell.
 */
export async function lookAtAlerts(
  { source }: Pick<Look, "source">,
  text: string,
  receiver?: string,
): Promise<Reading> {
  const { url, headers } = targetFrom(text);
  const own = shown(url).replace(/\/+$/, "");
  const only = receiver === undefined ? "" : `?receiver=${encodeURIComponent(pattern(receiver))}`;
  const ask = async <T>(path: string, schema: z.ZodMiniType<T>) =>
    (await source.json(`${own}/api/v2/${path}`, schema, { headers })).data;
  const askIfThere = <T>(path: string, schema: z.ZodMiniType<T[]>): Promise<T[] | undefined> =>
    ask(path, schema).catch((error) => {
      if (error instanceof Unreadable && error.status === 404) return undefined;
      throw error;
    });

  const alerts = await ask(`alerts${only}`, z.array(Listed));
  if (alerts.length === 0 && receiver !== undefined) {
    // A name that nobody has would look well for ever.
    const names = await askIfThere("receivers", z.array(z.object({ name: z.string() })));
    if (names && !names.some(({ name }) => name === receiver))
      throw new SignalsError(
        `--receiver: ${receiver}: is none of ${names.map(({ name }) => name).join(", ")}`,
      );
  }
  // Only groups tell of mute times; without anything to fire, nobody needs to know.
  const groups = alerts.some(isActive) ? await askIfThere(`alerts/groups${only}`, z.array(Group)) : [];
  return readingFrom(alerts, groups ?? [], { receiver, link: `${own}/` });
}

/** The regular expression that matches a name, and no other: Alertmanager anchors it itself. */
function pattern(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
