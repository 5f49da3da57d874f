import { call } from "@switchyard/bus/call";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab, type RunEventRecord } from "../../test-fixtures/runner-lab.ts";
import { shortWindow } from "../../test-fixtures/short-window.ts";
import type { RunnerProcess } from "../../test-fixtures/runner-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const natsDir = await testDirectory();
const redisDir = await testDirectory();
let nats = await testNats({ dataDir: natsDir });
let redis = await testRedis({ dataDir: redisDir, appendfsync: "always" });
const lab = await startLab({ nats, redis });
const { services } = lab;

services.tools.set("count", () => "counted");
services.agents.set(
  "walker",
  agent("walker", {
    plan: {
      steps: [
        { calls: [{ tool: labTool("count"), with: { n: 1 } }] },
        {
          calls: [
            { tool: labTool("gate"), with: {} },
            { tool: labTool("count"), with: { n: 2 } },
          ],
        },
        { calls: [{ tool: labTool("count"), with: { n: 3 } }] },
      ],
      answer: "done: {{/results/1/text}}",
    },
  }),
);

test("finishes on another runner a run whose runner was killed, and repeats no finished call [run-goal-2] [run-goal-3]", async () => {
  const gate = newGate();
  const runners = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  await lab.command("walker", { runId: "killed", input: "x" });
  await gate.reached;
  await lab.eventsUntil(
    "killed",
    ({ payload }) => payload["textBytes"] !== undefined && payload["callId"] === "cli~killed:2:1",
  );
  const [holder, other] = sortByHolder(runners);
  holder.kill("SIGKILL");
  assert.equal(await holder.exited, null);
  gate.open("opened");

  const events = await lab.eventsUntil("killed", "finished");
  assertOneRun(events, "killed");
  assert.ok(events.some(({ name }) => name === "resumed"));
  assert.equal((await other.logged("run resumed"))["runId"], "cli~killed");
  assert.equal(
    services.requested.get("cli~killed:2:0"),
    2,
    "the open call was sent again under its id",
  );
  assert.deepEqual(
    services.epochs.get("cli~killed:2:0"),
    [1, 2],
    "each under its own hold of the run",
  );
  assert.equal(services.requested.get("cli~killed:1:0"), 1);
  assert.equal(services.requested.get("cli~killed:2:1"), 1);
  const { run } = await call(lab.bus, getRun, { runId: "killed" });
  assert.equal(run.attempts, 2);
  assert.deepEqual(services.cancelled, [], "a run that continues elsewhere takes no call back");
  await stop(other);
});

test("stores each event once when the next runner comes later than the stream remembers message ids [run-goal-2]", async () => {
  const gate = newGate();
  const short = await shortWindow(nats); // the next runner takes the run over after eight seconds
  const runners = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  await lab.command("walker", { runId: "late", input: "x" });
  await gate.reached;
  await lab.eventsUntil("late", ({ payload }) => payload["callId"] === "cli~late:2:1");
  const [holder, other] = sortByHolder(runners);
  holder.kill("SIGKILL");
  await holder.exited;
  // A message about the run that leads to an event not from its journal.
  await lab.publish("yard.cmd.cli.run.cancel.late", '{"colour":"red"}');
  await lab.eventsUntil("late", "rejected");
  gate.open("opened");
  const events = await lab.eventsUntil("late", "finished");
  assertOneRun(
    events.filter(({ name }) => name !== "rejected"),
    "late",
  );
  await short.end();
  await stop(other);
});

test("hands a run over at a step boundary when its runner is stopped, and counts no attempt [run-goal-3]", async () => {
  const gate = newGate();
  const first = await lab.runnerProcess();
  await lab.command("walker", { runId: "handed", input: "x" });
  await gate.reached;
  const second = await lab.runnerProcess(testConstants({ runMaxAttempts: 1 }));
  first.kill("SIGTERM");
  await first.logged("service stopping");
  gate.open("opened");
  assert.equal(await first.exited, 0);

  const events = await lab.eventsUntil("handed", "finished");
  assertOneRun(events, "handed");
  assert.equal(services.requested.get("cli~handed:2:0"), 1, "the call in flight was waited for");
  await stop(second);
});

test("releases a run unharmed when a call outlasts the time to stop", async () => {
  const gate = newGate();
  const first = await lab.runnerProcess({ YARD_DRAIN_MS: "2000" });
  await lab.command("walker", { runId: "outlasted", input: "x" });
  await gate.reached;
  first.kill("SIGTERM");
  assert.equal(await first.exited, 0);
  const second = await lab.runnerProcess(testConstants({ runMaxAttempts: 1 }));
  gate.open("opened");

  assertOneRun(await lab.eventsUntil("outlasted", "finished"), "outlasted");
  assert.equal(services.requested.get("cli~outlasted:2:0"), 2);
  await stop(second);
});

test("stops a runner that lost its run while it was frozen, and lets the other finish [run-goal-2]", async () => {
  const gate = newGate();
  const runners = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  await lab.command("walker", { runId: "frozen", input: "x" });
  await gate.reached;
  const [holder, other] = sortByHolder(runners);
  holder.kill("SIGSTOP");
  await other.logged("run resumed");
  gate.open("opened");
  const events = await lab.eventsUntil("frozen", "finished");
  holder.kill("SIGCONT");
  // The log depends on what it finds first: that its time to renew is over, or that another runner has the run.
  await holder.logged("run lost to another runner", "run left: its claim could not be renewed");
  assertOneRun(events, "frozen");
  await Promise.all([stop(holder), stop(other)]);
  assertOneRun(await lab.eventsUntil("frozen", "finished"), "frozen");
});

test("a run whose calls are refused as those of an older claim keeps no slot from others, and continues", async () => {
  let refusals = 1;
  services.tools.set("fenced", (_args, { fail, correlationId: runId }) => {
    if (refusals === 0) return "went on";
    refusals -= 1;
    throw fail.stale_epoch("another runner has it", { runId, epoch: 1 });
  });
  const steps = [{ calls: [{ tool: labTool("fenced"), with: {}, as: "r" }] }];
  services.agents.set(
    "fenced",
    agent("fenced", { plan: { steps, answer: "{{/results/r/text}}" } }),
  );
  services.agents.set("quick", answering("quick", "done"));
  const runner = await lab.runnerProcess({ YARD_RUNNER_SLOTS: "1" });
  await lab.command("fenced", { runId: "fenced", input: "x" });
  await runner.logged("run lost to another runner");
  await lab.command("quick", { runId: "not-kept", input: "x" });
  const other = (await lab.eventsUntil("not-kept", "finished")).at(-1);
  const last = (await lab.eventsUntil("fenced", "finished")).at(-1);
  assert.equal(last?.payload["output"], "went on");
  assert.ok(String(other?.payload["at"]) < String(last?.payload["at"]));
  await stop(runner);
});

test("a frozen runner delays new runs by ten seconds at most", async () => {
  services.agents.set("quick", answering("quick", "done"));
  const [frozen, other] = await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  frozen.kill("SIGSTOP");
  const runs = Array.from({ length: 24 }, (_, n) => `behind-frozen-${n}`);
  const startedAt = Date.now();
  for (const runId of runs) await lab.command("quick", { runId, input: "x" });
  const ends = await Promise.all(runs.map((runId) => lab.eventsUntil(runId, "finished")));
  const lags = ends.map((events) => Date.parse(String(events.at(-1)?.payload["at"])) - startedAt);
  const slackMs = 2_000; // for a machine that does other things as well
  assert.ok(Math.max(...lags) < 10_000 + slackMs, `lags in ms: ${lags.join()}`);
  assert.ok(Math.max(...lags) > 2_000, "the frozen one had some of them");
  frozen.kill("SIGCONT");
  await Promise.all([stop(frozen), stop(other)]);
});

test("finishes a run through a restart of NATS [run-goal-2]", async () => {
  const gate = newGate();
  const runner = await lab.runnerProcess();
  await lab.command("walker", { runId: "nats-restart", input: "x" });
  await gate.reached;
  await nats.stop();
  nats = await testNats({ dataDir: natsDir, port: nats.port });
  await until(async () => lab.bus.status === "connected");
  gate.open("opened");
  assertOneRun(await lab.eventsUntil("nats-restart", "finished"), "nats-restart");
  await stop(runner);
});

test("finishes a run through a crash of Redis [run-goal-2]", async () => {
  const gate = newGate();
  const runner = await lab.runnerProcess();
  await lab.command("walker", { runId: "redis-restart", input: "x" });
  await gate.reached;
  redis.kill("SIGKILL");
  await redis.exited;
  gate.open("opened");
  redis = await testRedis({ dataDir: redisDir, port: redis.port, appendfsync: "always" });
  assertOneRun(await lab.eventsUntil("redis-restart", "finished"), "redis-restart");
  await stop(runner);
});

/** One complete run: events without gap or repeat, each model step and each tool call done once. */
function assertOneRun(events: readonly RunEventRecord[], runId: string): void {
  assertNumbered(events);
  const count = (name: string) => events.filter((event) => event.name === name).length;
  assert.equal(count("started"), 1);
  assert.equal(count("model-responded"), 4);
  assert.equal(count("tool-completed"), 4);
  assert.equal(events.at(-1)?.payload["output"], "done: opened");
  for (const position of ["1:0", "2:0", "2:1", "3:0"]) {
    assert.equal(services.executed.get(`cli~${runId}:${position}`), 1, position);
  }
}

/** A tool call that waits in the middle of a run until the test releases it. */
function newGate(): { readonly reached: Promise<void>; readonly open: (text: string) => void } {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  services.tools.set("gate", () => {
    reached.resolve();
    return opened.promise;
  });
  return { reached: reached.promise, open: opened.resolve };
}

function sortByHolder([a, b]: readonly [RunnerProcess, RunnerProcess]): [
  RunnerProcess,
  RunnerProcess,
] {
  return a.lines.some((line) => line.msg === "run started") ? [a, b] : [b, a];
}

async function stop(runner: RunnerProcess): Promise<void> {
  runner.kill("SIGTERM");
  assert.equal(await runner.exited, 0);
}
