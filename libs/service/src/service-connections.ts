import { setTimeout as delay } from "node:timers/promises";
import { isUserSeed } from "@switchyard/bus/keys";
import type { Bus, BusStatus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import type { LocalServices } from "@switchyard/bus/local-services";
import { verifyStreams } from "@switchyard/bus/verify-streams";
import { DELEGATION } from "@switchyard/contracts/delegation";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import { connectTimeoutMs } from "./connect-timeout.ts";
import type { BaseConfig } from "./define-service.ts";
import type { Log } from "./log.ts";
import { createOwnerStorage, type OwnerStorage } from "./owner-storage.ts";
import { connectRedis, type Redis } from "./redis.ts";
import { readRedisUrl } from "./redis-url.ts";
import { openRedisRoom, type RedisRoom } from "./redis-room.ts";
import { readKeyFile } from "./keys-directory.ts";
import { readSecretFile } from "./secret-file.ts";
import { EXIT_FAILED, EXIT_UNREACHABLE, StartError } from "./start-error.ts";

const STREAMS_EVERY_MS = 500;

/** Connects a service to Redis as its settings say. Rejects with a StartError. `name` is shown in `CLIENT LIST`. */
export async function openRedis(name: string, config: BaseConfig, log: Log): Promise<Redis> {
  const password = await redisPassword(config);
  const sentinelPassword = await readKeyFile(config.YARD_KEYS_DIR, "sentinel.password");
  return connectRedis({
    url: config.YARD_REDIS_URL,
    ...(password === null ? {} : { password }),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
    name: name.replaceAll(/[^\x21-\x7e]/g, "_"),
    log,
    connectTimeoutMs: connectTimeoutMs(),
  });
}

/** The password of the user in the URL of Redis, where the URL has none. Null: there is no such file, or no user. */
async function redisPassword(config: BaseConfig): Promise<string | null> {
  const { username = "", password = "" } = readRedisUrl(config.YARD_REDIS_URL) ?? {};
  // The name becomes that of a file.
  if (password !== "" || !/^[\w-][\w.-]*$/.test(username)) return null;
  return readKeyFile(config.YARD_KEYS_DIR, `${username}.redis`);
}

/** Checks how full Redis is, and counts there the bytes that owners store through a service. `user` is its NATS user; both have to be stopped. */
export async function openStorage(
  user: string,
  redis: Redis,
  { config, log }: { config: BaseConfig; log: Log },
): Promise<{ readonly room: RedisRoom; readonly storage: OwnerStorage }> {
  const room = await openRedisRoom(redis);
  const { YARD_OWNER_STORAGE_MIB: mib } = config;
  const storage = createOwnerStorage({
    redis,
    room,
    service: user,
    limitBytes: mib === undefined ? null : mib * 1024 ** 2,
    now: Date.now,
    onTrouble: (err) => log.warn({ err }, "stored bytes of owners cannot be counted"),
  });
  return { room, storage };
}

/** Closes the connection, after pending commands while Redis answers. */
export async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === "ready") await redis.quit();
  else redis.disconnect();
}

/** Connects a service to NATS as its own user. Rejects with a StartError. `local` has the endpoints of the services in the same process. */
export async function openBus(
  user: string,
  { config, log, local }: { config: BaseConfig; log: Log; local: LocalServices | undefined },
): Promise<Bus> {
  const file = config.YARD_NATS_NKEY_FILE;
  if (file !== undefined) await readSeed(file); // so that a bad file is reported as itself, not as a refused login
  try {
    return await connectBus({
      servers: config.YARD_NATS_URL,
      user,
      local,
      delegation: DELEGATION,
      ...(file === undefined ? {} : { nkeySeed: () => readSeed(file) }),
      connectTimeoutMs: connectTimeoutMs(),
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

/** Drains the bus. Rejects when work was still in flight at the end of the time and was aborted. */
export async function drainBus(bus: Bus, budgetMs: number): Promise<void> {
  const startedAt = performance.now();
  await bus.drain(budgetMs);
  if (performance.now() - startedAt < budgetMs) return;
  throw new Error(`work was still in flight after ${Math.round(budgetMs)} ms and was aborted`);
}

/**
 * Waits until every stream and consumer is there, as where services and streams are installed together. `endAt` is a time of
 * `performance.now()`; after it, rejects with a StartError that names what is missing.
 */
export async function checkStreams(
  bus: Bus,
  consumers: readonly ConsumerDefinition[],
  { endAt, isStopping }: { readonly endAt: number; readonly isStopping: () => boolean },
): Promise<void> {
  try {
    await verifyStreams(bus, consumers);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (performance.now() + STREAMS_EVERY_MS < endAt && !isStopping()) {
      await delay(STREAMS_EVERY_MS);
      return checkStreams(bus, consumers, { endAt, isStopping });
    }
    throw new StartError(error.message, {
      hint: "create streams, consumers and the payload bucket with: yard streams ensure",
      cause: error,
    });
  }
}

/** True while every stream stores what is sent to it, else the reason for `/readyz`. */
export function storesEverything({ silentStreams }: Bus): true | string {
  if (silentStreams.length === 0) return true;
  return `NATS is connected and stores nothing in ${silentStreams.join(", ")}: make room on its disk and restart nats-server (docs/operations.md)`;
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

function logStored(log: Log): (stream: string, isStored: boolean) => void {
  return (stream, isStored) => {
    if (isStored) log.info({ stream }, "stream stores again");
    else log.error({ stream }, "stream does not store; the disk of NATS may be full");
  };
}
