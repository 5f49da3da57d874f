import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, World } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { eventually } from "../eventually.ts";
import type { Lab } from "../lab.ts";
import { checkLoad } from "../load/load.ts";
import { repository } from "../settings.ts";
import { ready, upgradeLine, type Pod } from "./install.ts";
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

/** The gateway's pods see a replaced Secret when the kubelet has synchronized it, within some two minutes. */
export const replaceCertificate: Check = {
  name: "certificate",
  title: "the gateway answers with the new certificate of its Secret; no pod is replaced",
  async run({ lab, kubectl }) {
    const first = await newCertificate(lab);
    const url = "--set gateway.tls.secret=gateway-tls,gateway.url=https://gateway.example.com";
    await lab.shell(upgradeLine(url), 600_000);
    try {
      await ready(kubectl);
      if ((await servedCertificate(lab)) !== first)
        throw new Error("the gateway answers with another certificate than that of the Secret");
      const pods = await gatewayPods(kubectl);
      const second = await newCertificate(lab);
      const began = performance.now();
      await eventually(
        "the gateway answers with the new certificate",
        async () => (await servedCertificate(lab)) === second,
        { timeoutMs: 240_000 },
      );
      const seconds = Math.round((performance.now() - began) / 1_000);
      if ((await gatewayPods(kubectl)) !== pods) throw new Error("a pod was replaced or restarted");
      return `served ${seconds} s after the Secret was replaced`;
    } finally {
      await lab.shell(upgradeLine(), 600_000);
      await ready(kubectl);
    }
  },
};

/** Replaces the Secret as cert-manager does, and returns the serial number of its certificate. */
async function newCertificate(lab: Lab): Promise<string> {
  const serial = await lab.shell(
    [
      "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=gateway.example.com -keyout tls.key -out tls.crt 2>/dev/null",
      "kubectl -n switchyard create secret tls gateway-tls --cert=tls.crt --key=tls.key --dry-run=client -o yaml | kubectl apply -f - >/dev/null",
      "openssl x509 -in tls.crt -noout -serial",
    ].join("\n"),
  );
  return serial.trim();
}

async function servedCertificate(lab: Lab): Promise<string> {
  const serial = await lab.shell(
    [
      "trap 'kill $(jobs -p) 2>/dev/null' EXIT",
      "kubectl -n switchyard port-forward svc/gateway 8443:443 >/dev/null &",
      "for i in $(seq 100); do (: </dev/tcp/127.0.0.1/8443) 2>/dev/null && break; sleep 0.2; done",
      "openssl s_client -connect 127.0.0.1:8443 </dev/null 2>/dev/null | openssl x509 -noout -serial",
    ].join("\n"),
  );
  return serial.trim();
}

/** Returns the names of the pods, and how often each was started again. */
async function gatewayPods(kubectl: World["kubectl"]): Promise<string> {
  const pods = await kubectl.list<Pod>("pod", "-lapp.kubernetes.io/name=gateway");
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, status }) => {
      const counts = (status.containerStatuses ?? []).map(({ restartCount }) => restartCount);
      return `${metadata.name}: ${counts.join()}`;
    })
    .toSorted()
    .join("; ");
}

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
