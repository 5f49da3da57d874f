import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import fc from "fast-check";
import { crashDraws } from "../../test-fixtures/crash-draws.ts";
import { checkJournal } from "../../test-fixtures/journal-checker.ts";
import {
  answerFirst,
  Crash,
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertRanOnce } from "../../test-fixtures/ran-once.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";
import { replay } from "../core/replay.ts";
import { journalKey } from "../journal/run-keys.ts";
import { openRunStore } from "../journal/run-store.ts";
import type { CancelOutcome } from "../journal/run-controls.ts";

/**
 * Runs that die at drawn points: before or after any request to Redis or to a service. Wherever they die, the run must end,
 * once, with every tool call executed once and every event stored once.
 */

const lab = await startLab();
const mortal = await mortalRunners(lab, { holdMs: 10_000 });
const { redis, controls } = mortal;

const CALLS = ["1:0", "2:0", "2:1", "3:0"];
lab.services.tools.set("count", ({ n }) => `counted ${String(n)}`);
lab.services.agents.set(
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

lab.services.agents.set(
  "sequential",
  agent("sequential", {
    tools: [labTool("count")],
    plan: {
      steps: [1, 2, 3].map((n) => ({ calls: [{ tool: labTool("count"), with: { n } }] })),
      answer: "{{/results/2/text}}",
    },
  }),
);

lab.services.agents.set(
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

let runs = 0;

test("ends once and repeats nothing, wherever its runners die [run-goal-1]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 70 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(points, async (schedule) => {
      const run = newRun();
      let crashes = 0;
      for (const [attempt, point] of [...schedule, null].entries()) {
        const worker = mortal.worker(dyingAt(point));
        try {
          const { outcome } = await worker.handle(run.delivery(attempt + 1).delivery);
          assert.equal(outcome, "done");
        } catch (error) {
          assert.ok(error instanceof Crash, String(error));
          crashes += 1;
        }
      }
      await assertOneRun(run.runId, crashes);
      assert.deepEqual(getEventListeners(mortal.stopping, "abort"), [], "nothing of it stays");
    }),
    crashDraws(60),
  );
});

test("ends once and repeats nothing when two runners have the run at once [run-goal-1]", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (start) => {
      const run = newRun();
      const first = run.delivery(1);
      const reached = Promise.withResolvers<void>();
      let passed = 0;
      const report = async (): Promise<void> => {
        passed += 1;
        if (passed === start) reached.resolve();
      };
      const early = mortal.worker(report).handle(first.delivery);
      await Promise.race([reached.promise, early]);
      const second = run.delivery(2);
      const late = await mortal.worker(dyingAt(null)).handle(second.delivery);
      assert.equal(late.outcome, "done");
      first.takeAway(); // as a refused renewal does
      await early;
      await assertOneRun(run.runId, 1);
    }),
    crashDraws(25),
  );
});

test("ends once, and begins nothing after the cancel request, wherever it arrives and its runners die [run-goal-1]", async () => {
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
        cancelled = await controls.cancel(asked);
      };
      for (const [attempt, point] of [...schedule, null].entries()) {
        const die = dyingAt(point);
        const worker = mortal.worker(async () => {
          await cancel();
          await die();
        });
        try {
          await worker.handle(run.delivery(attempt + 1).delivery);
        } catch (error) {
          assert.ok(error instanceof Crash, String(error));
        }
      }
      await assertCancelled(run.runId, cancelled);
    }),
    crashDraws(50),
  );
});

test("ends once when it waits, wherever its runners die and however its wake-ups come [run-goal-1]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 45 }), { maxLength: 4 });
  const messages = fc.array(fc.constantFrom("start", "hint", "answer"), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(points, messages, async (schedule, order) => {
      const run = newRun("patient");
      const deaths = [...schedule];
      for (const [index, message] of [...order, ...schedule.map(() => "start")].entries()) {
        if (message === "answer") await answerFirst(controls, run.runId);
        const { delivery } = run.delivery(index + 1);
        const hint = run.hint(index + 1);
        const worker = mortal.worker(dyingAt(deaths.shift() ?? null));
        await worker.handle(message === "start" ? delivery : hint).catch((error: unknown) => {
          assert.ok(error instanceof Crash, String(error));
        });
      }
      // Lost messages come once more: the queue and the sweeper send them again.
      await mortal.worker(dyingAt(null)).handle(run.delivery(98).delivery);
      await answerFirst(controls, run.runId);
      assert.equal((await mortal.worker(dyingAt(null)).handle(run.hint(99))).outcome, "done");
      const entries = await openRunStore(redis, { holdMs: 0 }).load(run.runId);
      checkJournal(entries);
      assert.deepEqual(replay(entries).end, { status: "succeeded", output: "yes, counted 1" });
      assert.equal(lab.services.executed.get(`${run.runId}:1:1`), 1);
      const events = await lab.eventsUntil(run.runId, "finished");
      assertNumbered(events);
    }),
    crashDraws(40),
  );
});

test("a schedule that is played again writes the same journal, byte for byte [run-goal-1]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(points, async (schedule) => {
      // Calls have deadlines, which a provider compares with its own clock.
      const begunAt = Date.now();
      const first = await playedBy(schedule, begunAt);
      assert.equal(await playedBy(schedule, begunAt), first);
    }),
    crashDraws(15),
  );
});

/** The stored journal of a run whose calls are made one after the other, without the run's id. */
async function playedBy(schedule: readonly number[], begunAt: number): Promise<string> {
  const run = newRun("sequential");
  for (const [attempt, point] of [...schedule, null].entries()) {
    // The clock is fixed within an attempt, because the number of times that it is read beside the run's work varies.
    const worker = mortal.worker(dyingAt(point), () => begunAt + attempt * 1_000);
    const { delivery } = run.delivery(attempt + 1);
    await worker.handle(delivery).catch((error: unknown) => {
      assert.ok(error instanceof Crash, String(error));
    });
  }
  const stored = await redis.lrange(journalKey(run.runId), 0, -1);
  assert.match(stored.at(-1) ?? "", /"kind":"finished"/);
  return stored.join("\n").replaceAll(run.runId, "{run}");
}

function newRun(agentName = "walker") {
  runs += 1;
  const runId = `cli~schedule-${runs}`;
  const streamSequence = runs;
  return {
    runId,
    delivery(deliveryCount: number) {
      const controller = new AbortController();
      const place = { streamSequence, deliveryCount, signal: controller.signal };
      const delivery = startDelivery(agentName, { runId, input: "x" }, place);
      return { delivery, takeAway: () => controller.abort() };
    },
    /** A wake-up with the same sequence number, as if the dead runner's claim had expired. */
    hint: (deliveryCount: number) =>
      hintDelivery(resumeRun, { runId }, { streamSequence, deliveryCount }),
  };
}

function assertOneRun(runId: string, crashes: number): Promise<void> {
  return assertRanOnce({ lab, redis }, { runId, crashes, output: "counted 4", calls: CALLS });
}

/** Replaying rejects a journal in which anything begins after the cancel request. */
async function assertCancelled(runId: string, outcome: CancelOutcome): Promise<void> {
  const entries = await openRunStore(redis, { holdMs: 0 }).load(runId);
  const { end, events: count } = replay(entries);
  const status = outcome === "ended" ? "succeeded" : "cancelled";
  assert.equal(end?.status, status, JSON.stringify(entries.map(({ kind }) => kind)));
  const asked = entries.filter(({ kind }) => kind === "cancel-requested").length;
  assert.equal(asked, status === "cancelled" ? 1 : 0);
  for (const position of CALLS) {
    assert.ok((lab.services.executed.get(`${runId}:${position}`) ?? 0) <= 1);
  }
  const last = status === "cancelled" ? "cancelled" : "finished";
  const events = await lab.eventsUntil(runId, last);
  assertNumbered(events);
  assert.equal(events.length, count);
  const ends = events.filter(({ name }) => ["cancelled", "finished", "failed"].includes(name));
  assert.equal(ends.length, 1);
}
