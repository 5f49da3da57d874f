import { createReadStream } from "node:fs";
import { chmod, copyFile, mkdir, readFile, symlink, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kubernetesTool } from "../../deploy/test/kubernetes-tools.ts";
import { installAddons } from "./addons.ts";
import { eventually } from "./eventually.ts";
import { Kubectl } from "./kubectl.ts";
import { provisionVolumes, storageClass } from "./nodes/provision-volumes.ts";
import { startNodes, type Node } from "./nodes/start-nodes.ts";
import { runProgram, tryProgram, type Ended } from "./run-program.ts";
import { repository, type Settings } from "./settings.ts";

/** A cluster that runs, and a clone of this project on a machine that reaches it. */
export interface Lab {
  readonly nodes: readonly Node[];
  readonly kubectl: Kubectl;
  /** The clone: this working tree, with keys and state of its own. */
  readonly clone: string;
  /** Runs a line of bash as the person would who installs: in the clone, with kubectl, helm and `./yard`. */
  shell(line: string, timeoutMs?: number): Promise<string>;
  tryShell(line: string, timeoutMs?: number): Promise<Ended>;
  stop(): Promise<void>;
}

export async function startLab(
  { cache, nodes: count }: Settings,
  {
    images,
    missing,
    log,
  }: {
    images: readonly string[];
    /** Programs that could not be built. */
    missing: ReadonlySet<string>;
    log: (line: string) => void;
  },
): Promise<Lab> {
  const programs = await clientPrograms(cache);
  const began = performance.now();
  const cluster = await startNodes(cache, { count, kubectl: join(programs, "kubectl") });
  const ended = new AbortController();
  let provisioning: Promise<void> = Promise.resolve();
  const stop = async (): Promise<void> => {
    ended.abort();
    await provisioning;
    await cluster.stop();
  };
  try {
    const [first] = cluster.nodes;
    if (first === undefined) throw new Error("no node");
    const kubectl = new Kubectl(
      first.inNetwork([join(programs, "kubectl"), `--kubeconfig=${cluster.kubeconfig}`]),
    );
    await eventually(
      "all nodes are ready",
      async () => {
        const nodes = await kubectl.run(["get", "nodes", "--no-headers"]);
        return (
          nodes
            .trim()
            .split("\n")
            .filter((line) => / Ready /.test(line)).length === count
        );
      },
      { timeoutMs: 240_000 },
    );
    log(`Kubernetes answers, ${count} nodes, ${seconds(began)}`);
    for (const node of cluster.nodes) for (const image of images) await loadImage(node, image);
    log(`images are loaded, ${seconds(began)}`);
    await kubectl.apply(storageClass);
    const addons = fileURLToPath(new URL("manifests/addons.yaml", import.meta.url));
    await kubectl.apply(await readFile(addons, "utf8"));
    const folder = join(cache, "run/volumes");
    const names = cluster.nodes.map(({ name }) => name);
    provisioning = provisionVolumes(kubectl, { folder, nodes: names, signal: ended.signal });
    await kubectl.run(
      ["-n", "kube-system", "rollout", "status", "daemonset/coredns", "--timeout=180s"],
      {},
    );
    log(`names resolve, ${seconds(began)}`);
    const program = join(programs, "kubectl");
    const installed = await installAddons(kubectl, { cache, program, missing });
    log(`installed: ${installed.join(", ") || "no addon"}, ${seconds(began)}`);
    const clone = await makeClone(join(cache, "run/clone"));
    const environment = [
      `PATH=${programs}:${join(repository, "node_modules/.bin")}:/usr/sbin:/usr/bin:/sbin:/bin`,
      `KUBECONFIG=${cluster.kubeconfig}`,
      `HOME=${join(cache, "run/home")}`,
    ];
    const bash = first.inNetwork([
      "env",
      "-i",
      ...environment,
      "bash",
      "--norc",
      "-euo",
      "pipefail",
      "-c",
    ]);
    const options = (timeoutMs: number): { cwd: string; timeoutMs: number } => ({
      cwd: clone,
      timeoutMs,
    });
    return {
      nodes: cluster.nodes,
      kubectl,
      clone,
      shell: (line, timeoutMs = 300_000) => runProgram([...bash, line], options(timeoutMs)),
      tryShell: (line, timeoutMs = 300_000) => tryProgram([...bash, line], options(timeoutMs)),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** kubectl and helm in a folder that the nodes see as well. */
async function clientPrograms(cache: string): Promise<string> {
  const folder = join(cache, "bin");
  for (const name of ["kubectl", "helm"] as const) {
    const path = await kubernetesTool(name);
    if (path === null) throw new Error(`${name} is neither in node_modules nor on the PATH`);
    const found = path.includes("/") ? path : (await runProgram(["which", path])).trim();
    await copyFile(found, join(folder, name));
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

async function loadImage(node: Node, archive: string): Promise<void> {
  const ctr = ["ctr", "--namespace", "k8s.io", "images", "import", "--no-unpack=false", "-"];
  await node.run(ctr, { input: createReadStream(archive), timeoutMs: 600_000 });
}

/** Links to the files of this working tree, so that what a person writes beside them (keys, state) is not in it. */
async function makeClone(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const leftOut = new Set([".git", ".yard", "keys"]);
  for (const name of await readdir(repository))
    if (!leftOut.has(name)) await symlink(join(repository, name), join(folder, name));
  return folder;
}

function seconds(began: number): string {
  return `${Math.round((performance.now() - began) / 1_000)} s`;
}
