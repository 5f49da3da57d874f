import { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { arrive, type Arrival } from "./arrive.ts";
import {
  NO_RECORD,
  SessionRecord,
  type SessionCommand,
  type SessionState,
} from "./session-record.ts";
import { slotOf } from "./session-slot.ts";
import { begin, confirmSteer, end, release, reset, settle, undoSteer } from "./transitions.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");
const AT = new Date(NOW).toISOString();
const LIMITS = { maxQueued: 3, maxPerOwner: 10, idleMs: 60_000 };
const SLOT = slotOf("team-a", "talk");

function message(runId: string, onBusy?: BusyPolicy, digest = `d-${runId}`): Arrival {
  const whose = { slot: SLOT, owner: "team-a", key: "talk", agent: "echo", requester: "team-a" };
  return { ...whose, title: `about ${runId}`, runId, digest, onBusy };
}

function arriving(record: SessionRecord, arrival: Arrival) {
  return arrive(record, arrival, { nowMs: NOW, limits: LIMITS });
}

/** A session with the run `a` under way. */
function busySession(): { record: SessionRecord; session: SessionState } {
  const first = arriving(NO_RECORD, message("a"));
  assert.ok(first.placing.outcome === "go");
  const { sessionId } = first.placing.session;
  const begun = begin(first.record, { sessionId, placed: message("a") });
  assert.ok(begun.beginning === "ok" && begun.record.session !== null);
  return { record: begun.record, session: begun.record.session };
}

function ended(session: SessionState, runId: string, status: "succeeded" | "failed" = "succeeded") {
  const { sessionId } = session;
  return { sessionId, runId, status, at: AT, tokens: 5, messages: 0, turns: 1, preview: "" };
}

function waiting(runId: string): SessionCommand {
  const from = { subject: "s", caller: "team-a", streamSequence: 1, messageId: null };
  const who = { runId, agent: "echo", requester: "team-a", digest: "d" };
  return { ...who, payload: { input: "x" }, message: { ...from, publishedAt: AT } };
}

test("a session has the title of its first message, and after a reset that of the next one", () => {
  const first = arriving(NO_RECORD, message("a"));
  const second = arriving(first.record, message("b"));
  assert.equal(second.record.session?.title, "about a");
  const anew = { slot: SLOT, by: "team-a", nowMs: NOW, waiting: [] };
  const after = reset(second.record, second.record.session, anew);
  assert.equal(after.session.title, undefined);
  assert.equal(arriving(after.record, message("c")).record.session?.title, "about c");
});

test("a message may name the skills that are off from now on; another one leaves them, and so does a reset [DR13]", () => {
  const first = arriving(NO_RECORD, { ...message("a"), skillsOff: ["pdf"] });
  assert.deepEqual(first.record.session?.skillsOff, ["pdf"]);
  const second = arriving(first.record, message("b"));
  assert.deepEqual(second.record.session?.skillsOff, ["pdf"]);
  const third = arriving(second.record, { ...message("c"), skillsOff: [] });
  assert.deepEqual(third.record.session?.skillsOff, []);
  assert.ok(second.record.session !== null);
  const anew = { slot: SLOT, by: "team-a", nowMs: NOW, waiting: [] };
  const after = reset(second.record, second.record.session, anew);
  assert.deepEqual(after.session.skillsOff, ["pdf"]);
  // A record of an older version has no such list.
  const { skillsOff: _, ...older } = second.record.session;
  const read = SessionRecord.parse({ ...second.record, session: older });
  assert.deepEqual(read.session?.skillsOff, []);
});

test("begins a session with the first message, and announces it once", () => {
  const { record, placing } = arriving(NO_RECORD, message("a"));
  assert.equal(placing.outcome, "go");
  assert.deepEqual(
    record.outbox.map(({ event, payload }) => [event, payload["seq"]]),
    [["session.created", 1]],
  );
  const again = arriving(record, message("a"));
  assert.equal(again.placing.outcome, "go");
  assert.equal(again.record, record);
  assert.equal(arriving(record, message("a", undefined, "other")).placing.outcome, "taken");
});

test("a message that cannot be given to a run waits instead of steering it", () => {
  const { record } = busySession();
  const skill = { ...message("b", "steer"), isOwnRun: true };
  const { record: next, placing } = arriving(record, skill);
  assert.equal(placing.outcome, "queued");
  assert.equal(arriving(next, skill).placing.outcome, "queued");
});

test("treats a message for a busy session as the message says, else as the session's setting says", () => {
  const { record, session } = busySession();
  const outcome = (onBusy?: BusyPolicy, policy: BusyPolicy = "enqueue") =>
    arriving({ ...record, session: { ...session, onBusy: policy } }, message("b", onBusy)).placing
      .outcome;
  assert.deepEqual(
    BusyPolicy.options.map((policy) => [outcome(policy), outcome(undefined, policy)]),
    [
      ["queued", "queued"],
      ["steer", "steer"],
      ["interrupt", "interrupt"],
      ["busy", "busy"],
    ],
  );
});

test("an interrupting message is the next one, before those that wait longer", () => {
  let { record } = busySession();
  record = arriving(record, message("b")).record;
  record = arriving(record, message("c", "interrupt")).record;
  assert.deepEqual(
    record.session?.queue.map(({ runId }) => runId),
    ["c", "b"],
  );
  // The runner that placed it may have died before the run was cancelled.
  assert.equal(arriving(record, message("c", "interrupt")).placing.outcome, "interrupt");
  assert.equal(arriving(record, message("b")).placing.outcome, "queued");
});

test("refuses a message when the queue is full", () => {
  let { record } = busySession();
  for (const runId of ["b", "c", "d"]) record = arriving(record, message(runId)).record;
  const full = arriving(record, message("e"));
  assert.equal(full.placing.outcome, "full");
  assert.equal(full.record, record);
});

test("a message that no run received arrives anew, one that a run received is never placed again", () => {
  const { record } = busySession();
  const given = arriving(record, message("b", "steer")).record;
  assert.equal(arriving(given, message("b", "enqueue")).placing.outcome, "steer");
  const undone = undoSteer(given, "b");
  assert.equal(arriving(undone, message("b", "enqueue")).placing.outcome, "queued");
  const reported = confirmSteer(given, { runId: "b", at: AT });
  assert.deepEqual(
    reported.outbox.slice(given.outbox.length).map(({ event }) => event),
    ["session.message-steered", "run.merged"],
  );
  assert.equal(confirmSteer(reported, { runId: "b", at: AT }), reported);
});

test("writes the end of a run once, and not the end of a run that does not have the session", () => {
  const { record, session } = busySession();
  const done = settle(record, ended(session, "a"), 2);
  assert.deepEqual([done.isNews, done.next, done.record.session?.totalTokens], [true, null, 5]);
  const again = settle(done.record, ended(session, "a"), 2);
  assert.deepEqual([again.isNews, again.record], [false, done.record]);
  assert.equal(settle(record, ended(session, "z"), 2).isNews, false);
  const other = { ...ended(session, "a"), sessionId: `${session.sessionId}x` };
  assert.equal(settle(record, other, 2).isNews, false);
});

test("a retried run takes the session again when it is free, and its tokens count once", () => {
  const { record, session } = busySession();
  const { sessionId } = session;
  const queued = arriving(record, message("b")).record;
  const failed = settle(queued, ended(session, "a", "failed"), 2);
  assert.deepEqual(failed.next, { sessionId, runId: "b" });
  const retried = { sessionId, placed: message("a") };
  assert.equal(begin(failed.record, retried).beginning, "busy");
  const later = settle(failed.record, ended(session, "b"), 2).record;
  const back = begin(later, retried);
  assert.equal(back.beginning, "ok");
  const more = { ...ended(session, "a"), tokens: 9 };
  assert.equal(settle(back.record, more, 1).record.session?.totalTokens, 14);
});

test("makes room for the next message when no run could be made, but never beside a run that exists", () => {
  const first = arriving(NO_RECORD, message("a"));
  assert.ok(first.placing.outcome === "go");
  const { sessionId } = first.placing.session;
  const queued = arriving(first.record, message("b")).record;
  const refused = { sessionId, runId: "a", code: "unknown_agent", message: "no" };
  assert.deepEqual(release(queued, refused).next, { sessionId, runId: "b" });
  const begun = begin(queued, { sessionId, placed: message("a") }).record;
  assert.equal(release(begun, refused).record, begun);
});

test("an end refuses the waiting messages, and a reset has another id even within one millisecond", () => {
  const { record, session } = busySession();
  const over = end(record, session, { reason: "deleted", at: AT, waiting: [waiting("b")] });
  assert.equal(over.session, null);
  assert.deepEqual(
    over.outbox
      .slice(-2)
      .map(({ event, payload }) => [event, payload["code"] ?? payload["reason"]]),
    [
      ["run.rejected", "session_ended"],
      ["session.ended", "deleted"],
    ],
  );
  const asked = { slot: SLOT, by: "team-a", nowMs: NOW, waiting: [] };
  const fresh = reset(record, session, asked);
  assert.notEqual(fresh.session.sessionId, session.sessionId);
  assert.deepEqual(
    fresh.record.outbox.slice(-3).map(({ event }) => event),
    ["session.reset", "session.ended", "session.created"],
  );
});

/** A step in the life of a session, in any order and any number of times. */
type Step =
  | { readonly type: "arrive"; readonly run: number; readonly onBusy: BusyPolicy | undefined }
  | {
      readonly type: "begin" | "settle" | "fail" | "refuse" | "heard" | "unheard";
      readonly run: number;
    };

const run = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    type: fc.constant("arrive" as const),
    run,
    onBusy: fc.option(fc.constantFrom(...BusyPolicy.options), { nil: undefined }),
  }),
  fc.record({
    type: fc.constantFrom("begin", "settle", "fail", "refuse", "heard", "unheard"),
    run,
  }),
);

test("in any order of steps at most one run is under way, nothing is lost and no end is published twice", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let record: SessionRecord = NO_RECORD;
      // Runs that exist and have not ended, and how often each end was published.
      const live = new Set<string>();
      const reported = new Map<string, number>();
      const lives = new Map<string, number>();
      const accepted = new Set<string>();
      const leftAgain = new Set<string>();
      for (const { type, run: number, ...more } of steps) {
        const runId = `r${number}`;
        const sessionId = record.session?.sessionId ?? "";
        switch (type) {
          case "arrive": {
            const onBusy = "onBusy" in more ? more.onBusy : undefined;
            const next = arriving(record, message(runId, onBusy));
            record = next.record;
            if (["go", "queued", "interrupt", "steer"].includes(next.placing.outcome)) {
              accepted.add(runId);
              leftAgain.delete(runId);
            }
            break;
          }
          case "begin": {
            // Only a run that has its turn, or one that is retried, can begin.
            if (!accepted.has(runId) || isWaiting(record, runId)) break;
            const next = begin(record, { sessionId, placed: message(runId) });
            record = next.record;
            if (next.beginning === "ok" && !live.has(runId)) {
              live.add(runId);
              lives.set(runId, (lives.get(runId) ?? 0) + 1);
            }
            break;
          }
          case "settle":
          case "fail": {
            if (record.session === null || !live.has(runId)) break;
            live.delete(runId);
            const status = type === "fail" ? "failed" : "succeeded";
            const next = settle(record, ended(record.session, runId, status), 2);
            record = next.record;
            if (next.isNews) reported.set(runId, (reported.get(runId) ?? 0) + 1);
            // A repeated end changes nothing.
            if (record.session !== null)
              assert.equal(settle(record, ended(record.session, runId, status), 2).isNews, false);
            leftAgain.add(runId);
            break;
          }
          case "refuse": {
            if (live.has(runId)) break;
            const before = record.session?.active?.runId;
            record = release(record, { sessionId, runId, code: "c", message: "m" }).record;
            if (before === runId) leftAgain.add(runId);
            break;
          }
          case "heard":
            record = confirmSteer(record, { runId, at: AT });
            break;
          default: {
            const isKnown = record.session?.steered.some(
              (each) => each.runId === runId && !each.isTold,
            );
            if (isKnown === true) {
              record = undoSteer(record, runId);
              leftAgain.add(runId);
            }
          }
        }
        assert.ok(live.size <= 1, `${[...live].join()} at once`);
        assert.ok(SessionRecord.safeParse(record).success);
        const { session } = record;
        if (session === null) continue;
        assert.ok(session.queue.length <= LIMITS.maxQueued);
        assert.ok(session.active !== null || session.queue.length === 0, "no run begins");
        for (const runOf of live) assert.equal(session.active?.runId, runOf);
        for (const kept of accepted) {
          if (leftAgain.has(kept)) continue;
          const isThere =
            session.active?.runId === kept ||
            isWaiting(record, kept) ||
            session.steered.some((each) => each.runId === kept);
          assert.ok(isThere, `${kept} is lost`);
        }
      }
      for (const [runId, count] of reported) assert.ok(count <= (lives.get(runId) ?? 0), runId);
      const seqs = record.outbox.flatMap(({ payload }) =>
        typeof payload["seq"] === "number" ? [payload["seq"]] : [],
      );
      assert.deepEqual(
        seqs,
        seqs.map((_, index) => index + 1),
      );
    }),
    { numRuns: 1_000 },
  );
});

function isWaiting({ session }: SessionRecord, runId: string): boolean {
  return session?.queue.some((waitingRun) => waitingRun.runId === runId) === true;
}
