import { coloured, line, note, printJsonLine } from "../script.ts";
import { timeOf } from "../time.ts";
import type { PollReport } from "./poll-report.ts";
import { newsIn, STATUS_COLOURS } from "./print.ts";
import { type Standing, StatusLines } from "./status-lines.ts";

/** Where `signals poll` tells what it sees. */
export interface Output {
  /** One poll of a monitor has ended; `fates` is what became of its signals. */
  polled(id: string, standing: Standing, report: PollReport, fates: readonly string[]): void;
  /** How all of them stand now. */
  stand(all: readonly Standing[]): void;
  /** Something about the run itself. */
  says(text: string): void;
  end(): void;
}

/** Lines in place on a terminal that can, else a line for each change; with `json` one object a poll. */
export function outputFor({ json, once }: { json: boolean; once: boolean }): Output {
  if (json) return jsonOutput();
  const isLive = process.stdout.isTTY && process.env["TERM"] !== "dumb" && !once;
  return isLive ? liveOutput() : plainOutput();
}

function jsonOutput(): Output {
  return { polled: (_id, _standing, report) => printJsonLine(report), stand() {}, says: note, end() {} };
}

function plainOutput(): Output {
  const printed = new Map<string, string>();
  return {
    polled(id, { label, status = "UNKNOWN", text }, { at }, fates) {
      const news = newsIn(status, text);
      if (printed.get(id) !== news) line(`${clock(at)} ${label} ${status} - ${text}`, STATUS_COLOURS[status]);
      printed.set(id, news);
      for (const fate of fates) line(`${clock(at)} ${label}: ${fate}`);
    },
    stand() {},
    says: note,
    end() {},
  };
}

function liveOutput(): Output {
  const { stdout } = process;
  const lines = new StatusLines(
    {
      write: (text) => stdout.write(text),
      // A terminal that does not know its size says 0.
      get columns() {
        return stdout.columns || 80;
      },
      get rows() {
        return stdout.rows || 24;
      },
    },
    coloured,
  );
  const errors = new Map<string, string | undefined>();
  return {
    polled(id, { label }, { at, error }, fates) {
      // The line in place may be too short for what to do about it.
      const trouble = error === undefined || errors.get(id) === error ? [] : [error];
      errors.set(id, error);
      const news = [...trouble, ...fates];
      if (news.length > 0) lines.clear();
      for (const text of news) line(`${clock(at)} ${label}: ${text}`);
    },
    stand: (all) => lines.draw(all, timeOf(Date.now())),
    says(text) {
      lines.clear();
      note(text);
    },
    end: () => lines.end(),
  };
}

/** Without what no person reads. */
function clock(at: string): string {
  return at.replace(/\.\d+Z$/, "Z");
}
