import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectBus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { ensureStreams } from "@switchyard/bus/streams";
import { ServiceError } from "@switchyard/contracts/errors";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { allStreams, commandStream, eventStream } from "@switchyard/topology/streams";
import { testNatsCluster, untilHealthy } from "@switchyard/testing/test-cluster";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { connect, type JetStreamManager } from "nats";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertRanOnce } from "../../test-fixtures/ran-once.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const RUNS = 12;

const cluster = await testNatsCluster(3);
const redisServer = await testRedis({ appendfsync: "always" });
await makeStreams();
const lab = await startLab({ nats: cluster, redis: redisServer });
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: redisServer.url, name: "test", log });
after(() => redis.disconnect());
lab.services.tools.set("work", async ({ ms }) => {
  await new Promise((resolve) => setTimeout(resolve, Number(ms)));
  return "worked";
});
const steps = [1, 2, 3].map((n) => ({
  calls: [{ tool: labTool("work"), with: { n, ms: 400 } }],
}));
lab.services.agents.set("worker", agent("worker", { plan: { steps, answer: "done" } }));
await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);

test("three servers keep three copies, and one after the other is killed under load: no run is lost, no call made twice", async (t) => {
  const observer = await connect({ servers: cluster.url.split(","), maxReconnectAttempts: -1 });
  after(() => observer.close());
  const manager = await observer.jetstreamManager({ checkAPI: false });
  const killed = new Set<string>();
  // Kills the leader of the queue, then that of the events, then the remaining server.
  for (const stream of [commandStream.name, eventStream.name, null]) {
    const round = killed.size;
    const victim = await nextVictim(manager, stream, killed);
    killed.add(victim.name);
    const runs = Array.from({ length: RUNS }, (_, n) => `round-${round}-${n}`);
    const started = startAll(runs);
    await until(() => lab.services.executed.get(`cli~${runs[0]}:1:0`) ?? null);
    const killedAt = performance.now();
    victim.server.kill("SIGKILL");
    await started;
    for (const runId of runs) await lab.eventsUntil(runId, "finished");
    const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1);
    t.diagnostic(`${victim.name} (${stream ?? "the last"}) killed: all ended ${seconds} s later`);
    await victim.restart();
    await Promise.all(cluster.nodes.map(({ server }) => untilHealthy(server)));
    for (const runId of runs)
      await assertRanOnce(
        { lab, redis },
        { runId: `cli~${runId}`, crashes: 3, output: "done", calls: ["1:0", "2:0", "3:0"] },
      );
  }
  for (const { name } of allStreams)
    assert.equal((await manager.streams.info(name)).config.num_replicas, 3, name);
});

/** The leader of the stream unless it was killed before; else one that was not. */
async function nextVictim(
  manager: JetStreamManager,
  stream: string | null,
  killed: ReadonlySet<string>,
) {
  const leader = stream === null ? null : (await manager.streams.info(stream)).cluster?.leader;
  const fresh = cluster.nodes.filter(({ name }) => !killed.has(name));
  return fresh.find(({ name }) => name === leader) ?? fresh[0] ?? assert.fail("no server is left");
}

/** Sends each command until the queue has acknowledged it: the same run id again is the same run. */
async function startAll(runs: readonly string[]): Promise<void> {
  for (const runId of runs)
    await until(() =>
      orNull(() => publishCommand(lab.bus, startRun, { agent: "worker" }, { runId, input: "x" })),
    );
}

async function makeStreams(): Promise<void> {
  const admin = await connectBus({ servers: cluster.url, user: "admin" });
  try {
    // Servers that have just connected may still be choosing leaders.
    await until(() => orNull(() => ensureStreams(admin, { replicas: 3 })));
  } finally {
    await admin.close();
  }
}

/** Null while the cluster is not ready. */
async function orNull<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
