import { call } from "@switchyard/bus/call";
import { getRun, listRuns } from "@switchyard/contracts/agent-runner/runs";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, labTool, type ServiceName } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

/**
 * An accepted command survives any outage, however long: only runners that die count against it. The runner here gives a
 * command or a run up after the first death, and each outage lasts for several deliveries of each message.
 */
const redisDir = await testDirectory();
let redis = await testRedis({ dataDir: redisDir, appendfsync: "always" });
const lab = await startLab({ nats: await testNats(), redis });
const { services } = lab;
services.tools.set("count", () => "counted");
const steps = [1, 2].map((n) => ({ calls: [{ tool: labTool("count"), with: { n } }] }));
services.agents.set("walker", agent("walker", { plan: { steps, answer: "done" } }));
let runner = await lab.runnerProcess(testConstants({ runMaxAttempts: 1 }));
const RUNS = 5;
const DELIVERIES = 4;
/** Times from the return of a service: the promised limit, and the slack for the requests before it. */
const PROMISED_MS = 10_000;
const SLACK_MS = 5_000;

test("a runner is ready only while the policy service answers, and reports the missing service", async () => {
  const ready = async () => {
    const { healthUrl } = await runner.logged("service ready");
    const response = await fetch(new URL("/readyz", String(healthUrl)));
    return { status: response.status, text: await response.text() };
  };
  assert.equal((await until(ready, ({ status }) => status === 200)).status, 200);
  await services.pause("policy");
  const missing = await until(ready, ({ status }) => status === 503);
  assert.match(missing.text, /"policy":"the policy service does not answer \(no_responders\)/);
  await services.resume("policy");
  await until(ready, ({ status }) => status === 200);
});

for (const name of ["policy", "importer", "broker"] satisfies ServiceName[]) {
  test(`no command is given up while the ${name} is away, and all runs end soon after it returns`, async () => {
    await services.pause(name);
    await startRuns(name);
    await suspensions(RUNS * DELIVERIES);
    await services.resume(name);
    await assertAllFinish(name);
  });
}

test("runs that wait for a service are not work in the queue, and come back by themselves", async () => {
  await services.pause("broker");
  await startRuns("parked");
  // At the first time they are worked on, and again after that.
  for (let round = 0; round < 2; round += 1) {
    await suspensions(RUNS);
    await until(async () => (await lab.pendingCommands()) === 0);
  }
  const { run } = await call(lab.bus, getRun, { runId: "parked-0" });
  assert.equal(run.status, "running");
  assert.match(run.suspended ?? "", /yard\.rpc\.runner\.mcp\.tools/);
  const { runs } = await call(lab.bus, listRuns, { status: "running" });
  assert.match(runs[0]?.suspended ?? "", /yard\.rpc\.runner\.mcp\.tools/);
  await services.resume("broker");
  await assertAllFinish("parked");
  assert.equal((await call(lab.bus, getRun, { runId: "parked-0" })).run.suspended, undefined);
});

for (const name of ["policy", "importer"] satisfies ServiceName[]) {
  test(`commands that are not a run yet are not work in the queue while the ${name} is away, and come back by themselves`, async () => {
    const prefix = `kept-${name}`;
    await services.pause(name);
    await startRuns(prefix);
    const said = { session: prefix, runId: `${prefix}-said`, input: "x" };
    await lab.command("walker", said);
    // At the first time they are tried, and again after that.
    for (let round = 0; round < 2; round += 1) {
      await suspensions(RUNS + 1);
      await until(async () => (await lab.pendingCommands()) === 0);
    }
    await lab.command("walker", { runId: `${prefix}-0`, input: "another one" });
    await lab.publish(`yard.cmd.cli.run.cancel.${prefix}-1`, "{}");
    await suspensions(1);
    await services.resume(name);
    await assertFinish([0, 2, 3, 4, "said"].map((n) => `${prefix}-${n}`));
    const cancelled = await lab.eventsUntil(`${prefix}-1`, "cancelled");
    assert.equal(cancelled.at(-1)?.payload["by"], "cli");
    const reported = await lab.eventsUntil(`${prefix}-2`, "finished");
    assert.equal(reported.filter((event) => event.name === "delayed").length, 1, "once");
    const refused = await lab.eventsUntil(`${prefix}-0`, "rejected");
    assert.equal(refused.at(-1)?.payload["code"], "run_id_taken");
    await until(async () => (await lab.pendingCommands()) === 0);
  });
}

test("a command that is not a run yet survives its runner, and is refused once when it turns out to be wrong", async () => {
  await services.pause("importer");
  await lab.command("walker", { runId: "survivor", input: "x" });
  await lab.command("nobody", { runId: "wrong", input: "x" });
  await suspensions(2);
  await until(async () => (await lab.pendingCommands()) === 0);
  runner.kill("SIGKILL");
  await runner.exited;
  runner = await lab.runnerProcess(testConstants({ runMaxAttempts: 1 }));
  await services.resume("importer");
  await assertFinish(["survivor"]);
  const refused = await lab.eventsUntil("wrong", "rejected");
  assert.equal(refused.at(-1)?.payload["code"], "unknown_agent");
  const log = createLog({ service: "test", level: "silent" });
  const store = await connectRedis({ url: redis.url, name: "test", log });
  await until(async () => (await store.keys("yard:command:kept:*")).length === 0);
  store.disconnect();
});

test("a run that waits for a service can be cancelled at once", async () => {
  await services.pause("broker");
  await lab.command("walker", { runId: "unwanted", input: "x" });
  await suspensions(1);
  await lab.publish("yard.cmd.cli.run.cancel.unwanted", "{}");
  await lab.eventsUntil("unwanted", "cancelled");
  await services.resume("broker");
});

test("no run is given up while Redis is away again and again, whatever it was doing", async () => {
  const gate = newGate();
  await startRuns("redis");
  await until(async () => gate.came() >= RUNS);
  for (let outage = 0; outage < 2; outage += 1) {
    await redis.stop();
    gate.open();
    await suspensions(RUNS * 2);
    await assert.rejects(call(lab.bus, getRun, { runId: "redis-0" }), {
      code: "store_unavailable",
      retryable: true,
      message: /try again later: Redis cannot be reached/,
    });
    const said = { session: "away", agent: "walker", message: "x" };
    await assert.rejects(call(lab.bus, sendToSession, said), { code: "store_unavailable" });
    redis = await testRedis({ dataDir: redisDir, appendfsync: "always", port: redis.port });
  }
  await assertAllFinish("redis");
});

async function startRuns(prefix: string): Promise<void> {
  for (let n = 0; n < RUNS; n += 1)
    await lab.command("walker", { runId: `${prefix}-${n}`, input: "x" });
}

/** Waits until runs were left so many times more, because something was away. */
async function suspensions(more: number): Promise<void> {
  const left = (): number =>
    runner.lines.filter(({ msg }) => msg === "run suspended" || String(msg).startsWith("run left"))
      .length;
  const before = left();
  await until(async () => left() >= before + more);
}

function assertAllFinish(prefix: string): Promise<void> {
  return assertFinish(Array.from({ length: RUNS }, (_, n) => `${prefix}-${n}`));
}

async function assertFinish(runIds: readonly string[]): Promise<void> {
  const backAt = Date.now();
  for (const runId of runIds) {
    const events = await lab.eventsUntil(
      runId,
      ({ name, payload }) =>
        // A second command with the id is refused, which ends nothing.
        ["finished", "failed", "dead", "rejected"].includes(name) &&
        payload["code"] !== "run_id_taken",
    );
    const last = events.at(-1);
    assert.equal(last?.name, "finished", JSON.stringify(last));
    const endedAt = Date.parse(String(last?.payload["at"]));
    assert.ok(
      endedAt - backAt < PROMISED_MS + SLACK_MS,
      `${endedAt - backAt} ms after it was back`,
    );
  }
}

function newGate() {
  let came = 0;
  let isOpen = false;
  services.tools.set("count", async () => {
    came += 1;
    await until(async () => isOpen);
    return "counted";
  });
  return {
    came: () => came,
    open: () => {
      isOpen = true;
    },
  };
}
