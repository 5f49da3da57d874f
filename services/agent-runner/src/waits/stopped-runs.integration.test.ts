import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { publishEvent } from "@switchyard/bus/publish";
import { testBus } from "@switchyard/testing/test-bus";
import { callsResumed } from "@switchyard/contracts/policy/policy-budgets";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { until } from "@switchyard/local-servers/until";
import {
  agent,
  ALLOWED,
  answering,
  DENIED,
  DIGEST,
  labTool,
} from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const policy = await testBus(lab.nats, "policy");
// Two attempts: a stop that counted as one would soon end a run as dead.
await lab.runner({}, { runSweepMs: 200, runMaxAttempts: 2 });

const at = new Date().toISOString();
const STOP = { scope: { kind: "all" }, reason: "maintenance", by: "admin", at } as const;
const SHOWN = { scope: STOP.scope, reason: STOP.reason };
const asking = [{ calls: [{ tool: "ask_user", with: { question: "?" } }] }];
const counting = [{ calls: [{ tool: labTool("count"), with: {} }] }];
services.tools.set("count", () => "counted");
services.agents.set(
  "asker",
  agent("asker", { plan: { steps: [...asking, ...counting], answer: "{{/results/1/text}}" } }),
);

/** Lifts the stop, with or without the event that runners follow. */
async function lift({ isPublished }: { readonly isPublished: boolean }): Promise<void> {
  services.stops.length = 0;
  if (!isPublished) return;
  const facts = { scope: STOP.scope, by: "admin", at };
  await publishEvent(policy, callsResumed, { scope: STOP.scope.kind }, facts);
}

/** Starts a run that waits for an answer, stops everything, and answers. */
async function stopped(runId: string): Promise<void> {
  await lab.command("asker", { runId, input: "x" });
  await lab.eventsUntil(runId, "waiting");
  services.stops.push(STOP);
  await answer(runId);
  await until(async () => (await waitsOf(runId)).reasons.includes("stopped"));
}

const answer = (runId: string) =>
  call(lab.bus, answerQuestion, { runId, callId: `cli~${runId}:1:0`, answer: "yes" });

async function waitsOf(runId: string) {
  const { run } = await call(lab.bus, getRun, { runId });
  const { waits = [], status } = run;
  const [first] = waits;
  return { status, reasons: waits.map(({ reason }) => reason), stop: first?.stop };
}

for (const isPublished of [true, false])
  test(`a run that is stopped waits, and continues when the stop is lifted, ${isPublished ? "at once" : "also when no runner receives that"}`, async () => {
    const runId = isPublished ? "announced" : "unannounced";
    await stopped(runId);
    assert.deepEqual(await waitsOf(runId), {
      status: "waiting",
      reasons: ["stopped"],
      stop: SHOWN,
    });
    // No wake-up counts against it.
    for (const message of isPublished ? ["one", "two", "three", "four"] : []) {
      const before = services.grants.length;
      await lab.publish(`yard.cmd.cli.run.steer.${runId}`, JSON.stringify({ message }));
      await until(async () => (await lab.pendingCommands()) === 0);
      assert.equal(services.grants.length, before, "it is not woken for another request");
    }
    await lift({ isPublished });
    const events = await lab.eventsUntil(runId, ({ name }) => ["finished", "dead"].includes(name));
    assert.equal(events.at(-1)?.payload["output"], "counted");
    const waiting = events.findLast(({ name }) => name === "waiting")?.payload;
    assert.match(JSON.stringify(waiting), /"reason":"stopped".*"reason":"maintenance"/);
    assertNumbered(events);
  });

test("a run that is stopped is cancelled as any other that waits", async () => {
  await stopped("dropped");
  await call(lab.bus, requestCancel, { runId: "dropped" });
  await lab.eventsUntil("dropped", "cancelled");
  await lift({ isPublished: true });
});

test("a call that was denied because of a stop is made when the stop is lifted, and the model does not see the denial", async () => {
  let denials = 0;
  services.tools.set("guarded", (_args, { fail }) => {
    if (services.stops.length === 0) return "done";
    denials += 1;
    const stop = { scope: STOP.scope, reason: STOP.reason };
    const decision = {
      effect: "deny",
      rule: null,
      reason: "stopped",
      policyDigest: DIGEST,
      stop,
    } as const;
    throw fail.denied("stopped", decision);
  });
  services.tools.set("stopping", () => {
    services.stops.push(STOP);
    return "stopped all";
  });
  const calls = [{ tool: labTool("guarded"), with: {} }];
  const steps = [{ calls: [{ tool: labTool("stopping"), with: {} }] }, { calls }];
  services.agents.set(
    "guarded",
    agent("guarded", { plan: { steps, answer: "{{/results/1/text}}" } }),
  );
  await lab.command("guarded", { runId: "guarded", input: "x" });
  await until(async () => (await waitsOf("guarded").catch(() => null))?.status === "waiting");
  await lift({ isPublished: true });
  const events = await lab.eventsUntil("guarded", ({ name }) =>
    ["finished", "dead"].includes(name),
  );
  assert.equal(events.at(-1)?.payload["output"], "done");
  assert.equal(denials, 1);
  assert.deepEqual(
    events.filter(({ name }) => name === "tool-denied"),
    [],
  );
  services.tools.delete("stopping");
});

test("a child run is begun when the stop is lifted, whether the stop came before or after the decision about its start", async () => {
  const helping = [{ tool: "agent", with: { agent: "helper", task: "help" } }];
  const plan = { steps: [{ calls: helping }], answer: "{{/results/0/text}}" };
  services.agents.set("boss", agent("boss", { plan }));
  services.agents.set("helper", answering("helper", "helped"));
  const decisions = [{ ...DENIED, stop: SHOWN }, ALLOWED] as const;
  let checks = 0;
  services.hooks.check = () => {
    services.stops.push(STOP);
    const decision = decisions[checks] ?? ALLOWED;
    checks += 1;
    return decision;
  };
  await lab.command("boss", { runId: "boss", input: "x" });
  await until(async () => (await waitsOf("boss").catch(() => null))?.reasons[0] === "stopped");
  await lift({ isPublished: true });
  await until(async () => (await waitsOf("boss")).reasons[0] === "child");
  await until(() => services.grants.some(({ heldRun }) => heldRun !== undefined));
  await lift({ isPublished: true });
  const events = await lab.eventsUntil("boss", ({ name }) => ["finished", "dead"].includes(name));
  assert.equal(events.at(-1)?.payload["output"], "helped");
  delete services.hooks.check;
});

test("a run whose requester may no longer start its agent fails with that reason, and is not dead", async () => {
  await lab.command("asker", { runId: "unwanted", input: "x" });
  await lab.eventsUntil("unwanted", "waiting");
  services.hooks.refuse = () => "user cli may not start agent asker";
  await answer("unwanted");
  const events = await lab.eventsUntil("unwanted", ({ name }) => ["failed", "dead"].includes(name));
  delete services.hooks.refuse;
  const failure = { code: "may_not_start", message: "user cli may not start agent asker" };
  assert.deepEqual([events.at(-1)?.name, events.at(-1)?.payload["failure"]], ["failed", failure]);
});
