import { setTimeout as delay } from "node:timers/promises";
import type { Check, World } from "../check.ts";
import { eventually } from "../eventually.ts";
import { checkLoad } from "../load/load.ts";
import { ready, upgradeLine } from "./install.ts";

const MOST = 3;

/**
 * The ScaledObject of the chart, with its own times: the fleet grows after half a minute and shrinks by one runner in two minutes after five
 * quiet ones. Runs that come meanwhile at a low rate are in work in each runner that is taken away.
 */
export const scaleByLag: Check = {
  name: "scale",
  title: `KEDA takes the runners from 1 to ${MOST} by the queue's lag with 500 slow runs in flight, and back to 1: no run is lost, no call is doubled`,
  minutes: 35,
  skip: ({ missing }) =>
    missing.get("keda") ?? missing.get("keda-adapter") ?? missing.get("metrics-server") ?? null,
  async run(world) {
    const { lab, kubectl, load } = world;
    const scaling = "--set agentRunner.autoscaling";
    // The autoscaler itself would take away the second runner after five minutes.
    await kubectl.run(["scale", "deployment/agent-runner", "--replicas=1"]);
    await lab.shell(upgradeLine(`${scaling}.by=keda`, `${scaling}.max=${MOST}`), 600_000);
    try {
      await eventually("KEDA reads the queue", () => isReading(kubectl), { timeoutMs: 180_000 });
      await runnersAre(kubectl, 1, 300_000);
      const many = { name: "lag", runs: 500, takesMs: 4_000, perSecond: 25, seconds: 900 };
      const running = await load.start(many);
      const began = performance.now();
      await runnersAre(kubectl, MOST, 300_000);
      const up = secondsSince(began);
      await delay(30_000); // metrics-server measures every 15 s
      const used = await usage(kubectl);
      const first = checkLoad(await running.result());
      const few = { name: "trickle", runs: 220, takesMs: 4_000, perSecond: 0.4, seconds: 840 };
      const trickle = await load.start(few);
      const quiet = performance.now();
      await runnersAre(kubectl, 1, 900_000);
      const down = secondsSince(quiet);
      const second = checkLoad(await trickle.result());
      return `1 → ${MOST} ready after ${up} s, ${MOST} → 1 after ${down} s; ${first}; while shrinking ${second}; ${used}`;
    } finally {
      await lab.shell(upgradeLine(), 600_000);
      await ready(kubectl);
    }
  },
};

/** KEDA reports the two conditions separately: that it can ask NATS, and that the autoscaler exists. */
async function isReading(kubectl: World["kubectl"]): Promise<boolean> {
  const path = 'jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.hpaName}';
  const said = await kubectl.run(["get", "scaledobject", "agent-runner", "-o", path]);
  const [isReady, autoscaler = ""] = said.split(" ");
  return isReady === "True" && autoscaler !== "";
}

async function runnersAre(
  kubectl: World["kubectl"],
  count: number,
  timeoutMs: number,
): Promise<void> {
  await eventually(
    `${count} runners are wanted and ready`,
    async () => {
      const path = "jsonpath={.spec.replicas} {.status.replicas} {.status.readyReplicas}";
      const said = await kubectl.run(["get", "deployment", "agent-runner", "-o", path]);
      return said === `${count} ${count} ${count}`;
    },
    { timeoutMs },
  );
}

/** Reads from metrics-server the processors and memory of each service's largest pod. */
async function usage(kubectl: World["kubectl"]): Promise<string> {
  const lines = (await kubectl.run(["top", "pods", "--no-headers"])).trim().split("\n");
  const most = new Map<string, { cpu: number; memory: number }>();
  for (const line of lines) {
    const [pod = "", cpu = "", memory = ""] = line.split(/\s+/);
    const name = pod.replace(/(-[a-z0-9]{8,10})?-[a-z0-9]{5}$|-\d+$/, "");
    const before = most.get(name) ?? { cpu: 0, memory: 0 };
    most.set(name, {
      cpu: Math.max(before.cpu, Number.parseInt(cpu, 10)),
      memory: Math.max(before.memory, Number.parseInt(memory, 10)),
    });
  }
  const each = [...most].map(([name, { cpu, memory }]) => `${name} ${cpu}m ${memory} MiB`);
  return `largest pods: ${each.join(", ")}`;
}

function secondsSince(began: number): number {
  return Math.round((performance.now() - began) / 1_000);
}
