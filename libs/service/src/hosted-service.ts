import type { LocalServices } from "@switchyard/bus/local-services";
import { connectTimeoutMs } from "./connect-timeout.ts";
import type { ConfiguredService, ServiceDefinition } from "./define-service.ts";
import type { Environment } from "./env.ts";
import type { Log } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { Readiness } from "./readiness.ts";
import { redisCheck } from "./redis-check.ts";
import {
  checkStreams,
  closeRedis,
  drainBus,
  openBus,
  openRedis,
  openStorage,
  storesEverything,
} from "./service-connections.ts";
import { StopSteps } from "./stop-steps.ts";

/** Share of the remaining budget that the bus gets, so that aborted handlers can still answer and Redis can close. */
const DRAIN_SHARE = 0.9;

/** A start that takes longer than this is logged with what it waits for. */
const SLOW_START_MS = 15_000;

/** The parts of the process that a service runs in. */
interface Surroundings {
  readonly env: Environment;
  readonly log: Log;
  readonly instance: string;
  readonly begunAtMs: number;
  /** The endpoints of the process's services; undefined where there is one service. */
  readonly local: LocalServices | undefined;
  /** True for a process with this service alone, whose metrics are those of the process, too. */
  readonly isAlone: boolean;
  /** Restarts this service. */
  readonly restart: () => void;
}

/** One service of a process, with connections, metrics, readiness and stop steps of its own. It can be stopped and started again. */
export class HostedService {
  readonly definition: ServiceDefinition;
  readonly log: Log;
  readonly #configured: ConfiguredService;
  readonly #surroundings: Surroundings;
  #readiness = new Readiness();
  #metrics: Metrics;
  #steps: StopSteps;

  constructor(
    definition: ServiceDefinition,
    configured: ConfiguredService,
    surroundings: Surroundings,
  ) {
    this.definition = definition;
    this.log = surroundings.log;
    this.#configured = configured;
    this.#surroundings = surroundings;
    this.#metrics = this.#createMetrics();
    this.#steps = new StopSteps(this.log);
  }

  get name(): string {
    return this.definition.name;
  }

  get readiness(): Readiness {
    return this.#readiness;
  }

  get metrics(): Metrics {
    return this.#metrics;
  }

  /** The stop step that is being undone. */
  get stopStep(): string {
    return this.#steps.current;
  }

  /** Redis → bus → streams → the service's own start → ready. {@link stop} undoes a start that failed. */
  async start(): Promise<void> {
    const warn = (): void =>
      this.log.warn({ start: this.#readiness.startsWith }, "service has not started yet");
    const waiting = setTimeout(warn, SLOW_START_MS);
    try {
      await this.#start();
    } finally {
      clearTimeout(waiting);
    }
  }

  async #start(): Promise<void> {
    const { definition, log } = this;
    const { config } = this.#configured;
    const steps = this.#steps;
    const readiness = this.#readiness;
    const endAt = performance.now() + connectTimeoutMs();
    readiness.startsWith = "waiting for Redis (YARD_REDIS_URL)";
    const { instance } = this.#surroundings;
    const redis = await openRedis(`${definition.name}:${instance}`, config, log);
    steps.push("redis", () => closeRedis(redis));
    const { user: service } = definition;
    readiness.add("redis", redisCheck(redis, { key: `yard:ready:${service}` }));
    const { room, storage } = await openStorage(service, redis, { config, log });
    this.#metrics.setRedisFill(() => room.fill);
    steps.push("storage", async () => {
      room.stop();
      await storage.stop();
    });
    const { local } = this.#surroundings;
    readiness.startsWith = "waiting for NATS (YARD_NATS_URL)";
    const bus = await openBus(service, { config, log, local });
    steps.push("bus", (remainingMs) => drainBus(bus, remainingMs * DRAIN_SHARE));
    readiness.add("bus", () => bus.status === "connected");
    readiness.add("streams", () => storesEverything(bus));
    readiness.startsWith = "waiting for the streams that `yard streams ensure` makes";
    await checkStreams(bus, definition.consumers, {
      endAt,
      isStopping: () => readiness.phase === "stopping",
    });
    readiness.startsWith = "";
    await this.#configured.start({
      env: this.#surroundings.env,
      log,
      bus,
      redis,
      storage,
      metrics: this.#metrics.registry,
      instance,
      begunAtMs: this.#surroundings.begunAtMs,
      onStop: (name, stop) => steps.push(name, stop),
      ready: (name, check) => readiness.add(name, check),
      describe: (name, fact) => readiness.describe(name, fact),
      restart: config.YARD_RESTARTS ? this.#surroundings.restart : null,
      isReady: async () => (await readiness.report()).ready,
    });
    if (readiness.phase === "stopping") return;
    // Ready means that requests arrive: the server has all subscriptions then.
    if (bus.status === "connected") await bus.flush();
    readiness.phase = "running";
  }

  /** Undoes the completed steps of the start. Rejects when a step failed, which is logged. */
  async stop(budgetMs: number): Promise<void> {
    this.#readiness.phase = "stopping";
    const endAt = performance.now() + budgetMs;
    if (!(await this.#steps.undo(() => Math.max(0, endAt - performance.now()))))
      throw new Error(`${this.definition.name} did not stop in order`);
  }

  /** Makes a stopped service ready for another start. */
  renew(): void {
    this.#readiness = new Readiness();
    this.#metrics = this.#createMetrics();
    this.#steps = new StopSteps(this.log);
  }

  #createMetrics(): Metrics {
    const { name, version } = this.definition;
    return createMetrics({ service: name, version }, { ofProcess: this.#surroundings.isAlone });
  }
}
