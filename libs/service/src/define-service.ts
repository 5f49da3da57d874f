import type { Bus } from "@switchyard/bus/bus";
import type { ConsumerDefinition } from "@switchyard/topology/streams";
import type { Registry } from "prom-client";
import type { z } from "zod";
import {
  forUser,
  readEnv,
  type Environment,
  type natsEnv,
  type processEnv,
  type redisEnv,
} from "./env.ts";
import type { Log } from "./log.ts";
import type { OwnerStorage } from "./owner-storage.ts";
import type { Check } from "./readiness.ts";
import type { Redis } from "./redis.ts";

/** A schema of a whole environment: `z.object({ ...processEnv, ...natsEnv, ...redisEnv, … })`. */
export type ServiceEnv = z.ZodObject<typeof processEnv & typeof natsEnv & typeof redisEnv>;

/** The settings that every service has. */
export type BaseConfig = z.output<ServiceEnv>;

/** The description of a service, from which {@link defineService} makes a definition. */
export interface ServiceSpec<S extends ServiceEnv> {
  /** Name in logs, metrics and the Redis client list, such as `mcp-broker`. */
  readonly name: string;
  /** NATS user, such as `broker`. */
  readonly user: string;
  readonly version: string;
  readonly env: S;
  /** Work queues that must exist before the service starts. */
  readonly consumers?: readonly ConsumerDefinition[];
  /** Users of the services that this one calls while it works: where they are in the same process, they start first. */
  readonly startsAfter?: readonly string[];
  /** Builds the service. It is ready when the promise resolves. */
  readonly start: (kit: ServiceKit<z.output<S>>) => Promise<void>;
}

/** A service that a process can run, beside others or alone. */
export interface ServiceDefinition {
  readonly name: string;
  readonly user: string;
  readonly version: string;
  readonly consumers: readonly ConsumerDefinition[];
  readonly startsAfter: readonly string[];
  /** Reads the settings. Throws an EnvError that lists every variable that is wrong. */
  configure(env: Environment): ConfiguredService;
}

/** A service with its settings, ready to be started any number of times. */
export interface ConfiguredService {
  readonly config: BaseConfig;
  start(kit: Omit<ServiceKit<unknown>, "config">): Promise<void>;
}

/** The parts that a service is built from. */
export interface ServiceKit<C> {
  readonly config: C;
  /** The whole environment, for what an operator's files name as `${VAR}`. Settings are in `config`. */
  readonly env: Environment;
  readonly log: Log;
  readonly bus: Bus;
  readonly redis: Redis;
  /** Counts the bytes of owners in Redis, and refuses new work without room. */
  readonly storage: OwnerStorage;
  /** Served at `/metrics`. */
  readonly metrics: Registry;
  readonly instance: string;
  /** A time of `performance.now()` at which every earlier process with this service had ended. */
  readonly begunAtMs: number;
  /** Adds a step to the stop. Steps run in reverse order, after readiness went off and before the bus drains. */
  onStop(name: string, stop: () => Promise<void>): void;
  /** Adds a condition to `/readyz`, beside those for the bus and Redis. */
  ready(name: string, check: Check): void;
  /** The state that `/readyz` reports, for a service that also answers probes at its own address. */
  isReady(): Promise<boolean>;
  /**
   * Stops this service in order and has it started again: within its process where that runs other services, too, else by an end of
   * the process with exit code 75. Null where `YARD_RESTARTS` does not permit it.
   */
  readonly restart: (() => void) | null;
  /** Shows a fact about this service in `/readyz`, such as which sandbox it has. No secrets. */
  describe(name: string, fact: string): void;
}

/** Makes the definition of a service. Nothing starts and no setting is read before a process runs it. */
export function defineService<S extends ServiceEnv>(spec: ServiceSpec<S>): ServiceDefinition {
  const { name, user, version, consumers = [], startsAfter = [] } = spec;
  return {
    name,
    user,
    version,
    consumers,
    startsAfter,
    configure(env) {
      const config = readEnv(spec.env, forUser(env, user));
      return { config, start: (kit) => spec.start({ ...kit, config }) };
    },
  };
}
