import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, World } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { checkLoad } from "../load/load.ts";
import { repository } from "../settings.ts";
import { ready, upgradeLine } from "./install.ts";
import { listed } from "./run-yard.ts";

const inToolbox = ["exec", "deployment/toolbox", "--", "sh", "-c"];

/** Runs the page's commands: everything is saved, deleted from the volumes and restored. */
export const backup: Check = {
  name: "backup",
  title:
    "NATS, Redis and the agents' files are saved, deleted and restored with the commands of docs/kubernetes.md; runs are listed as before",
  minutes: 20,
  async run(world) {
    const { lab, kubectl } = world;
    const [stop = [], save = [], start = [], restore = []] = await commandsBelow(
      "kubernetes.md",
      "Back up and restore",
    );
    await usePod(world);
    await kubectl.run([...inToolbox, "echo kept > /workspaces/kept.txt"]);
    const before = await listed(lab);
    const began = performance.now();
    await inOrder(world, [...stop, ...save, ...start]);
    await ready(kubectl);
    const saved = Math.round((performance.now() - began) / 1_000);
    await loadOf(world, "later"); // these runs are not in the backup
    await inOrder(world, [...stop, ...restore, ...start]);
    await ready(kubectl);
    const after = await listed(lab);
    if (after.join() !== before.join())
      throw new Error(`the list of runs was ${before.join(", ")} and is ${after.join(", ")}`);
    const kept = await kubectl.run([...inToolbox, "cat /workspaces/kept.txt"]);
    if (kept.trim() !== "kept") throw new Error(`the toolbox's file reads ${kept}`);
    const counts = await loadOf(world, "restored");
    await lab.shell(upgradeLine(), 600_000);
    return `saved and ready again after ${saved} s; ${before.length} runs as before; then ${counts}`;
  },
};

/** The page's commands replace the broker's seed and password while runs are in flight. */
export const replaceKey: Check = {
  name: "keys",
  title:
    "the broker's seed and password are replaced with the commands of docs/kubernetes.md under load; nothing is lost or doubled",
  async run(world) {
    const [commands = []] = await commandsBelow("kubernetes.md", "Replace a key");
    const plan = { name: "keys", runs: 60, takesMs: 1_500, perSecond: 3, seconds: 420 };
    const running = await world.load.start(plan);
    const seed = (): Promise<string> => readFile(join(world.lab.clone, "keys/broker.nk"), "utf8");
    const before = await seed();
    await inOrder(world, commands);
    await ready(world.kubectl);
    if ((await seed()) === before) throw new Error("the seed is the same");
    return checkLoad(await running.result());
  },
};

async function inOrder({ lab }: World, commands: readonly string[]): Promise<void> {
  for (const command of commands)
    await lab.shell(command.replace("deploy/k8s/examples/backup.yaml", "backup.yaml"), 600_000);
}

/** The page's manifest with the image of this cluster, in place of the link to the repository's. */
async function usePod({ lab }: World): Promise<void> {
  const path = "deploy/k8s/examples/backup.yaml";
  const text = await readFile(join(repository, path), "utf8");
  await writeFile(
    join(lab.clone, "backup.yaml"),
    text.replace(/image: ghcr\.io\S+/, "image: switchyard:dev"),
  );
}

async function loadOf({ load }: World, name: string): Promise<string> {
  const plan = { name, runs: 10, takesMs: 0, perSecond: 10, seconds: 120 };
  return checkLoad(await (await load.start(plan)).result());
}
