import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, World } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { eventually } from "../eventually.ts";
import { repository } from "../settings.ts";

export interface Pod {
  readonly metadata: {
    readonly name: string;
    /** Set on a pod that is ending. */
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind: string }[];
  };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly restartCount: number }[];
  };
}

/** Runs the page's commands; the one that loads the image into kind is the only one that another cluster does differently. */
export const install: Check = {
  name: "install",
  title: "the commands of docs/kubernetes.md install it, and every pod becomes ready",
  isInstallation: true,
  async run({ lab, kubectl }) {
    const [commands = []] = await commandsBelow("kubernetes.md", "Install in five minutes");
    const began = performance.now();
    for (const command of commands)
      if (!command.startsWith("kind load ")) await lab.shell(command, 600_000);
    const pods = await ready(kubectl);
    const seconds = Math.round((performance.now() - began) / 1_000);
    return `${pods.length} pods ready ${seconds} s after the first command; restarts: ${restartsOf(pods)}`;
  },
};

export const firstRun: Check = {
  name: "first-run",
  isInstallation: true,
  title: "`helm test`, a run over NATS, an API key and the console work as the page has them",
  async run({ lab }) {
    const [, commands = []] = await commandsBelow("kubernetes.md", "Install in five minutes");
    // A person reads what a forwarded port prints before the next line.
    const waits =
      "for i in $(seq 100); do (: </dev/tcp/127.0.0.1/PORT) 2>/dev/null && break; sleep 0.2; done";
    const lines = commands
      .map((line) => line.replace(/ # .*$/, ""))
      .flatMap((line) => {
        const port = /port-forward \S+ (\d+)\S* &$/.exec(line)?.[1];
        return port === undefined ? [line] : [line, waits.replace("PORT", port)];
      });
    const script = [
      "trap 'kill $(jobs -p) 2>/dev/null' EXIT",
      ...lines.map((line) => (line.startsWith("./yard keys api") ? `${line} | tee api-key` : line)),
      `curl -sf http://127.0.0.1:8321/ -H 'accept: text/html' | grep -o '<title>[^<]*'`,
    ];
    const said = await lab.shell(script.join("\n"), 300_000);
    if (!said.includes("<title>")) throw new Error(`the console did not answer:\n${said}`);
    const key = /yk_[\w-]+/.exec(await readFile(join(lab.clone, "api-key"), "utf8"))?.[0];
    if (key === undefined) throw new Error(`no API key was printed:\n${said}`);
    await writeFile(join(lab.clone, "api-key"), key);
    return "helm test, yard run demo, an API key and the console's page";
  },
};

/** The chart with the values of the checks: two replicas of each service, the agents and rules that count. */
export const widen: Check = {
  name: "upgrade",
  title:
    "an upgrade to two replicas, other rules and agents becomes ready while NATS and Redis stay",
  isInstallation: true,
  async run({ lab, kubectl, load }) {
    const [before] = await kubectl.list<{ metadata: { uid: string } }>(
      "pod",
      "-lapp.kubernetes.io/name=nats",
    );
    await load.install();
    await lab.shell(upgradeLine(), 600_000);
    const pods = await ready(kubectl);
    const [after] = await kubectl.list<{ metadata: { uid: string } }>(
      "pod",
      "-lapp.kubernetes.io/name=nats",
    );
    if (before?.metadata.uid !== after?.metadata.uid) throw new Error("NATS was restarted");
    const said = await lab.shell("helm -n switchyard test switchyard --timeout 4m", 300_000);
    if (!said.includes("Succeeded")) throw new Error(said);
    return `${pods.length} pods ready; restarts: ${restartsOf(pods)}`;
  },
};

/** The upgrade of all later checks. With Helm 4 it takes back the replicas that `kubectl scale` set. */
export function upgradeLine(...more: readonly string[]): string {
  const values = join(repository, "test/cluster/manifests/values.yaml");
  return `helm -n switchyard upgrade switchyard deploy/helm/switchyard -f ${values} --force-conflicts ${more.join(" ")}`;
}

/** Waits until every deployment and stateful set is rolled out and no pod is left that is not ready. */
export async function ready(
  kubectl: World["kubectl"],
  timeoutMs = 420_000,
): Promise<readonly Pod[]> {
  await eventually(
    "the rollout of every workload ends",
    async () => {
      const { code } = await kubectl.try([
        "rollout",
        "status",
        "deployment,statefulset",
        "--timeout=60s",
      ]);
      return code === 0;
    },
    { timeoutMs },
  );
  return await eventually(
    "every pod is ready",
    async () => {
      const all = await kubectl.list<Pod>("pod");
      // The pods of Jobs and of `helm test` end; those of workloads have to be ready.
      const pods = all.filter(({ metadata: { ownerReferences: [owner] = [] } }) =>
        ["ReplicaSet", "StatefulSet"].includes(owner?.kind ?? ""),
      );
      const isReady = ({ status }: Pod): boolean =>
        status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ===
        true;
      return pods.length > 0 && pods.every(isReady) ? pods : null;
    },
    { timeoutMs },
  );
}

function restartsOf(pods: readonly Pod[]): number {
  const counts = pods.flatMap(({ status }) => status.containerStatuses ?? []);
  return counts.reduce((sum, { restartCount }) => sum + restartCount, 0);
}
