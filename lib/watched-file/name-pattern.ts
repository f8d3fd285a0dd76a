import { UsageError } from "../errors.ts";

/** What one part of a pattern takes: any number of characters, or one that it is asked about. */
type Piece = typeof ANY | ((char: string) => boolean);
const ANY = Symbol("*");

/**
 * A shell's pattern for one name, with `*`, `?`, `[a-z]`, `[!a-z]` and `\`, as what tells whether a name is meant. A name
 * that begins with a dot has to be named with it. No pattern takes longer than its length times that of the name.
 * Throws `UsageError` for a set that holds no characters.
 */
export function namePattern(text: string): (name: string) => boolean {
  const pieces = Array.from(text.matchAll(TOKEN), (found) => pieceOf(found, text));
  const isDotted = /^\\?\./.test(text);
  return (name) => (isDotted || !name.startsWith(".")) && matches(pieces, Array.from(name));
}

/** Escaped, any, a set of characters (negated, its characters), or one that stands for itself. */
const TOKEN = /\\(.)|\*+|\?|\[([!^])?(\](?:\\.|[^\]\\])*|(?:\\.|[^\]\\])+)\]|./gsu;

function pieceOf([token, escaped, not, set]: RegExpExecArray, text: string): Piece {
  if (set !== undefined) return oneOf(`[${not ? "^" : ""}${set.replace(/\\?(.)/gsu, inSet)}]`, text);
  if (token.startsWith("*")) return ANY;
  return token === "?" ? () => true : (char) => char === (escaped ?? token);
}

function oneOf(set: string, text: string): Piece {
  try {
    const pattern = new RegExp(`^${set}$`, "u");
    return (char) => pattern.test(char);
  } catch {
    throw new UsageError(`GLOB: ${text}: is no pattern; see that its [ ] hold what they should`);
  }
}

function inSet(token: string, char: string): string {
  return /[[\]\\^]/.test(char) || (char === "-" && token !== char) ? `\\${char}` : char;
}

/** Each `*` takes as little as it can. Only the last one ever has to take more: what is before it stays matched. */
function matches(pieces: readonly Piece[], chars: readonly string[]): boolean {
  let [piece, char] = [0, 0];
  /** Behind the last `*`: the piece, and the character from which it was tried. */
  let retry: [piece: number, char: number] | undefined;
  while (char < chars.length) {
    const takes = pieces[piece];
    if (takes === ANY) retry = [++piece, char];
    else if (takes?.(chars[char] ?? "")) [piece, char] = [piece + 1, char + 1];
    else if (retry) [piece, char] = [retry[0], ++retry[1]];
    else return false;
  }
  return pieces.slice(piece).every((rest) => rest === ANY);
}
