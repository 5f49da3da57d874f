import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startNatsServer } from "@switchyard/local-servers/nats-server";
import { startRedisServer } from "@switchyard/local-servers/redis-server";
import { resolveServer } from "@switchyard/local-servers/resolve";

/** Servers, processes and directories of one benchmark, all gone when it ends. */
export class Stage {
  readonly #stops: (() => Promise<unknown>)[] = [];

  async directory(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), "yard-bench-"));
    this.#stops.push(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  /** nats-server with JetStream, `sync_interval: always`. */
  async nats(config?: string): Promise<string> {
    return (await this.natsProcess(config)).url;
  }

  /** Does the same, for a benchmark that measures the server's process. */
  async natsProcess(config?: string): Promise<{ readonly url: string; readonly pid: number }> {
    const dataDir = await this.directory();
    const binary = await binaryOf("nats");
    const server = await startNatsServer({ binary, dataDir, ...(config && { config }) });
    this.#stops.push(() => server.stop());
    return server;
  }

  async redis(): Promise<string> {
    const dataDir = await this.directory();
    const binary = await binaryOf("redis");
    const server = await startRedisServer({ binary, dataDir, appendfsync: "always" });
    this.#stops.push(() => server.stop());
    return server.url;
  }

  /**
   * Starts a file as a process of its own with an IPC channel, and waits until it sends `"ready"`.
   * Rejects when it ends before.
   */
  async process(file: URL, env: Record<string, string>): Promise<ChildProcess> {
    const child = fork(file, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const exited = once(child, "exit");
    this.#stops.push(async () => {
      child.kill("SIGTERM");
      await exited;
    });
    const [outcome] = await Promise.race([
      once(child, "message"),
      exited.then(([code]) => {
        throw new Error(`${file.pathname} ended with ${code} before it was ready`);
      }),
    ]);
    if (outcome !== "ready") throw new Error(`${file.pathname} said ${JSON.stringify(outcome)}`);
    return child;
  }

  onEnd(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  async end(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
    this.#stops.length = 0;
  }
}

async function binaryOf(kind: "nats" | "redis"): Promise<string> {
  const { YARD_NATS_URL: _nats, YARD_REDIS_URL: _redis, ...env } = process.env;
  const found = await resolveServer({ kind, env, log: (line) => console.error(line) });
  if (found.how !== "binary")
    throw new Error(`the benchmark needs a ${kind} binary, found ${found.how}`);
  return found.binary;
}
