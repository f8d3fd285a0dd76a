/**
 * The one filter between text from outside and whoever reads it, a model or a terminal.
 *
 * What it takes out, and why: control characters and line breaks (they start lines and move cursors), format and
 * bidirectional characters, zero-width and tag characters, variation selectors and fillers (they hide text from
 * people that a model still reads), lone surrogates, private-use characters and noncharacters (no agreed meaning).
 * It goes by Unicode category, with the few that no category covers named one by one.
 */
const FORBIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\p{Variation_Selector}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{3164}\u{ffa0}\u{e0000}-\u{e007f}]|\u{34f}/gu;

/** One line of printable text: every forbidden character becomes a space, runs of spaces become one. */
export function clean(text: string): string {
  return text.replace(FORBIDDEN, " ").replace(/ {2,}/g, " ").trim();
}

/** True when `text` holds a character that `clean` would replace. */
export function hasForbidden(text: string): boolean {
  return text.search(FORBIDDEN) >= 0;
}

/** JSON whose strings lose nothing, yet hold no forbidden character as such: each is written as `\uXXXX`. */
export function safeJson(value: unknown, indent?: number): string {
  const escapeUnits = (found: string) =>
    // The indentation's own line breaks are the only control characters that JSON.stringify leaves as such.
    found === "\n" ? found : Array.from({ length: found.length }, (_, i) => unitEscape(found, i)).join("");
  return (JSON.stringify(value, undefined, indent) ?? "null").replace(FORBIDDEN, escapeUnits);
}

function unitEscape(text: string, index: number): string {
  return `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const ELLIPSIS = "…";

/**
 * Text from outside as one line that fits into a data block: cleaned, `& < > "` as entities, and at most
 * `maxBytes` UTF-8 bytes long, cut with an ellipsis between characters, never inside an entity. With `keepTail`,
 * the cut is made before the last so many characters instead of at the end.
 */
export function escapeAndCap(text: string, maxBytes: number, keepTail = 0): string {
  // No more characters than bytes can fit, so a huge input costs no more than a small one.
  const cleaned = clean(text.length > 64 * maxBytes ? text.slice(0, 64 * maxBytes) + text.slice(-64) : text);
  const pieces = Array.from(cleaned, (char) => ENTITIES[char] ?? char);
  if (Buffer.byteLength(pieces.join("")) <= maxBytes) return pieces.join("");

  const tail = keepTail > 0 ? pieces.slice(-keepTail).join("") : "";
  let room = maxBytes - Buffer.byteLength(ELLIPSIS) - Buffer.byteLength(tail);
  let head = "";
  for (const piece of pieces) {
    room -= Buffer.byteLength(piece);
    if (room < 0) break;
    head += piece;
  }
  return head + ELLIPSIS + tail;
}

/** The candidate that a mistyped word most likely meant, or undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const longer = candidates.filter((candidate) => word.length > 2 && candidate.startsWith(word));
  if (longer.length === 1) return longer[0];
  const scored = candidates.map((candidate) => ({ candidate, distance: editDistance(word, candidate) }));
  const best = scored.sort((a, b) => a.distance - b.distance)[0];
  return best && best.distance <= Math.max(2, Math.floor(best.candidate.length / 3))
    ? best.candidate
    : undefined;
}

/** Single-character insertions, deletions and replacements from `a` to `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** A line as lines of at most `width` characters, broken between words; a longer word stays whole. */
export function wrap(line: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of line.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Text as one word of a POSIX shell, quoted where it needs to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
