import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { agent, labTool } from "../../services/agent-runner/test-fixtures/fake-services.ts";
import { assertRanOnce } from "../../services/agent-runner/test-fixtures/ran-once.ts";
import { startLab } from "../../services/agent-runner/test-fixtures/runner-lab.ts";
import { autoscalerOf, queueLag } from "./keda.ts";
import { kubernetesTool } from "./kubernetes-tools.ts";
import { dig, ofKind } from "./read-manifests.ts";
import { renderChart } from "./render-chart.ts";
import { readManifests } from "./render-manifests.ts";

/**
 * The chart's rule, evaluated against a real NATS and followed by real runners. Only the autoscaler's clock is simulated: it polls
 * every 15 s.
 */
const helm = (await kubernetesTool("helm")) ?? "";
const skip = helm === "" && "there is no helm on this machine";
const SLOTS = 2;
const LOOK_SECONDS = 15;
/** Twice what the slots of eight runners take: counted as load, it would double the fleet. */
const OUTAGE_RUNS = 32;

test(
  "KEDA's query and rule take the runners from 1 to 8 and to 2 under load; an outage is no load, no run is lost and no call repeated",
  { skip },
  async (t) => {
    const sets = ["by=keda", "min=1", "max=30"].map((set) => `agentRunner.autoscaling.${set}`);
    const text = renderChart(helm, { sets: [...sets, `agentRunner.slots=${SLOTS}`] });
    const [scaled] = ofKind(readManifests(text), "ScaledObject");
    assert.ok(scaled);
    const nats = await testNats();
    const redisServer = await testRedis();
    const lab = await startLab({ nats, redis: redisServer });
    const lag = (): Promise<number> => queueLag(String(nats.monitorUrl), scaled);
    const held = holdCalls();
    lab.services.tools.set("hold", held.tool);
    lab.services.tools.set("quick", () => "quick");
    for (const name of ["hold", "quick"])
      lab.services.agents.set(
        name,
        agent(name, {
          plan: { steps: [{ calls: [{ tool: labTool(name), with: {} }] }], answer: "done" },
        }),
      );
    const begun: string[] = [];
    const begin = async (name: string, prefix: string, count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1) {
        begun.push(`${prefix}-${n}`);
        await lab.command(name, { runId: `${prefix}-${n}`, input: "x" });
      }
    };
    const fleet = await startFleet((env) => lab.runnerProcess(env));
    const scaler = autoscalerOf(scaled);
    let atSeconds = 0;
    /** One poll of the autoscaler, and the number of replicas that it wants. */
    const look = async (): Promise<number> => {
      atSeconds += LOOK_SECONDS;
      const facts = { lag: await lag(), replicas: fleet.size(), atSeconds };
      await fleet.become(scaler.decide(facts));
      return fleet.size();
    };

    assert.equal(await look(), 1, "nothing to do");
    await begin("hold", "first", 16);
    assert.equal(await lag(), 16, "what waits and what is in work");
    const grown = [await look(), await look(), await look(), await look()];
    assert.deepEqual(grown, [1, 5, 8, 8]);
    // An HPA without KEDA would count all slots of all pods. A run that waited for a busy service is off the queue for a moment.
    await until(async () => (await fleet.runsInWork()) === 16 && (await lag()) === 16);
    held.release();
    await until(async () => (await lag()) === 0);

    await lab.services.pause("policy");
    await begin("quick", "outage", OUTAGE_RUNS);
    const began = performance.now();
    await until(async () => (await lag()) === 0);
    t.diagnostic(`${OUTAGE_RUNS} commands without a policy: off the queue in ${since(began)} s`);
    // Each comes again after a pause that doubles; the autoscaler's next look is 15 s away.
    await until(() => fleet.suspensions() >= OUTAGE_RUNS * 5);
    const lags: number[] = [];
    for (let round = 0; round < 14; round += 1) {
      lags.push(await lag());
      assert.equal(await look(), 8);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    t.diagnostic(`looked at 14 times in the outage, the lag was ${lags.join(" ")}`);
    await lab.services.resume("policy");
    for (let n = 0; n < OUTAGE_RUNS; n += 1) await lab.eventsUntil(`outage-${n}`, "finished");

    held.again();
    await begin("hold", "last", 4);
    await until(async () => (await fleet.runsInWork()) === 4 && (await lag()) === 4);
    const shrunk: [size: number, seconds: number][] = [];
    const from = atSeconds;
    await until(async () => {
      const before = fleet.size();
      const size = await look();
      if (size !== before) shrunk.push([size, atSeconds - from]);
      return size === 2;
    });
    t.diagnostic(`8 runners became ${shrunk.map(([size, at]) => `${size} at ${at} s`).join(", ")}`);
    // Commands that came back late from the outage are in the autoscaler's window, so there may be more and smaller steps.
    const sizes = [8, ...shrunk.map(([size]) => size)];
    assert.equal(sizes.at(-1), 2);
    for (const [index, size] of sizes.slice(1).entries()) {
      const step = (sizes[index] ?? 0) - size;
      assert.ok(step === 1 || step === 2, sizes.join(" "));
    }
    for (const [index, [, at]] of shrunk.entries())
      if (index > 0) assert.ok(at - (shrunk[index - 1]?.[1] ?? 0) >= 120);
    held.release();
    for (const runId of begun) await lab.eventsUntil(runId, "finished");
    await until(async () => (await lag()) === 0);
    await assertAllRanOnce(t, { lab, url: redisServer.url, begun });
  },
);

test(
  "the rule waits half a busy and five quiet minutes, forgives a tenth, and never leaves its bounds",
  { skip },
  () => {
    const [scaled] = ofKind(
      readManifests(renderChart(helm, { sets: ["agentRunner.autoscaling.by=keda"] })),
      "ScaledObject",
    );
    assert.ok(scaled);
    const slots = Number(dig(scaled, "spec.triggers.0.metadata.lagThreshold"));
    const scaler = autoscalerOf(scaled);
    const at = (atSeconds: number, replicas: number, lag: number): number =>
      scaler.decide({ lag, replicas, atSeconds });
    assert.equal(at(0, 4, 4 * slots), 4);
    assert.equal(at(15, 4, 4 * slots + 4), 4, "a tenth is forgiven");
    assert.equal(at(30, 4, 1_000_000), 4, "half a minute has to agree");
    assert.equal(at(45, 4, 1_000_000), 8, "twice as many at a time");
    assert.equal(at(60, 8, 1_000_000), 16);
    assert.equal(at(75, 16, 1_000_000), 20, "the most");
    assert.equal(at(90, 20, 0), 20, "a quiet moment");
    assert.equal(at(360, 20, 0), 20);
    assert.equal(at(390, 20, 0), 15, "a quarter");
    assert.equal(at(405, 15, 0), 15);
    assert.equal(at(525, 15, 0), 11);
    assert.equal(at(2_000, 1, 0), 1, "the least");
  },
);

/** Runners that start and stop as an autoscaler wants, the newest first, each with a slot count and a drain of its own. */
async function startFleet(
  start: (
    env: Record<string, string>,
  ) => ReturnType<Awaited<ReturnType<typeof startLab>>["runnerProcess"]>,
) {
  const env = { YARD_RUNNER_SLOTS: String(SLOTS), YARD_DRAIN_MS: "2000" };
  const runners = [await start(env)];
  return {
    size: () => runners.length,
    async become(count: number): Promise<void> {
      for (let n = runners.length; n < count; n += 1) runners.push(await start(env));
      const leaving = runners.splice(count);
      for (const runner of leaving) runner.kill("SIGTERM");
      for (const runner of leaving) assert.equal(await runner.exited, 0);
    },
    suspensions: () =>
      runners.reduce(
        (sum, { lines }) => sum + lines.filter(({ msg }) => msg === "run suspended").length,
        0,
      ),
    async runsInWork(): Promise<number> {
      let sum = 0;
      for (const runner of runners) {
        const { healthUrl } = await runner.logged("service ready");
        const text = await (await fetch(new URL("/metrics", String(healthUrl)))).text();
        sum += Number(/^yard_runner_slots_busy\S* (\d+)$/m.exec(text)?.[1]);
      }
      return sum;
    },
  };
}

/** A tool whose calls wait until the test releases them. */
function holdCalls() {
  let gate = Promise.withResolvers<void>();
  return {
    tool: async (): Promise<string> => {
      await gate.promise;
      return "held";
    },
    release: () => gate.resolve(),
    again: () => {
      gate = Promise.withResolvers();
    },
  };
}

async function assertAllRanOnce(
  t: TestContext,
  { lab, url, begun }: { lab: Awaited<ReturnType<typeof startLab>>; url: string; begun: string[] },
): Promise<void> {
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url, name: "test", log });
  after(() => redis.disconnect());
  for (const runId of begun)
    await assertRanOnce(
      { lab, redis },
      // For each runner that leaves, another one repeats one request.
      { runId: `cli~${runId}`, crashes: 4, output: "done", calls: ["1:0"] },
    );
  t.diagnostic(`${begun.length} runs, each call executed once`);
}

function since(began: number): string {
  return ((performance.now() - began) / 1_000).toFixed(1);
}
