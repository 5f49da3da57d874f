import type { ChildProcess } from "node:child_process";
import { mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childOf, detach, endProcess } from "../detached.ts";
import { eventually } from "../eventually.ts";
import { runProgram, type ProgramOptions } from "../run-program.ts";
import { controlAddress, makeCertificates } from "./certificates.ts";

const scriptOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const CGROUPS = "/sys/fs/cgroup";

export interface Node {
  readonly name: string;
  readonly address: string;
  /** Runs a program inside the node: its files, network and processes. */
  run(command: readonly string[], options?: ProgramOptions): Promise<string>;
  /** A command that runs in the node's network only, with this machine's files. */
  inNetwork(command: readonly string[]): string[];
  /** Cuts the cable to the other node, or joins it again. */
  cable(state: "up" | "down"): Promise<void>;
}

export interface Nodes {
  readonly nodes: readonly Node[];
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/**
 * Starts the control plane and one or two nodes, each in namespaces of its own for mounts, processes, network and host name. Nothing of them has
 * a name on this machine: when the first process of a node ends, the kernel ends all of it, and it ends with this process at the latest.
 */
export async function startNodes(
  cache: string,
  { count, kubectl }: { count: 1 | 2; kubectl: string },
): Promise<Nodes> {
  const run = join(cache, "run");
  await rm(run, { recursive: true, force: true });
  const plan = Array.from({ length: count }, (_, index) => ({
    name: `node${index + 1}`,
    address: index === 0 ? controlAddress : `10.200.0.${index + 1}`,
    pods: `10.244.${index}.0/24`,
  }));
  await makeCertificates(join(run, "pki"), { kubectl, nodes: plan });
  const started: { child: ChildProcess; pid: number; plan: (typeof plan)[number] }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map(({ child }) => endProcess(child)));
    await removeCgroups();
    await rm(run, { recursive: true, force: true });
  };
  try {
    for (const [index, node] of plan.entries()) {
      await mkdir(join(run, node.name), { recursive: true });
      const namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"];
      const enter = [scriptOf("enter-root.sh"), cache, join(run, node.name)];
      const inside = [scriptOf("node.sh"), cache, node.name, node.address, node.pods];
      const role = index === 0 ? ["control"] : [];
      const child = detach(["unshare", ...namespaces, ...enter, ...inside, ...role], {
        SHARED: scriptOf("."),
      });
      const pid = await eventually("the node's first process", () => childOf(child.pid ?? 0), {
        timeoutMs: 10_000,
        everyMs: 50,
      });
      started.push({ child, pid, plan: node });
    }
    await layCable(started.map(({ pid }) => pid));
    for (const [index, { pid }] of started.entries()) {
      const others = plan.filter((_, other) => other !== index);
      for (const { pods, address } of others)
        await eventually("a route to the other node's pods", () =>
          inNetworkOf(pid, ["ip", "route", "replace", pods, "via", address]),
        );
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const nodes = started.map(({ pid, plan: node }) => nodeOf(cache, pid, node));
  return { nodes, kubeconfig: join(run, "pki/admin.conf"), stop };
}

function nodeOf(
  cache: string,
  pid: number,
  { name, address }: { name: string; address: string },
): Node {
  const path = `PATH=${cache}/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin`;
  const enter = ["nsenter", "-t", String(pid), "-m", "-p", "-n", "-u", "env", path];
  return {
    name,
    address,
    run: (command, options) => runProgram([...enter, ...command], options),
    inNetwork: (command) => ["nsenter", "-t", String(pid), "-n", ...command],
    cable: async (state) => void (await inNetworkOf(pid, ["ip", "link", "set", "cable", state])),
  };
}

async function inNetworkOf(pid: number, command: readonly string[]): Promise<string> {
  return await runProgram(["nsenter", "-t", String(pid), "-n", ...command]);
}

/** The two ends of one virtual cable; a single node gets both, so that its script finds one. */
async function layCable([first = 0, second]: readonly number[]): Promise<void> {
  await inNetworkOf(first, ["ip", "link", "add", "cable", "type", "veth", "peer", "other"]);
  if (second === undefined) return;
  await inNetworkOf(first, [
    "ip",
    "link",
    "set",
    "other",
    "netns",
    String(second),
    "name",
    "cable",
  ]);
}

/** The processes of pods ended with the node's namespace; the kernel keeps the empty groups, and each for as long as a process is dying in it. */
async function removeCgroups(): Promise<void> {
  for (const controller of await readdir(CGROUPS)) {
    const top = join(CGROUPS, controller, "switchyard-cluster");
    await eventually(`${top} is removed`, () => isRemoved(top), {
      timeoutMs: 30_000,
      everyMs: 200,
    });
  }
}

async function isRemoved(top: string): Promise<boolean> {
  const below = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => null);
  if (below === null) return true;
  const folders = below.filter((entry) => entry.isDirectory());
  const paths = folders.map(({ parentPath, name }) => join(parentPath, name));
  for (const path of [...paths.toSorted((a, b) => b.length - a.length), top]) await rmdir(path);
  return true;
}
