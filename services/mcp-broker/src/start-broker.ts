import type { Bus } from "@switchyard/bus/bus";
import { serve, type Service } from "@switchyard/bus/serve";
import type { Audit } from "@switchyard/audit/start-audit";
import type { Log } from "@switchyard/service/log";
import {
  createEgressGuard,
  type EgressGuard,
  type PrivateHosts,
} from "@switchyard/service/network/egress-guard";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import type { Registry } from "prom-client";
import { within } from "@switchyard/contracts/timeouts";
import { handleLogins } from "./handlers/login-handlers.ts";
import { createLoginStore } from "./auth/login-store.ts";
import type { TokenCipher } from "./auth/token-cipher.ts";
import { createBrokerMetrics } from "./handlers/broker-metrics.ts";
import { createCallPath } from "./calls/call-path.ts";
import { declaredFacts } from "./ownership/declared-facts.ts";
import { createConnectionReporter } from "./connection/connection-reporter.ts";
import { poolOptions } from "./pool-options.ts";
import { createServerPool, type ServerPool } from "./connection/server-pool.ts";
import { createRequestOrigins } from "./server-requests/request-origins.ts";
import { startFeatures } from "./features/start-features.ts";
import { handle } from "./handlers/call-handlers.ts";
import {
  createServerOwner,
  type OwnershipSettings,
  type ServerOwner,
} from "./ownership/server-owner.ts";
import { createServerEndpoints } from "./ownership/server-endpoints.ts";
import { handleQuestions } from "./handlers/question-handlers.ts";
import { handlePins } from "./handlers/pin-handlers.ts";
import { startPinning } from "./pins/start-pinning.ts";
import { followFile, createRegistryReporter } from "./registry/follow-file.ts";
import { readState } from "./registry/read-state.ts";
import { handleRegistry } from "./handlers/registry-handlers.ts";
import type { SandboxSetting } from "./process/isolate-server.ts";
import { handleSecrets } from "./handlers/secret-handlers.ts";
import { createSecretSync, readSecrets } from "./secrets/follow-secrets.ts";
import { createSecretStore } from "./secrets/secret-store.ts";
import { createServerSecrets } from "./secrets/server-secrets.ts";
import { ServerRegistry } from "./registry/server-registry.ts";

/** The parts that the broker's process provides. */
export interface BrokerKit {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly storage: OwnerStorage;
  readonly log: Log;
  readonly metrics: Registry;
  readonly version: string;
  /** The audit that records calls; null records nothing. */
  readonly audit: Audit | null;
}

/** The declarations of servers, and the values that their processes are started with. */
export interface ServerSources {
  readonly serversFile: string;
  readonly stateDir: string;
  /** The values of `${VAR}` references and of the children's PATH. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The isolation of stdio servers whose entry does not configure a sandbox. */
  readonly sandbox: SandboxSetting;
}

export interface BrokerSettings {
  readonly servers: ServerSources;
  /** NATS users that may change servers over the bus. */
  readonly admins: readonly string[];
  readonly ownership: OwnershipSettings;
  /** True when decisions that the policy marks as cacheable are cached for the promised time. */
  readonly decisionCache: boolean;
  /** Encrypts logins to servers; null when there is no key, and then no login is possible. */
  readonly tokenKeys: TokenCipher | null;
  /** The keys that encrypt the values behind masks; left out: no mask can be turned back. */
  readonly maskKeys?: readonly Buffer[];
  /** The time for which a question of a server waits for a person's answer at most, in milliseconds. */
  readonly questionMs: number;
  /** Addresses beside the public ones that HTTP servers may have. */
  readonly privateHosts: PrivateHosts;
  /** The time that calls in flight have when the broker stops, before their servers are closed. */
  readonly drainMs: number;
}

export interface Broker {
  readonly pool: ServerPool;
  /** No new calls → calls in flight end → servers closed, their process groups gone. */
  stop(): Promise<void>;
}

/**
 * Requests in work at a time, over all servers. Servers come and go and each bounds its own calls,
 * so this is only the net below them: forty servers with the default limits fit in.
 */
const CONCURRENCY = 4_096;

/** The time for which the start waits for the servers' first attempts; slow ones connect later. */
const FIRST_ATTEMPTS_MS = 5_000;

/** Starts the broker on an open bus. Resolves when it serves and its quick servers are connected. */
export async function startBroker(given: BrokerKit, settings: BrokerSettings): Promise<Broker> {
  const { bus, redis, log } = given;
  const { servers, admins, drainMs, questionMs, tokenKeys } = settings;
  const kit = { bus, redis, log, now: Date.now };
  const { file, registryStore, changes, entries, children } = await readState(given, servers);

  const metrics = createBrokerMetrics(given.metrics);
  const pool = createServerPool();
  const reporter = createRegistryReporter(kit);
  const registry = new ServerRegistry({
    pool,
    store: registryStore,
    records: changes,
    file: file.entries,
    now: Date.now,
    onIgnoredEdit: (server) => reporter.ignored(server),
    onTrouble: (err) => log.error({ err }, "mcp registry trouble"),
  });
  const service = serveBroker(given);
  const endpoints = createServerEndpoints();
  const report = createConnectionReporter({ ...kit, onRestart: metrics.countRestart });
  const { secrets, syncSecrets } = await openSecrets(given, { cipher: tokenKeys, pool });
  const parts = { pool, registry, registryStore, syncSecrets, service, endpoints, report };
  const owner = createServerOwner(kit, settings.ownership, parts);
  const path = createCallPath({
    ...kit,
    ...declaredFacts(pool, owner.leases),
    audit: given.audit,
    storage: given.storage,
    decisionCache: settings.decisionCache,
    maskKeys: settings.maskKeys ?? [],
    onChecked: metrics.countDecision,
  });
  const origins = createRequestOrigins();
  const values = { env: servers.env, secrets: secrets.lookup };
  const features = startFeatures({ ...kit, ...values, gate: path.gate, pool, origins, questionMs });
  const pinning = startPinning({
    ...kit,
    servers: () => listedRefs(owner),
    onView: (server) => pool.find(server)?.connection.repin(),
  });
  const guard = guardOf(settings);
  const logins = tokenKeys === null ? null : createLoginStore(redis, tokenKeys);
  const surroundings = { ...given, ...servers, tokenKeys, secrets, records: children.records };
  pool.begin(entries, poolOptions(surroundings, { guard, logins, owner, features, pinning }));
  metrics.watch(pool, children, owner);

  const sender = { origins, askToOpen: features.askToOpen };
  const calls = { ...path, pool, sender };
  handle(service, { pool, owner, endpoints, calls, features, metrics, admins });
  handlePins(service, { pins: pinning.pins, admins });
  handleQuestions(service, { ...features.questions, admins });

  registry.listen((change) => {
    if (change.kind === "removed") features.forget(change.serverId);
    if (owner.registryChanged(change)) reporter.changed(change);
  });
  handleRegistry(service, { pool, registry, owner, admins });
  handleLogins(service, { pool, guard, owner, store: logins, ...values, admins, now: Date.now });
  handleSecrets(service, { pool, secrets, syncSecrets, owner, admins, log });
  await owner.start();
  await within(pool.start(), { ms: FIRST_ATTEMPTS_MS });

  const watched = followFile({
    path: servers.serversFile,
    known: file.text,
    registry,
    reporter,
    log,
  });

  return {
    pool,
    async stop() {
      watched.close();
      // Each server is handed over when its calls have ended; at the end of the time they are aborted.
      const givenAway = owner.stop();
      await within(Promise.all([service.drain(), givenAway]), { ms: drainMs });
      path.stop();
      features.stop();
      pinning.stop();
      await pool.stop();
      await givenAway;
    },
  };
}

/** Opens the stored secrets of servers; they are encrypted with the keys of logins. */
async function openSecrets(
  { redis, log }: BrokerKit,
  { cipher, pool }: { readonly cipher: TokenCipher | null; readonly pool: ServerPool },
) {
  const secrets = createServerSecrets({
    store: createSecretStore(redis),
    cipher,
    now: Date.now,
    onUnreadable: (secret, reason) =>
      log.error({ secret, reason }, "mcp secret cannot be decrypted"),
  });
  await readSecrets(secrets, (err) => log.error({ err }, "mcp secrets not read"));
  const onTrouble = (err: unknown): void => log.error({ err }, "mcp secrets trouble");
  return { secrets, syncSecrets: createSecretSync({ secrets, pool, onTrouble }) };
}

function guardOf({ privateHosts: permitted }: BrokerSettings): EgressGuard {
  return createEgressGuard({ permitted, setting: "YARD_MCP_ALLOW_PRIVATE_HOSTS" });
}

function listedRefs(owner: ServerOwner) {
  return owner.views().map(({ entry, catalogue }) => ({
    id: entry.id,
    refs: catalogue.tools.map(({ ref }) => ref),
  }));
}

function serveBroker({ bus, log, version }: BrokerKit): Service {
  return serve(bus, {
    name: "broker",
    version,
    concurrency: CONCURRENCY,
    description: "Lists and calls the tools of MCP servers, each call after the policy allowed it",
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
}
