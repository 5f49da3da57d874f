import type { Check, World } from "../check.ts";
import { eventually } from "../eventually.ts";
import { underLoad } from "./disturbances.ts";
import { ready, upgradeLine, type Pod } from "./install.ts";

/** A claim that both pods write. The access mode of the chart's own claim cannot be changed after its creation. */
const claim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "shared-workspaces" },
  spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
};

const values = [
  "mode=compact",
  "compact.replicas=2",
  "compact.drainSeconds=20",
  "toolbox.workspaces.accessMode=ReadWriteMany",
  `toolbox.workspaces.existingClaim=${claim.metadata.name}`,
];

export const compact: Check = {
  name: "compact",
  title:
    "under load the services move into two equal pods, whose processes are killed one after the other, and apart again: no run is lost, nothing is doubled",
  minutes: 20,
  async run(world) {
    const { lab, kubectl } = world;
    await kubectl.apply(claim);
    const into = await moved(world, "into", `--set ${values.join(",")}`);
    const pods = await replicas(kubectl);
    if (pods.length !== 2) throw new Error(`pods: ${pods.join(", ")}`);
    const others = (await kubectl.run(["get", "deployment", "-o", "name"])).trim();
    if (others !== "deployment.apps/switchyard") throw new Error(`deployments: ${others}`);
    const said = await lab.shell("helm -n switchyard test switchyard --timeout 4m", 300_000);
    if (!said.includes("Succeeded")) throw new Error(said);

    const plan = { name: "killed", runs: 80, takesMs: 1_500, perSecond: 3, seconds: 300 };
    const killed = await underLoad(
      world,
      plan,
      async () => {
        for (const pod of pods) {
          await kubectl.run(["exec", pod, "-c", "switchyard", "--", "sh", "-c", kill]);
          await eventually(`${pod} is started again`, () => isRestarted(kubectl, pod));
          await ready(kubectl);
        }
        await kubectl.run(["delete", "pod", pods[0] ?? "", "--force", "--grace-period=0"]);
        await ready(kubectl);
        return "two processes killed, one pod deleted by force";
      },
      true,
    ); // a call whose process is killed is of unknown outcome, and the agent's default is not to repeat it
    const apart = await moved(world, "apart", "");
    await kubectl.run(["delete", "pvc", claim.metadata.name]);
    return `into one: ${into}; ${killed}; apart: ${apart}`;
  },
};

/** Upgrades to another mode while runs are in work. */
async function moved(world: World, name: string, sets: string): Promise<string> {
  const plan = { name, runs: 60, takesMs: 1_500, perSecond: 3, seconds: 300 };
  return await underLoad(world, plan, async () => {
    const began = performance.now();
    await world.lab.shell(upgradeLine(sets), 600_000);
    await ready(world.kubectl);
    return `ready after ${Math.round((performance.now() - began) / 1_000)} s`;
  });
}

async function replicas(kubectl: World["kubectl"]): Promise<readonly string[]> {
  const pods = await kubectl.list<Pod>("pod", "-lapp.kubernetes.io/name=switchyard");
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);
}

async function isRestarted(kubectl: World["kubectl"], pod: string): Promise<boolean> {
  const path = "jsonpath={.status.containerStatuses[0].restartCount}";
  return (await kubectl.run(["get", "pod", pod, "-o", path])) === "1";
}

/** Kills the process with all services, as the kernel does when memory is short; its parent ends, and Kubernetes starts the container again. */
const kill = `for p in /proc/[0-9]*; do
  case "$(tr '\\0' ' ' <$p/cmdline)" in "node apps/switchyard/"*) kill -9 "\${p#/proc/}" ;; esac
done`;
