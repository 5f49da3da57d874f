import type { Bus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { StartError } from "@switchyard/service/start-error";
import type { Registry } from "prom-client";
import { createBrokerMetrics } from "./broker-metrics.ts";
import { createCallOnce } from "./calls/call-once.ts";
import { createCallStore } from "./calls/call-store.ts";
import { openChildRecords } from "./process/child-records.ts";
import { createConnectionReporter } from "./connection/connection-reporter.ts";
import { handle } from "./handlers.ts";
import { followFile } from "./registry/follow-file.ts";
import { createSessionOpener } from "./connection/mcp-session.ts";
import { createPolicyGate } from "./calls/policy-gate.ts";
import { handleRegistry } from "./registry/registry-handlers.ts";
import { createRegistryReporter } from "./registry/registry-reporter.ts";
import {
  createRegistryStore,
  type RegistryRecord,
  type RegistryStore,
} from "./registry/registry-store.ts";
import { readServerFile } from "./registry/server-file.ts";
import { createServerPool, type ServerPool } from "./connection/server-pool.ts";
import { mergedEntries, ServerRegistry } from "./registry/server-registry.ts";

export interface BrokerOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly metrics: Registry;
  readonly version: string;
  readonly serversFile: string;
  /** NATS users that may change servers over the bus. */
  readonly admins: readonly string[];
  readonly stateDir: string;
  /** Where `${VAR}` references and the children's PATH come from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How long calls in flight may take when the broker stops, before their servers are closed. */
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

/** How long the start waits for the servers' first attempts; slow ones connect later. */
const FIRST_ATTEMPTS_MS = 5_000;

/** Starts the broker on an open bus. Resolves when it serves and its quick servers are connected. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { bus, redis, log, version, env, drainMs } = options;
  const file = await readServerFile(options.serversFile);
  const registryStore = createRegistryStore(redis);
  const changes = await loadChanges(registryStore);
  const entries = mergedEntries(file.entries, changes);
  for (const { id, problem } of entries)
    if (problem !== null) log.error({ server: id, problem }, "mcp server skipped");
  const records = await openChildRecords(options.stateDir);
  for (const child of await records.reap()) log.warn(child, "leftover mcp server process ended");

  const metrics = createBrokerMetrics(options.metrics);
  const pool = createServerPool(entries, {
    open: createSessionOpener({ env, records, version }),
    now: Date.now,
    random: Math.random,
    schedule: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
    onChange: createConnectionReporter({ bus, log, metrics, now: Date.now }),
  });
  metrics.watch(pool);

  const store = createCallStore(redis);
  const once = createCallOnce({
    store,
    onNotStored: (err) => log.error({ err }, "call outcome not stored"),
  });
  const service = serve(bus, {
    name: "broker",
    version,
    concurrency: CONCURRENCY,
    description: "Lists and calls the tools of MCP servers, each call after the policy allowed it",
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  const gate = createPolicyGate(bus);
  const endpoints = handle(service, { pool, gate, once, store, metrics, now: Date.now });
  const serveMembers = (): void =>
    endpoints.serveOnly(pool.members.map(({ connection }) => connection.entry.id));
  serveMembers();

  const reporter = createRegistryReporter({ bus, log, now: Date.now });
  const registry = new ServerRegistry({
    pool,
    store: registryStore,
    records: changes,
    file: file.entries,
    now: Date.now,
    onChange: (change) => {
      serveMembers();
      reporter.changed(change);
    },
    onTrouble: (err) => log.error({ err }, "mcp registry trouble"),
  });
  handleRegistry(service, { pool, registry, admins: options.admins });
  await within(FIRST_ATTEMPTS_MS, pool.start());

  const watched = followFile({
    path: options.serversFile,
    known: file.text,
    registry,
    reporter,
    log,
  });

  return {
    pool,
    async stop() {
      watched.close();
      await within(drainMs, service.drain());
      await pool.stop();
    },
  };
}

async function loadChanges(store: RegistryStore): Promise<ReadonlyMap<string, RegistryRecord>> {
  try {
    return await store.load();
  } catch (cause) {
    throw new StartError(
      `cannot read the servers that were changed over the bus: ${String(cause)}`,
      {
        hint: "look at the hash yard:{mcp}:servers in Redis",
        cause,
      },
    );
  }
}

/** Waits for the work, but not longer than the time. */
async function within(timeoutMs: number, work: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, timeoutMs);
  try {
    await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
