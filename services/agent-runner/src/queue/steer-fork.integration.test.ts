import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { spawnRun } from "@switchyard/contracts/agent-runner/run-commands";
import { getRun, listDeadRuns } from "@switchyard/contracts/agent-runner/runs";
import { cliUser } from "@switchyard/topology/topology";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import { agent, labTool, skill } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const policy = await connectBus({ servers: lab.nats.url, user: "policy" });
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(async () => {
  await policy.close();
  redis.disconnect();
});
await lab.runner();

services.tools.set("count", ({ n }) => `counted ${String(n)}`);
const counting = [1, 2].map((n) => ({ calls: [{ tool: labTool("count"), with: { n } }] }));
const wait = { tool: "ask_user", with: { question: "?" } };

test("delivers a message to a run that waits, and one that was about to end continues with it", async () => {
  services.agents.set(
    "waiter",
    agent("waiter", { plan: { steps: [{ calls: [wait] }], answer: "ok" } }),
  );
  await lab.command("waiter", { runId: "steered", input: "x" });
  await lab.eventsUntil("steered", "waiting");
  await lab.publish("yard.cmd.cli.run.steer.steered", '{"message":"hurry"}');
  await lab.publish("yard.cmd.mallory.run.steer.cli~steered", '{"message":"stop"}');
  const events = await lab.eventsUntil("mallory~steered", "rejected");
  assert.equal(events.at(-1)?.payload["code"], "not_allowed");
  const steered = await lab.eventsUntil("steered", "steered");
  assert.deepEqual(
    [steered.at(-1)?.payload["by"], steered.at(-1)?.payload["preview"]],
    ["cli", "hurry"],
  );
});

test("refuses a message for a run that never existed or has ended", async () => {
  services.agents.set(
    "counter",
    agent("counter", { plan: { steps: counting, answer: "{{/input}}: {{/results/1/text}}" } }),
  );
  await lab.command("counter", { runId: "counted", input: "first" });
  await lab.eventsUntil("counted", "finished");
  for (const [runId, code] of [
    ["counted", "run_ended"],
    ["never", "unknown_run"],
  ] as const) {
    await lab.publish(`yard.cmd.cli.run.steer.${runId}`, '{"message":"late"}');
    assert.equal((await lab.eventsUntil(runId, "rejected")).at(-1)?.payload["code"], code);
  }
});

test("copies a run up to a step and continues on its own, repeating no call", async () => {
  const body = { newRunId: "copied", fromStep: 2, input: "second" };
  await lab.publish("yard.cmd.cli.run.fork.counted", JSON.stringify(body));
  const events = await lab.eventsUntil("copied", "finished");
  assert.equal(events.at(-1)?.payload["output"], "second: counted 2");
  assert.deepEqual(events[0]?.payload["forkedFrom"], { runId: "cli~counted", fromStep: 2 });
  assertNumbered(events);
  assert.equal(services.requested.get("cli~copied:1:0"), undefined);
  assert.equal(services.requested.get("cli~counted:1:0"), 1);
  assert.equal(services.requested.get("cli~copied:2:0"), 1);
  assert.equal(
    (await call(lab.bus, getRun, { runId: "copied" })).run.forkedFrom?.runId,
    "cli~counted",
  );
  await lab.publish("yard.cmd.cli.run.fork.counted", '{"newRunId":"far","fromStep":9}');
  assert.equal((await lab.eventsUntil("far", "rejected")).at(-1)?.payload["code"], "no_such_step");
  await lab.publish("yard.cmd.mallory.run.fork.cli~counted", '{"newRunId":"stolen","fromStep":1}');
  assert.equal(
    (await lab.eventsUntil("mallory~stolen", "rejected")).at(-1)?.payload["code"],
    "not_allowed",
  );
});

test("a copy keeps the limits of the other run, unless its command sets others", async () => {
  const limits = { maxSteps: 2 };
  await lab.command("counter", { runId: "bounded", input: "x", limits });
  await lab.eventsUntil("bounded", "failed");
  const forkOf = (newRunId: string, more: object): Promise<void> =>
    lab.publish(
      "yard.cmd.cli.run.fork.bounded",
      JSON.stringify({ newRunId, fromStep: 2, ...more }),
    );
  await forkOf("as-bounded", {});
  const failed = (await lab.eventsUntil("as-bounded", "failed")).at(-1);
  assert.match(JSON.stringify(failed?.payload), /limit_exceeded.*maxSteps \(2\)/);
  await forkOf("less-bounded", { limits: { maxSteps: 9 } });
  await lab.eventsUntil("less-bounded", "finished");
});

test("a copy has the skill of the other run, and answers in its form", async () => {
  services.skills.set("manner", skill("manner", { disallowedTools: ["write_file"] }));
  const plan = { steps: counting, answer: '{ "n": 2 }' };
  services.agents.set("former", agent("former", { plan }));
  const output = { type: "object", required: ["n"] };
  await lab.command("former", { runId: "mannered", input: "x", skill: "manner", output });
  await lab.eventsUntil("mannered", "finished");
  await lab.publish("yard.cmd.cli.run.fork.mannered", '{"newRunId":"likewise","fromStep":2}');
  const events = await lab.eventsUntil("likewise", "finished");
  const activated = events.find(({ name }) => name === "skill-activated");
  assert.equal(activated?.payload["skill"], "manner");
  assert.equal(events.at(-1)?.payload["output"], '{"n":2}');
  assert.deepEqual(services.grants.at(-1)?.tools, [["*", "!write_file"]]);
});

test("rejects a client's command that claims to start a run for another run", async () => {
  const body = {
    runId: "forged",
    parent: { runId: "counted", callId: "cli~counted:1:0" },
    input: "x",
  };
  await lab.publish("yard.cmd.cli.run.spawn.counter", JSON.stringify(body));
  assert.equal(
    (await lab.eventsUntil("forged", "rejected")).at(-1)?.payload["code"],
    "not_allowed",
  );
  assert.ok(!cliUser.publishes.some(({ name }) => name === spawnRun.name));
});

test("parks a call that needs an approval, and makes the same call again when it is decided", async () => {
  const approvalId = `apr-${"1".repeat(32)}`;
  let isApproved = false;
  services.tools.set("guarded", (_args, { fail }) => {
    if (isApproved) return "done";
    const expiresAt = new Date(Date.now() + 600_000).toISOString();
    throw fail.approval_required("a person must approve", {
      approvalId,
      expiresAt,
      tier: "always",
    });
  });
  const calls = [{ tool: labTool("guarded"), with: {}, as: "g" }];
  services.agents.set(
    "guarded",
    agent("guarded", { plan: { steps: [{ calls }], answer: "{{/results/g/text}}" } }),
  );
  await lab.command("guarded", { runId: "approved", input: "x" });
  const waiting = await lab.eventsUntil("approved", "waiting");
  assert.match(JSON.stringify(waiting.at(-1)?.payload), new RegExp(approvalId));
  isApproved = true;
  for (const _ of [1, 2])
    await decideApproval(policy, { approvalId, callId: "cli~approved:1:0", tool: "guarded" });
  const events = await lab.eventsUntil("approved", "finished");
  assert.equal(events.at(-1)?.payload["output"], "done");
  assert.equal(services.requested.get("cli~approved:1:0"), 2);
  assert.equal(events.filter(({ name }) => name === "woken").length, 1);
});

test("lists runs that runners died of, and lets them continue", async () => {
  await lab.command("waiter", { runId: "poison", input: "x" });
  await lab.eventsUntil("poison", "waiting");
  await redis.hset("yard:run:{cli~poison}:state", { status: "running", stalled: 99, heldUntil: 0 });
  await lab.publish("yard.cmd.cli.run.resume.poison", "{}");
  const events = await lab.eventsUntil("poison", "dead");
  assert.match(JSON.stringify(events.at(-1)?.payload), /too_many_attempts/);
  const { runs } = await call(lab.bus, listDeadRuns, {});
  assert.deepEqual(
    runs.map(({ runId, failure }) => [runId, failure.code]),
    [["cli~poison", "too_many_attempts"]],
  );
  await lab.publish("yard.cmd.cli.run.retry.poison", "{}");
  await lab.eventsUntil("poison", "retried");
  assert.deepEqual((await call(lab.bus, listDeadRuns, {})).runs, []);
});
