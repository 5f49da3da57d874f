import { setTimeout as delay } from "node:timers/promises";
import { startNatsServer } from "@switchyard/local-servers/nats-server";
import type { RedisAccess } from "@switchyard/local-servers/redis-access";
import { startRedisServer } from "@switchyard/local-servers/redis-server";
import { resolveServer } from "@switchyard/local-servers/resolve";
import type { RunningServer } from "@switchyard/local-servers/server-process";
import type { SmallDisk } from "@switchyard/local-servers/small-disk";

interface ServerOptions {
  /** Directory on the disk of its own, when it has one. */
  readonly dataDir: string;
  /** A path elsewhere, so that it can be written when the disk is full. */
  readonly logFile: string;
  /** Null: its disk cannot be filled. */
  readonly disk: SmallDisk | null;
}

type Start = (port: number, isOpen: boolean) => Promise<RunningServer>;

/** NATS or Redis, which come back on the same port with the same data. */
export class ServerProcess {
  readonly name: string;
  readonly pids: number[] = [];
  #server: RunningServer;
  readonly #start: Start;
  readonly #disk: SmallDisk | null;
  #change: Promise<void> = Promise.resolve();

  private constructor(
    name: string,
    { server, start, disk }: { server: RunningServer; start: Start; disk: SmallDisk | null },
  ) {
    this.name = name;
    this.#server = server;
    this.#start = start;
    this.#disk = disk;
    this.pids.push(server.pid);
  }

  /** nats-server with `sync_interval: always`. */
  static async nats(
    { disk, ...paths }: ServerOptions,
    { config }: { config: string },
  ): Promise<ServerProcess> {
    const binary = await binaryOf("nats");
    const start: Start = (port, isOpen) =>
      startNatsServer({ binary, ...paths, port, ...(isOpen ? {} : { config }) });
    return new ServerProcess("nats", { server: await start(0, false), start, disk });
  }

  /** redis-server with `appendfsync always`, and only the users of the list. */
  static async redis(
    { disk, ...paths }: ServerOptions,
    { access }: { access: RedisAccess },
  ): Promise<ServerProcess> {
    const binary = await binaryOf("redis");
    const start: Start = (port) =>
      startRedisServer({ binary, ...paths, port, access, appendfsync: "always" });
    return new ServerProcess("redis", { server: await start(0, false), start, disk });
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

  /** Starts it anew without users and permissions, for the reader of the evidence. */
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

  /** Leaves no room on its disk. Redis then ends by itself, and NATS continues without storing anything. */
  fillDisk(): void {
    if (this.#disk === null) throw new Error(`${this.name} has no disk of its own`);
    this.#disk.fill();
  }

  /**
   * Does what an operator does: makes room and starts the server anew. NATS needs that, too: it writes nothing more to a
   * stream whose disk was full once.
   */
  async makeRoom(): Promise<void> {
    this.#disk?.makeRoom();
    this.takeDown("SIGTERM");
    await this.restore();
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

  /** A client of the killed process may hold the port for a moment. */
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
  // Never a configured server (its data belongs to a person) nor a container (they are signalled by pid).
  const steps = ["binary", "packages"] as const;
  const found = await resolveServer({ kind, env: process.env, log: () => {}, steps: [...steps] });
  if (found.how !== "binary")
    throw new Error(`${kind} was found as ${found.how}, not as a program`);
  return found.binary;
}
