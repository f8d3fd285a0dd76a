import { SCHEMA } from "./document.ts";

/**
 * What makes a document of one version into one of the next. Fields may be added without a new version, since who does
 * not know them carries them along; a version rises when what is there changes or goes. Each step stays here for good,
 * with a document of its version in `fixtures/inbox`.
 */
const STEPS: Record<number, (old: Fields) => Fields> = {
  // What each session's person was told of moved out of the document, since the document may be what is broken.
  1: (old) => ({
    ...old,
    sessions: each(old["sessions"], ({ warned: _, ...session }) => session),
  }),
};

type Fields = Record<string, unknown>;

/** `value` with `change` applied to each object in it; what is no list of objects is left for the check to find. */
function each(value: unknown, change: (item: Fields) => Fields): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item) => (typeof item === "object" && item !== null ? change(item) : item));
}

/**
 * A stored document brought to this version; itself when it is of this one, or no document that is known here. What
 * the result is worth is for the structural check to say.
 */
export function migrate(stored: unknown): unknown {
  let doc = stored as Fields;
  if (doc?.["schema"] !== SCHEMA) return stored;
  for (;;) {
    const version = doc["version"];
    const step = typeof version === "number" && STEPS[version];
    if (!step) return doc;
    doc = { ...step(doc), version: Number(version) + 1 };
  }
}
