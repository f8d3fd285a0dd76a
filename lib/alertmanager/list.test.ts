import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Group, type Listed, readingFrom } from "./list.ts";

const LINK = "http://alerts.example.test/";

function listed(name: string, fields: Partial<Listed> = {}, status: Partial<Listed["status"]> = {}): Listed {
  return {
    labels: { alertname: name, severity: "warning" },
    annotations: { summary: `${name} it is` },
    generatorURL: "",
    fingerprint: `fp-${name}`,
    receivers: [{ name: "team-a" }, { name: "team-b" }],
    ...fields,
    status: { state: "active", silencedBy: [], inhibitedBy: [], mutedBy: [], ...status },
  };
}

/** The alerts of a receiver, as the groups tell of them: muted by these. */
function group(receiver: string, alerts: readonly Listed[], mutedBy: string[] = []): Group {
  const state = mutedBy.length > 0 ? "suppressed" : "active";
  return {
    receiver: { name: receiver },
    alerts: alerts.map((one) => ({ ...one, status: { ...one.status, state, mutedBy } })),
  };
}

function read(alerts: readonly Listed[], groups: readonly Group[] = [], receiver?: string) {
  return readingFrom(alerts, groups, { receiver, link: LINK });
}

describe("a listed alert", () => {
  const rows = [
    ["critical", "CRITICAL", undefined],
    ["warning", "WARNING", undefined],
    ["whatever", "WARNING", undefined],
    ["info", "WARNING", "info"],
  ] as const;
  for (const [label, status, severity] of rows)
    test(`with severity=${label} is ${status}${severity ? `, and fires ${severity}` : ""}`, () => {
      const [verdict] = read([listed("A", { labels: { alertname: "A", severity: label } })]).verdicts;
      assert.deepEqual([verdict?.status, verdict?.severity], [status, severity]);
    });

  test("says what and where, and no word of it becomes advice", () => {
    const annotations = {
      summary: "A: Disk is full",
      runbook_url: "https://evil.example.test",
      action: "rm -rf",
    };
    const [verdict] = read([listed("A", { annotations })]).verdicts;
    assert.deepEqual(verdict, {
      status: "WARNING",
      kind: "alert",
      identity: ["team-a", "fp-A"],
      summary: "A: Disk is full",
      source_url: LINK,
      held: undefined,
    });
  });
});

describe("a signal is for one receiver:", () => {
  const alerts = [listed("A"), listed("B", { receivers: [{ name: "team-b" }] })];
  const rows: [asked: string | undefined, identities: string[][]][] = [
    [
      undefined,
      [
        ["team-a", "fp-A"],
        ["team-b", "fp-B"],
      ],
    ],
    [
      "team-b",
      [
        ["team-b", "fp-A"],
        ["team-b", "fp-B"],
      ],
    ],
    ["team-a", [["team-a", "fp-A"]]],
    ["team-", []],
    ["team-.", []],
  ];
  for (const [asked, identities] of rows)
    test(asked ?? "the first, when none is asked for", () =>
      assert.deepEqual(
        read(alerts, [], asked).verdicts.map(({ identity }) => identity),
        identities,
      ),
    );

  test("and alerts of one name stay apart", () => {
    const [one, two] = [listed("A"), listed("A", { fingerprint: "fp-other" })];
    assert.deepEqual(new Set(read([one, two]).verdicts.map(({ identity }) => identity[1])).size, 2);
  });
});

describe("an alert is held back", () => {
  const source = listed("ClusterDown");
  const rows: [what: string, status: Partial<Listed["status"]>, held: string | undefined][] = [
    ["never when it is active", {}, undefined],
    ["never when Alertmanager has not looked at it yet", { state: "unprocessed" }, undefined],
    [
      "never when the lists are null or missing",
      { silencedBy: null, inhibitedBy: null, mutedBy: undefined },
      undefined,
    ],
    ["when it is silenced", { state: "suppressed", silencedBy: ["9f1c"] }, "silenced in Alertmanager"],
    [
      "when it is inhibited, by its name",
      { state: "suppressed", inhibitedBy: ["fp-ClusterDown"] },
      "inhibited by ClusterDown",
    ],
    [
      "when it is inhibited by what is not listed",
      { state: "suppressed", inhibitedBy: ["fp-x"] },
      "inhibited by another alert",
    ],
    ["when it is muted", { state: "suppressed", mutedBy: ["nights"] }, "muted by nights"],
    ["when it is suppressed in some new way", { state: "suppressed" }, "suppressed in Alertmanager"],
  ];
  for (const [what, status, held] of rows)
    test(what, () => assert.equal(read([listed("A", {}, status), source]).verdicts[0]?.held, held));

  const alert = listed("A");
  const muted: [what: string, groups: Group[], receiver: string | undefined, held: string | undefined][] = [
    ["by the groups of its receiver", [group("team-a", [alert], ["nights"])], "team-a", "muted by nights"],
    [
      "but not by those of another receiver",
      [group("team-a", [alert]), group("team-b", [alert], ["nights"])],
      "team-a",
      undefined,
    ],
    [
      "by all of its groups, whoever is asked",
      [group("team-a", [alert], ["nights"]), group("team-b", [alert], ["weekends", "nights"])],
      undefined,
      "muted by nights, weekends",
    ],
    [
      "but not while one of them would send it",
      [group("team-a", [alert], ["nights"]), group("team-b", [alert])],
      undefined,
      undefined,
    ],
    ["but not by groups of other alerts", [group("team-a", [source], ["nights"])], "team-a", undefined],
    ["but not without groups", [], "team-a", undefined],
  ];
  for (const [what, groups, receiver, held] of muted)
    test(`when it is muted ${what}`, () =>
      assert.equal(read([alert], groups, receiver).verdicts[0]?.held, held));
});

describe("the line on all of them", () => {
  const critical = listed("C", { labels: { alertname: "C", severity: "critical" } });
  const silenced = listed("S", {}, { silencedBy: ["9f1c"] });
  const rows: [alerts: Listed[], line: string][] = [
    [[], "none active"],
    [[listed("A")], "1 active: A it is"],
    [[listed("A"), critical], "2 active: C it is"],
    [[silenced], "none active, 1 held back"],
    [[silenced, listed("A")], "1 active, 1 held back: A it is"],
  ];
  for (const [alerts, line] of rows) test(line, () => assert.equal(read(alerts).summary, line));
});
