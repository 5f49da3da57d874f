import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dyingAt,
  hintDelivery,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";
import { journalKey } from "../journal/run-keys.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const lab = await startLab();
const { services } = lab;
/** In each deploy one process starts and one ends; a run by hand can set YARD_DEPLOYS. */
const DEPLOYS = Number(process.env["YARD_DEPLOYS"] ?? 4);
const WEEK_MS = 7 * 24 * 3_600_000;

test("a run ends after one deploy after the other, and none uses up an attempt [run-goal-6]", async () => {
  const reached = Array.from({ length: DEPLOYS }, () => Promise.withResolvers<void>());
  const opened = Array.from({ length: DEPLOYS }, () => Promise.withResolvers<string>());
  services.tools.set("gate", ({ n }) => {
    reached[Number(n)]?.resolve();
    return opened[Number(n)]?.promise ?? "no such gate";
  });
  const steps = reached.map((_, n) => ({ calls: [{ tool: labTool("gate"), with: { n } }] }));
  services.agents.set(
    "walker",
    agent("walker", { plan: { steps, answer: `{{/results/${DEPLOYS - 1}/text}}` } }),
  );
  // A second pick-up without progress would end the run.
  const oneAttempt = testConstants({ runMaxAttempts: 1 });
  let old = await lab.runnerProcess(oneAttempt);
  let next = lab.runnerProcess(oneAttempt);
  await lab.command("walker", { runId: "deployed", input: "x" });
  for (let n = 0; n < DEPLOYS; n += 1) {
    await reached[n]?.promise;
    const left = await next;
    old.kill("SIGTERM");
    await old.logged("service stopping");
    // It starts while the old one ends.
    if (n < DEPLOYS - 1) next = lab.runnerProcess(oneAttempt);
    opened[n]?.resolve(`opened ${n}`);
    assert.equal(await old.exited, 0);
    old = left;
  }
  const events = await lab.eventsUntil("deployed", "finished");
  assert.equal(events.at(-1)?.payload["output"], `opened ${DEPLOYS - 1}`);
  assertNumbered(events);
  for (let step = 1; step <= DEPLOYS; step += 1)
    assert.equal(services.requested.get(`cli~deployed:${step}:0`), 1, "each call was sent once");
  const { run } = await call(lab.bus, getRun, { runId: "deployed" });
  assert.equal(run.attempts, DEPLOYS + 1, "they get the result, and nothing is held against them");
  old.kill("SIGTERM");
  await old.exited;
});

for (const version of ["older", "newer"] as const) {
  test(`an approval that came after a week without runners is used once, where the journal is of ${version === "older" ? "an older" : "a newer"} runner [run-goal-5]`, async () => {
    const runId = `cli~week-${version}`;
    const parkedAt = Date.now();
    const mortal = await mortalRunners(lab, { holdMs: 0 });
    const streamSequence = version === "older" ? 1_001 : 2_001;
    const place = (deliveryCount: number) => ({ streamSequence, deliveryCount });
    let isApproved = false;
    services.tools.set("guarded", (_args, { fail }) => {
      if (isApproved) return "done after a yes";
      const expiresAt = new Date(parkedAt + 2 * WEEK_MS).toISOString();
      const approvalId = `apr-${"5".repeat(32)}`;
      throw fail.approval_required("a person must approve", {
        approvalId,
        expiresAt,
        tier: "always",
      });
    });
    const calls = [{ tool: labTool("guarded"), with: {} }];
    const plan = { steps: [{ calls }], answer: "{{/results/0/text}}" };
    services.agents.set("careful", agent("careful", { plan }));
    const limits = { timeoutMs: 60_000 };
    const start = startDelivery("careful", { runId, input: "x", limits }, place(1));
    const before = mortal.worker(dyingAt(null), () => parkedAt);
    assert.equal((await before.handle(start)).outcome, "done");

    await rewritten(mortal.redis, runId, version);
    isApproved = true;
    const later = (): number => parkedAt + WEEK_MS;
    const callId = `${runId}:1:0`;
    const news = { at: new Date(later()).toISOString(), resolution: { type: "look" as const } };
    const report = () =>
      mortal.controls.append({
        runId,
        entry: { kind: "wait-resolved", callId, ...news },
        by: null,
        expected: callId,
        command: null,
      });
    assert.equal(await report(), "taken");
    assert.notEqual(await report(), "taken", "the same decision, received twice");
    const hint = (count: number) => hintDelivery(resumeRun, { runId }, place(count));
    for (const count of [2, 3]) {
      const woken = await mortal.worker(dyingAt(null), later).handle(hint(count));
      assert.equal(woken.outcome, "done");
    }

    const events = await lab.eventsUntil(runId, "finished");
    assert.equal(events.at(-1)?.payload["output"], "done after a yes");
    assertNumbered(events);
    assert.equal(
      services.requested.get(callId),
      2,
      "once for the request to wait, once after the yes",
    );
  });
}

/** Rewrites a journal as an older or a newer version of the runner writes it. */
async function rewritten(
  redis: Awaited<ReturnType<typeof mortalRunners>>["redis"],
  runId: string,
  version: "older" | "newer",
): Promise<void> {
  const key = journalKey(runId);
  const stored = await redis.lrange(key, 0, -1);
  for (const [index, json] of stored.entries()) {
    const entry = JSON.parse(json) as Record<string, unknown>; // an entry is an object
    if (version === "newer") entry["ofAnotherVersion"] = { since: 2 };
    else if (entry["kind"] !== "started") for (const field of OF_ANSWERS) delete entry[field];
    else for (const field of OF_STARTS) delete entry[field];
    await redis.lset(key, index, JSON.stringify(entry));
  }
}

/** The fields that journals of older versions do not have. */
const OF_STARTS = ["roles", "onUnknownOutcome", "contextWindow", "depthLeft", "memory"] as const;
const OF_ANSWERS = ["heard", "shown", "model", "costUsd", "passedOver"] as const;
