import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Stage } from "../lib/stage.ts";

const START_MS = 30_000;
const STOP_MS = 3_000;

/** Starts a gateway in a process group of its own, and resolves when its port takes connections. */
export async function startGateway(
  stage: Stage,
  gateway: { program: string; args: readonly string[]; port: number },
): Promise<void> {
  const { program, args, port } = gateway;
  const home = await stage.directory();
  const preload = fileURLToPath(new URL("listen-on-loopback.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", preload, program, ...args], {
    detached: true,
    stdio: "ignore",
    // Its files are removed with the stage.
    env: { PATH: process.env["PATH"], HOME: home, NODE_ENV: "production" },
  });
  const exited = once(child, "exit");
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} could not be started`);
  stage.onEnd(async () => {
    kill(pid, "SIGTERM");
    await Promise.race([exited, delay(STOP_MS, null, { ref: false })]);
    kill(pid, "SIGKILL"); // the servers that it started are in its group
    await exited;
  });
  const end = performance.now() + START_MS;
  while (!(await takesConnections(port))) {
    if (child.exitCode !== null || performance.now() > end)
      throw new Error(`${program} does not listen on port ${port}`);
    await delay(50);
  }
}

function kill(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // process.kill throws no other
  }
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
