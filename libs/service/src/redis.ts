import { backoffMs } from "@switchyard/contracts/backoff";
import {
  Redis,
  SentinelConnector,
  type RedisOptions,
  type SentinelConnectionOptions,
} from "ioredis";
import type { Log } from "./log.ts";
import { openCluster, primariesOf } from "./redis-cluster.ts";
import { checkRedis, parseRedisInfo } from "./redis-requirements.ts";
import { readRedisUrl, type RedisTarget } from "./redis-url.ts";
import { EXIT_UNREACHABLE, StartError } from "./start-error.ts";

export type { Redis } from "ioredis";

interface RedisConnectOptions {
  /** `redis://[user[:password]@]host:port[/db]`, `rediss://` for TLS, `redis+sentinel://…` or `redis+cluster://…`, see {@link readRedisUrl}. */
  url: string;
  /** Overrides a password in the URL. */
  password?: string;
  /** The password of the Sentinels themselves, which may have one of their own. */
  sentinelPassword?: string;
  /** Name of the connection in `CLIENT LIST`. */
  name: string;
  log: Log;
  /** Whole budget for the first connection, in milliseconds. */
  connectTimeoutMs?: number;
}

/**
 * Connects to Redis and checks that it is fit to hold state. Rejects with a StartError when the server is unreachable within the budget,
 * refuses the credentials, is older than 7.0, evicts keys, is a replica, or is a node of a cluster that the URL does not name as one.
 *
 * Afterwards the client reconnects for ever. While the connection is down every command fails at once, also those already sent: whether
 * they were executed is unknown, so they are never sent again. With Sentinels each connection goes to the primary that they name at that
 * time; with a cluster each command goes to the primary that has its keys.
 */
export async function connectRedis(options: RedisConnectOptions): Promise<Redis> {
  const target = readRedisUrl(options.url);
  if (target === null)
    throw new StartError("the address of Redis cannot be read", { hint: "correct YARD_REDIS_URL" });
  const redis = openClient(options, target);
  const where = target.shown;
  try {
    await firstReady(redis, where, options.connectTimeoutMs ?? 10_000);
    // In a cluster this connects to each primary, too.
    const checked = primariesOf(redis).map((server) =>
      checkServer(server, { where, log: options.log, asCluster: target.kind === "cluster" }),
    );
    await Promise.all(checked);
  } catch (error) {
    redis.disconnect();
    throw error;
  }
  logOutages(redis, where, options.log);
  return redis;
}

const COMMAND_TIMEOUT_MS = 5_000;
const BACKOFF = { firstMs: 50, mostMs: 2_000 };
const SENTINEL_RETRY_MS = 500;
const SENTINEL_ANSWER_MS = 1_000;

const retryMs = (attempt: number): number => backoffMs(attempt, BACKOFF);

function openClient(options: RedisConnectOptions, target: RedisTarget): Redis {
  const { db, username, tls } = target;
  const password = options.password ?? target.password;
  const node = {
    ...(username === "" ? {} : { username }),
    ...(password === "" ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
    connectionName: options.name,
    // CLIENT SETINFO came with Redis 7.2, so no access list for 7.0 can permit it.
    disableClientInfo: true,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
  } satisfies RedisOptions;
  if (target.kind === "cluster") return openCluster(target, node, retryMs);
  return new Redis({
    ...(target.primary === null
      ? target.hosts[0]
      : sentinelOptions(target.hosts, target.primary, { tls, password: options.sentinelPassword })),
    ...node,
    db,
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: retryMs,
  });
}

function sentinelOptions(
  sentinels: RedisTarget["hosts"],
  name: string,
  { tls, password }: { tls: boolean; password: string | undefined },
) {
  return {
    sentinels: [...sentinels],
    name,
    ...(password === undefined ? {} : { sentinelPassword: password }),
    sentinelRetryStrategy: () => SENTINEL_RETRY_MS,
    // Options of the connections that learn of a new primary.
    sentinelReconnectStrategy: () => BACKOFF.mostMs,
    sentinelCommandTimeout: SENTINEL_ANSWER_MS,
    Connector: QuietSentinels,
    // The Sentinels give up a primary that hangs; the connection to it would last.
    failoverDetector: true,
    // A server that was made a replica refuses writes, and the next connection goes to the new primary.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  } satisfies RedisOptions;
}

/** The client prints errors of a connection to a Sentinel, which has no listener. Another Sentinel is tried. */
class QuietSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions); // those below
    // Private, so it cannot be overridden in the open.
    const own = this as unknown as { connectToSentinel(...args: unknown[]): Redis };
    const connect = own.connectToSentinel.bind(this);
    own.connectToSentinel = (...args) => connect(...args).on("error", () => {});
  }
}

async function firstReady(redis: Redis, where: string, budgetMs: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let lastError: Error | null = null;
  const onError = (error: Error) => {
    lastError = causeOf(error);
    const refusal = refusalOf(lastError, where);
    if (refusal !== null) reject(refusal);
  };
  const timer = setTimeout(() => reject(unreachable(where, budgetMs, lastError)), budgetMs);
  redis.on("error", onError);
  redis.once("ready", resolve);
  redis.connect().catch(() => {}); // a failed attempt is reported by "error", and the client tries again
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    redis.off("error", onError);
    redis.off("ready", resolve);
    redis.on("error", () => {}); // without a listener the client prints to the console
  }
}

/** With a cluster, the cause is the error of its last node. */
function causeOf(error: Error): Error {
  return "lastNodeError" in error && error.lastNodeError instanceof Error
    ? error.lastNodeError
    : error;
}

function refusalOf(error: Error, where: string): StartError | null {
  const { message } = error;
  if (message.includes("cluster support disabled")) {
    return new StartError(`Redis at ${where} is no cluster`, {
      hint: "write redis:// in YARD_REDIS_URL, or redis+sentinel:// where Sentinels name the primary",
      cause: error,
    });
  }
  if (
    message.startsWith("All sentinels are") &&
    /NOAUTH|WRONGPASS|invalid password/.test(message)
  ) {
    return new StartError(`the Sentinels of Redis at ${where} want another password`, {
      hint: "put the Sentinels' password into sentinel.password in YARD_KEYS_DIR",
      cause: error,
    });
  }
  if (/^WRONGPASS|invalid password/.test(error.message)) {
    return new StartError(`Redis at ${where} refused the user or the password`, {
      hint: "check the user in YARD_REDIS_URL, and the password there or in USER.redis of YARD_KEYS_DIR",
      cause: error,
    });
  }
  if (/^NOAUTH|NOAUTH /.test(error.message)) {
    return new StartError(`Redis at ${where} wants a password`, {
      hint: "name the user in YARD_REDIS_URL, with the password there or in USER.redis of YARD_KEYS_DIR",
      cause: error,
    });
  }
  return null;
}

function unreachable(where: string, budgetMs: number, lastError: Error | null): StartError {
  const reason = lastError === null ? "no answer" : lastError.message || lastError.name;
  return new StartError(`Redis at ${where} is unreachable after ${budgetMs} ms (${reason})`, {
    hint: "start Redis, or correct YARD_REDIS_URL; on a laptop `yard dev` starts one",
    exitCode: EXIT_UNREACHABLE,
    cause: lastError,
  });
}

async function checkServer(
  redis: Redis,
  { where, log, asCluster }: { where: string; log: Log; asCluster: boolean },
): Promise<void> {
  let info: string;
  try {
    info = await redis.info();
  } catch (error) {
    throw new StartError(`Redis at ${where} did not answer INFO`, {
      hint: 'let the user run it: add "+info" to its ACL rules',
      cause: error,
    });
  }
  for (const { severity, message, hint } of checkRedis(parseRedisInfo(info), asCluster)) {
    if (severity === "error") throw new StartError(`${message} (${where})`, { hint });
    log.warn({ redisUrl: where, reason: message, hint }, "redis is not durable");
  }
}

/** One line when the connection is lost and one when it is back, however many attempts lie between. */
function logOutages(redis: Redis, where: string, log: Log): void {
  let lostAt: number | null = null;
  let lastError: Error | null = null;
  redis.on("error", (error: Error) => {
    lastError = error;
  });
  redis.on("reconnecting", () => {
    if (lostAt !== null) return;
    lostAt = Date.now();
    log.warn({ redisUrl: where, err: lastError ?? undefined }, "redis connection lost");
  });
  redis.on("ready", () => {
    if (lostAt === null) return;
    log.info({ redisUrl: where, outageMs: Date.now() - lostAt }, "redis connection restored");
    lostAt = null;
    lastError = null;
  });
}
