import { setTimeout as delay } from "node:timers/promises";
import type { Check, World } from "../check.ts";
import { eventually } from "../eventually.ts";
import { checkLoad, type LoadPlan } from "../load/load.ts";
import { ready } from "./install.ts";

const services = [
  "policy",
  "mcp-broker",
  "skill-importer",
  "agent-runner",
  "toolbox",
  "scheduler",
  "channels",
  "gateway",
] as const;

/** Starts runs, disturbs the cluster while they are in flight, waits until every run has ended, and checks the counts. */
export async function underLoad(
  { load }: World,
  plan: LoadPlan,
  disturb: () => Promise<string>,
  mayFail = false,
): Promise<string> {
  const running = await load.start(plan);
  await delay(5_000); // the first runs are in work, and most are yet to be published
  const facts = await disturb();
  const counts = checkLoad(await running.result(), { mayFail });
  return facts === "" ? counts : `${counts}; ${facts}`;
}

export const resize: Check = {
  name: "resize",
  title:
    "by hand, runners go from 1 to 4 and back to 1 with runs in flight: no run is lost, no call is doubled",
  async run(world) {
    const { kubectl } = world;
    const scale = async (count: number): Promise<void> => {
      await kubectl.run(["scale", "deployment/agent-runner", `--replicas=${count}`]);
    };
    await scale(1);
    await ready(kubectl);
    const plan = { name: "resize", runs: 160, takesMs: 2_000, perSecond: 25, seconds: 300 };
    const facts = await underLoad(world, plan, async () => {
      const began = performance.now();
      await scale(4);
      await kubectl.run(["rollout", "status", "deployment/agent-runner", "--timeout=180s"]);
      const upSeconds = Math.round((performance.now() - began) / 1_000);
      await delay(4_000); // each of the four has runs in work
      await scale(1);
      return `four runners ready after ${upSeconds} s`;
    });
    await scale(2);
    await ready(kubectl);
    return facts;
  },
};

export const restart: Check = {
  name: "restart",
  title: "`rollout restart` of every service under load loses and doubles nothing",
  async run(world) {
    const plan = { name: "restart", runs: 120, takesMs: 1_000, perSecond: 4, seconds: 360 };
    return await underLoad(world, plan, async () => {
      const began = performance.now();
      await world.kubectl.run([
        "rollout",
        "restart",
        ...services.map((name) => `deployment/${name}`),
      ]);
      await ready(world.kubectl);
      return `all restarted in ${Math.round((performance.now() - began) / 1_000)} s`;
    });
  },
};

export const forceDelete: Check = {
  name: "force-delete",
  title:
    "a pod of each service is deleted by force, one after the other, and nothing is lost or doubled",
  async run(world) {
    const plan = { name: "force", runs: 100, takesMs: 1_500, perSecond: 4, seconds: 360 };
    return await underLoad(world, plan, async () => {
      for (const service of services) {
        const pods = await world.kubectl.run([
          "get",
          "pods",
          `-lapp.kubernetes.io/name=${service}`,
          "-o",
          "name",
        ]);
        const pod = pods.split("\n")[0] ?? "";
        await world.kubectl.run(["delete", pod, "--force", "--grace-period=0"]);
        await delay(2_000); // the next one goes while this one's replacement starts
      }
      await ready(world.kubectl);
      return `${services.length} pods deleted`;
    });
  },
};

export const stores: Check = {
  name: "stores",
  title:
    "the pods of Redis and NATS are deleted, alone and together: no run is lost, nothing is doubled, and each call that is missing is recorded as failed",
  async run(world) {
    const plan = { name: "stores", runs: 120, takesMs: 1_500, perSecond: 3, seconds: 420 };
    return await underLoad(
      world,
      plan,
      async () => {
        const times: string[] = [];
        for (const pods of [["redis-0"], ["nats-0"], ["redis-0", "nats-0"]]) {
          const began = performance.now();
          await world.kubectl.run(["delete", "pod", ...pods]);
          await ready(world.kubectl);
          times.push(`${pods.join(" and ")} ${Math.round((performance.now() - began) / 1_000)} s`);
        }
        return `until all is ready again: ${times.join(", ")}`;
      },
      true,
    ); // a call whose begin or result cannot be recorded while Redis is away is of unknown outcome, and the agent's default is not to repeat it
  },
};

const needsTwo = ({ lab }: World): string | null =>
  lab.nodes.length < 2 ? "the cluster has one node" : null;

/**
 * NATS and Redis of one pod have volumes that one node uses at a time: while they move nothing is ready, and from a lost node Kubernetes moves
 * them only when an operator declares it dead. So the two checks that take node2 away have them on node1, and runners on both.
 */
async function keepStoresOn1({ lab, kubectl }: World): Promise<void> {
  await lab.kubectl.run(["cordon", "node2"]);
  await kubectl.run(["delete", "pod", "nats-0", "redis-0"]);
  await ready(kubectl);
  await lab.kubectl.run(["uncordon", "node2"]);
  const names = ["agent-runner", "mcp-broker", "policy", "gateway", "skill-importer"];
  await kubectl.run(["rollout", "restart", ...names.map((name) => `deployment/${name}`)]);
  await ready(kubectl);
}

export const drain: Check = {
  name: "drain",
  title:
    "draining a node under load keeps a replica of each service, and loses and doubles nothing",
  skip: needsTwo,
  async run(world) {
    const { lab, kubectl } = world;
    await keepStoresOn1(world);
    const plan = { name: "drain", runs: 100, takesMs: 1_500, perSecond: 4, seconds: 360 };
    const least = new Map<string, number>();
    const drained = await underLoad(world, plan, async () => {
      const began = performance.now();
      const args = ["drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data"];
      const draining = lab.kubectl.run([...args, "--timeout=240s"], { timeoutMs: 250_000 });
      let isOver = false;
      const ended = draining.finally(() => (isOver = true));
      ended.catch(() => {}); // awaited below
      const isDrained = async (): Promise<boolean> => {
        await noteLeast(kubectl, least);
        return isOver;
      };
      await eventually("node2 drained", isDrained, { timeoutMs: 260_000, everyMs: 500 });
      await ended;
      return `drained in ${Math.round((performance.now() - began) / 1_000)} s`;
    });
    await lab.kubectl.run(["uncordon", "node2"]);
    await ready(kubectl);
    const gone = [...least].filter(([, count]) => count === 0).map(([name]) => name);
    if (gone.length > 0) throw new Error(`no ready replica of ${gone.join(", ")} for a moment`);
    return `${drained}; at least one replica of ${[...least.keys()].join(", ")} was ready`;
  },
};

/** Notes the fewest ready replicas of each deployment that has several. */
async function noteLeast(kubectl: World["kubectl"], least: Map<string, number>): Promise<void> {
  const deployments = await kubectl.list<{
    metadata: { name: string };
    spec: { replicas: number };
    status: { readyReplicas?: number };
  }>("deployment");
  for (const { metadata, spec, status } of deployments) {
    if (spec.replicas < 2) continue;
    const count = Math.min(least.get(metadata.name) ?? Infinity, status.readyReplicas ?? 0);
    least.set(metadata.name, count);
  }
}

export const nodeLoss: Check = {
  name: "node-loss",
  title: "a node is cut off without goodbye: its runs continue elsewhere, and none is lost",
  minutes: 15,
  skip: needsTwo,
  async run(world) {
    const { lab, kubectl } = world;
    const [, lost] = lab.nodes;
    if (lost === undefined) throw new Error("no second node");
    await keepStoresOn1(world);
    const plan = { name: "loss", runs: 80, takesMs: 2_000, perSecond: 5, seconds: 420 };
    const counts = await underLoad(
      world,
      plan,
      async () => {
        const began = performance.now();
        await lost.cable("down");
        await eventually("the node is not ready", async () => {
          const nodes = await lab.kubectl.run(["get", "nodes", "node2", "--no-headers"]);
          return nodes.includes("NotReady");
        });
        return `not ready after ${Math.round((performance.now() - began) / 1_000)} s`;
      },
      true,
    ); // a request that was lost on the cut cable is a call of unknown outcome, and the agent's default is not to repeat it
    await lost.cable("up");
    await ready(kubectl);
    return counts;
  },
};
