import { spawn, type ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";

/** Starts a program that the kernel kills when this process ends, however that happens. */
export function detach(command: readonly string[], env: Record<string, string>): ChildProcess {
  return spawn("setpriv", ["--pdeathsig", "KILL", ...command], {
    env: { ...process.env, ...env },
    stdio: "ignore",
  });
}

/** Kills a detached program; with `unshare --kill-child` the whole PID namespace goes with it. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}

/** `setpriv` and `unshare` become one process, whose only child is the first one of the namespaces. */
export async function childOf(parent: number): Promise<number | null> {
  const path = `/proc/${parent}/task/${parent}/children`;
  const child = Number((await readFile(path, "utf8")).trim().split(" ")[0]);
  return child > 0 ? child : null;
}
