import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { crashDraws } from "../../test-fixtures/crash-draws.ts";
import {
  Crash,
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertRanOnce } from "../../test-fixtures/ran-once.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { stateKey } from "../journal/run-keys.ts";

/**
 * Commands that are taken before their turn, by runners that die, and that have their turn all the same: before, while
 * and after that. Whatever the points are, the run ends once, with every call executed once and every event stored once.
 */

const lab = await startLab();
const { services } = lab;
/** With a hold of 0 ms, the run of a dead runner can be claimed at once. */
const mortal = await mortalRunners(lab, { holdMs: 0 });
const held = await mortalRunners(lab, { holdMs: 10_000 });
const { redis } = mortal;
const CALLS = ["1:0", "2:0", "2:1"];
services.tools.set("count", ({ n }) => `counted ${String(n)}`);
const plan = {
  steps: [
    { calls: [{ tool: labTool("count"), with: { n: 1 } }] },
    { calls: [2, 3].map((n) => ({ tool: labTool("count"), with: { n } })) },
  ],
  answer: "{{/results/2/text}}",
};
services.agents.set("walker", agent("walker", { plan }));

let runs = 0;

test("a run that was begun early and whose runners die ends exactly once, by a wake-up or in its turn [run-goal-1][run-goal-10]", async () => {
  const points = fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 4 });
  const schedule = fc.record({ points, isWoken: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(schedule, async ({ points: drawn, isWoken }) => {
      const run = newRun();
      let crashes = 0;
      for (const [attempt, point] of drawn.entries()) {
        const hint = hintDelivery(resumeRun, { runId: run.runId }, run.place);
        const delivery = attempt > 0 && isWoken ? hint : run.early;
        crashes += await diesOr(mortal.worker(dyingAt(point)).handle(delivery));
        const isKnown = (await redis.exists(stateKey(run.runId))) === 1;
        const look = await redis.zscore("yard:runs:parked", run.runId);
        assert.ok(!isKnown || look !== null, "the sweeper looks after a run that was begun early");
      }
      assert.deepEqual(await mortal.worker(dyingAt(null)).handle(run.inTurn), { outcome: "done" });
      await assertOneRun(run.runId, crashes);
    }),
    crashDraws(40),
  );
});

test("a run whose turn comes while it is in work ends exactly once, whichever runner has it [run-goal-1][run-goal-10]", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 50 }), async (start) => {
      const run = newRun();
      const reached = Promise.withResolvers<void>();
      let passed = 0;
      const report = (): Promise<void> => {
        passed += 1;
        if (passed === start) reached.resolve();
        return Promise.resolve();
      };
      const early = held.worker(report).handle(run.early);
      await Promise.race([reached.promise, early]);
      const [inTurn, before] = await Promise.all([
        held.worker(dyingAt(null)).handle(run.inTurn),
        early,
      ]);
      const outcomes = [inTurn.outcome, before.outcome];
      assert.ok(outcomes.includes("done"), outcomes.join());
      assert.ok(!outcomes.includes("drop"), outcomes.join());
      assert.deepEqual(await held.worker(dyingAt(null)).handle(run.inTurn), { outcome: "done" });
      await assertOneRun(run.runId, 0);
    }),
    crashDraws(25),
  );
});

function newRun() {
  runs += 1;
  const runId = `cli~early-${runs}`;
  const place = { streamSequence: runs };
  const start = (isEarly: boolean) =>
    startDelivery("walker", { runId, input: "x" }, { ...place, isEarly });
  return { runId, place, early: start(true), inTurn: start(false) };
}

/** 1 for a runner that died. */
async function diesOr(work: Promise<unknown>): Promise<number> {
  try {
    await work;
    return 0;
  } catch (error) {
    assert.ok(error instanceof Crash, String(error));
    return 1;
  }
}

function assertOneRun(runId: string, crashes: number): Promise<void> {
  return assertRanOnce({ lab, redis }, { runId, crashes, output: "counted 3", calls: CALLS });
}
