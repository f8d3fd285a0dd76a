/**
 * The one error that callers are meant to catch: a request that was refused, or a store that cannot be used.
 * Its message is one sentence for a person, `what: which value; what to do`, and needs no stack trace.
 */
export class SignalsError extends Error {
  override name = "SignalsError";
}

/** The request itself was wrong (an unknown flag, a value out of range): scripts exit 2 instead of 1. */
export class UsageError extends SignalsError {
  override name = "UsageError";
}

/** One line about anything that was thrown, a `SignalsError` or not. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A write into the store that failed, and left everything as it was. */
export function cannotWrite(dir: string, error: unknown): SignalsError {
  return new SignalsError(`inbox: cannot write in ${dir} (${codeOf(error)}); nothing was changed`, {
    cause: error,
  });
}

/** The system's error code, such as `ENOENT`, or undefined for other errors. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** The result, or undefined when it throws: where having none is an answer. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
