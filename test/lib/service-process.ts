import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface TestService {
  readonly pid: number;
  /** The URL of `/readyz`. */
  readonly healthUrl: string;
  /** Lines of its log so far. */
  readonly lines: readonly string[];
  /** Null as long as it runs. */
  exitCode(): number | NodeJS.Signals | null;
}

/** Starts one service as a process of its own and waits until it is ready; it is stopped when the test ends. */
export async function startServiceProcess(
  service: string,
  env: Readonly<Record<string, string>>,
): Promise<TestService> {
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
  const ready = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (line.includes('"msg":"service ready"'))
        resolve((JSON.parse(line) as { healthUrl: string }).healthUrl); // as libs/service logs it
    });
  });
  const early = exited.then(() => {
    throw new Error(`${service} ended before it was ready:\n${lines.slice(-10).join("\n")}`);
  });
  const healthUrl = await Promise.race([ready, early]);
  early.catch(() => {}); // from here on its end is caused by the test
  return {
    pid: child.pid ?? 0,
    healthUrl,
    lines,
    exitCode: () => child.exitCode ?? child.signalCode,
  };
}
