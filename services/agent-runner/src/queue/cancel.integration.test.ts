import { call } from "@switchyard/bus/call";
import { getRun, listRuns, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { until } from "@switchyard/local-servers/until";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab, type RunEventRecord } from "../../test-fixtures/runner-lab.ts";
import type { RunnerProcess } from "../../test-fixtures/runner-process.ts";

const lab = await startLab();
const { services } = lab;
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
after(() => {
  redis.disconnect();
});

const GATED_STEP = {
  calls: [
    { tool: labTool("count"), with: { n: 1 } },
    { tool: labTool("gate"), with: {} },
  ],
};
services.tools.set("count", ({ n }) => `counted ${String(n)}`);
services.agents.set("plain", answering("plain", "ok"));
services.agents.set("gated", agent("gated", { plan: { steps: [GATED_STEP], answer: "done" } }));

test("ends a run at once while a tool call hangs, and gives the call a result that states the cancel", async () => {
  const runner = await lab.runnerProcess();
  const gate = newGate();
  await lab.command("gated", { runId: "hanging", input: "x" });
  await gate.reached;
  // The call beside it has ended, and that is stored, when the run is cancelled.
  await lab.eventsUntil("hanging", "tool-completed");
  await control("cli", "cancel", "hanging", { reason: "enough" });
  const events = await lab.eventsUntil("hanging", "cancelled");
  assertWhole(events);
  const { by, reason, steps } = events.at(-1)?.payload ?? {};
  assert.deepEqual({ by, reason, steps }, { by: "cli", reason: "enough", steps: 1 });
  const failed = events.find(({ name }) => name === "tool-failed");
  assert.equal(failed?.payload["code"], "cancelled");
  assert.match(String(failed?.payload["message"]), /in flight/);
  assert.ok(events.some(({ name }) => name === "tool-completed"));
  await until(async () => services.cancelled.includes("cli~hanging:1:1"));

  const { run } = await call(lab.bus, getRun, { runId: "hanging" });
  assert.equal(run.status, "cancelled");
  assert.deepEqual(run.cancellation, { by: "cli", reason: "enough" });
  const { runs } = await call(lab.bus, listRuns, { status: "cancelled" });
  assert.deepEqual(
    runs.map(({ runId }) => runId),
    ["cli~hanging"],
  );
  await noneIsLeft();
  await stop(runner);
});

test("ends a run that waits for a slot, and the one that has the slot, while no runner is free", async () => {
  const runner = await lab.runnerProcess({ YARD_RUNNER_SLOTS: "1" });
  const gate = newGate();
  await lab.command("gated", { runId: "slot-holder", input: "x" });
  await gate.reached;
  await lab.command("gated", { runId: "slot-waiter", input: "x" });
  const waiter = await call(lab.bus, requestCancel, { runId: "slot-waiter" });
  assert.equal(waiter.outcome, "remembered");
  const holder = await call(lab.bus, requestCancel, { runId: "slot-holder", reason: "stuck" });
  assert.equal(holder.outcome, "requested");
  assert.equal((await lab.eventsUntil("slot-holder", "cancelled")).at(-1)?.payload["by"], "cli");
  const events = await lab.eventsUntil("slot-waiter", "cancelled");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "cancelled"],
  );
  const again = await call(lab.bus, requestCancel, { runId: "slot-waiter" });
  assert.equal(again.outcome, "ended");
  await noneIsLeft();
  await stop(runner);
});

test("stores a cancel that comes before its run, and only from callers that may cancel it", async () => {
  const runner = await lab.runnerProcess();
  await control("mallory", "cancel", "spared", {});
  await control("mallory", "cancel", "cli~spared", {});
  await control("cli", "cancel", "early", { reason: "changed my mind" });
  await noneIsLeft();
  assert.ok((await redis.ttl("yard:run:{cli~early}:cancels")) > 86_000);
  await lab.command("plain", { runId: "early", input: "x" });
  await lab.command("plain", { runId: "spared", input: "x" });
  const events = await lab.eventsUntil("early", "cancelled");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "cancelled"],
  );
  assert.equal(events.at(-1)?.payload["reason"], "changed my mind");
  await lab.eventsUntil("spared", "finished");
  assert.equal(await redis.exists("yard:run:{cli~early}:cancels"), 0);
  await stop(runner);
});

test("refuses a cancel or retry of every caller but the requester, cli and admin", async () => {
  const runner = await lab.runnerProcess();
  const gate = newGate();
  await lab.publish("yard.cmd.team-a.run.start.gated", '{"runId":"guarded","input":"x"}');
  await gate.reached;
  for (const verb of ["cancel", "retry"] as const) {
    await control("mallory", verb, "team-a~guarded", {});
    const isRefusal = ({ name, payload }: RunEventRecord): boolean =>
      name === "rejected" && String(payload["subject"]).includes(`.${verb}.`);
    const refused = await lab.eventsUntil("mallory~guarded", isRefusal);
    assert.equal(refused.at(-1)?.payload["code"], "not_allowed");
    assert.equal(refused.at(-1)?.payload["caller"], "mallory");
  }
  await control("team-a", "cancel", "guarded", {});
  const events = await lab.eventsUntil("team-a~guarded", "cancelled");
  assert.equal(events.at(-1)?.payload["by"], "team-a");
  await stop(runner);
});

test("does nothing to a run that has ended, and answers a malformed cancel under its run's id", async () => {
  const runner = await lab.runnerProcess();
  await lab.command("plain", { runId: "over", input: "x" });
  await lab.eventsUntil("over", "finished");
  await control("cli", "cancel", "over", {});
  await noneIsLeft();
  await control("cli", "cancel", "over", { colour: "red" });
  const events = await lab.eventsUntil("over", "rejected");
  assert.deepEqual(
    events.map(({ name }) => name),
    ["started", "model-responded", "finished", "rejected"],
  );
  assert.equal(events.at(-1)?.payload["code"], "invalid_command");
  await stop(runner);
});

test("reaches the runner that holds the run when another replica took the cancel", async () => {
  const runners = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  for (const runId of ["apart-1", "apart-2", "apart-3", "apart-4"]) {
    const gate = newGate();
    await lab.command("gated", { runId, input: "x" });
    await gate.reached;
    await control("cli", "cancel", runId, {});
    assertWhole(await lab.eventsUntil(runId, "cancelled"));
    assert.equal(services.requested.get(`cli~${runId}:1:1`), 1);
  }
  await noneIsLeft();
  await Promise.all(runners.map(stop));
});

test("ends a run elsewhere whose runner is killed right after the cancel, and sends no call again", async () => {
  const runners = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  const gate = newGate();
  await lab.command("gated", { runId: "killed", input: "x" });
  await gate.reached;
  const [holder, other] = sortByHolder(runners, "cli~killed");
  holder.kill("SIGSTOP"); // a stopped process cannot be the one that takes the cancel
  await control("cli", "cancel", "killed", {});
  await until(async () => (await redis.hexists("yard:run:{cli~killed}:state", "cancel")) === 1);
  holder.kill("SIGKILL");
  await holder.exited;
  const events = await lab.eventsUntil("killed", "cancelled");
  assertWhole(events);
  assert.equal(services.requested.get("cli~killed:1:1"), 1);
  await noneIsLeft();
  assertWhole(await lab.eventsUntil("killed", "cancelled"));
  await stop(other);
});

/** Publishes a cancel or retry as any program may. */
function control(
  caller: string,
  verb: "cancel" | "retry",
  runId: string,
  body: unknown,
): Promise<void> {
  return lab.publish(`yard.cmd.${caller}.run.${verb}.${runId}`, JSON.stringify(body));
}

async function noneIsLeft(): Promise<void> {
  await until(async () => (await lab.pendingCommands()) === 0);
}

/** Events without gap or repeat, one end, and a result for each call. */
function assertWhole(events: readonly RunEventRecord[]): void {
  assertNumbered(events);
  const count = (...names: string[]) => events.filter(({ name }) => names.includes(name)).length;
  assert.equal(count("cancelled", "finished", "failed"), 1);
  assert.equal(count("tool-requested"), count("tool-completed", "tool-failed", "tool-denied"));
}

/** A tool call that hangs until its service stops. */
function newGate(): { readonly reached: Promise<void> } {
  const reached = Promise.withResolvers<void>();
  services.tools.set("gate", (_args, { signal }) => {
    reached.resolve();
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => resolve("too late"));
    });
  });
  return { reached: reached.promise };
}

function sortByHolder(
  [a, b]: readonly [RunnerProcess, RunnerProcess],
  runId: string,
): [RunnerProcess, RunnerProcess] {
  const hasRun = a.lines.some((line) => line.msg === "run started" && line["runId"] === runId);
  return hasRun ? [a, b] : [b, a];
}

async function stop(runner: RunnerProcess): Promise<void> {
  runner.kill("SIGTERM");
  assert.equal(await runner.exited, 0);
}
