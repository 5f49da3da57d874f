import assert from "node:assert/strict";
import { after, test } from "node:test";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/runs";
import { testRedisCluster } from "@switchyard/local-servers/test-redis-group";
import { testNats } from "@switchyard/local-servers/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { agent, labTool } from "../../test-fixtures/peers.ts";
import { assertRanOnce } from "../../test-fixtures/ran-once.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const RUNS = 12;

const cluster = await testRedisCluster({ replicas: 1, appendfsync: "always" });
const lab = await startLab({ nats: await testNats(), redis: cluster });
const log = createLog({ service: "test", level: "silent" });
lab.peers.tools.set("work", async ({ ms }) => {
  await new Promise((resolve) => setTimeout(resolve, Number(ms)));
  return "worked";
});
const steps = [1, 2, 3].map((n) => ({
  calls: [{ tool: labTool("work"), with: { n, ms: 400 } }],
}));
lab.peers.agents.set("worker", agent("worker", { plan: { steps, answer: "done" } }));
await Promise.all([lab.runner(), lab.runner()]);

// The primary of the list of runs that wait, and the one of the first run's journal.
for (const [round, key] of ["yard:runs:parked", "yard:run:{cli~1-0}:state"].entries())
  test(`a primary of Redis Cluster is killed under load (round ${round}): no run is lost, no call made twice`, async (t) => {
    await cluster.untilComplete();
    const primary = await cluster.primaryOf(key);
    const runs = Array.from({ length: RUNS }, (_, n) => `${round}-${n}`);
    for (const runId of runs)
      await publishCommand(lab.bus, startRun, { agent: "worker" }, { runId, input: "x" });
    await until(() => lab.peers.executed.get(`cli~${runs[0]}:1:0`) ?? null);
    const killedAt = performance.now();
    primary.server.kill("SIGKILL");
    for (const runId of runs) await lab.eventsUntil(runId, "finished");
    const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1);
    t.diagnostic(`a primary killed: all of ${RUNS} runs of three calls ended ${seconds} s later`);
    assert.notEqual(await cluster.primaryOf(key), primary);
    const redis = await connectRedis({ url: cluster.url, name: "test", log });
    after(() => redis.disconnect());
    for (const runId of runs)
      await assertRanOnce(
        { lab, redis },
        { runId: `cli~${runId}`, crashes: 3, output: "done", calls: ["1:0", "2:0", "3:0"] },
      );
    await primary.restart();
  });
