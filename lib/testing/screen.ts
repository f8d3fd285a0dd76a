/**
 * What a terminal shows after an output that moves the cursor as ours does: up, to the start of a line, and clearing
 * to the end of a line or of the screen. Colours are left out; anything else that it does not know it throws at.
 */
export function screenAfter(output: string): string[] {
  const lines: string[] = [""];
  let [row, column] = [0, 0];
  for (const [all, mode, number = "", command] of output.matchAll(TOKEN)) {
    const line = lines[row] ?? "";
    if (command === "m" || mode) continue;
    if (command === "A") row = Math.max(0, row - Number(number || 1));
    else if (command === "K") lines[row] = line.slice(0, column);
    else if (command === "J") lines.splice(row, lines.length, line.slice(0, column));
    else if (command !== undefined || (all < " " && !"\r\n".includes(all)))
      throw new Error(`screen: does not know ${JSON.stringify(all)}`);
    else if (all === "\r") column = 0;
    else if (all === "\n") {
      // As the terminal's own driver has it.
      [row, column] = [row + 1, 0];
      if (row === lines.length) lines.push("");
    } else {
      lines[row] = `${line.padEnd(column).slice(0, column)}${all}${line.slice(column + all.length)}`;
      column += all.length;
    }
  }
  return lines;
}

/** One command, or one character. */
const TOKEN = new RegExp(`${"\x1b"}\\[(\\??)(\\d*)([A-Za-z])|[\\s\\S]`, "gu");
