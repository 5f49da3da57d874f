import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { Check, World } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { older, olderCode } from "../build/images.ts";
import { checkLoad, type LoadPlan } from "../load/load.ts";
import { ready, upgradeLine } from "./install.ts";
import { listed } from "./run-yard.ts";

/**
 * Chart, image and rights of the version before are installed as its own page has it, on empty stores; then the page's commands upgrade. The keys
 * stay those of the cluster, since other namespaces have theirs.
 */
export const olderVersion: Check = {
  name: "older-version",
  title:
    "from the image and chart of the version before an upgrade to this one, `helm rollback` and an upgrade again, each under load; nothing is lost or doubled",
  minutes: 25,
  skip: ({ cache }) =>
    existsSync(join(olderCode(cache), "package.json"))
      ? null
      : "the version before this one is not in the history of this clone",
  async run(world) {
    const { lab, kubectl } = world;
    await lab.shell("helm -n switchyard uninstall switchyard --wait --timeout 5m", 360_000);
    await kubectl.run(["delete", "pvc", "data-nats-0", "data-redis-0"]);
    await installOlder(world);
    const first = await underLoad(world, "old", async () => undefined);

    const [commands = []] = await commandsBelow("kubernetes.md", "Upgrade");
    const up = await underLoad(world, "up", async () => {
      for (const command of commands) await lab.shell(command.replace(/ # .*$/, ""));
      for (const store of ["nats", "redis"])
        await kubectl.run(["rollout", "restart", `statefulset/${store}`]);
      await ready(kubectl);
      await lab.shell(upgradeLine(), 600_000);
    });
    await imagesAre(world, "switchyard:dev");
    const before = await listed(lab);
    const back = await underLoad(world, "down", async () => {
      const line = "helm -n switchyard rollback switchyard 1 --force-conflicts --timeout 5m";
      await lab.shell(line, 360_000);
    });
    await imagesAre(world, older);
    const again = await underLoad(world, "again", async () => {
      await lab.shell(upgradeLine(), 600_000);
    });
    await imagesAre(world, "switchyard:dev");
    const after = await listed(lab);
    const lost = before.filter((id) => !after.includes(id));
    // The list has the newest runs: each new one takes the place of an old one.
    if (lost.length > after.filter((id) => !before.includes(id)).length)
      throw new Error(`runs that are gone: ${lost.join(", ")}`);
    return `old: ${first}; up: ${up}; back: ${back}; up again: ${again}`;
  },
};

async function installOlder({ cache, lab, kubectl }: World): Promise<void> {
  const code = olderCode(cache);
  await cp(join(lab.clone, "keys"), join(code, "keys"), { recursive: true });
  const values = `-f test/cluster/manifests/values.yaml --set image.tag=${older.split(":")[1]}`;
  const lines = [
    `cd ${code}`,
    "./yard keys init --dir keys",
    "kubectl -n switchyard create secret generic yard-keys --from-file=keys --dry-run=client -o yaml | kubectl apply -f -",
    `helm -n switchyard install switchyard deploy/helm/switchyard ${values}`,
  ];
  await lab.shell(lines.join("\n"), 600_000);
  await ready(kubectl);
  await imagesAre({ kubectl }, older);
}

/** Returns the counts of runs that are in work while something is done. */
async function underLoad(
  { load, kubectl }: World,
  name: string,
  work: () => Promise<void>,
): Promise<string> {
  const plan: LoadPlan = { name, runs: 60, takesMs: 1_500, perSecond: 2, seconds: 420 };
  const running = await load.start(plan);
  await work();
  await ready(kubectl);
  return checkLoad(await running.result());
}

/** Throws unless every service runs the image. */
async function imagesAre({ kubectl }: Pick<World, "kubectl">, image: string): Promise<void> {
  const path = "jsonpath={.items[*].spec.template.spec.containers[0].image}";
  const found = await kubectl.run(["get", "deployment", "-o", path]);
  const others = found.split(" ").filter((name) => name !== image);
  if (others.length > 0) throw new Error(`${image} is to run everywhere, and there are ${found}`);
}
