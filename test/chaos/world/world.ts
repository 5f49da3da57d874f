import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { adminRedisUserName } from "@switchyard/topology/redis-access";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { shortenWindow } from "./duplicate-window.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { ServerProcess } from "./server-process.ts";
import { ServiceProcess } from "./service-process.ts";
import { testConstants } from "@switchyard/testing/test-constants";
import { SmallDisk } from "@switchyard/local-servers/small-disk";
import { makeWorldKeys, type WorldKeys } from "./world-keys.ts";

/** Roots of the repository and of this suite. */
const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const SUITE = fileURLToPath(new URL("../", import.meta.url));

/** A service with its two connections. */
export interface ServicePart {
  readonly process: ServiceProcess;
  readonly routes: { readonly nats: FaultProxy; readonly redis: FaultProxy };
}

const SERVICES = [
  ["policy-1", "policy", "policy"],
  ["policy-2", "policy", "policy"],
  ["importer-1", "importer", "skill-importer"],
  ["importer-2", "importer", "skill-importer"],
  ["broker-1", "broker", "mcp-broker"],
  ["broker-2", "broker", "mcp-broker"],
  ["runner-1", "runner", "agent-runner"],
  ["runner-2", "runner", "agent-runner"],
  ["runner-3", "runner", "agent-runner"],
  ["channels-1", "channels", "channels"],
  ["channels-2", "channels", "channels"],
  ["scheduler-1", "scheduler", "scheduler"],
  ["scheduler-2", "scheduler", "scheduler"],
] as const;

export interface WorldOptions {
  /** The services' default, or fewer slots than runs, so that commands are claimed before their turn. */
  readonly slots?: number;
  /** The time for which NATS stores the ids of events. The default makes any later repeat a new message. */
  readonly duplicateWindowMs?: number;
}

/** Shorter than any takeover. NATS takes nothing below 100 ms. */
const SHORT_WINDOW_MS = 1_000;

/** All of Switchyard with real servers, each service behind proxies of its own. */
export class World {
  readonly directory: string;
  /** File of the MCP server's marks. */
  readonly book: string;
  readonly nats: ServerProcess;
  readonly redis: ServerProcess;
  readonly services = new Map<string, ServicePart>();
  /** The reason why disks cannot be filled here; null when they can. */
  readonly noDisks: string | null;
  readonly #keys: WorldKeys;
  readonly #disks: readonly SmallDisk[];
  readonly #slots: number;
  #stopped: Promise<void> | null = null;

  private constructor(options: {
    directory: string;
    keys: WorldKeys;
    nats: ServerProcess;
    redis: ServerProcess;
    disks: readonly SmallDisk[];
    noDisks: string | null;
    slots: number;
  }) {
    this.directory = options.directory;
    this.#disks = options.disks;
    this.noDisks = options.noDisks;
    this.#slots = options.slots;
    this.book = join(options.directory, "book");
    this.#keys = options.keys;
    this.nats = options.nats;
    this.redis = options.redis;
  }

  /** Resolves when every service is ready. */
  static async start(options: WorldOptions = {}): Promise<World> {
    const { slots = 3, duplicateWindowMs = SHORT_WINDOW_MS } = options;
    const directory = await mkdtemp(join(tmpdir(), "yard-chaos-"));
    await mkdir(join(directory, "log"));
    const keys = await makeWorldKeys(join(directory, "keys"));
    const mounted = await Promise.all(
      ["nats", "redis"].map((name) => SmallDisk.mount(join(directory, name))),
    );
    const disks = mounted.filter((one) => typeof one !== "string");
    const noDisks = mounted.find((one) => typeof one === "string") ?? null;
    const pathsOf = (name: string, disk: SmallDisk | undefined) => ({
      dataDir: disk === undefined ? join(directory, name) : join(disk.directory, "data"),
      logFile: join(directory, "log", `${name}.log`),
      disk: disk ?? null,
    });
    const [natsDisk, redisDisk] = noDisks === null ? disks : [];
    const nats = await ServerProcess.nats(pathsOf("nats", natsDisk), {
      config: keys.authorization,
    });
    const redis = await ServerProcess.redis(pathsOf("redis", redisDisk), {
      access: keys.redisAccess,
    });
    const world = new World({ directory, keys, nats, redis, disks, noDisks, slots });
    await world.#makeStreams(duplicateWindowMs);
    for (const service of SERVICES) await world.#startService(service);
    await world.allReady();
    return world;
  }

  async #makeStreams(duplicateWindowMs: number): Promise<void> {
    const admin = await this.connect("admin");
    try {
      await ensureStreams(admin);
    } finally {
      await admin.close();
    }
    await shortenWindow(this.nats.url, this.#keys.seed("admin"), duplicateWindowMs);
  }

  /** A bus of a user, straight to the server. */
  connect(user: string): Promise<Bus> {
    const nkeySeed = (): string => this.#keys.seed(user);
    return connectBus({ servers: this.nats.url, user, nkeySeed });
  }

  /** A connection straight to the server, as the one user that may see everything. */
  connectRedis(): Promise<Redis> {
    const log = createLog({ service: "chaos", level: "silent" });
    const { host } = new URL(this.redis.url);
    const password = this.#keys.redisPassword(adminRedisUserName);
    return connectRedis({
      url: `redis://${adminRedisUserName}@${host}`,
      password,
      name: "chaos",
      log,
    });
  }

  /** Refusals of NATS or Redis to a service, from the services' logs and from Redis' own log since its last start. */
  async refusals(): Promise<string[]> {
    const logs = [...this.services.keys()].map(async (name) => {
      const text = await readFile(this.#logFile(name), "utf8");
      const lines = text.split("\n").filter((line) => REFUSED.test(line));
      return lines.map((line) => `${name}: ${line.slice(0, 500)}`);
    });
    const redis = await this.connectRedis();
    try {
      const remembered = (await redis.acl("LOG")) as unknown[]; // one list for each refusal
      const entries = remembered.map((entry) => `redis: ${JSON.stringify(entry)}`);
      return [...(await Promise.all(logs)).flat(), ...entries];
    } finally {
      redis.disconnect();
    }
  }

  #logFile(name: string): string {
    return join(this.directory, "log", `${name}.log`);
  }

  service(name: string): ServicePart {
    const part = this.services.get(name);
    if (part === undefined) throw new RangeError(`the world has no ${name}`);
    return part;
  }

  async allReady(): Promise<void> {
    const parts = [...this.services.values()];
    const end = performance.now() + READY_MS;
    while (!parts.every(({ process }) => process.isReady)) {
      if (performance.now() > end) {
        const names = parts
          .filter((part) => !part.process.isReady)
          .map((part) => part.process.name);
        throw new Error(
          `not ready after ${READY_MS} ms: ${names.join(", ")}; see ${this.directory}`,
        );
      }
      await delay(POLL_MS);
    }
  }

  /** Stops the services; NATS and Redis stay. Safe to call again. */
  stopServices(): Promise<void> {
    this.#stopped ??= this.#stopServices();
    return this.#stopped;
  }

  async #stopServices(): Promise<void> {
    const parts = [...this.services.values()];
    await Promise.all(parts.map(({ process }) => process.stop()));
    await Promise.all(parts.flatMap(({ routes }) => [routes.nats.close(), routes.redis.close()]));
  }

  async stopServers(): Promise<void> {
    await this.nats.stop();
    await this.redis.stop();
  }

  /** Removes logs and data, after the servers were stopped. */
  async remove(): Promise<void> {
    await Promise.all(this.#disks.map((disk) => disk.unmount()));
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Leaves logs and data in the directory, after the servers were stopped. */
  async keep(): Promise<void> {
    for (const [index, disk] of this.#disks.entries()) {
      await disk.keep(join(this.directory, `disk-${index}`));
      await disk.unmount();
    }
  }

  /** Stops everything and removes it, in whatever state it is. */
  async end(): Promise<void> {
    await this.stopServices();
    await this.stopServers();
    await this.remove();
  }

  async #startService([name, user, folder]: (typeof SERVICES)[number]): Promise<void> {
    const routes = {
      nats: await startFaultProxy({ port: this.nats.port }),
      redis: await startFaultProxy({ port: this.redis.port }),
    };
    const process = new ServiceProcess({
      name,
      entry: join(REPOSITORY, "services", folder, "src", "main.ts"),
      logFile: this.#logFile(name),
      env: {
        ...this.#environment(name),
        YARD_NATS_URL: `nats://127.0.0.1:${routes.nats.port}`,
        YARD_REDIS_URL: `redis://${user}@127.0.0.1:${routes.redis.port}`,
        YARD_NATS_NKEY_FILE: this.#keys.seedFile(user),
      },
    });
    this.services.set(name, { process, routes });
  }

  #environment(name: string): Record<string, string> {
    return {
      // `node` in an MCP server's command is the Node.js that we run on.
      PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
      HOME: this.directory,
      YARD_LOG_LEVEL: "info",
      YARD_HEALTH_PORT: "0",
      YARD_DRAIN_MS: "10000",
      YARD_POLICY_FILE: join(SUITE, "project/policies/chaos.yaml"),
      // One client starts the runs and decides about their calls.
      YARD_APPROVE_OWN: "runs",
      YARD_KEYS_DIR: this.#keys.path,
      YARD_SKILL_ROOTS: join(SUITE, "project"),
      YARD_MCP_SERVERS_FILE: join(SUITE, "project/mcp-servers.json"),
      YARD_MCP_SANDBOX: "off",
      YARD_CHANNELS_FILE: join(SUITE, "project/channels.json"),
      ...testConstants({ instance: name, schedulesPerCaller: 10_000 }),
      YARD_STATE_DIR: join(this.directory, name),
      CHAOS_FIXTURES: join(SUITE, "fixtures"),
      CHAOS_BOOK: this.book,
      YARD_RUNNER_SLOTS: String(this.#slots),
      // With this setting a killed policy loses no record of an allowed call (decision 015).
      YARD_AUDIT: "strict",
    };
  }
}

/** Errors of Redis for a key or command outside the user's rights, and of NATS for a subject. */
const REFUSED = /NOPERM|Permissions Violation|permission denied/i;
const READY_MS = 90_000;
const POLL_MS = 50;
