import { call } from "@switchyard/bus/call";
import type { AgentLimits } from "@switchyard/contracts/skill-importer/agents";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import {
  agent,
  ALLOWED,
  answering,
  DENIED,
  labTool,
  skill,
} from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
await lab.runner({ YARD_RUNNER_SLOTS: "2" });

services.tools.set("count", ({ n }) => `counted ${String(n)}`);
services.agents.set("helper", answering("helper", "helped", { tools: ["mcp__lab__count"] }));
services.agents.set("broken", agent("broken", { model: "nowhere/model" }));

test("delegates to runs of its own, waits for them without a runner and receives each result once [complaint-3]", async () => {
  services.agents.set("boss", planned("boss", [task("helper", "a"), task("helper", "b")]));
  await lab.command("boss", { runId: "boss", input: "x", labels: { team: "t" } });
  const events = await lab.eventsUntil("boss", "finished");
  assert.equal(events.at(-1)?.payload["output"], "helped, helped");
  const count = (wanted: string) => events.filter(({ name }) => name === wanted).length;
  assert.deepEqual([count("child-started"), count("child-ended")], [2, 2]);
  assertNumbered(events);
  const { run } = await call(lab.bus, getRun, { runId: "boss" });
  const [child] = run.children ?? [];
  assert.equal(child?.status, "succeeded");
  const below = (await call(lab.bus, getRun, { runId: child?.runId ?? "" })).run;
  assert.equal(below.requester, "cli");
  assert.deepEqual(below.labels, { team: "t" });
  assert.deepEqual(below.parent, { runId: "cli~boss", callId: "cli~boss:1:0" });
  const grant = services.grants.find(({ runId }) => runId === child?.runId);
  assert.match(
    String(grant?.parentToken),
    /^token-cli~boss-/,
    "the child gets no more than its parent",
  );
});

test("reports to the model that a child cannot be started, and that a start would nest too deep", async () => {
  services.agents.set("unlucky", planned("unlucky", [task("nobody", "a"), task("broken", "b")]));
  await lab.command("unlucky", { runId: "unlucky", input: "x" });
  const output = String((await lab.eventsUntil("unlucky", "finished")).at(-1)?.payload["output"]);
  assert.match(output, /has failed: unknown_agent/);
  assert.match(output, /has failed: unknown_/);

  const flat = { maxToolCalls: null, maxTokens: null, maxCostUsd: null, timeoutMs: null };
  services.agents.set("flat", planned("flat", [task("helper", "a")], { ...flat, maxDepth: 0 }));
  await lab.command("flat", { runId: "flat", input: "x" });
  const denied = await lab.eventsUntil("flat", "finished");
  assert.ok(
    denied.some(
      ({ name, payload }) => name === "tool-failed" && payload["code"] === "unknown_tool",
    ),
  );
});

test("starts a child only when the policy allows it, and stores the decision [ER1]", async () => {
  services.hooks.check = (args) => (args["agent"] === "helper" ? ALLOWED : DENIED);
  services.agents.set("asker", planned("asker", [task("helper", "a"), task("broken", "b")]));
  await lab.command("asker", { runId: "asker", input: "x" });
  const events = await lab.eventsUntil("asker", "finished");
  const [denied, ...more] = events.filter(({ name }) => name === "tool-denied");
  assert.deepEqual(denied?.payload["decision"], DENIED);
  assert.deepEqual(more, []);
  const started = events.filter(({ name }) => name === "child-started");
  assert.deepEqual(
    started.map(({ payload }) => payload["agent"]),
    ["helper"],
  );
  const completed = events.find(({ name }) => name === "tool-completed");
  assert.deepEqual(completed?.payload["decision"], ALLOWED);
  assert.match(String(events.at(-1)?.payload["output"]), /helped, the policy denied this call/);
  delete services.hooks.check;
});

test("waits for a person where the policy requires approval, and then starts the child once [ER1]", async () => {
  const approvalId = `apr-${"a".repeat(32)}`;
  const expiresAt = "2999-01-01T00:00:00.000Z";
  const replies = {
    waiting: { outcome: "waiting", approvalId, expiresAt, tier: "always" },
    passed: { outcome: "passed", approvalId, grantId: null, by: "sam" },
    used: { outcome: "refused", approvalId, state: "consumed", reason: "it was used" },
    denied: { outcome: "refused", approvalId, state: "denied", reason: "denied by sam: no" },
  } as const;
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  services.agents.set("careful", planned("careful", [task("helper", "a")]));
  for (const [runId, later] of [
    ["approved", replies.passed],
    // The reply when the runner that used the approval died before it started the child.
    ["used", replies.used],
    ["refused", replies.denied],
  ] as const) {
    services.hooks.admit = () => replies.waiting;
    await lab.command("careful", { runId, input: "x" });
    const waiting = (await lab.eventsUntil(runId, "waiting")).at(-1)?.payload["waits"];
    assert.match(JSON.stringify(waiting), new RegExp(`"approval".*${approvalId}`));
    services.hooks.admit = () => later;
    await decideApproval(lab.bus, { approvalId, callId: `cli~${runId}:1:0`, tool: "agent" });
    const events = await lab.eventsUntil(runId, "finished");
    const count = (wanted: string) => events.filter(({ name }) => name === wanted).length;
    const isRefused = runId === "refused";
    const seen = [count("child-started"), count("child-ended"), count("tool-denied")];
    assert.deepEqual(seen, isRefused ? [0, 0, 1] : [1, 1, 0]);
    const completed = events.find(({ name }) => name === "tool-completed")?.payload["decision"];
    const effect = isRefused ? undefined : "allow";
    assert.equal((completed as { effect?: string } | undefined)?.effect, effect); // a decision
  }
  assert.deepEqual(services.settled, [approvalId]);
  delete services.hooks.check;
  delete services.hooks.admit;
});

test("an approval that another call used up starts nothing", async () => {
  const approvalId = `apr-${"b".repeat(32)}`;
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  const reason = "it was used";
  services.hooks.admit = () => ({ outcome: "refused", approvalId, state: "consumed", reason });
  await lab.command("careful", { runId: "foreign", input: "x" });
  const events = await lab.eventsUntil("foreign", "finished");
  assert.equal(events.filter(({ name }) => name === "child-started").length, 0);
  assert.equal(events.filter(({ name }) => name === "tool-denied").length, 1);
  delete services.hooks.check;
  delete services.hooks.admit;
});

test("continues while a child runs that it does not wait for, and receives the child's end before it ends itself", async () => {
  const gate = Promise.withResolvers<string>();
  services.tools.set("gate", () => gate.promise);
  services.agents.set(
    "slow",
    agent("slow", {
      plan: { steps: [{ calls: [{ tool: labTool("gate"), with: {} }] }], answer: "slow answer" },
    }),
  );
  const free = { tool: "agent", with: { agent: "slow", task: "x", wait: false } };
  const steps = [
    { calls: [free] },
    { calls: [{ tool: "child_runs", with: { action: "list" }, as: "list" }] },
    { calls: [{ tool: "wait", with: { seconds: 3_600 } }] },
  ];
  services.agents.set("free", agent("free", { plan: { steps, answer: "{{/results/list/text}}" } }));
  await lab.command("free", { runId: "free", input: "x" });
  await lab.eventsUntil("free", "waiting");
  gate.resolve("open");
  const events = await lab.eventsUntil("free", "child-ended");
  assert.equal(events.at(-1)?.payload["status"], "succeeded");
  await call(lab.bus, requestCancel, { runId: "free" });
  await lab.eventsUntil("free", "cancelled");
});

test("ends the runs below a run that is cancelled", async () => {
  services.agents.set(
    "idle",
    agent("idle", {
      plan: { steps: [{ calls: [{ tool: "wait", with: { seconds: 3_600 } }] }], answer: "never" },
    }),
  );
  services.agents.set("middle", planned("middle", [task("idle", "x")]));
  services.agents.set("top", planned("top", [task("middle", "x")]));
  await lab.command("top", { runId: "top", input: "x" });
  await lab.eventsUntil("top", "waiting");
  const middle = await childOf("top");
  await lab.eventsUntil(middle, "waiting");
  const idle = await childOf(middle);
  await lab.eventsUntil(idle, "waiting");
  await call(lab.bus, requestCancel, { runId: "top", reason: "enough" });
  for (const runId of ["top", middle, idle]) await lab.eventsUntil(runId, "cancelled");
  await until(async () => (await lab.pendingCommands()) === 0);
});

test("runs a skill with context: fork as a run of its own [D28]", async () => {
  const forModels = { context: "fork", agent: "helper", userInvocable: false } as const;
  services.skills.set("deep-work", skill("deep-work", forModels));
  const calls = [{ tool: "skill", with: { name: "deep-work", arguments: "now" }, as: "forked" }];
  services.agents.set(
    "user",
    agent("user", { plan: { steps: [{ calls }], answer: "{{/results/forked/text}}" } }),
  );
  await lab.command("user", { runId: "forking", input: "x" });
  const events = await lab.eventsUntil("forking", "finished");
  assert.equal(events.at(-1)?.payload["output"], "helped");
  const child = await childOf("forking");
  const { run } = await call(lab.bus, getRun, { runId: child });
  assert.deepEqual([run.agent, run.skills.map(({ name }) => name)], ["helper", ["deep-work"]]);
});

test("a skill with context: fork starts its run only when the policy allows it, and reports a denial once [D28] [ER1]", async () => {
  const asked: Record<string, unknown>[] = [];
  services.hooks.check = (args) => {
    asked.push(args);
    return DENIED;
  };
  await lab.command("user", { runId: "fork-denied", input: "x" });
  const events = await lab.eventsUntil("fork-denied", "finished");
  assert.deepEqual(asked, [{ agent: "helper", task: "now", wait: true, skill: "deep-work" }]);
  const names = events.map(({ name }) => name);
  assert.equal(names.includes("child-started"), false);
  const [denied, ...more] = events.filter(({ name }) => name === "tool-denied");
  assert.deepEqual([denied?.payload["decision"], more], [DENIED, []]);
  const output = String(events.at(-1)?.payload["output"]);
  assert.equal(output.split(DENIED.reason).length, 2);
  delete services.hooks.check;
});

test("a skill with context: fork waits for the approval that the policy requires, and then starts one run [D28] [ER1]", async () => {
  const approvalId = `apr-${"c".repeat(32)}`;
  const expiresAt = "2999-01-01T00:00:00.000Z";
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  services.hooks.admit = () => ({ outcome: "waiting", approvalId, expiresAt, tier: "always" });
  await lab.command("user", { runId: "fork-asked", input: "x" });
  const before = await lab.eventsUntil("fork-asked", "waiting");
  const waiting = before.at(-1)?.payload["waits"];
  assert.match(JSON.stringify(waiting), new RegExp(`"approval".*${approvalId}`));
  assert.ok(!before.some(({ name }) => name === "child-started"), "before a person said yes");
  services.hooks.admit = () => ({ outcome: "passed", approvalId, grantId: null, by: "sam" });
  await decideApproval(lab.bus, { approvalId, callId: "cli~fork-asked:1:0", tool: "agent" });
  const events = await lab.eventsUntil("fork-asked", "finished");
  assert.equal(events.at(-1)?.payload["output"], "helped");
  assert.equal(events.filter(({ name }) => name === "child-started").length, 1);
  const completed = events.find(({ name }) => name === "tool-completed")?.payload["decision"];
  // A decision of the policy.
  assert.equal((completed as { effect?: string } | undefined)?.effect, "allow");
  assert.ok(services.settled.includes(approvalId));
  delete services.hooks.check;
  delete services.hooks.admit;
});

test("makes the call of a skill that dispatches to a tool, and calls no model", async () => {
  services.tools.set("say", ({ command }) => `said ${String(command)}`);
  services.skills.set("say", skill("say", { dispatch: labTool("say") }));
  services.agents.set(
    "mute",
    agent("mute", { model: "scripted/plan", plan: { steps: [], answer: "a model spoke" } }),
  );
  await lab.command("mute", { runId: "said", input: "hello there", skill: "say" });
  const events = await lab.eventsUntil("said", "finished");
  assert.equal(events.at(-1)?.payload["output"], "said hello there");
  assert.equal(events.filter(({ name }) => name === "model-responded").length, 0);
});

async function childOf(runId: string): Promise<string> {
  const started = await lab.eventsUntil(runId, "child-started");
  return String(started.at(-1)?.payload["childRunId"]);
}

function task(name: string, text: string) {
  return { tool: "agent", with: { agent: name, task: text }, as: `${name}-${text}` };
}

function planned(name: string, calls: ReturnType<typeof task>[], limits?: AgentLimits) {
  const answer = calls.map(({ as }) => `{{/results/${as}/text}}`).join(", ");
  return agent(name, {
    plan: { steps: [{ calls }], answer },
    ...(limits === undefined ? {} : { limits }),
  });
}
