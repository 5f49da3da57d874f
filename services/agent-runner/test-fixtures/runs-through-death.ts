import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import { publishCommand } from "@switchyard/bus/publish";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { RedisNode } from "@switchyard/testing/test-redis-group";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { agent, labTool } from "./fake-services.ts";
import { assertRanOnce } from "./ran-once.ts";
import { startLab } from "./runner-lab.ts";

const RUNS = 12;
const log = createLog({ service: "test", level: "silent" });

/** Two runners on these Redis servers, and a function that ends one of them under load, has all runs end without it, and starts it again. */
export async function runsThroughDeath(redis: { readonly url: string }) {
  const lab = await startLab({ nats: await testNats(), redis });
  lab.services.tools.set("work", async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    return "worked";
  });
  const steps = [1, 2, 3].map((n) => ({
    calls: [{ tool: labTool("work"), with: { n, ms: 400 } }],
  }));
  lab.services.agents.set("worker", agent("worker", { plan: { steps, answer: "done" } }));
  await Promise.all([lab.runnerProcess(), lab.runnerProcess()]);
  return async (
    t: TestContext,
    death: {
      /** The prefix of the runs' names, to which a number is appended. */
      readonly runs: string;
      readonly primary: RedisNode;
      /** Returns the node that replaces it. */
      readonly successor: () => Promise<RedisNode>;
    },
  ): Promise<void> => {
    const { primary } = death;
    const runs = Array.from({ length: RUNS }, (_, n) => `${death.runs}-${n}`);
    for (const runId of runs)
      await publishCommand(lab.bus, startRun, { agent: "worker" }, { runId, input: "x" });
    await until(() => lab.services.executed.get(`cli~${runs[0]}:1:0`) ?? null);
    const killedAt = performance.now();
    primary.server.kill("SIGKILL");
    for (const runId of runs) await lab.eventsUntil(runId, "finished");
    const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1);
    t.diagnostic(`a primary killed: all of ${RUNS} runs of three calls ended ${seconds} s later`);
    assert.notEqual(await death.successor(), primary);
    const client = await connectRedis({ url: redis.url, name: "test", log });
    after(() => client.disconnect());
    for (const runId of runs)
      await assertRanOnce(
        { lab, redis: client },
        { runId: `cli~${runId}`, crashes: 3, output: "done", calls: ["1:0", "2:0", "3:0"] },
      );
    await primary.restart();
  };
}
