import { join } from "node:path";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { ensureStreams } from "@switchyard/bus/streams";
import { verifyStreams } from "@switchyard/bus/verify-streams";
import { monitorRedisUser } from "@switchyard/topology/redis-access";
import { allConsumers } from "@switchyard/topology/streams";
import { ADMIN_USER, CLI_USER } from "@switchyard/contracts/user-names";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { z } from "zod";
import { findRunningInstance, type InstanceRecord } from "../instance-record.ts";
import { readSeed, seedFile } from "../nkey-seed.ts";
import type { StateDirectory } from "../locations.ts";
import { hasOwnRedis, redisLogin, type RedisLogin } from "../redis-login.ts";
import { readSecret } from "../secret-files.ts";
import { busChecks } from "./bus-checks.ts";
import { checked, failed, ok, skipped, warning, type Check } from "./check.ts";

const START = "start it with ./yard dev";

/** Checks the running instance. Without one there is nothing to check. */
export async function instanceChecks(state: StateDirectory): Promise<Check[]> {
  const instance = await findRunningInstance(state.instanceFile);
  if (instance === null) return [skipped("instance", `nothing runs here; ${START}`)];
  const { owner, phase, natsUrl, natsMonitorUrl, redisUrl } = instance;
  if (phase !== "ready" || natsUrl === null || redisUrl === null) {
    return [warning("instance", `process ${owner.pid} is ${phase}`, "wait until it is ready")];
  }
  return [
    ok("instance", `process ${owner.pid} runs ${instance.project}`),
    await checked("nats", START, () => checkNats(natsMonitorUrl)),
    await checked("redis", START, () => {
      const isOurs = hasOwnRedis(instance);
      const user = monitorRedisUser.name;
      const login = redisLogin({ url: redisUrl, isOurs, keys: state.keys, user });
      if (isOurs) return checkRedis(login, null);
      return checkRedis(login, join(state.keys, "sentinel.password"));
    }),
    await checkStreams(state, natsUrl),
    ...(await asUser(state, natsUrl, CLI_USER, (bus) =>
      busChecks(bus, { start: START, why: "their lines in yard dev say why", yard: "./yard" }),
    ).catch((error: unknown) => [failed("services", String(error), START)])),
    ...(await checkHealth(instance)),
  ];
}

async function checkStreams(state: StateDirectory, natsUrl: string): Promise<Check> {
  const asAdmin = <T>(use: (bus: Bus) => Promise<T>): Promise<T> =>
    asUser(state, natsUrl, ADMIN_USER, use);
  const found = await checked("streams", "create them: ./yard streams ensure", () =>
    asAdmin(async (bus) => {
      await verifyStreams(bus, allConsumers);
      return ok("streams", "streams, consumers and buckets exist");
    }),
  );
  if (found.status === "ok") return found;
  return {
    ...found,
    repair: async () => {
      const { created, updated } = await asAdmin((bus) => ensureStreams(bus));
      return `streams: created ${created.join(", ") || "none"}, updated ${updated.join(", ") || "none"}`;
    },
  };
}

/** https://docs.nats.io/running-a-nats-service/nats_admin/monitoring: `/jsz` has the JetStream configuration. */
const JetStreamStatus = z.looseObject({
  disabled: z.boolean().optional(),
  config: z.looseObject({ sync_always: z.boolean().optional() }).optional(),
});

async function checkNats(monitorUrl: string | null): Promise<Check> {
  if (monitorUrl === null) return skipped("nats", "the configured server is not ours to look into");
  const response = await fetch(new URL("/jsz", monitorUrl), { signal: AbortSignal.timeout(2_000) });
  const status = JetStreamStatus.parse(await response.json());
  if (status.disabled === true) {
    return failed("nats", "JetStream is off", "start nats-server with a jetstream block");
  }
  return status.config?.sync_always === true
    ? ok("nats", "JetStream is on and syncs every write")
    : warning(
        "nats",
        "JetStream does not sync every write: an acknowledged message can be lost in a power cut",
        "set sync_interval: always in its jetstream block",
      );
}

const secretOf = (file: string | null) => (file === null ? null : readSecret(file));

/** Connecting already refuses versions below 7.0 and servers that evict keys. */
async function checkRedis(
  { url, passwordFile }: RedisLogin,
  sentinelPasswordFile: string | null,
): Promise<Check> {
  const log = createLog({ service: "doctor", level: "silent" });
  const password = await secretOf(passwordFile);
  const sentinelPassword = await secretOf(sentinelPasswordFile);
  const redis = await connectRedis({
    url,
    ...(password === null ? {} : { password }),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
    name: "yard-doctor",
    log,
    connectTimeoutMs: 3_000,
  });
  try {
    const persistence = await redis.info("persistence");
    return /^aof_enabled:1/m.test(persistence)
      ? ok("redis", "evicts nothing and keeps an append-only file")
      : warning("redis", "keeps no append-only file: a crash loses runs", "set appendonly yes");
  } finally {
    redis.disconnect();
  }
}

async function checkHealth({ processes }: InstanceRecord): Promise<Check[]> {
  return Promise.all(
    processes.flatMap(({ name, healthUrl }) =>
      healthUrl === null
        ? []
        : checked(name, "its lines in yard dev say why", async () => {
            const url = new URL("/readyz", healthUrl);
            const { ok: isReady } = await fetch(url, { signal: AbortSignal.timeout(2_000) });
            return isReady
              ? ok(name, `ready (${url.href})`)
              : failed(name, `not ready (${url.href})`, `see why: curl ${url.href}`);
          }),
    ),
  );
}

// oxlint-disable-next-line max-params -- where, who and what
async function asUser<T>(
  state: StateDirectory,
  servers: string,
  user: string,
  use: (bus: Bus) => Promise<T>,
): Promise<T> {
  const nkeySeed = (): Promise<string> => readSeed(seedFile(state.keys, user));
  const bus = await connectBus({ servers, user, nkeySeed, connectTimeoutMs: 3_000 });
  try {
    return await use(bus);
  } finally {
    await bus.close();
  }
}
