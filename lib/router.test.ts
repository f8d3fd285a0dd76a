import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findSignal, isOwed, type Session } from "./document.ts";
import { type FireReport, fire } from "./lifecycle.ts";
import { destination, type Rule, route } from "./router.ts";
import { AT, checkIn, DAY, document, frozen, Inbox, report, session } from "./testing/build.ts";

const HOME = "git.example/acme/api";

/** A session that is in no repository and whose directory is nobody's hint. */
const stranger = (fields: Partial<Session> = {}) =>
  session({ repository: undefined, work_tree: undefined, cwd: "/elsewhere", ...fields });

/** Where a fresh signal goes at minute 0: a session's id, or why it is held. */
function goes(fields: Partial<FireReport>, sessions: Session[]): string {
  const doc = frozen(fire(document({ sessions }), report(fields), AT(0))[0]);
  const routed = findSignal(route(doc, AT(0)), "k");
  assert.ok(routed);
  const to = destination(routed, doc, AT(0));
  if ("session" in to) assert.equal(routed.assigned?.session, to.session);
  else assert.equal(routed.assigned, undefined);
  return "session" in to ? to.session : "hold" in to ? to.hold.reason : "drop";
}

describe("step 1, a session hint", () => {
  const hints = { session: "b", repository: HOME };
  const home = session();

  test("goes to that session while it is live, before anybody in the repository", () => {
    assert.equal(goes({ hints }, [home, stranger({ id: "b" })]), "b");
    assert.equal(goes({ hints }, [home, stranger({ id: "b", last_hook: AT(-29) })]), "b");
  });

  test("goes on to the next steps when that session is absent", () => {
    assert.equal(goes({ hints }, [home]), "a");
    assert.equal(goes({ hints }, [home, stranger({ id: "b", last_seen: AT(-30) })]), "a");
    assert.equal(goes({ hints: { session: "b" } }, [home]), "no session");
    assert.equal(goes({ hints: { session: "b" } }, [stranger({ id: "c", role: "control" })]), "c");
  });

  test("waits for an absent one with a one-shot, whatever other hints it has", () => {
    assert.equal(goes({ one_shot: true, hints }, [home]), "waits for session b");
    assert.equal(goes({ one_shot: true, hints: { session: "b" } }, []), "waits for session b");
  });

  test("is served when the absent one returns, within the expiry", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true, hints });
    assert.deepEqual(inbox.tell(1), []);
    assert.deepEqual(inbox.tell(2, { id: "b" }), ["k#1 fired"]);

    inbox.fire(10, { key: "late", one_shot: true, hints: { session: "c" }, expires_at: AT(60) });
    assert.deepEqual(inbox.tell(61, { id: "c" }), []);
    assert.equal(inbox.signal("late").state, "expired");
  });

  describe("whose session has ended", () => {
    const ended = () => {
      const inbox = new Inbox(document({ sessions: [stranger({ id: "b" }), session()] }));
      inbox.end(0, "b");
      return inbox;
    };

    test("expires a one-shot with no other hint, which is no news", () => {
      const inbox = ended();
      inbox.fire(1, { one_shot: true, hints: { session: "b" } });
      const { state, generation } = inbox.signal();
      assert.deepEqual([state, generation], ["expired", 2]);
      assert.equal(isOwed(inbox.signal()), false);
    });

    test("goes on to step 2 with a one-shot that has another hint", () => {
      const inbox = ended();
      inbox.fire(1, { one_shot: true, hints });
      assert.equal(inbox.routedTo(), "a");
    });

    test("goes on to step 2 with all else", () => {
      const inbox = ended();
      inbox.fire(1, { hints });
      inbox.fire(1, { key: "nowhere", hints: { session: "b" } });
      assert.equal(inbox.routedTo(), "a");
      assert.equal(inbox.signal("nowhere").state, "fired");
    });

    test("ends a waiting one-shot as soon as it ends", () => {
      const inbox = new Inbox(document({ sessions: [stranger({ id: "b" })] }));
      inbox.fire(1, { one_shot: true, hints: { session: "b" } });
      assert.equal(inbox.routedTo(), "b");
      inbox.end(2, "b");
      assert.equal(inbox.signal().state, "expired");
    });

    test("settles in one pass a one-shot that was leased and not acked", () => {
      const inbox = new Inbox();
      inbox.fire(0, { one_shot: true, hints: { session: "a" } });
      inbox.hook(1);
      inbox.end(2);
      assert.equal(inbox.signal().state, "expired");
      assert.equal(isOwed(inbox.signal()), false);
      assert.equal(inbox.run(2).changed, false);
    });

    test("is forgotten when it starts again", () => {
      const inbox = ended();
      inbox.run(1, { checkIn: checkIn({ id: "b", cwd: "/elsewhere" }) });
      inbox.fire(2, { one_shot: true, hints: { session: "b" } });
      assert.equal(inbox.routedTo(), "b");
    });
  });
});

describe("step 2, the repository", () => {
  const cases: [name: string, hint: string, repository: string | undefined, expected: string][] = [
    ["equals", HOME, HOME, "a"],
    ["equals in another case", "GIT.Example/Acme/API", HOME, "a"],
    ["without a host matches any host", "acme/api", HOME, "a"],
    ["without a host matches in any case", "ACME/Api", "other.example/acme/api", "a"],
    ["of a session without a host matches any hint", HOME, "acme/api", "a"],
    ["of another host does not match", "other.example/acme/api", HOME, "no session"],
    ["of another owner does not match", "git.example/evil/api", HOME, "no session"],
    ["by its name alone does not match", "api", HOME, "no session"],
    ["by its end does not match", "me/api", HOME, "no session"],
    ["in a subgroup does not match by its end", "sub/api", "git.example/acme/sub/api", "no session"],
    ["in a subgroup without a host matches", "acme/sub/api", "git.example/acme/sub/api", "no session"],
    ["of a session that has none does not match", HOME, undefined, "no session"],
  ];
  for (const [name, hint, repository, expected] of cases) {
    test(name, () => {
      assert.equal(goes({ hints: { repository: hint } }, [stranger({ repository })]), expected);
    });
  }

  test("comes before the directory", () => {
    const hints = { repository: HOME, cwd: "/elsewhere" };
    assert.equal(goes({ hints }, [stranger({ id: "b", cwd: "/elsewhere" }), session()]), "a");
  });

  test("does not count a session that is not live", () => {
    assert.equal(goes({}, [session({ last_seen: AT(-30) })]), "no session");
  });
});

describe("step 2, the directory", () => {
  const cases: [name: string, hint: string, cwd: string, workTree: string | undefined, expected: boolean][] =
    [
      ["the hint's own", "/src/api", "/src/api", undefined, true],
      ["an ancestor of it", "/src/api/lib/deep", "/src/api", "/src/api", true],
      ["an ancestor of it, outside any repository", "/src/api/lib", "/src", undefined, true],
      ["the root", "/src/api", "/", undefined, true],
      ["below it in the same work tree", "/src/api", "/src/api/lib", "/src/api", true],
      ["below it in a work tree that begins above", "/src/api/lib", "/src/api/lib/x", "/src/api", true],
      ["below it in a work tree of its own", "/src", "/src/api", "/src/api", false],
      ["below it in a nested work tree", "/src/api", "/src/api/.trees/fix", "/src/api/.trees/fix", false],
      ["below it, outside any work tree", "/src", "/src/api", undefined, false],
      ["beside it", "/src/api", "/src/web", "/src", false],
      ["beside it, with the same beginning", "/src/api", "/src/api-docs", undefined, false],
      ["an ancestor by letters only", "/src/api-docs", "/src/api", undefined, false],
    ];
  for (const [name, cwd, sessionCwd, work_tree, expected] of cases) {
    test(`${expected ? "takes" : "does not take"} ${name}`, () => {
      const found = goes({ hints: { cwd } }, [stranger({ cwd: sessionCwd, work_tree })]);
      assert.equal(found, expected ? "a" : "no session");
    });
  }

  test("prefers the deepest ancestor, and any ancestor to what is below", () => {
    const at = (id: string, cwd: string) => stranger({ id, cwd, work_tree: "/src" });
    const all = [
      at("root", "/"),
      at("below", "/src/api/lib"),
      at("src", "/src"),
      at("here", "/src/api"),
      at("deep", "/src/api/lib/x"),
    ];
    const order: string[] = [];
    for (let left = all; left.length > 0; left = left.filter(({ id }) => id !== order.at(-1))) {
      order.push(goes({ hints: { cwd: "/src/api" } }, left));
    }
    assert.deepEqual(order, ["here", "src", "root", "below", "deep"]);
  });
});

describe("step 3, the fallback role", () => {
  const control = stranger({ id: "c", role: "control" });

  test("takes what nobody else suits", () => {
    assert.equal(goes({}, [control, stranger()]), "c");
    assert.equal(goes({ hints: {} }, [control, stranger()]), "c");
  });

  test("comes after the repository and the directory", () => {
    assert.equal(goes({}, [control, session()]), "a");
    assert.equal(goes({ hints: { cwd: "/src/api/lib" } }, [control, session()]), "a");
  });

  test("does not keep its session out of step 2", () => {
    const both = session({ id: "c", role: "control", last_hook: AT(-1) });
    assert.equal(goes({}, [both, session({ last_hook: AT(-2) })]), "c");
    assert.equal(goes({}, [both, session({ last_hook: AT(0) })]), "a");
  });

  test("is the one that the configuration names", () => {
    const inbox = new Inbox(
      document({ sessions: [control, stranger({ role: "chief" })] }, { fallback_role: "chief" }),
    );
    inbox.fire(0);
    assert.equal(inbox.routedTo(), "a");
  });
});

describe("step 4", () => {
  test("holds with the reason, and routes as soon as somebody suitable appears", () => {
    const inbox = new Inbox(document({ sessions: [stranger()] }));
    inbox.fire(0);
    assert.equal(goes({}, [stranger()]), "no session");
    assert.equal(inbox.routedTo(), undefined);
    assert.deepEqual(inbox.tell(1, { id: "b" }), ["k#1 fired"]);
  });
});

describe("policy stands above all steps", () => {
  const hour = { until: AT(60) };
  const cases: [name: string, config: Parameters<typeof document>[1], reason: string | undefined][] = [
    ["a mute of the key", { mute: [{ key: "k" }] }, "muted"],
    ["a mute with a reason", { mute: [{ key: "*", reason: "flaky" }] }, "muted (flaky)"],
    ["a mute of the producer", { mute: [{ producer: "monitors/*" }] }, "muted"],
    ["a mute of the provider", { mute: [{ provider: "c*i" }] }, "muted"],
    ["a mute of the repository", { mute: [{ repository: "Acme/API" }] }, "muted"],
    ["a mute of an owner's repositories", { mute: [{ repository: "acme/*" }] }, "muted"],
    ["a mute of a host's repositories", { mute: [{ repository: "git.example/*" }] }, "muted"],
    ["a mute of others' repositories", { mute: [{ repository: "evil/*" }] }, undefined],
    ["a mute of a part of the key", { mute: [{ key: "" }] }, undefined],
    ["a mute of which one field does not match", { mute: [{ key: "k", provider: "x" }] }, undefined],
    ["a mute that has not ended", { mute: [{ key: "k", ...hour }] }, "muted"],
    ["a mute that has ended", { mute: [{ key: "k", until: AT(0) }] }, undefined],
    ["a higher min_severity", { min_severity: "urgent" }, "below min_severity urgent"],
    ["an equal min_severity", { min_severity: "warning" }, undefined],
  ];
  for (const [name, config, reason] of cases) {
    test(`${name} ${reason ? "holds" : "lets pass"}`, () => {
      const sessions = [session({ last_hook: AT(0) })];
      const doc = fire(document({ sessions }, config), report({ hints: { repository: HOME } }), AT(0))[0];
      const signal = findSignal(doc, "k");
      assert.ok(signal);
      const to = destination(signal, doc, AT(0));
      assert.deepEqual("hold" in to ? to.hold.reason : undefined, reason);
    });
  }

  test("reads a * in a mute as any characters, none included, and nothing else as special", () => {
    const cases: [pattern: string, key: string, muted: boolean][] = [
      ["ci:*", "ci:main", true],
      ["ci:*", "ci:", true],
      ["ci:*", "my-ci:main", false],
      ["*:main", "ci:main", true],
      ["*:main", "ci:main2", false],
      ["c*:m*n", "ci:main", true],
      ["*i*i*", "ci:main", true],
      ["*i*i*i*", "ci:main", false],
      ["a*ab*b", "aab", false],
      ["a*ab*b", "aabb", true],
      ["ab*bc", "abc", false],
      ["*a*b*", "ba", false],
      ["**", "", true],
      ["ci.main", "ci:main", false],
      ["CI:*", "ci:main", false],
      [".*", "ci:main", false],
      [`${"a*".repeat(30)}b`, "a".repeat(5_000), false],
    ];
    for (const [pattern, key, muted] of cases) {
      const doc = fire(document({}, { mute: [{ key: pattern }] }), report({ key }), AT(0))[0];
      const [signal] = doc.signals;
      assert.ok(signal);
      const to = destination(signal, doc, AT(0));
      assert.equal("hold" in to && to.hold.reason === "muted", muted, `${pattern} ${key}`);
    }
  });

  test("says what would release what is held", () => {
    const held = (fields: Partial<FireReport>, config: Parameters<typeof document>[1] = {}) => {
      const doc = fire(document({}, config), report(fields), AT(0))[0];
      const [signal] = doc.signals;
      assert.ok(signal);
      const to = destination(signal, doc, AT(0));
      return "hold" in to ? to.hold.release : undefined;
    };
    const hints = { repository: HOME, cwd: "/src/api", session: "b" };
    assert.equal(held({ hints: {} }), "it waits for a session with role control");
    assert.equal(
      held({ hints }),
      `it waits for session b, or a session in ${HOME}, or a session in /src/api, or a session with role control`,
    );
    assert.equal(held({ hints, one_shot: true }), "that session's return within 7d");
    assert.equal(held({}, { mute: [{ key: "k" }] }), "remove the [[mute]] from config.toml");
    assert.equal(held({}, { mute: [{ key: "k", until: AT(5) }] }), `it ends at ${AT(5)}`);
    assert.equal(
      held({}, { min_severity: "urgent" }),
      "a rise to urgent, or a lower min_severity in config.toml",
    );
  });

  test("holds everything while no valid policy was ever seen", () => {
    const inbox = new Inbox({ ...document({ sessions: [session()] }), policy: undefined });
    inbox.fire(0);
    assert.deepEqual(inbox.tell(1), []);
    inbox.doc = { ...inbox.doc, policy: document().policy };
    assert.deepEqual(inbox.tell(2), ["k#1 fired"]);
  });

  test("takes back what is assigned, and not what is leased", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0, { key: "leased" });
    inbox.hook(1);
    inbox.fire(2, { key: "assigned" });
    inbox.doc = { ...inbox.doc, policy: document({}, { mute: [{ key: "*" }] }).policy };
    inbox.run(3);
    assert.equal(inbox.signal("assigned").assigned, undefined);
    assert.equal(inbox.signal("leased").lease?.session, "a");
    assert.deepEqual(inbox.tell(4), []);
  });

  test("holds until the mute ends, and then it routes", () => {
    const inbox = new Inbox(document({}, { mute: [{ key: "k", until: AT(5) }] }));
    inbox.fire(0);
    assert.deepEqual(inbox.tell(4), []);
    assert.deepEqual(inbox.tell(5), ["k#1 fired"]);
  });

  test("judges a settled generation by the signal's own severity", () => {
    const inbox = new Inbox(document({}, { min_severity: "urgent" }));
    inbox.fire(0, { severity: "urgent" });
    inbox.tell(1);
    inbox.resolve(2);
    assert.deepEqual(inbox.tell(3), ["k#2 resolved"]);
  });
});

describe("among several that suit in one step", () => {
  const hints = { repository: HOME, cwd: "/src/api" };
  const cases: [
    name: string,
    better: Partial<Session>,
    worse: Partial<Session>,
    report?: Partial<FireReport>,
  ][] = [
    [
      "a responsive one goes before one that is silent",
      { last_hook: AT(-9.99), attended: false, cwd: "/src" },
      { last_hook: AT(-10) },
    ],
    ["an attended one goes before a headless one", { last_hook: AT(-5) }, { attended: false }],
    [
      "one that does not say goes before a headless one",
      { last_hook: AT(-5), attended: undefined },
      { attended: false },
    ],
    [
      "one that does not say is as good as an attended one",
      { last_hook: AT(-1) },
      { attended: true, last_hook: AT(-2) },
    ],
    ["an attended one in a worse directory goes first", { cwd: "/src" }, { attended: false }],
    ["the one whose directory fits goes first", { last_hook: AT(-5) }, { cwd: "/elsewhere" }],
    ["the deepest ancestor goes first", { last_hook: AT(-5) }, { cwd: "/src" }],
    ["an ancestor goes before one below", { cwd: "/src", last_hook: AT(-5) }, { cwd: "/src/api/lib" }],
    ["the latest hook goes first", { last_hook: AT(-1), last_seen: AT(-1) }, { last_hook: AT(-2) }],
    [
      "a busy one goes first, if it is urgent",
      { state: "busy", attended: false, last_hook: AT(-5) },
      { state: "idle" },
      { severity: "urgent" },
    ],
    [
      "a busy one does not go first, if it is not urgent",
      { state: "idle", last_hook: AT(-1) },
      { state: "busy", last_hook: AT(-2) },
    ],
  ];
  for (const [name, better, worse, fields] of cases) {
    test(name, () => {
      // The worse one has the smaller id, and comes first in either order.
      const [good, bad] = [session({ id: "b", ...better }), session({ id: "a", ...worse })];
      assert.equal(goes({ hints, ...fields }, [good, bad]), "b");
      assert.equal(goes({ hints, ...fields }, [bad, good]), "b");
    });
  }

  test("the lexically smallest id goes first, when nothing else tells them apart", () => {
    assert.equal(goes({ hints }, [session({ id: "b" }), session({ id: "a" }), session({ id: "c" })]), "a");
  });

  test("worktrees of one repository are told apart", () => {
    const tree = (id: string, cwd: string) => session({ id, cwd, work_tree: cwd });
    const sessions = [tree("main", "/src/api"), tree("fix", "/src/api/.trees/fix"), tree("b", "/src/b")];
    const inTree = (cwd: string) => goes({ hints: { repository: HOME, cwd } }, sessions);
    assert.equal(inTree("/src/api"), "main");
    assert.equal(inTree("/src/api/lib"), "main");
    assert.equal(inTree("/src/api/.trees/fix"), "fix");
    assert.equal(inTree("/src/api/.trees/fix/lib"), "fix");
    assert.equal(inTree("/src/b/lib"), "b");
  });
});

describe("an assignment", () => {
  /** A signal that was routed to `a`, which was last heard of at minute 0. */
  const assigned = (other: Partial<Session>, now: number, own: Partial<Session> = {}) => {
    const before = fire(document({ sessions: [session()] }), report(), AT(0))[0];
    const routed = route(before, AT(0));
    assert.equal(findSignal(routed, "k")?.assigned?.session, "a");
    const sessions = [session({ last_seen: AT(now), ...own }), session({ id: "b", ...other })];
    return findSignal(route(frozen({ ...routed, sessions }), AT(now)), "k")?.assigned?.session;
  };

  const fresh = (now: number) => ({ last_seen: AT(now), last_hook: AT(now) });
  const nowhere = { repository: undefined, cwd: "/elsewhere" };

  const cases: [name: string, kept: "a" | "b", got: string | undefined][] = [
    ["sticks while its session is responsive", "a", assigned(fresh(9), 9)],
    [
      "moves when its session was silent for a lease window and another is responsive",
      "b",
      assigned(fresh(10), 10),
    ],
    ["stays when the other is silent too", "a", assigned({ ...fresh(0), last_seen: AT(10) }, 10)],
    ["stays when the other does not suit", "a", assigned({ ...fresh(10), ...nowhere }, 10)],
    [
      "stays when the other suits only in a later step",
      "a",
      assigned({ ...fresh(10), ...nowhere, role: "control" }, 10),
    ],
    ["moves when its session goes stale", "b", assigned(fresh(30), 30, { last_seen: AT(0) })],
    ["sticks when its responsive session does not suit any more", "a", assigned(fresh(9), 9, nowhere)],
    ["moves when its silent session does not suit any more", "b", assigned(fresh(10), 10, nowhere)],
  ];
  for (const [name, expected, got] of cases) test(name, () => assert.equal(got, expected));

  test("moves from a silent session to a responsive one in an earlier step", () => {
    const control = stranger({ id: "c", role: "control" });
    const inbox = new Inbox(document({ sessions: [control] }));
    inbox.fire(0);
    assert.equal(inbox.routedTo(), "c");
    inbox.run(9, { checkIn: checkIn() });
    assert.equal(inbox.routedTo(), "c", "it sticks although the newcomer suits better");
    inbox.run(11, { checkIn: checkIn() });
    assert.equal(inbox.routedTo(), "a");
  });

  test("moves when its session ends", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b", last_hook: AT(-1) })] }));
    inbox.fire(0);
    assert.equal(inbox.routedTo(), "a");
    inbox.end(1);
    assert.equal(inbox.routedTo(), "b");
  });

  test("never moves while a lease is out", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b" })] }));
    inbox.fire(0);
    inbox.hook(0);
    assert.deepEqual(inbox.tell(9.99, { id: "b" }), []);
    assert.equal(inbox.routedTo(), "a");
    assert.deepEqual(inbox.tell(10, { id: "b" }), ["k#1 fired attempt 2"]);
  });

  test("sticks although the session that the hint names comes, while its own is responsive", () => {
    const inbox = new Inbox(document({ sessions: [session()] }));
    inbox.fire(0, { hints: { session: "b", repository: HOME } });
    assert.equal(inbox.routedTo(), "a");
    const addressee = checkIn({ id: "b", cwd: "/elsewhere", repository: undefined, work_tree: undefined });
    inbox.run(9, { checkIn: addressee });
    assert.equal(inbox.routedTo(), "a");
    inbox.run(10, { checkIn: addressee });
    assert.equal(inbox.routedTo(), "b");
  });

  describe("of the generation before is kept", () => {
    const escalated = (change: (inbox: Inbox) => void) => {
      const inbox = new Inbox(document({ sessions: [session({ last_hook: AT(0) })] }));
      inbox.fire(0);
      inbox.tell(1);
      inbox.run(2, { checkIn: checkIn({ id: "b" }) });
      change(inbox);
      inbox.fire(4, { severity: "urgent" });
      return inbox.routedTo();
    };

    test("while its session is live and suitable", () => {
      assert.equal(
        escalated(() => {}),
        "a",
      );
    });

    test("not when the session does not suit any more", () => {
      const leaves = checkIn({ cwd: "/elsewhere", repository: undefined, work_tree: undefined });
      const moved = escalated((inbox) => inbox.run(3, { checkIn: leaves }));
      assert.equal(moved, "b");
    });

    test("not when it is a one-shot that waits for somebody else", () => {
      const inbox = new Inbox(document({ sessions: [session()] }));
      inbox.fire(0, { one_shot: true });
      inbox.tell(1);
      inbox.fire(2, { one_shot: true, hints: { session: "b", repository: HOME } });
      assert.deepEqual(inbox.tell(3), []);
      assert.deepEqual(inbox.tell(4, { id: "b" }), ["k#2 fired"]);
    });

    test("not when the session has ended", () => {
      assert.equal(
        escalated((inbox) => inbox.end(3)),
        "b",
      );
    });
  });
});

describe("settled news", () => {
  /** A signal that `a` was told of, with a second session `b` in the same repository. */
  const told = (fields: Partial<FireReport> = {}) => {
    const inbox = new Inbox();
    inbox.fire(0, fields);
    assert.deepEqual(inbox.tell(1), ["k#1 fired"]);
    inbox.run(2, { checkIn: checkIn({ id: "b" }) });
    return inbox;
  };
  /** `b` keeps the machine awake for so long that `a` is removed as stale. */
  const untilStale = (inbox: Inbox, from: number) => {
    for (let minute = from; minute <= from + 32; minute += 4) inbox.hook(minute, { id: "b" });
    assert.equal(inbox.session("a"), undefined);
  };

  test("goes to the session told last while that is live, whatever would suit better", () => {
    const inbox = told();
    inbox.run(3, { checkIn: checkIn({ cwd: "/elsewhere", repository: undefined, work_tree: undefined }) });
    inbox.resolve(4);
    assert.deepEqual(inbox.tell(5, { id: "b" }), []);
    assert.deepEqual(inbox.tell(6), ["k#2 resolved"]);
  });

  test("goes to the last one told of several", () => {
    const inbox = told();
    inbox.end(3);
    inbox.fire(4, { severity: "urgent" });
    assert.deepEqual(inbox.tell(5, { id: "b" }), ["k#2 fired"]);
    inbox.run(6, { checkIn: checkIn() });
    inbox.resolve(7);
    assert.deepEqual(inbox.tell(8), []);
    assert.deepEqual(inbox.tell(9, { id: "b" }), ["k#3 resolved"]);
  });

  test("goes to the last one told, also when both were told at one instant", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b", last_hook: AT(-1) })] }));
    inbox.fire(0);
    inbox.hook(0);
    inbox.end(0);
    assert.deepEqual(inbox.tell(0, { id: "b" }), ["k#1 fired attempt 2"]);
    inbox.hook(1);
    inbox.resolve(2);
    assert.equal(inbox.routedTo(), "b");
  });

  test("goes to the second holder of a lease that had lapsed", () => {
    const inbox = new Inbox(document({ sessions: [session(), session({ id: "b", last_hook: AT(-1) })] }));
    inbox.fire(0);
    inbox.hook(0);
    assert.deepEqual(inbox.tell(5, { id: "b" }), []);
    assert.deepEqual(inbox.tell(10, { id: "b" }), ["k#1 fired attempt 2"]);
    inbox.hook(10);
    inbox.resolve(11);
    assert.equal(inbox.routedTo(), "b");
  });

  test("waits for one that is absent, resolved or expired", () => {
    for (const outcome of ["resolved", "expired"]) {
      const inbox = told();
      untilStale(inbox, 4);
      if (outcome === "resolved") inbox.resolve(50);
      assert.deepEqual(inbox.tell(DAY + 60, { id: "b" }), []);
      assert.deepEqual(inbox.tell(DAY + 61), [`k#2 ${outcome}`]);
    }
  });

  test("of a resolve waits for the absent one until retention", () => {
    const inbox = told();
    untilStale(inbox, 4);
    inbox.resolve(50);
    inbox.run(50 + 7 * DAY);
    assert.equal(findSignal(inbox.doc, "k"), undefined);
  });

  test("of a resolve goes by the router when its session has ended", () => {
    const inbox = told();
    inbox.end(3);
    inbox.resolve(4);
    assert.deepEqual(inbox.tell(5, { id: "b" }), ["k#2 resolved"]);
  });

  test("of a resolve goes by the router when its session ends after it", () => {
    const inbox = told();
    inbox.resolve(3);
    inbox.end(4);
    assert.deepEqual(inbox.tell(5, { id: "b" }), ["k#2 resolved"]);
  });

  describe("of a generation that was routed to another session, but not told there,", () => {
    /** `a` was told of the fire and left; the escalation was routed to `b`, and then it is over. */
    const overtaken = (leave: (inbox: Inbox) => void, settle: (inbox: Inbox) => void) => {
      const inbox = told({ expires_at: AT(55) });
      leave(inbox);
      inbox.fire(50, { severity: "urgent", expires_at: AT(55) });
      assert.equal(inbox.routedTo(), "b");
      settle(inbox);
      return inbox;
    };
    const resolves = (inbox: Inbox) => inbox.resolve(51);
    const expires = (inbox: Inbox) => inbox.run(55);

    test("waits for the one that was told while that is absent", () => {
      for (const settle of [resolves, expires]) {
        const inbox = overtaken((inbox) => untilStale(inbox, 4), settle);
        assert.equal(inbox.routedTo(), undefined);
        assert.deepEqual(inbox.tell(56, { id: "b" }), []);
        assert.match(inbox.tell(57).join(), /^k#3 (resolved|expired)$/);
      }
    });

    test("is told to nobody when that has ended and the signal expired", () => {
      const inbox = overtaken((inbox) => inbox.end(3), expires);
      assert.deepEqual(inbox.tell(56, { id: "b" }), []);
      assert.equal(isOwed(inbox.signal()), false);
    });

    test("goes by the router when that has ended and the signal was resolved", () => {
      const inbox = overtaken((inbox) => inbox.end(3), resolves);
      assert.deepEqual(inbox.tell(52, { id: "b" }), ["k#3 resolved"]);
    });
  });

  test("of an expiry goes to nobody else when its session has ended", () => {
    const inbox = told();
    inbox.end(3);
    assert.deepEqual(inbox.tell(DAY + 60, { id: "b" }), []);
    assert.equal(inbox.signal().state, "expired");
    assert.equal(isOwed(inbox.signal()), false);
    assert.deepEqual(inbox.tell(DAY + 61), [], "not even to the one that returns");
  });

  test("remembers that its session has ended for as long as the signal", () => {
    const inbox = told();
    inbox.end(3);
    inbox.fire(DAY - 1, { expires_at: AT(5 * DAY) });
    inbox.resolve(2 * DAY);
    assert.deepEqual(inbox.tell(3 * DAY, { id: "b" }), ["k#2 resolved"]);
  });
});

describe("a one-shot", () => {
  test("settles as resolved when its lease is acked, without a second reminder", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true });
    const [reminder] = inbox.hook(1);
    assert.ok(reminder);
    assert.equal(inbox.signal().state, "fired");
    inbox.ack(2, reminder);
    const { state, generation } = inbox.signal();
    assert.deepEqual([state, generation], ["resolved", 1]);
    assert.deepEqual(inbox.tell(3), []);
    assert.equal(inbox.resolve(4), "already_settled");
  });

  test("fires again as a new generation", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true });
    inbox.tell(1);
    assert.equal(inbox.fire(2, { one_shot: true }), "refired");
    assert.deepEqual(inbox.tell(3), ["k#2 fired"]);
  });

  test("is retained from its delivery on, and its ack is known", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true, expires_at: AT(30 * DAY) });
    const [reminder] = inbox.hook(10 * DAY);
    assert.ok(reminder);
    assert.equal(inbox.ack(10 * DAY, reminder), "acked");
    assert.equal(inbox.ack(10 * DAY + 1, reminder), "already_acked");
    inbox.run(17 * DAY - 1);
    assert.equal(inbox.signal().state, "resolved");
    inbox.run(17 * DAY);
    assert.equal(findSignal(inbox.doc, "k"), undefined);
  });

  test("that expired stays expired when the news of it is acked", () => {
    const inbox = new Inbox();
    inbox.fire(0, { one_shot: true, expires_at: AT(60) });
    inbox.hook(1);
    assert.deepEqual(inbox.tell(61), ["k#2 expired"]);
    assert.equal(inbox.signal().state, "expired");
  });
});

describe("the rule", () => {
  const everythingToB: Rule = () => ({ session: "b" });

  test("can be replaced", () => {
    const inbox = new Inbox(document({ sessions: [session(), stranger({ id: "b" })] }));
    inbox.rule = everythingToB;
    inbox.fire(0);
    assert.equal(inbox.routedTo(), "b");
  });

  test("cannot overrule policy, a session hint, or the session that was told", () => {
    const inbox = new Inbox(
      document({ sessions: [session(), stranger({ id: "b" })] }, { mute: [{ key: "muted" }] }),
    );
    inbox.fire(0, { key: "told" });
    inbox.tell(0);
    inbox.rule = everythingToB;
    inbox.fire(1, { key: "muted" });
    inbox.fire(1, { key: "hinted", hints: { session: "a" } });
    inbox.resolve(1, { key: "told" });
    assert.deepEqual(
      ["muted", "hinted", "told"].map((key) => inbox.routedTo(key)),
      [undefined, "a", "a"],
    );
  });
});

test("a second routing pass at the same time changes nothing", () => {
  const sessions = [session({ last_hook: AT(-10) }), session({ id: "b", last_hook: AT(-12) })];
  const doc = route(fire(document({ sessions }), report(), AT(0))[0], AT(0));
  assert.equal(route(frozen(doc), AT(0)), doc);
});
