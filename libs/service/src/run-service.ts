import { isUserSeed } from "@switchyard/bus/keys";
import { connectBus, type Bus, type BusStatus } from "@switchyard/bus/connect";
import { verifyStreams } from "@switchyard/bus/verify-streams";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ConsumerDefinition } from "@switchyard/contracts/streams";
import type { Registry } from "prom-client";
import { z } from "zod";
import { EnvError, readEnv, tracingEnv, processEnv, type natsEnv, type redisEnv } from "./env.ts";
import { startHealthServer } from "./health-server.ts";
import { createLog, type Log } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createOwnerStorage, type OwnerStorage } from "./owner-storage.ts";
import { Readiness, type Check } from "./readiness.ts";
import { connectRedis, type Redis } from "./redis.ts";
import { redisCheck } from "./redis-check.ts";
import { openRedisRoom } from "./redis-room.ts";
import { readSecretFile } from "./secret-file.ts";
import { Shutdown } from "./shutdown.ts";
import { isOfOutage } from "./unhandled-rejection.ts";
import { EXIT_FAILED, EXIT_RESTART, EXIT_UNREACHABLE, StartError } from "./start-error.ts";

/** A schema of a whole environment: `z.object({ ...processEnv, ...natsEnv, ...redisEnv, … })`. */
export type ServiceEnv = z.ZodObject<typeof processEnv & typeof natsEnv & typeof redisEnv>;

export interface ServiceDefinition<S extends ServiceEnv> {
  /** Name in logs, metrics and the Redis client list, such as `mcp-broker`. */
  readonly name: string;
  /** NATS user, such as `broker`. */
  readonly user: string;
  readonly version: string;
  readonly env: S;
  /** Work queues that must exist before the service starts. */
  readonly consumers?: readonly ConsumerDefinition[];
  /** Builds the service. It is ready when the promise resolves. */
  readonly start: (kit: ServiceKit<z.output<S>>) => Promise<void>;
}

/** What a service is built from. */
export interface ServiceKit<C> {
  readonly config: C;
  readonly log: Log;
  readonly bus: Bus;
  readonly redis: Redis;
  /** Counts the bytes of owners in Redis, and refuses new work without room. */
  readonly storage: OwnerStorage;
  /** Served at `/metrics`. */
  readonly metrics: Registry;
  readonly instance: string;
  /** Adds a step to the stop. Steps run in reverse order, after readiness went off and before the bus drains. */
  onStop(name: string, stop: () => Promise<void>): void;
  /** Adds a condition to `/readyz`, beside those for the bus and Redis. */
  ready(name: string, check: Check): void;
  /** What `/readyz` says, for a service that answers probes at an address of its own, too. */
  isReady(): Promise<boolean>;
  /** Ends this process in order with exit code 75, so that it is started again; null where `YARD_RESTARTS` does not permit it. */
  readonly restart: (() => void) | null;
  /** Shows a fact about this process in `/readyz`, such as which sandbox it has. No secrets. */
  describe(name: string, fact: string): void;
}

/**
 * Runs one service as this process: environment → log → health → Redis → bus → streams → `start` →
 * ready. Resolves when the service is ready; from then on signals end the process.
 *
 * A rejected promise that no code handles is logged. The process continues when the reason is an outage, and otherwise stops as after an
 * uncaught error, see {@link isOfOutage}.
 *
 * SIGTERM or SIGINT: not ready → `onStop` steps → bus drained → Redis closed → exit 0. A second
 * signal, the end of `YARD_DRAIN_MS` or a failed step makes it exit 1. A start that fails
 * is one fatal line, the steps so far undone, and exit 1, or 6 when NATS or Redis is unreachable. With `YARD_EXIT_WITH_PARENT` the
 * end of stdin counts as SIGTERM, and SIGINT is left to the parent.
 */
export async function runService<S extends ServiceEnv>(
  definition: ServiceDefinition<S>,
): Promise<void> {
  const config = readEnvOrExit(definition);
  const log = createLog({
    service: definition.name,
    level: config.YARD_LOG_LEVEL,
    instance: config.YARD_INSTANCE,
  });
  const readiness = new Readiness();
  const shutdown = createShutdown(config, log, readiness);
  try {
    await startService(definition, { config, log, readiness, shutdown });
  } catch (error) {
    // A stop in the middle of the start closes what the start is waiting for; that is not a failure.
    if (!shutdown.stopping) {
      reportStartFailure(log, error);
      shutdown.beginAfterFault("start failed", exitCodeOf(error));
    }
  }
  // No caller goes on after a start that did not succeed: the process ends during this line.
  if (shutdown.stopping) await new Promise<never>(() => {});
}

type BaseConfig = z.output<ServiceEnv>;

function readEnvOrExit<S extends ServiceEnv>(definition: ServiceDefinition<S>): z.output<S> {
  try {
    return readEnv(definition.env, process.env);
  } catch (error) {
    reportStartFailure(createLog({ service: definition.name, level: "info" }), error);
    return process.exit(exitCodeOf(error));
  }
}

interface Process<C> {
  readonly config: C;
  readonly log: Log;
  readonly readiness: Readiness;
  readonly shutdown: Shutdown;
}

async function startService<S extends ServiceEnv>(
  definition: ServiceDefinition<S>,
  { config, log, readiness, shutdown }: Process<z.output<S>>,
): Promise<void> {
  const startedAt = performance.now();
  await traceWork(definition, log, shutdown);
  const metrics = createMetrics({ service: definition.name, version: definition.version });
  const health = await startHealthServer({
    host: config.YARD_HEALTH_HOST,
    port: config.YARD_HEALTH_PORT,
    readiness,
    metrics,
  });
  shutdown.push("health server", () => health.stop());
  const redis = await openRedis(definition.name, config, log);
  shutdown.push("redis", () => closeRedis(redis));
  const { user: service } = definition;
  readiness.add("redis", redisCheck(redis, { key: `yard:ready:${service}` }));
  const storage = await openStorage(service, redis, { config, log, metrics, shutdown });
  const bus = await openBus(service, config, log);
  shutdown.push("bus", (remainingMs) => drainBus(bus, remainingMs * DRAIN_SHARE));
  readiness.add("bus", () => bus.status === "connected");
  readiness.add("streams", () => bus.silentStreams.length === 0 || notStoring(bus));
  await checkStreams(bus, definition.consumers ?? []);
  await definition.start({
    config,
    log,
    bus,
    redis,
    storage,
    metrics: metrics.registry,
    instance: config.YARD_INSTANCE,
    onStop: (name, stop) => shutdown.push(name, stop),
    ready: (name, check) => readiness.add(name, check),
    describe: (name, fact) => readiness.describe(name, fact),
    restart: config.YARD_RESTARTS ? () => shutdown.begin("restart requested", EXIT_RESTART) : null,
    isReady: async () => (await readiness.report()).ready,
  });
  if (shutdown.stopping) return;
  // Ready means that a caller is heard: the server has all subscriptions then.
  if (bus.status === "connected") await bus.flush();
  readiness.phase = "running";
  const startMs = Math.round(performance.now() - startedAt);
  log.info({ healthUrl: health.url, version: definition.version, startMs }, "service ready");
}

/** Off unless a collector is named; the libraries for it are not even loaded then. */
async function traceWork<S extends ServiceEnv>(
  { name: service, version }: ServiceDefinition<S>,
  log: Log,
  shutdown: Shutdown,
): Promise<void> {
  const env = readEnv(
    z.object({ ...tracingEnv, YARD_INSTANCE: processEnv.YARD_INSTANCE }),
    process.env,
  );
  const endpoint = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined || env.OTEL_SDK_DISABLED) return;
  const { startTracing } = await import("./tracing/start-tracing.ts");
  const sampled = env.OTEL_TRACES_SAMPLER_ARG;
  const everyMs = env.OTEL_BSP_SCHEDULE_DELAY;
  const about = { service, version, instance: env.YARD_INSTANCE };
  const tracing = startTracing({ ...about, sampled, everyMs, log });
  shutdown.push("traces", (remainingMs) => tracing.stop(Math.min(remainingMs, TRACES_STOP_MS)));
}

/** How long a stop waits for a collector to take the last spans. */
const TRACES_STOP_MS = 2_000;

/** Share of the remaining budget that the bus gets, so that aborted handlers can still answer and Redis can close. */
const DRAIN_SHARE = 0.9;

function createShutdown(config: BaseConfig, log: Log, readiness: Readiness): Shutdown {
  const shutdown = new Shutdown({
    log,
    drainMs: config.YARD_DRAIN_MS,
    onBegin: () => {
      readiness.phase = "stopping";
    },
    exit: (code) => process.exit(code),
  });
  process.on("uncaughtException", (err, origin) => {
    log.fatal({ err, origin }, "uncaught error");
    shutdown.beginAfterFault(origin);
  });
  process.on("unhandledRejection", (err) => {
    if (isOfOutage(err)) return log.error({ err }, "unhandled rejection of an outage");
    log.fatal({ err, origin: "unhandledRejection" }, "uncaught error");
    shutdown.beginAfterFault("unhandledRejection");
  });
  process.on("SIGTERM", () => shutdown.signal("SIGTERM"));
  if (config.YARD_EXIT_WITH_PARENT) {
    // Ctrl-C in a terminal reaches the whole process group; the parent stops its children in order.
    process.on("SIGINT", () => {});
    stopWithParent(() => shutdown.begin("parent gone"));
  } else {
    process.on("SIGINT", () => shutdown.signal("SIGINT"));
  }
  return shutdown;
}

/** The other end of the pipe closes also when the parent is killed with SIGKILL. */
function stopWithParent(stop: () => void): void {
  process.stdin.once("end", stop);
  process.stdin.once("close", stop);
  process.stdin.on("error", stop);
  process.stdin.resume();
}

async function openRedis(name: string, config: BaseConfig, log: Log): Promise<Redis> {
  const secretOf = async (
    variable: "YARD_REDIS_PASSWORD_FILE" | "YARD_REDIS_SENTINEL_PASSWORD_FILE",
  ): Promise<string | undefined> => {
    const file = config[variable];
    return file === undefined ? undefined : await readSecretFile(file, variable);
  };
  const password = await secretOf("YARD_REDIS_PASSWORD_FILE");
  const sentinelPassword = await secretOf("YARD_REDIS_SENTINEL_PASSWORD_FILE");
  return connectRedis({
    url: config.YARD_REDIS_URL,
    ...(password === undefined ? {} : { password }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    name: `${name}:${config.YARD_INSTANCE}`.replaceAll(/[^\x21-\x7e]/g, "_"),
    log,
    connectTimeoutMs: config.YARD_CONNECT_MS,
  });
}

async function openStorage(
  service: string,
  redis: Redis,
  { config, log, metrics, shutdown }: Omit<Process<BaseConfig>, "readiness"> & { metrics: Metrics },
): Promise<OwnerStorage> {
  const room = await openRedisRoom(redis);
  metrics.setRedisFill(() => room.fill);
  const { YARD_OWNER_STORAGE_MIB: mib } = config;
  const storage = createOwnerStorage({
    redis,
    room,
    service,
    limitBytes: mib === undefined ? null : mib * 1024 ** 2,
    now: Date.now,
    onTrouble: (err) => log.warn({ err }, "what owners keep cannot be counted"),
  });
  shutdown.push("storage", async () => {
    room.stop();
    await storage.stop();
  });
  return storage;
}

async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === "ready") await redis.quit();
  else redis.disconnect();
}

async function openBus(user: string, config: BaseConfig, log: Log): Promise<Bus> {
  const file = config.YARD_NATS_NKEY_FILE;
  if (file !== undefined) await readSeed(file); // so that a bad file is reported as itself, not as a refused login
  try {
    return await connectBus({
      servers: config.YARD_NATS_URL,
      user,
      ...(file === undefined ? {} : { nkeySeed: () => readSeed(file) }),
      connectTimeoutMs: config.YARD_CONNECT_MS,
      onStatus: logStatus(log),
      onStored: logStored(log),
    });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new StartError(error.message, {
      hint: "check YARD_NATS_URL and YARD_NATS_NKEY_FILE; on a laptop `yard dev` starts NATS",
      exitCode: error.code === "disconnected" ? EXIT_UNREACHABLE : EXIT_FAILED,
      cause: error,
    });
  }
}

async function readSeed(file: string): Promise<string> {
  const seed = await readSecretFile(file, "YARD_NATS_NKEY_FILE");
  if (isUserSeed(seed)) return seed;
  throw new StartError(`YARD_NATS_NKEY_FILE: ${file} holds no NKey seed of a user`, {
    hint: "a seed is one line that begins with SU; `yard keys init` makes them",
  });
}

/** One line when the connection is lost, one when it is back, and one for each refusal of the server. */
function logStatus(log: Log): (status: BusStatus, detail: string) => void {
  let previous: BusStatus = "connected";
  return (status, detail) => {
    if (status === previous) log.warn({ detail }, "bus operation refused");
    else if (status === "reconnecting") log.warn({ detail }, "bus connection lost");
    else if (status === "connected") log.info({ detail }, "bus connection restored");
    else log.debug({ detail }, "bus closed");
    previous = status;
  };
}

function notStoring({ silentStreams }: Bus): string {
  return `NATS is connected and stores nothing in ${silentStreams.join(", ")}: make room on its disk and restart nats-server (docs/operations.md)`;
}

function logStored(log: Log): (stream: string, isStored: boolean) => void {
  return (stream, isStored) => {
    if (isStored) log.info({ stream }, "stream stores again");
    else log.error({ stream }, "stream does not store; the disk of NATS may be full");
  };
}

async function drainBus(bus: Bus, budgetMs: number): Promise<void> {
  const startedAt = performance.now();
  await bus.drain(budgetMs);
  if (performance.now() - startedAt < budgetMs) return;
  throw new Error(`work was still in flight after ${Math.round(budgetMs)} ms and was aborted`);
}

async function checkStreams(bus: Bus, consumers: readonly ConsumerDefinition[]): Promise<void> {
  try {
    await verifyStreams(bus, consumers);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new StartError(error.message, {
      hint: "create streams, consumers and the payload bucket with: yard streams ensure",
      cause: error,
    });
  }
}

function reportStartFailure(log: Log, error: unknown): void {
  if (error instanceof StartError) {
    const problems = error instanceof EnvError ? { problems: error.problems } : {};
    const { message: reason, hint, exitCode } = error;
    log.fatal({ reason, hint, exitCode, ...problems }, "service could not start");
  } else {
    log.fatal({ err: error, exitCode: EXIT_FAILED }, "service could not start");
  }
}

function exitCodeOf(error: unknown): number {
  return error instanceof StartError ? error.exitCode : EXIT_FAILED;
}
