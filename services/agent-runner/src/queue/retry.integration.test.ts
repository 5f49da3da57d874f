import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
after(() => {
  redis.disconnect();
});
await lab.runner({ YARD_RUN_KEEP_DAYS: "2" });

services.tools.set("count", ({ n }) => `counted ${String(n)}`);
services.agents.set("plain", answering("plain", "ok"));
services.agents.set(
  "walker",
  agent("walker", {
    plan: {
      steps: [1, 2, 3].map((n) => ({ calls: [{ tool: labTool("count"), with: { n } }] })),
      answer: "{{/results/2/text}}",
    },
  }),
);

test("resumes after limit_exceeded with raised limits and repeats no finished call", async () => {
  const runId = "limited";
  await lab.command("walker", { runId, input: "x".repeat(40_000), limits: { maxSteps: 2 } });
  await lab.eventsUntil(runId, "failed");
  await until(async () => (await lab.pendingCommands()) === 0);
  const all = await redis.keys(`yard:run:{cli~${runId}}:*`);
  // The key of the process that prepared it soon expires.
  const keys = all.filter((key) => !key.endsWith(":claim"));
  assert.equal(keys.length, 3);
  for (const key of keys) assert.ok((await redis.ttl(key)) > 86_400, key);

  await retry(runId, { limits: { maxSteps: 9 } });
  const events = await lab.eventsUntil(runId, "finished");
  assert.equal(events.at(-1)?.payload["output"], "counted 3");
  assertNumbered(events);
  const names = events.map(({ name }) => name);
  assert.deepEqual(names.slice(names.indexOf("failed"), names.indexOf("failed") + 3), [
    "failed",
    "retried",
    "model-responded",
  ]);
  const { by, limits } = events.find(({ name }) => name === "retried")?.payload ?? {};
  assert.equal(by, "cli");
  assert.deepEqual(limits, {
    maxSteps: 9,
    maxToolCalls: null,
    maxRepeatedCalls: 25,
    timeoutMs: 3_600_000,
    onLimit: "fail",
  });
  for (const step of [1, 2, 3]) assert.equal(services.requested.get(`cli~${runId}:${step}:0`), 1);
  const { run } = await call(lab.bus, getRun, { runId });
  assert.equal(run.status, "succeeded");
  assert.equal(run.failure, null);
  for (const key of keys) assert.ok((await redis.ttl(key)) > 86_400, key);
});

test("resumes after a cancel, and does not apply the cancel to the resumed run", async () => {
  const runId = "regretted";
  await lab.publish(`yard.cmd.cli.run.cancel.${runId}`, "{}");
  await until(async () => (await lab.pendingCommands()) === 0);
  await lab.command("walker", { runId, input: "x" });
  await lab.eventsUntil(runId, "cancelled");
  await retry(runId, {});
  const events = await lab.eventsUntil(runId, "finished");
  assert.deepEqual(
    events.slice(0, 3).map(({ name }) => name),
    ["started", "cancelled", "retried"],
  );
  assert.equal((await call(lab.bus, getRun, { runId })).run.cancellation, null);
});

test("refuses to retry a run that never existed, has succeeded, or still runs", async () => {
  await retry("nothing", {});
  assert.equal(await codeOf("nothing"), "unknown_run");
  await lab.command("plain", { runId: "fine", input: "x" });
  await lab.eventsUntil("fine", "finished");
  await retry("fine", {});
  assert.equal(await codeOf("fine"), "run_succeeded");

  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  services.tools.set("gate", () => {
    reached.resolve();
    return opened.promise;
  });
  const steps = [{ calls: [{ tool: labTool("gate"), with: {} }] }];
  services.agents.set("gated", agent("gated", { plan: { steps, answer: "done" } }));
  await lab.command("gated", { runId: "going", input: "x" });
  await reached.promise;
  await retry("going", {});
  assert.equal(await codeOf("going"), "run_not_ended");
  opened.resolve("open");
  await lab.eventsUntil("going", "finished");
  await until(async () => (await lab.pendingCommands()) === 0);
});

function retry(runId: string, body: unknown): Promise<void> {
  return lab.publish(`yard.cmd.cli.run.retry.${runId}`, JSON.stringify(body));
}

async function codeOf(runId: string): Promise<unknown> {
  return (await lab.eventsUntil(runId, "rejected")).at(-1)?.payload["code"];
}

test("a retried run that waits for its session is cancelled without waiting", async () => {
  const ask = { calls: [{ tool: "ask_user", with: { question: "?" } }] };
  services.agents.set("failing", answering("failing", "{{/nope}}"));
  services.agents.set("asking", agent("asking", { plan: { steps: [ask], answer: "ok" } }));
  await lab.command("failing", { runId: "stuck", input: "x", session: "kept" });
  await lab.eventsUntil("stuck", "failed");
  await lab.command("asking", { runId: "keeper", input: "x", session: "kept" });
  await lab.eventsUntil("keeper", "waiting");
  await lab.publish("yard.cmd.cli.run.retry.stuck", "{}");
  await until(async () => {
    const { run } = await call(lab.bus, getRun, { runId: "stuck" });
    return run.status === "running";
  });
  await lab.publish("yard.cmd.cli.run.cancel.stuck", "{}");
  const events = await lab.eventsUntil("stuck", "cancelled");
  assertNumbered(events);
  await lab.publish("yard.cmd.cli.run.cancel.keeper", "{}");
  await lab.eventsUntil("keeper", "cancelled");
});
