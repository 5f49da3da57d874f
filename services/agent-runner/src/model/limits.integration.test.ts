import { call } from "@switchyard/bus/call";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const teamsFile = join(await testDirectory(), "teams.json");
const lab = await startLab();
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
after(() => {
  redis.disconnect();
});
const { services } = lab;
await writeTeams({ "team-a": { per: "month", tokens: 1 }, "team-b": { per: "month", tokens: 1 } });
const runner = await lab.runner({
  YARD_TEAM_LIMITS_FILE: teamsFile,
  YARD_RUN_ON_LIMIT: "pause",
});

services.tools.set("count", ({ n }) => `counted ${String(n)}`);
const steps = [1, 2, 3].map((n) => ({ calls: [{ tool: labTool("count"), with: { n } }] }));
services.agents.set("walker", agent("walker", { plan: { steps, answer: "{{/results/2/text}}" } }));

test("waits at a limit, and continues with a raised one without repeating a call", async () => {
  const runId = "paused";
  await lab.command("walker", { runId, input: "x", limits: { maxSteps: 2 } });
  const waiting = await lab.eventsUntil(runId, "waiting");
  assert.deepEqual(waiting.at(-1)?.payload["waits"], [
    {
      reason: "limit",
      callId: `cli~${runId}`,
      tool: "",
      until: null,
      limit: { limit: "maxSteps", value: 2 },
    },
  ]);
  const { runs } = await call(lab.bus, listRuns, { status: "waiting" });
  assert.deepEqual(
    runs.map((run) => run.runId),
    [`cli~${runId}`],
  );
  // A resume without limits is only a hint, and changes nothing.
  await resume(runId, {});
  // The same limit again: it waits again.
  await resume(runId, { limits: {} });
  await lab.eventsUntil(runId, ({ name, payload }) => name === "waiting" && seqOf(payload) > 9);
  await resume(runId, { limits: { maxSteps: 9 } });
  const events = await lab.eventsUntil(runId, "finished");
  assert.equal(events.at(-1)?.payload["output"], "counted 3");
  const changed = events.filter(({ name }) => name === "limits-changed");
  assert.deepEqual(
    changed.map(({ payload }) => [payload["by"], maxStepsOf(payload)]),
    [
      ["cli", 2],
      ["cli", 9],
    ],
  );
  assertNumbered(events);
  for (const step of [1, 2, 3]) assert.equal(services.requested.get(`cli~${runId}:${step}:0`), 1);
});

test("makes the calls of an answer that had too many once they are allowed", async () => {
  await lab.command("walker", { runId: "many", input: "x", limits: { maxToolCalls: 0 } });
  await lab.eventsUntil("many", "waiting");
  assert.equal(services.requested.get("cli~many:1:0"), undefined);
  await resume("many", { limits: { maxToolCalls: 3 } });
  await lab.eventsUntil("many", "finished");
  assert.equal(services.requested.get("cli~many:1:0"), 1);
});

test("waits when its time is over in the middle of a call, which continues and whose result is fetched later", async () => {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  services.tools.set("gate", () => {
    reached.resolve();
    return opened.promise;
  });
  const gate = [{ calls: [{ tool: labTool("gate"), with: {}, as: "gate" }] }];
  services.agents.set(
    "gated",
    agent("gated", { plan: { steps: gate, answer: "{{/results/gate/text}}" } }),
  );
  await lab.command("gated", { runId: "late", input: "x", limits: { timeoutMs: 5_000 } });
  await reached.promise;
  const waiting = await lab.eventsUntil("late", "waiting");
  assert.match(JSON.stringify(waiting.at(-1)?.payload), /"timeoutMs","value":5000/);
  assert.deepEqual(services.cancelled, [], "no runner took the call back");
  opened.resolve("opened");
  await resume("late", { limits: { timeoutMs: 600_000 } });
  const events = await lab.eventsUntil("late", "finished");
  assert.equal(events.at(-1)?.payload["output"], "opened");
  assert.equal(services.executed.get("cli~late:1:0"), 1);
});

test("fails at a limit when the command requires it", async () => {
  const limits = { maxSteps: 1, onLimit: "fail" };
  await lab.command("walker", { runId: "failing", input: "x", limits });
  const events = await lab.eventsUntil("failing", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload), /limit_exceeded.*maxSteps \(1\)/);
});

test("lets only callers change limits who may cancel, and only of runs that have not ended", async () => {
  await lab.command("walker", { runId: "guarded", input: "x", limits: { maxSteps: 1 } });
  await lab.eventsUntil("guarded", "waiting");
  await lab.publish("yard.cmd.mallory.run.resume.cli~guarded", '{"limits":{"maxSteps":9}}');
  assert.equal(await codeOf("mallory~guarded"), "not_allowed");
  await resume("paused", { limits: { maxSteps: 9 } });
  assert.equal(await codeOf("paused"), "run_ended");
  await resume("never", { limits: { maxSteps: 9 } });
  assert.equal(await codeOf("never"), "unknown_run");
  await resume("unsaid", { limits: { maxStep: 9 } });
  assert.equal(await codeOf("unsaid"), "invalid_command");
  await lab.publish("yard.cmd.cli.run.cancel.guarded", "{}");
  await lab.eventsUntil("guarded", "cancelled");
});

test("calls no model for a team that has used up its share, and continues when the share is raised", async () => {
  await startAs("team-a", { runId: "shared", input: "x" });
  const waiting = await lab.eventsUntil("team-a~shared", "waiting");
  const { waits, until: nextMonth } = waiting.at(-1)?.payload ?? {};
  assert.match(JSON.stringify(waits), /"tokens","value":1,"team":{"name":"team-a","per":"month"}/);
  assert.ok(
    Date.parse(String(nextMonth)) > Date.now(),
    "it continues by itself with the next month",
  );
  assert.equal(waiting.filter(({ name }) => name === "model-responded").length, 0);

  await writeTeams({
    "team-a": { per: "month", tokens: 100_000_000 },
    "team-b": { per: "month", tokens: 1 },
  });
  // The runner polls the file; until it has read the change, the run reaches the old limit again.
  for (let seen = 1; !(await isFinishedAfter("team-a~shared", seen)); seen += 1);
  await runner.logged("team limits read again");
  const { run } = await call(lab.bus, getRun, { runId: "team-a~shared" });
  const used = run.usage.inputTokens + run.usage.outputTokens;
  assert.ok(used > 0);
  const month = new Date().toISOString().slice(0, 7);
  const key = `yard:team:{team-a}:spend:${month}`;
  await until(async () => (await redis.hget(key, "tokens")) === String(used));
  assert.equal(await redis.hget("yard:team:{team-a}:amounts", "tokens"), "0");
});

test("fails a run of such a team when its limits require that, and does not affect other teams", async () => {
  await startAs("team-b", { runId: "refused", input: "x", limits: { onLimit: "fail" } });
  const events = await lab.eventsUntil("team-b~refused", "failed");
  assert.match(
    JSON.stringify(events.at(-1)?.payload),
    /the runs of team-b came to their limit of tokens/,
  );
  await startAs("team-c", { runId: "free", input: "x" });
  await lab.eventsUntil("team-c~free", "finished");
});

/** Resumes a run that has waited so often; false when it waits once more. */
async function isFinishedAfter(runId: string, waits: number): Promise<boolean> {
  await resume(runId, { limits: {} });
  let seen = 0;
  const events = await lab.eventsUntil(runId, ({ name }) => {
    if (name === "waiting") seen += 1;
    return name === "finished" || seen > waits;
  });
  return events.at(-1)?.name === "finished";
}

async function writeTeams(teams: Record<string, unknown>): Promise<void> {
  await writeFile(teamsFile, JSON.stringify({ teams }));
}

function startAs(team: string, body: unknown): Promise<void> {
  return lab.publish(`yard.cmd.${team}.run.start.walker`, JSON.stringify(body));
}

function resume(runId: string, body: unknown): Promise<void> {
  return lab.publish(`yard.cmd.cli.run.resume.${runId}`, JSON.stringify(body));
}

async function codeOf(runId: string): Promise<unknown> {
  return (await lab.eventsUntil(runId, "rejected")).at(-1)?.payload["code"];
}

function seqOf(payload: Record<string, unknown>): number {
  return Number(payload["seq"]);
}

function maxStepsOf(payload: Record<string, unknown>): unknown {
  return (payload["limits"] as { maxSteps?: unknown }).maxSteps; // the contract defines it
}
