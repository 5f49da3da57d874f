import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { until } from "@switchyard/local-servers/until";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answerFirst,
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { sequenceOf, startLab } from "../../test-fixtures/runner-lab.ts";
import { PUBLISH_MS } from "../core/due.ts";
import { openParkedRuns } from "../journal/parked-runs.ts";
import { sweep } from "../waits/sweeper.ts";

const lab = await startLab();
const mortal = await mortalRunners(lab, { holdMs: 10_000 });
const parked = openParkedRuns(mortal.redis);
const living = () => mortal.worker(dyingAt(null));

lab.services.tools.set("count", () => "counted");
const calls = [{ tool: labTool("count"), with: {} }];
lab.services.agents.set("quick", agent("quick", { plan: { steps: [{ calls }], answer: "done" } }));
const asking = [{ calls: [{ tool: "ask_user", with: { question: "?" } }] }];
lab.services.agents.set("asking", agent("asking", { plan: { steps: asking, answer: "done" } }));

test("a run whose runner died after the acknowledgement gets all its events from the sweeper [run-goal-8]", async () => {
  const runId = "cli~silent";
  const acknowledged = await mortal
    .mute()
    .handle(startDelivery("quick", { runId, input: "x" }, { streamSequence: 1 }));
  assert.equal(acknowledged.outcome, "done", "the journal holds the outcome");
  assert.equal(await lab.stored("yard.evt.run.cli.silent.finished"), 0);
  assert.deepEqual(await sweepLater(), [runId]);
  await living().handle(hintDelivery(resumeRun, { runId }, { streamSequence: 2 }));
  await assertGapless("silent", 6);
  assert.deepEqual(await sweepLater(60_000), [], "and is forgotten");
  assert.equal(await mortal.redis.zscore("yard:runs:parked", runId), null);
});

test("a waiting run whose runner died gets its events too, and continues without a difference [run-goal-8]", async () => {
  const runId = "cli~waiting";
  await mortal.mute().handle(startDelivery("asking", { runId, input: "x" }, { streamSequence: 3 }));
  assert.deepEqual(await sweepLater(), [runId]);
  await living().handle(hintDelivery(resumeRun, { runId }, { streamSequence: 4 }));
  const asked = await lab.eventsUntil("waiting", "waiting");
  assert.deepEqual(
    asked.map(({ name }) => name),
    ["started", "model-responded", "tool-requested", "question-requested", "waiting"],
  );
  assert.equal(await answerFirst(mortal.controls, runId), "taken");
  await living().handle(hintDelivery(resumeRun, { runId }, { streamSequence: 5 }));
  await assertGapless("waiting", 10);
});

test("a run whose events are in the stream is removed from the sweeper's list", async () => {
  const runId = "cli~told";
  await living().handle(startDelivery("quick", { runId, input: "x" }, { streamSequence: 6 }));
  await assertGapless("told", 6);
  await until(async () => (await mortal.redis.zscore("yard:runs:parked", runId)) === null);
});

/** The runs that a sweep wakes after the runner's time for publishing is over. */
async function sweepLater(more = 0): Promise<string[]> {
  const woken: string[] = [];
  const wake = async (runId: string): Promise<boolean> => woken.push(runId) > 0;
  const now = (): number => Date.now() + PUBLISH_MS + 1 + more;
  await sweep({
    parked,
    wake,
    findMissedDecisions: async () => {},
    findLifted: async () => {},
    now,
  });
  return woken;
}

async function assertGapless(name: string, count: number): Promise<void> {
  const events = await lab.eventsUntil(name, "finished");
  assert.deepEqual(
    sequenceOf(events),
    Array.from({ length: count }, (_, index) => index + 1),
  );
}
