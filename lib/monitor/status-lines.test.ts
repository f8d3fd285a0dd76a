import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { screenAfter } from "../testing/screen.ts";
import { plus } from "../time.ts";
import { frameOf, type Standing, StatusLines } from "./status-lines.ts";

const NOW = "2026-11-30T12:00:00.000Z";
const SIZE = { columns: 80, rows: 24 };

const ci: Standing = {
  label: "github-ci acme/api",
  status: "OK",
  readAt: plus(NOW, -12_000),
  text: "5 workflows are green on main",
};
const disk: Standing = {
  label: "./disk.sh",
  status: "CRITICAL",
  readAt: plus(NOW, -180_000),
  text: "0 % free",
};
const http: Standing = { label: "http", status: "UNKNOWN", readAt: undefined, text: "no route" };
const fresh: Standing = {
  label: "http b",
  status: undefined,
  readAt: undefined,
  text: "is polled for the first time",
};
const runners: Standing = {
  label: "github-runners acme",
  status: "WARNING",
  readAt: NOW,
  text: "one is offline",
};

describe("a frame", () => {
  test("has a line for each monitor: its name, status, when it last read its source, and what it saw", () => {
    assert.deepEqual(frameOf([ci, disk, http, fresh], SIZE, NOW), [
      "github-ci acme/api   OK        12s ago    5 workflows are green on main",
      "./disk.sh            CRITICAL  3m ago     0 % free",
      "http                 UNKNOWN   not read   no route",
      "http b                                    is polled for the first time",
    ]);
  });

  test("cuts what is too long, the name only where it takes too much", () => {
    const long = { ...ci, label: "github-ci acme/a-repository-with-a-long-name", text: "x".repeat(200) };
    assert.deepEqual(frameOf([long, disk], { columns: 60, rows: 24 }, NOW), [
      "github-ci acme/a-reposi…   OK        12s ago    xxxxxxxxxx…",
      "./disk.sh                  CRITICAL  3m ago     0 % free",
    ]);
    assert.deepEqual(frameOf([disk], { columns: 14, rows: 24 }, NOW), ["./disk.…   C…"]);
    assert.deepEqual(frameOf([disk], { columns: 2, rows: 24 }, NOW), ["…"]);
  });

  test("counts what may be wide as wide", () => {
    const wide = { ...ci, label: "検査", text: "日本語".repeat(20) };
    assert.deepEqual(frameOf([wide, http], { columns: 40, rows: 24 }, NOW), [
      "検査   OK        12s ago    日本語日本…",
      "http   UNKNOWN   not read   no route",
    ]);
  });

  test("of more monitors than there are lines has the worst, and how many more there are", () => {
    const all = [ci, fresh, runners, http, disk];
    const frame = (rows: number) =>
      frameOf(all, { columns: 80, rows }, NOW).map((line) => line.split("   ")[0]?.trim());
    assert.deepEqual(
      frame(6),
      all.map(({ label }) => label),
      "in their own order while there is room",
    );
    assert.deepEqual(frame(5), ["./disk.sh", "github-runners acme", "http b", "and 2 more"]);
    assert.deepEqual(frame(3), ["./disk.sh", "and 4 more"]);
    assert.deepEqual(frame(1), ["and 5 more"]);
  });

  test("colours nothing but the status", () => {
    const paint = (text: string, colour: string | undefined) => `<${colour}:${text}>`;
    assert.deepEqual(
      frameOf([ci, disk, runners, http, fresh], SIZE, NOW, paint).map((line) => /<.*>/.exec(line)?.[0]),
      ["<green:OK>", "<red:CRITICAL>", "<yellow:WARNING>", "<undefined:UNKNOWN>", undefined],
    );
  });

  test("never fills a line, and is never higher than the terminal", () => {
    const text = fc.string({ unit: fc.constantFrom("a", " ", "é", "日", "…", "👩", "|") });
    const standing = fc.record({
      label: text,
      status: fc.constantFrom("OK", "WARNING", "CRITICAL", "UNKNOWN", undefined),
      readAt: fc.constantFrom(NOW, plus(NOW, -1e10), undefined),
      text,
    });
    const widthOf = (line: string) =>
      Array.from(line).reduce((sum, char) => sum + ("日👩".includes(char) ? 2 : 1), 0);
    const size = fc.record({
      columns: fc.integer({ min: 1, max: 120 }),
      rows: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(standing, { maxLength: 15 }), size, (all, { columns, rows }) => {
        const frame = frameOf(all as Standing[], { columns, rows }, NOW);
        assert.ok(frame.length <= Math.max(rows - 1, 1));
        for (const line of frame) assert.ok(widthOf(line) < columns, line);
        const more = /^and (\d+) more$/.exec(frame.at(-1) ?? "");
        if (columns > 20) assert.equal(frame.length + (more ? Number(more[1]) - 1 : 0), all.length);
      }),
    );
  });
});

/** A terminal that keeps all that is written to it. */
class Screen {
  columns = 80;
  rows = 24;
  written = "";
  write(text: string): void {
    this.written += text;
  }
  /** What is on it, without the empty lines at the end. */
  get shown(): string[] {
    return screenAfter(this.written).join("\n").trimEnd().split("\n");
  }
}

const plain = (text: string) => text;

describe("lines in place", () => {
  test("are drawn over again where they stand, shorter and fewer ones too", () => {
    const screen = new Screen();
    screen.write("$ signals poll\n");
    const lines = new StatusLines(screen, plain);
    for (const all of [[ci, disk], [{ ...ci, text: "red" }, disk, http], [disk]]) {
      lines.draw(all, NOW);
      assert.deepEqual(screen.shown, ["$ signals poll", ...frameOf(all, screen, NOW)]);
    }
  });

  test("are written only when they change", () => {
    const screen = new Screen();
    const lines = new StatusLines(screen, plain);
    lines.draw([ci, disk], NOW);
    const { length } = screen.written;
    lines.draw([ci, disk], plus(NOW, 100));
    assert.equal(screen.written.length, length);
    lines.draw([ci, disk], plus(NOW, 1_000));
    assert.ok(screen.written.length > length, "a second is a change");
  });

  test("make way for what stays above them", () => {
    const screen = new Screen();
    const lines = new StatusLines(screen, plain);
    lines.draw([ci, disk], NOW);
    for (const text of ["one", "two"]) {
      lines.clear();
      screen.write(`${text}\n`);
      lines.draw([ci, disk], NOW);
    }
    assert.deepEqual(screen.shown, ["one", "two", ...frameOf([ci, disk], screen, NOW)]);
  });

  test("stay when it is over, and what was typed below them goes", () => {
    const screen = new Screen();
    const lines = new StatusLines(screen, plain);
    lines.draw([ci], NOW);
    screen.write("^C");
    lines.end();
    assert.deepEqual(screen.shown, frameOf([ci], screen, NOW));
  });

  test("are found again in a terminal that became narrower and broke them", () => {
    const screen = new Screen();
    screen.write("$ signals poll\n");
    const lines = new StatusLines(screen, plain);
    lines.draw([ci, disk], NOW);
    const broken = frameOf([ci, disk], screen, NOW).flatMap((line) => line.match(/.{1,40}/g) ?? []);
    screen.written = `$ signals poll\n${broken.join("\n")}\n`;
    screen.columns = 40;
    lines.draw([ci, disk], NOW);
    assert.deepEqual(screen.shown, ["$ signals poll", ...frameOf([ci, disk], screen, NOW)]);
  });
});
