import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { childOf, detach, endProcess } from "../detached.ts";
import { eventually } from "../eventually.ts";
import { repository } from "../settings.ts";
import { runProgram, tryProgram } from "../run-program.ts";

const enterRoot = fileURLToPath(new URL("../nodes/enter-root.sh", import.meta.url));

export interface Docker {
  run(args: readonly string[], timeoutMs?: number): Promise<string>;
  /** A command that runs in the daemon's network, with this machine's files and, first on its PATH, a `docker` that enters the daemon's. */
  inNetwork(command: readonly string[]): string[];
  stop(): Promise<void>;
}

/**
 * A daemon in Debian's files and namespaces of its own. With the network of the machine, for builds, it changes no address, route or rule;
 * with one of its own it has bridges and published ports, and no way to anywhere else.
 */
export async function startDocker(
  cache: string,
  { network }: { network: "machine" | "own" },
): Promise<Docker> {
  const folder = join(cache, "docker");
  await mkdir(join(cache, "images"), { recursive: true });
  await rm(join(folder, "run"), { recursive: true, force: true });
  await mkdir(join(folder, "run/bin"), { recursive: true });
  const socket = `unix://${join(folder, "run/docker.sock")}`;
  const namespaces = ["--mount", "--pid", ...(network === "own" ? ["--net"] : [])];
  const options = {
    machine: ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--bridge=none"],
    own: ["--cgroup-parent=/switchyard-cluster/docker"],
  };
  const start = network === "own" ? ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"] : [];
  const daemon = detach(
    ["unshare", ...namespaces, "--fork", "--kill-child", enterRoot, cache, join(folder, "daemon")]
      .concat(start)
      .concat(["dockerd", "-H", socket, "--data-root", join(folder, "data")])
      .concat(["--exec-root", join(folder, "run/exec"), "--pidfile", join(folder, "run/pid")])
      .concat(options[network]),
    { SHARED: repository },
  );
  const stop = (): Promise<void> => endProcess(daemon);
  try {
    const pid = await eventually("the daemon's first process", () => childOf(daemon.pid ?? 0), {
      timeoutMs: 10_000,
      everyMs: 50,
    });
    const enter = ["nsenter", "-t", String(pid), "-n"];
    const client = join(folder, "run/bin/docker");
    const words = `${enter.join(" ")} -m -p env -C "$PWD" DOCKER_HOST=${socket}`;
    const path = "PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin";
    await writeFile(client, `#!/bin/sh\nexec ${words} ${path} docker "$@"\n`, { mode: 0o755 });
    await eventually("the Docker daemon answers", async () => {
      const { code } = await tryProgram([client, "version"], { cwd: repository });
      return code === 0;
    });
    const all = `PATH=${join(folder, "run/bin")}:${process.env["PATH"] ?? ""}`;
    return {
      run: (args, timeoutMs = 600_000) =>
        runProgram([client, ...args], { cwd: repository, timeoutMs }),
      inNetwork: (command) => [...enter, "env", all, ...command],
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
