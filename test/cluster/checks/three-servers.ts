import { setTimeout as delay } from "node:timers/promises";
import type { Check, World } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { eventually } from "../eventually.ts";
import { checkLoad } from "../load/load.ts";
import { ready, upgradeLine } from "./install.ts";

/** The folder helm/charts/nats of github.com/nats-io/k8s, as for deploy/test/nats-chart. */
const chart = process.env["YARD_NATS_CHART"] ?? "";

/**
 * NATS' own chart with the commands of the page, then each server is killed, and one loses its volume. The chart's reloader is left out: its
 * image is in no registry that this cluster reaches.
 */
export const threeServers: Check = {
  name: "nats-three",
  title:
    "with three NATS servers and three copies of each stream, every server is killed once and one loses its volume under load: nothing is lost or doubled",
  minutes: 25,
  skip: () =>
    chart === ""
      ? "YARD_NATS_CHART is not set: let it name the folder helm/charts/nats of github.com/nats-io/k8s"
      : null,
  async run({ lab, kubectl, load }) {
    const blocks = await commandsBelow("kubernetes.md", "Install in five minutes");
    const commands = blocks.find((block) => block.some((line) => line.includes("nats/nats"))) ?? [];
    await lab.shell("helm -n switchyard uninstall switchyard --wait --timeout 5m", 360_000);
    await kubectl.run(["delete", "pvc", "data-nats-0", "data-redis-0"]);
    for (const command of commands)
      if (!command.startsWith("helm repo"))
        await lab.shell(
          command.replace("nats/nats -f", `${chart} --set reloader.enabled=false -f`),
          300_000,
        );
    const nats = lab.kubectl.in("nats");
    await ready(nats);
    const sets = ["--set singleNats.enabled=false", "--set nats.streamReplicas=3"];
    await lab.shell(upgradeLine("--install", ...sets), 600_000);
    await ready(kubectl);
    const streams = await copies(lab.kubectl);

    const plan = { name: "three", runs: 150, takesMs: 1_500, perSecond: 2, seconds: 600 };
    const running = await load.start({ ...plan, nats: "nats://nats.nats:4222" });
    await delay(5_000);
    for (const name of ["nats-0", "nats-1", "nats-2"]) {
      await nats.run(["delete", "pod", name, "--force", "--grace-period=0"]);
      await ready(nats);
    }
    await nats.run(["delete", "pvc", "nats-js-nats-1", "--wait=false"]);
    await nats.run(["delete", "pod", "nats-1", "--force", "--grace-period=0"]);
    const began = performance.now();
    await ready(nats);
    await eventually("every stream has three current copies", () => copies(lab.kubectl), {
      timeoutMs: 180_000,
    });
    const seconds = Math.round((performance.now() - began) / 1_000);
    const counts = checkLoad(await running.result());
    return `${streams} streams with three copies; ${counts}; a server without its volume has all copies again after ${seconds} s`;
  },
};

interface Streams {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly cluster?: {
        readonly leader?: string;
        readonly replicas?: readonly { readonly current: boolean; readonly offline?: boolean }[];
      };
    }[];
  }[];
}

/** The number of streams. Each server's monitoring knows how far the followers are of those that it leads. Throws when one has fewer than two current followers. */
async function copies(kubectl: World["kubectl"]): Promise<number> {
  const counted = new Set<string>();
  for (const name of ["nats-0", "nats-1", "nats-2"]) {
    const path = `/api/v1/namespaces/nats/pods/${name}:8222/proxy/jsz?streams=true`;
    const reported: Streams = JSON.parse(await kubectl.run(["get", "--raw", path]));
    for (const { stream_detail: streams = [] } of reported.account_details ?? [])
      for (const stream of streams) {
        const { leader, replicas = [] } = stream.cluster ?? {};
        if (leader !== name) continue;
        const current = replicas.filter((replica) => replica.current && replica.offline !== true);
        if (current.length < 2)
          throw new Error(`${stream.name} has ${current.length} current followers at ${name}`);
        counted.add(stream.name);
      }
  }
  if (counted.size === 0) throw new Error("NATS reports no stream");
  return counted.size;
}
