import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunFacts } from "../core/due.ts";
import { arrive, type Arrival } from "./arrive.ts";
import { checkTurn } from "./check-session.ts";
import { NO_RECORD, type SessionRecord } from "./session-record.ts";
import { slotOf } from "./session-slot.ts";
import { begin, settle, type Handover } from "./transitions.ts";

const NOW = 1_000_000_000_000;
const HOLD_MS = 8_000;
const PAUSE_MS = 3_000;
const ALL_PUBLISHED = { events: 0, published: 0 };
const RUNNING: RunFacts = {
  status: "running",
  wakeAt: 0,
  heldUntil: 0,
  restsUntil: 0,
  ...ALL_PUBLISHED,
};
const LIMITS = { maxQueued: 100, maxPerOwner: 10, idleMs: 60_000_000 };

test("requests a runner when none has a claim on the run whose turn it is, begun or not", () => {
  for (const begun of [false, true]) {
    assert.equal(checkTurn({ begun }, RUNNING, NOW).next, "hint");
    assert.equal(checkTurn({ begun }, { ...RUNNING, heldUntil: NOW + 1 }, NOW).next, "later");
    assert.equal(checkTurn({ begun }, { ...RUNNING, restsUntil: NOW + 1 }, NOW).next, "later");
    assert.equal(checkTurn({ begun }, { ...RUNNING, status: "waiting" }, NOW).next, "later");
    assert.equal(checkTurn({ begun }, { ...RUNNING, status: "failed" }, NOW).next, "settle");
  }
  assert.equal(checkTurn({ begun: false }, null, NOW).next, "hint");
  assert.equal(checkTurn({ begun: true }, null, NOW).next, "gone");
});

/** The points at which a runner dies or leaves its run, from the delivery of its message on. */
const FATES = [
  "dies at once",
  "dies with a claim",
  "leaves before its turn is written",
  "dies with the turn",
  "leaves",
  "dies with the end",
  "dies with the next turn",
  "forgets to acknowledge",
  "finishes",
] as const;
type Fate = (typeof FATES)[number];

type Step =
  | { readonly type: "say"; readonly isLost: boolean }
  | { readonly type: "deliver"; readonly at: number; readonly fate: Fate; readonly isLost: boolean }
  | { readonly type: "sweep" }
  | { readonly type: "pass"; readonly ms: number };

const isLost = fc.boolean();
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant("say" as const), isLost }),
  fc.record({
    type: fc.constant("deliver" as const),
    at: fc.nat({ max: 20 }),
    fate: fc.constantFrom(...FATES),
    isLost,
  }),
  fc.record({ type: fc.constant("sweep" as const) }),
  fc.record({ type: fc.constant("pass" as const), ms: fc.nat({ max: 20_000 }) }),
);

test("each message of a session has its run, in turn, whichever hints are lost, late or repeated and wherever runners die", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const world = newWorld();
      for (const drawn of steps) {
        if (drawn.type === "say") world.say(drawn.isLost);
        else if (drawn.type === "deliver") world.deliver(drawn.at, drawn.fate, drawn.isLost);
        else if (drawn.type === "sweep") world.sweep();
        else world.pass(drawn.ms);
      }
      // From here on nothing is lost and no runner dies.
      for (let round = 0; round < 200 && !world.isIdle(); round += 1) {
        world.pass(HOLD_MS + PAUSE_MS);
        world.sweep();
        // Runners process due messages much faster than the sweeper adds to them.
        for (let n = 0; n < 20; n += 1) world.deliver(0, "finishes", false);
      }
      assert.ok(world.isIdle(), "the session is free again");
      assert.deepEqual(world.ended, world.said);
    }),
    { numRuns: 1_000 },
  );
});

/** A session, its runs, and a queue that delivers a message again until it is acknowledged; runners behave as in `RunAttempt`. */
function newWorld() {
  let record: SessionRecord = NO_RECORD;
  let nowMs = NOW;
  let hints = 0;
  let queue: { readonly id: number; readonly runId: string; dueAt: number }[] = [];
  const runs = new Map<string, RunFacts & { readonly by: number }>();
  const said: string[] = [];
  const ended: string[] = [];

  const hint = (next: Handover["next"], isGone: boolean): void => {
    if (next === null || isGone) return;
    hints += 1;
    queue.push({ id: hints, runId: next.runId, dueAt: nowMs });
  };
  const finish = (runId: string): void => {
    if (runs.get(runId)?.status === "running") ended.push(runId);
    runs.set(runId, { ...RUNNING, status: "succeeded", by: 0 });
  };
  const spread = (runId: string): Handover["next"] => {
    const sessionId = record.session?.sessionId ?? "";
    const at = new Date(nowMs).toISOString();
    const what = { tokens: 1, messages: 0, turns: 1, preview: "" };
    const next = settle(record, { sessionId, runId, status: "succeeded", at, ...what }, 2);
    record = next.record;
    return next.next;
  };

  /** Returns the time of the next delivery; null when the message is acknowledged. */
  const work = (message: { id: number; runId: string }, fate: Fate, loses: boolean) => {
    const { id, runId } = message;
    const redelivered = nowMs + HOLD_MS;
    if (fate === "dies at once") return redelivered;
    const run = runs.get(runId);
    if (run === undefined && record.session?.active?.runId !== runId) return null;
    if (run?.status === "succeeded") {
      hint(spread(runId), loses);
      return null;
    }
    if (run !== undefined && run.by !== id && run.heldUntil > nowMs) return run.heldUntil;
    const held = { ...RUNNING, heldUntil: redelivered, by: id };
    const left = { ...RUNNING, restsUntil: nowMs + PAUSE_MS + HOLD_MS, by: id };
    runs.set(runId, held);
    if (fate === "dies with a claim") return redelivered;
    if (fate === "leaves before its turn is written") {
      runs.set(runId, left);
      return nowMs + PAUSE_MS;
    }
    const sessionId = record.session?.sessionId ?? "";
    const begun = begin(record, { sessionId, placed: placed(runId) });
    assert.equal(begun.beginning, "ok", "no other run of the session is under way");
    record = begun.record;
    if (fate === "dies with the turn") return redelivered;
    if (fate === "leaves") {
      runs.set(runId, left);
      return nowMs + PAUSE_MS;
    }
    finish(runId);
    if (fate === "dies with the end") return redelivered;
    const next = spread(runId);
    if (fate === "dies with the next turn") return redelivered;
    hint(next, loses);
    return fate === "forgets to acknowledge" ? redelivered : null;
  };

  return {
    said,
    ended,
    isIdle: () => (record.session?.active ?? null) === null,
    pass(ms: number) {
      nowMs += ms;
    },
    say(loses: boolean) {
      const runId = `r${said.length}`;
      said.push(runId);
      const arrived = arrive(record, placed(runId), { nowMs, limits: LIMITS });
      record = arrived.record;
      if (arrived.placing.outcome === "go")
        hint({ sessionId: arrived.placing.session.sessionId, runId }, loses);
    },
    deliver(at: number, fate: Fate, loses: boolean) {
      const due = queue.filter(({ dueAt }) => dueAt <= nowMs);
      const message = due[at % Math.max(1, due.length)];
      if (message === undefined) return;
      const dueAt = work(message, fate, loses);
      if (dueAt === null) queue = queue.filter(({ id }) => id !== message.id);
      else message.dueAt = dueAt;
    },
    sweep() {
      const { session } = record;
      if (session === null || session.active === null) return;
      const { active, sessionId } = session;
      const { runId } = active;
      const look = checkTurn(active, runs.get(runId) ?? null, nowMs);
      assert.notEqual(look.next, "gone", "no run is lost here");
      if (look.next === "hint") hint({ sessionId, runId }, false);
      if (look.next === "settle") hint(spread(runId), false);
    },
  };
}

function placed(runId: string): Arrival {
  const whose = { slot: slotOf("a", "talk"), owner: "a", key: "talk", agent: "echo", title: "" };
  return { ...whose, requester: "a", runId, digest: runId, onBusy: undefined };
}
