import { connectBus } from "@switchyard/bus/connect";
import type { Delivery } from "@switchyard/bus/consume";
import { resumeRun } from "@switchyard/contracts/run-commands";
import { startRun } from "@switchyard/contracts/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { Registry } from "prom-client";
import { agent, labTool } from "../../test-fixtures/peers.ts";
import { checkJournal } from "../../test-fixtures/journal-checker.ts";
import { sequenceOf, startLab } from "../../test-fixtures/runner-lab.ts";
import { ActiveRuns } from "./active-runs.ts";
import { openSessions } from "../sessions/open-sessions.ts";
import { SESSION_SETTINGS } from "../../test-fixtures/session-settings.ts";
import { createRunnerMetrics } from "../metrics.ts";
import { openProviderLimiter } from "../limits/provider-limiter.ts";
import { openTeamLedger } from "../limits/team-ledger.ts";
import { NO_TEAM_LIMITS } from "../limits/team-limits-file.ts";
import { openDeadLetters } from "../commands/dead-letters.ts";
import { createModelRegistry } from "../model/model-registry.ts";
import { SCRIPTED_ONLY } from "../model/models-file.ts";
import { createPeers } from "../peers.ts";
import { replay } from "../journal/replay.ts";
import { openRunControls, type CancelOutcome } from "./run-controls.ts";
import { openRunIndex } from "../journal/run-index.ts";
import { openRunStore } from "../journal/run-store.ts";
import { openParkedRuns } from "../waits/parked-runs.ts";
import { createRunWorker, type RunWorker } from "../commands/run-worker.ts";

/**
 * Runs that die at drawn points: before or after any request to Redis or to a service. Whatever the
 * points are, the run must end, once, with every tool call executed once and every event stored once.
 */

const lab = await startLab();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
const bus = await connectBus({ servers: lab.nats.url, user: "runner" });
after(async () => {
  await bus.close();
  redis.disconnect();
});

const CALLS = ["1:0", "2:0", "2:1", "3:0"];
lab.peers.tools.set("count", ({ n }) => `counted ${String(n)}`);
lab.peers.agents.set(
  "walker",
  agent("walker", {
    plan: {
      steps: [
        { calls: [{ tool: labTool("count"), with: { n: 1 } }] },
        { calls: [2, 3].map((n) => ({ tool: labTool("count"), with: { n } })) },
        { calls: [{ tool: labTool("count"), with: { n: 4 } }] },
      ],
      answer: "{{/results/3/text}}",
    },
  }),
);

lab.peers.agents.set(
  "patient",
  agent("patient", {
    plan: {
      steps: [
        {
          calls: [
            { tool: "ask_user", with: { question: "?" }, as: "said" },
            { tool: labTool("count"), with: { n: 1 }, as: "count" },
          ],
        },
      ],
      answer: "{{/results/said/text}}, {{/results/count/text}}",
    },
  }),
);

class Crash extends Error {}

let runs = 0;

test("comes to one end and repeats nothing, wherever its runners die", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 70 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(points, async (schedule) => {
      const run = newRun();
      let crashes = 0;
      for (const [attempt, point] of [...schedule, null].entries()) {
        const worker = newWorker(point);
        try {
          const { outcome } = await worker.handle(run.delivery(attempt + 1).delivery);
          assert.equal(outcome, "done");
        } catch (error) {
          assert.ok(error instanceof Crash, String(error));
          crashes += 1;
        }
      }
      await assertOneRun(run.runId, crashes);
    }),
    { numRuns: 60 },
  );
});

test("comes to one end and repeats nothing when two runners have the run at once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (start) => {
      const run = newRun();
      const first = run.delivery(1);
      const reached = Promise.withResolvers<void>();
      const early = newWorker(start, reached.resolve).handle(first.delivery);
      await Promise.race([reached.promise, early]);
      const second = run.delivery(2);
      const late = await newWorker(null).handle(second.delivery);
      assert.equal(late.outcome, "done");
      first.takeAway(); // as a refused renewal does
      await early;
      await assertOneRun(run.runId, 1);
    }),
    { numRuns: 25 },
  );
});

test("ends once, and begins nothing after the cancel, wherever it is cancelled and its runners die", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 });
  const cancelPoints = fc.integer({ min: 1, max: 90 });
  await fc.assert(
    fc.asyncProperty(points, cancelPoints, async (schedule, cancelPoint) => {
      const run = newRun();
      let boundary = 0;
      let cancelled: CancelOutcome = "ended";
      const cancel = async (): Promise<void> => {
        boundary += 1;
        if (boundary !== cancelPoint) return;
        const at = new Date().toISOString();
        const asked = { runId: run.runId, by: "cli", at, reason: null, command: "c:1" };
        cancelled = await openRunControls(redis).cancel(asked);
      };
      for (const [attempt, point] of [...schedule, null].entries()) {
        const worker = newWorker(point, undefined, cancel);
        try {
          await worker.handle(run.delivery(attempt + 1).delivery);
        } catch (error) {
          assert.ok(error instanceof Crash, String(error));
        }
      }
      await assertCancelled(run.runId, cancelled);
    }),
    { numRuns: 50 },
  );
});

test("comes to one end when it waits, wherever its runners die and however its wake-ups come", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 45 }), { maxLength: 4 });
  const messages = fc.array(fc.constantFrom("start", "hint", "answer"), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(points, messages, async (schedule, order) => {
      const run = newRun("patient");
      const deaths = [...schedule];
      for (const [index, message] of [...order, ...schedule.map(() => "start")].entries()) {
        if (message === "answer") await answer(run.runId);
        const { delivery } = run.delivery(index + 1);
        const hint = run.hint(index + 1);
        const worker = newWorker(deaths.shift() ?? null);
        await worker.handle(message === "start" ? delivery : hint).catch((error: unknown) => {
          assert.ok(error instanceof Crash, String(error));
        });
      }
      // Whatever was lost comes once more: the queue and the sweeper see to it.
      await newWorker(null).handle(run.delivery(98).delivery);
      await answer(run.runId);
      assert.equal((await newWorker(null).handle(run.hint(99))).outcome, "done");
      const entries = await openRunStore(redis, { holdMs: 0 }).load(run.runId);
      checkJournal(entries);
      assert.deepEqual(replay(entries).end, { status: "succeeded", output: "yes, counted 1" });
      assert.equal(lab.peers.executed.get(`${run.runId}:1:1`), 1);
      const events = await lab.eventsUntil(run.runId, "finished");
      assert.deepEqual(
        sequenceOf(events),
        events.map((_, index) => index + 1),
      );
    }),
    { numRuns: 40 },
  );
});

/** Answers the question of the run `patient`; nothing happens when there is none, or no longer. */
async function answer(runId: string): Promise<void> {
  const at = new Date().toISOString();
  const callId = `${runId}:1:0`;
  await openRunControls(redis).tell({
    runId,
    entry: {
      kind: "wait-resolved",
      at,
      callId,
      resolution: { type: "answer", answer: "yes", by: "cli" },
    },
    by: "cli",
    expected: callId,
    command: null,
  });
}

/** A runner that dies at its n-th boundary, or with `onPoint` goes on and only tells; null lives on. */
function newWorker(
  point: number | null,
  onPoint?: () => void,
  atBoundary: () => Promise<void> = () => Promise.resolve(),
): RunWorker {
  let boundary = 0;
  let isDead = false;
  const pass = async (): Promise<void> => {
    await atBoundary();
    boundary += 1;
    if (boundary === point) {
      if (onPoint === undefined) isDead = true;
      else onPoint();
    }
    if (isDead) throw new Crash("the runner died");
  };
  const store = dying(openRunStore(redis, { holdMs: 10_000 }), pass);
  return createRunWorker({
    bus,
    store,
    controls: openRunControls(redis),
    parked: openParkedRuns(redis),
    letters: openDeadLetters(redis),
    active: new ActiveRuns(),
    index: openRunIndex(redis, store),
    sessions: openSessions(
      { bus, log, redis },
      { controls: openRunControls(redis), runs: store, settings: SESSION_SETTINGS, now: Date.now },
    ),
    peers: dying(createPeers(bus), pass),
    models: createModelRegistry(SCRIPTED_ONLY, {}),
    limiter: openProviderLimiter(redis),
    ledger: openTeamLedger(redis, { book: NO_TEAM_LIMITS, now: Date.now }),
    metrics: createRunnerMetrics(new Registry()),
    log,
    maxAttempts: 100,
    defaultTimeoutMs: 60_000,
    onLimit: "fail",
    modelIdleTimeoutMs: 10_000,
    stopping: new AbortController().signal,
    now: Date.now,
    random: () => 0.5,
  });
}

/** The same functions with a boundary before and after each. */
function dying<T extends object>(target: T, pass: () => Promise<void>): T {
  const wrapped = Object.entries(target).map(
    ([name, act]: [string, (...args: unknown[]) => unknown]) => [
      name,
      async (...args: unknown[]) => {
        await pass();
        const result = await act(...args);
        await pass();
        return result;
      },
    ],
  );
  return Object.fromEntries(wrapped) as T;
}

function newRun(agentName = "walker") {
  runs += 1;
  const runId = `schedule-${runs}`;
  const streamSequence = runs;
  return {
    runId,
    delivery(deliveryCount: number): { delivery: Delivery; takeAway: () => void } {
      const controller = new AbortController();
      const delivery: Delivery = {
        kind: "command",
        contract: startRun,
        tokens: { caller: "cli", agent: agentName },
        payload: { runId, input: "x" },
        caller: "cli",
        subject: `yard.cmd.cli.run.start.${agentName}`,
        streamSequence,
        deliveryCount,
        messageId: null,
        publishedAt: new Date(),
        correlationId: runId,
        traceparent: "00-00000000000000000000000000000001-0000000000000001-01",
        signal: controller.signal,
      };
      return { delivery, takeAway: () => controller.abort() };
    },
    /** The same place in the queue, as if the hold of whoever died had run out. */
    hint(deliveryCount: number): Delivery {
      const { delivery } = this.delivery(deliveryCount);
      const subject = `yard.cmd.runner.run.resume.${runId}`;
      const tokens = { caller: "runner", runId };
      const about = { contract: resumeRun, tokens, payload: {}, caller: "runner", subject };
      return { ...delivery, kind: "command", ...about };
    },
  };
}

async function assertOneRun(runId: string, crashes: number): Promise<void> {
  const entries = await openRunStore(redis, { holdMs: 0 }).load(runId);
  checkJournal(entries);
  assert.deepEqual(replay(entries).end, { status: "succeeded", output: "counted 4" });
  for (const position of CALLS) {
    const callId = `${runId}:${position}`;
    assert.equal(lab.peers.executed.get(callId), 1, callId);
    assert.ok((lab.peers.requested.get(callId) ?? 0) <= 1 + crashes, callId);
  }
  const events = await lab.eventsUntil(runId, "finished");
  assert.deepEqual(
    sequenceOf(events),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.length, replay(entries).events);
}

/** Replaying refuses a journal in which anything begins after the request to cancel. */
async function assertCancelled(runId: string, outcome: CancelOutcome): Promise<void> {
  const entries = await openRunStore(redis, { holdMs: 0 }).load(runId);
  const { end, events: count } = replay(entries);
  const status = outcome === "ended" ? "succeeded" : "cancelled";
  assert.equal(end?.status, status, JSON.stringify(entries.map(({ kind }) => kind)));
  const asked = entries.filter(({ kind }) => kind === "cancel-requested").length;
  assert.equal(asked, status === "cancelled" ? 1 : 0);
  for (const position of CALLS) {
    assert.ok((lab.peers.executed.get(`${runId}:${position}`) ?? 0) <= 1);
  }
  const last = status === "cancelled" ? "cancelled" : "finished";
  const events = await lab.eventsUntil(runId, last);
  assert.deepEqual(
    sequenceOf(events),
    events.map((_, index) => index + 1),
  );
  assert.equal(events.length, count);
  const ends = events.filter(({ name }) => ["cancelled", "finished", "failed"].includes(name));
  assert.equal(ends.length, 1);
}
