import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Starts one service as a process of its own and waits until it is ready; it is stopped when the test ends. */
export async function startServiceProcess(
  service: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly pid: number }> {
  const child = spawn(process.execPath, [join(root, "services", service, "src/main.ts")], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited: Promise<unknown> = once(child, "exit");
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
  });
  const lines: string[] = [];
  const ready = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (line.includes('"msg":"service ready"')) resolve();
    });
  });
  const early = exited.then(() => {
    throw new Error(`${service} ended before it was ready:\n${lines.slice(-10).join("\n")}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => {}); // from here on its end is the test's own doing
  return { pid: child.pid ?? 0 };
}
