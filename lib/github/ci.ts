import { messageOf } from "../errors.ts";
import type { Asked } from "../monitor/run.ts";
import { Unreadable } from "../monitor/source.ts";
import { isBad, type Reading, type Verdict } from "../monitor/verdict.ts";
import { between, type Time } from "../time.ts";
import { githubApi } from "./api.ts";
import type { Judged } from "./conclusion.ts";
import { lookAt, type Seen } from "./look.ts";
import { type Watch, watchesFrom } from "./watch.ts";

/** The flags of `github-ci.mts`. */
export const GITHUB_CI_FLAGS = {
  live: { type: "boolean" },
  branch: { type: "string" },
  workflow: { type: "string" },
  pr: { type: "string" },
} as const;

type CiAsked = Omit<Asked<typeof GITHUB_CI_FLAGS>, "flags"> & {
  flags: Pick<Asked<typeof GITHUB_CI_FLAGS>["flags"], keyof typeof GITHUB_CI_FLAGS>;
};

/**
 * Is CI red? One verdict for each workflow, check and commit status of what is watched that ended well or badly. Throws
 * `Unreadable` when nothing of it could be read, and `UsageError` for wrong arguments.
 */
export async function lookAtGithubCi(asked: CiAsked, env = process.env): Promise<Reading> {
  const { flags, args, now, source, memory, sessions, signal } = asked;
  const api = await githubApi(env, signal);
  const { all, follow, nowhere } = await watchesFrom(flags, args, api, sessions, memory);
  if (nowhere !== undefined) return { verdicts: [], summary: nowhere };
  if (all.length === 0) {
    const summary = `no live session works on a branch of a repository of ${api.host}`;
    return { verdicts: [{ status: "OK", kind: "live", identity: [api.host], summary }] };
  }
  const seen: Seen[] = [];
  const unread: { watch: Watch; error: Unreadable }[] = [];
  // One after the other, as GitHub asks for.
  for (const watch of all) {
    try {
      seen.push(await lookAt(source, api, watch, flags.workflow));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unread.push({ watch, error });
    }
  }
  const trouble = mostPatient([
    ...unread.map(({ error }) => error),
    ...seen.flatMap(({ troubles }) => troubles),
  ]);
  if (seen.length === 0 && trouble) throw trouble;

  const ended = seen.flatMap(({ ended }) => ended);
  const { silent, left } = remember(memory, ended, seen, now);
  const told = [...ended, ...silent];
  // Who works on a branch that nobody pushed yet has nothing to fear.
  const isSaid = ({ nothing }: Seen) => told.length === 0 || (nothing !== undefined && !follow);
  const notRead = trouble ?? seen.flatMap(({ denied }) => denied)[0];
  return {
    verdicts: [
      ...told,
      ...seen.filter(isSaid).map(nothingOf),
      ...seen.flatMap(({ off }) => off),
      ...unread.map(unreadVerdict),
    ],
    summary: [
      ...seen.map(wordsOn),
      ...(notRead ? [`not all could be read: ${messageOf(notRead)}`] : []),
      ...newlyUnknown(memory, seen),
    ].join("; "),
    // What is checked out changes all day: the branch that was left is as red as before.
    gone:
      unread.length === 0 && seen.every(({ isWhole }) => isWhole) && !(follow && left)
        ? goneFrom(seen)
        : undefined,
    unread: trouble,
  };
}

/** A red that has not been seen to end. */
interface Red {
  verdict: Verdict;
  seen: Time;
}

/** As long as a signal stays that nobody reports any more. */
const REMEMBERED_MS = 24 * 3_600_000;

/**
 * A new commit has no checks at first, and a list ends somewhere: what was red and is not listed now is not well for
 * that. It is `silent`, unless its branch was not looked at (then something is `left`) or its workflow was deleted.
 */
function remember(
  memory: Record<string, unknown>,
  ended: readonly Judged[],
  seen: readonly Seen[],
  now: Time,
): { silent: Verdict[]; left: boolean } {
  const idOf = ({ kind, identity }: Verdict) => JSON.stringify([kind, ...identity]);
  const there = new Set(ended.map(idOf));
  const before = ((memory["red"] ?? []) as Red[]).filter(
    ({ verdict, seen }) => !there.has(idOf(verdict)) && between(seen, now) < REMEMBERED_MS,
  );
  const placed = before.map((red) => {
    const { identity } = red.verdict;
    const place = seen.find(
      ({ subject, nothing }) =>
        !nothing && String(subject.repository.id) === identity[0] && subject.branch === identity.at(-1),
    );
    return { red, place };
  });
  const silent = placed.filter(({ red, place }) => place && !isOver(red.verdict, place));
  const left = placed.filter(({ place }) => !place);
  const reds = ended.filter(({ status }) => isBad(status)).map((verdict): Red => ({ verdict, seen: now }));
  memory["red"] = [...reds, ...[...silent, ...left].map(({ red }) => red)];
  return {
    silent: silent.map(({ red: { verdict } }) => ({
      ...verdict,
      status: "UNKNOWN" as const,
      summary: `${verdict.summary}; nothing newer has ended`,
    })),
    left: left.length > 0,
  };
}

/** Whether its workflow was deleted, or switched off. */
function isOver({ kind, identity }: Verdict, { workflows, off }: Seen): boolean {
  if (kind !== "workflow_run") return false;
  const [, id = ""] = identity;
  return workflows?.has(id) === false || off.some((verdict) => verdict.identity[1] === id);
}

/** A branch that nothing ended on. */
function nothingOf(seen: Seen): Verdict {
  const { repository, branch, hints } = seen.subject;
  return {
    status: seen.nothing?.status ?? "UNKNOWN",
    kind: "branch",
    identity: [String(repository.id), branch],
    summary: wordsOn(seen),
    ...(hints && { hints }),
  };
}

/** A repository that could not be read: the others may be well, and all of them together are not known to be. */
function unreadVerdict({
  watch: { owner, name, hints },
  error,
}: {
  watch: Watch;
  error: Unreadable;
}): Verdict {
  const summary = `${owner}/${name}: ${messageOf(error)}`;
  return { status: "UNKNOWN", kind: "repository", identity: [owner, name], summary, hints };
}

/** One branch in words: `1 of 5 workflows is red on main of acme/api: test`. */
function wordsOn({ subject, ended, nothing }: Seen): string {
  const place = `on ${subject.branch} of ${subject.repository.full_name}`;
  if (nothing) return nothing.why;
  if (ended.length === 0) return `no finished run ${place}`;
  const reds = ended.filter(({ status }) => isBad(status)).map(({ name }) => name);
  const word = ended.every(({ kind }) => kind === "workflow_run") ? "workflow" : "check";
  const things = `${ended.length} ${word}${ended.length === 1 ? "" : "s"}`;
  const are = (count: number) => (count === 1 ? "is" : "are");
  if (reds.length === 0) return `${things} ${are(ended.length)} green ${place}`;
  const more = reds.length > MOST_NAMES ? ` and ${reds.length - MOST_NAMES} more` : "";
  const names = `${reds.slice(0, MOST_NAMES).join(", ")}${more}`;
  return `${reds.length} of ${things} ${are(reds.length)} red ${place}: ${names}`;
}

const MOST_NAMES = 3;

function goneFrom([first, ...others]: readonly Seen[]): string {
  if (!first || others.length > 0) return "Not among what is watched now";
  const { subject, nothing } = first;
  return (
    nothing?.why ?? `Not part of what is watched now, ${subject.branch} of ${subject.repository.full_name}`
  );
}

/** A word on each conclusion that is not known here, the first time that it is seen. */
function newlyUnknown(memory: Record<string, unknown>, seen: readonly Seen[]): string[] {
  const said = (memory["unknown"] ?? []) as string[];
  const news = [...new Set(seen.flatMap(({ unknown }) => unknown))].filter((one) => !said.includes(one));
  memory["unknown"] = [...said, ...news].slice(-20);
  return news.map((one) => `the conclusion ${one} is not known here, and counts as none`);
}

/** Of what could not be read, that which asks for the most time. */
function mostPatient(troubles: readonly Unreadable[]): Unreadable | undefined {
  const patience = ({ waitMs, limited }: Unreadable) => waitMs ?? (limited ? 60_000 : 0);
  return [...troubles].sort((a, b) => patience(b) - patience(a))[0];
}
