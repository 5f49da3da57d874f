import assert from "node:assert/strict";
import { call } from "@switchyard/bus/call";
import { answerQuestion } from "@switchyard/contracts/agent-runner/run-waits";
import { test } from "node:test";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import { agent, ALLOWED, answering, DENIED } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { childRunIdOf, MAX_CHILDREN } from "./start-child.ts";

const lab = await startLab();
const { services } = lab;
await lab.runner({ YARD_RUNNER_SLOTS: "4" });

services.agents.set("helper", answering("helper", "helped"));
services.agents.set(
  "idle",
  agent("idle", {
    plan: { steps: [{ calls: [{ tool: "wait", with: { seconds: 3_600 } }] }], answer: "never" },
  }),
);

test("lists, steers and kills the runs that it has started, and no others", async () => {
  const run = childRunIdOf("cli", "cli~keeper:1:0");
  const look = (as: string, more: Record<string, unknown>) => ({
    calls: [{ tool: "child_runs", with: more, as }],
  });
  const steps = [
    { calls: [{ tool: "agent", with: { agent: "idle", task: "x", wait: false } }] },
    { calls: [{ tool: "ask_user", with: { question: "go on?" } }] },
    look("steered", { action: "steer", run, message: "look again" }),
    look("before", { action: "list" }),
    look("foreign", { action: "kill", run: "somebody-else" }),
    look("killed", { action: "kill", run }),
  ];
  const answer = ["steered", "before", "foreign", "killed"].map((as) => `{{/results/${as}/text}}`);
  services.agents.set("keeper", agent("keeper", { plan: { steps, answer: answer.join("\n") } }));
  await lab.command("keeper", { runId: "keeper", input: "x" });
  await lab.eventsUntil("keeper", "question-requested");
  await lab.eventsUntil(run, "waiting");
  await call(lab.bus, answerQuestion, { runId: "keeper", callId: "cli~keeper:2:0", answer: "yes" });
  const events = await lab.eventsUntil("keeper", "finished");
  const said = String(events.at(-1)?.payload["output"]).split("\n");
  assert.equal(said[0], "steer: accepted");
  assert.deepEqual(JSON.parse(said[1] ?? ""), {
    runs: [{ run, agent: "idle", status: "running" }],
  });
  assert.equal(said[2], "you have started no run somebody-else");
  assert.match(said[3] ?? "", /^kill: /);
  const below = await lab.eventsUntil(run, "cancelled");
  assert.ok(below.some(({ name, payload }) => name === "steered" && payload["by"] === "cli"));
  assert.match(String(below.at(-1)?.payload["reason"]), /its parent, run cli~keeper, ended it/);
});

test("starts no more runs than a run may have", async () => {
  const calls = Array.from({ length: MAX_CHILDREN + 1 }, (_, n) => {
    return { tool: "agent", with: { agent: "helper", task: `part ${n}`, wait: true } };
  });
  services.agents.set("crowd", agent("crowd", { plan: { steps: [{ calls }], answer: "done" } }));
  await lab.command("crowd", { runId: "crowd", input: "x" });
  const events = await lab.eventsUntil("crowd", "finished");
  const count = (wanted: string) => events.filter(({ name }) => name === wanted).length;
  assert.deepEqual([count("child-started"), count("child-ended")], [MAX_CHILDREN, MAX_CHILDREN]);
  const failed = events.filter(({ name }) => name === "tool-failed");
  assert.deepEqual(
    failed.map(({ payload }) => payload["code"]),
    ["too_many_children"],
  );
});

test("a policy that meanwhile denies a call denies it even after a person approved it while the run waited [ER1]", async () => {
  const approvalId = `apr-${"d".repeat(32)}`;
  const expiresAt = "2999-01-01T00:00:00.000Z";
  const calls = [{ tool: "agent", with: { agent: "helper", task: "x" }, as: "it" }];
  services.agents.set(
    "slow-boss",
    agent("slow-boss", { plan: { steps: [{ calls }], answer: "{{/results/it/text}}" } }),
  );
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  services.hooks.admit = () => ({ outcome: "waiting", approvalId, expiresAt, tier: "always" });
  await lab.command("slow-boss", { runId: "changed", input: "x" });
  await lab.eventsUntil("changed", "waiting");
  services.hooks.check = () => DENIED;
  services.hooks.admit = () => ({ outcome: "passed", approvalId, grantId: null, by: "sam" });
  await decideApproval(lab.bus, { approvalId, callId: "cli~changed:1:0", tool: "agent" });
  const events = await lab.eventsUntil("changed", "finished");
  const denied = events.find(({ name }) => name === "tool-denied");
  assert.deepEqual(denied?.payload["decision"], DENIED);
  assert.equal(
    events.some(({ name }) => name === "child-started"),
    false,
  );
  assert.deepEqual(services.settled, [], "the approval is not used");
});
