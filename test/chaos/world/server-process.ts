import { setTimeout as delay } from "node:timers/promises";
import { startNatsServer } from "@switchyard/local-servers/nats-server";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import { startRedisServer } from "@switchyard/local-servers/redis-server";
import { resolveServer } from "@switchyard/local-servers/resolve";
import type { RunningServer } from "@switchyard/local-servers/server-process";

/** NATS or Redis, which come back on the same port with the same data. */
export class ServerProcess {
  readonly name: string;
  readonly pids: number[] = [];
  #server: RunningServer;
  readonly #start: (port: number, isOpen: boolean) => Promise<RunningServer>;
  #change: Promise<void> = Promise.resolve();

  private constructor(
    name: string,
    server: RunningServer,
    start: (port: number, isOpen: boolean) => Promise<RunningServer>,
  ) {
    this.name = name;
    this.#server = server;
    this.#start = start;
    this.pids.push(server.pid);
  }

  /** nats-server with `sync_interval: always`. */
  static async nats(dataDir: string, config: string): Promise<ServerProcess> {
    const binary = await binaryOf("nats");
    const start = (port: number, isOpen: boolean) =>
      startNatsServer({ binary, dataDir, port, ...(isOpen ? {} : { config }) });
    return new ServerProcess("nats", await start(0, false), start);
  }

  /** redis-server with `appendfsync always`, and nobody but the users of the list. */
  static async redis(dataDir: string, access: RedisAccess): Promise<ServerProcess> {
    const binary = await binaryOf("redis");
    const start = (port: number) =>
      startRedisServer({ binary, dataDir, port, access, appendfsync: "always" });
    return new ServerProcess("redis", await start(0), start);
  }

  get port(): number {
    return this.#server.port;
  }

  get url(): string {
    return this.#server.url;
  }

  /** NATS only: its monitoring endpoint. */
  get monitorUrl(): string {
    return this.#server.monitorUrl ?? "";
  }

  takeDown(signal: "SIGKILL" | "SIGTERM"): void {
    this.#server.kill(signal);
  }

  /** Starts it again once it has ended; resolves when it answers. */
  restore(): Promise<void> {
    this.#change = this.#restoreAfter(this.#change);
    return this.#change;
  }

  /** Starts it anew without users and permissions, for who reads everything afterwards. */
  async reopen(): Promise<void> {
    await this.stop();
    await this.#startAgain({ isOpen: true });
  }

  freeze(): void {
    this.#server.kill("SIGSTOP");
  }

  thaw(): void {
    this.#server.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.#change;
    await this.#server.stop();
  }

  async #restoreAfter(before: Promise<void>): Promise<void> {
    await before;
    await this.#server.exited;
    await this.#startAgain({ isOpen: false });
  }

  /** A client of the one that was killed may hold the port for a moment. */
  async #startAgain({ isOpen }: { isOpen: boolean }): Promise<void> {
    const { port } = this.#server;
    for (let attempt = 1; ; attempt += 1) {
      try {
        this.#server = await this.#start(port, isOpen);
        this.pids.push(this.#server.pid);
        return;
      } catch (error) {
        if (attempt === START_ATTEMPTS) throw error;
        await delay(START_PAUSE_MS);
      }
    }
  }
}

const START_ATTEMPTS = 10;
const START_PAUSE_MS = 500;

async function binaryOf(kind: "nats" | "redis"): Promise<string> {
  // Never a configured server (it is somebody's data) nor a container (they are signalled by pid).
  const steps = ["binary", "packages"] as const;
  const found = await resolveServer({ kind, env: process.env, log: () => {}, steps: [...steps] });
  if (found.how !== "binary")
    throw new Error(`${kind} was found as ${found.how}, not as a program`);
  return found.binary;
}
