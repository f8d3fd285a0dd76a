import { relative, type Time } from "../time.ts";
import { STATUS_COLOURS } from "./print.ts";
import { isWorse, type Status } from "./verdict.ts";

/** How one monitor stands. */
export interface Standing {
  label: string;
  /** Undefined until its first poll has ended. */
  status: Status | undefined;
  /** When it last read its source. */
  readAt: Time | undefined;
  text: string;
}

/** Where a frame is drawn, in characters of a terminal. */
export interface Size {
  columns: number;
  rows: number;
}

type Paint = (text: string, colour: (typeof STATUS_COLOURS)[Status]) => string;

/**
 * One line for each monitor, none longer than the terminal is wide; where it is not high enough for all of them, the
 * worst first, and how many more there are. The texts have to be clean. Only the status passes `paint`.
 */
export function frameOf(
  all: readonly Standing[],
  { columns, rows }: Size,
  now: Time,
  paint: Paint = (text) => text,
): string[] {
  // The cursor has a line of its own.
  const room = Math.max(rows - 1, 1);
  const shown = all.length <= room ? all : worstFirst(all).slice(0, room - 1);
  const widest = Math.max(0, ...shown.map(({ label }) => widthOf(label)));
  const labelWidth = Math.min(widest, Math.max(Math.floor(columns * LABEL_SHARE), 8));
  const lines = shown.map(({ label, status, readAt, text }) => {
    const ago = readAt ? relative(readAt, now) : status ? "not read" : "";
    const before = `${padded(cut(label, labelWidth), labelWidth)}   `;
    const after = `${" ".repeat(STATUS_WIDTH - (status ?? "").length)}${padded(ago, AGO_WIDTH)}   ${text}`;
    // What is written into the last column may move the cursor to the next line.
    const left = columns - 1 - widthOf(before);
    const word = cut(status ?? "", left);
    const coloured = status ? paint(word, STATUS_COLOURS[status]) : "";
    return `${cut(before, columns - 1)}${coloured}${cut(after, left - widthOf(word))}`.trimEnd();
  });
  const more = all.length - shown.length;
  return more > 0 ? [...lines, cut(`and ${more} more`, columns - 1)] : lines;
}

const LABEL_SHARE = 0.4;
/** The longest status and the gap behind it; what `relative` says. */
const STATUS_WIDTH = 10;
const AGO_WIDTH = 8;

function worstFirst(all: readonly Standing[]): Standing[] {
  const statusOf = ({ status = "UNKNOWN" }: Standing) => status;
  return [...all].sort(
    (a, b) => Number(isWorse(statusOf(b), statusOf(a))) - Number(isWorse(statusOf(a), statusOf(b))),
  );
}

/**
 * The columns of a text, or more: whatever may be wide somewhere counts as wide, and what combines with the letter
 * before it as a letter of its own.
 */
function widthOf(text: string): number {
  return Array.from(text).reduce((sum, char) => sum + columnsOf(char), 0);
}

function columnsOf(char: string): number {
  return char === ELLIPSIS || (char.codePointAt(0) ?? 0) < FIRST_WIDE ? 1 : 2;
}

const ELLIPSIS = "…";
const FIRST_WIDE = 0x1100;

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let [kept, left] = ["", width - 1];
  for (const char of text) {
    left -= columnsOf(char);
    if (left < 0) break;
    kept += char;
  }
  return width > 0 ? `${kept}${ELLIPSIS}` : "";
}

/** What a terminal's stream must be able to do. */
export interface Screen {
  write(text: string): unknown;
  columns: number;
  rows: number;
}

/** Lines at the end of a terminal that are drawn over again in place. */
export class StatusLines {
  readonly #screen: Screen;
  readonly #paint: Paint;
  /** What stands there now, with the size that it was drawn for. */
  #drawn: { lines: readonly string[]; widths: readonly number[]; size: string } | undefined;

  constructor(screen: Screen, paint: Paint) {
    this.#screen = screen;
    this.#paint = paint;
  }

  draw(all: readonly Standing[], now: Time): void {
    const { columns, rows } = this.#screen;
    const size = `${columns}x${rows}`;
    const lines = frameOf(all, { columns, rows }, now, this.#paint);
    const isSame = this.#drawn?.size === size && this.#drawn.lines.join("\n") === lines.join("\n");
    if (isSame) return;
    const widths = frameOf(all, { columns, rows }, now).map(widthOf);
    const text = lines.map((line) => `${line}\x1b[K\n`).join("");
    // In one piece, so that nothing is ever left half done; and a terminal that just became narrower breaks no line.
    this.#screen.write(`\x1b[?7l${this.#back()}${text}\x1b[J\x1b[?7h`);
    this.#drawn = { lines, widths, size };
  }

  /** Takes the lines away, for something that stays above them; the next `draw` brings them back. */
  clear(): void {
    const back = this.#back();
    if (back) this.#screen.write(`${back}\x1b[J`);
    this.#drawn = undefined;
  }

  /** Leaves the lines as they are, without what the keyboard may have added below them. */
  end(): void {
    this.#screen.write("\r\x1b[K");
  }

  /** Moves to the first of the lines. A terminal that became narrower broke them, as most do. */
  #back(): string {
    const { columns, rows } = this.#screen;
    const heights = (this.#drawn?.widths ?? []).map((width) => Math.max(1, Math.ceil(width / columns)));
    const height = heights.reduce((sum, one) => sum + one, 0);
    return height > 0 ? `\x1b[${Math.min(height, Math.max(rows - 1, 1))}A\r` : "";
  }
}
