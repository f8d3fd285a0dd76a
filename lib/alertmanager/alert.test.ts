import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Alert, fingerprintOf, identityOf, linkOf, severityOf, summaryOf } from "./alert.ts";

const LABELS = { alertname: "InstanceDown", instance: "db-1:9100", job: "node", severity: "critical" };

function alert(fields: Partial<Alert> = {}): Alert {
  return { labels: LABELS, annotations: {}, generatorURL: "", fingerprint: "f404ecabc8dd5cd7", ...fields };
}

describe("the severity of an alert follows its label", () => {
  const rows = [
    ["critical", "urgent"],
    ["page", "urgent"],
    ["Critical", "urgent"],
    [" PAGE ", "urgent"],
    ["warning", "warning"],
    ["info", "info"],
    ["None", "info"],
    ["", "warning"],
    ["sev2", "warning"],
    ["constructor", "warning"],
    [undefined, "warning"],
  ] as const;
  for (const [label, severity] of rows)
    test(`${label} is ${severity}`, () => {
      const labels = { alertname: "A", ...(label !== undefined && { severity: label }) };
      assert.equal(severityOf(alert({ labels })), severity);
    });
});

describe("an alert is summed up", () => {
  const rows: [what: string, alert: Alert, summary: string][] = [
    [
      "by its author",
      alert({ annotations: { summary: "db-1 is down", title: "Down" } }),
      "InstanceDown: db-1 is down",
    ],
    [
      "by its title",
      alert({ annotations: { title: "db-1 down", description: "long" } }),
      "InstanceDown: db-1 down",
    ],
    [
      "by its name and what tells which, when its summary is empty",
      alert({ annotations: { summary: " " } }),
      "InstanceDown (instance=db-1:9100, job=node)",
    ],
    ["without annotations", alert({ annotations: undefined }), "InstanceDown (instance=db-1:9100, job=node)"],
    [
      "never by a runbook",
      alert({ labels: { alertname: "Watchdog" }, annotations: { runbook: "do it" } }),
      "Watchdog",
    ],
    ["without a name", alert({ labels: { instance: "a" } }), "An alert without a name (instance=a)"],
    ["in any order of its labels", alert({ labels: { z: "1", alertname: "A", b: "2" } }), "A (b=2, z=1)"],
  ];
  for (const [what, given, summary] of rows) test(what, () => assert.equal(summaryOf(given), summary));
});

describe("an alert leads", () => {
  const own = "https://alerts.example.test/am/";
  const graph = "http://prom-1:9090/graph?g0.expr=up%7Bjob%3D~%22a%22%7D+%3D%3D+0&g0.tab=1";
  const rows: [what: string, generatorURL: string | undefined, own: string | undefined, link?: string][] = [
    ["to its graph, as it is written", graph, own, graph],
    ["to Alertmanager when nobody set one", "", own, own],
    ["to Alertmanager when it is missing", undefined, own, own],
    ["nowhere that is no web page", "javascript:alert(1)", own, own],
    ["nowhere that is a file", "file:///etc/passwd", own, own],
    ["nowhere that is no URL", "/graph?g0.expr=up", own, own],
    ["nowhere when Alertmanager has no link either", "", "", undefined],
    ["nowhere when nothing is known", undefined, undefined, undefined],
    ["without a password", "https://ada:pw@prom.example.test/graph", own, "https://prom.example.test/graph"],
  ];
  for (const [what, generatorURL, address, link] of rows)
    test(what, () => assert.equal(linkOf(alert({ generatorURL }), address), link));
});

describe("an alert is known by its receiver and its fingerprint", () => {
  test("as Alertmanager gives it", () =>
    assert.deepEqual(identityOf("team", alert()), ["team", "f404ecabc8dd5cd7"]));

  for (const fingerprint of ["", undefined])
    test(`or as Alertmanager would, when it is ${fingerprint ?? "missing"}`, () =>
      assert.deepEqual(identityOf("team", alert({ fingerprint })), ["team", fingerprintOf(LABELS)]));

  // As Alertmanager 0.25 answered.
  const known = [
    [{ alertname: "Night" }, "7e97538db15af5c0"],
    [{ alertname: "InstanceDown", instance: "a:1", team: "b", severity: "critical" }, "5fbb938f4737e01b"],
  ] as const;
  for (const [labels, fingerprint] of known)
    test(`which is ${fingerprint} for ${JSON.stringify(labels)}`, () =>
      assert.equal(fingerprintOf(labels), fingerprint));

  test("which no order of the labels changes, and every value does", () => {
    const labels = fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { minKeys: 1 });
    fc.assert(
      fc.property(labels, (labels) => {
        const backwards = Object.fromEntries(Object.entries(labels).reverse());
        assert.equal(fingerprintOf(backwards), fingerprintOf(labels));
        const [name = ""] = Object.keys(labels);
        assert.notEqual(fingerprintOf({ ...labels, [name]: `${labels[name]}x` }), fingerprintOf(labels));
        assert.match(fingerprintOf(labels), /^[0-9a-f]{16}$/);
      }),
    );
  });
});
