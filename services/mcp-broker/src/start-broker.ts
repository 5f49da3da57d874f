import type { Bus } from "@switchyard/bus/connect";
import { serve } from "@switchyard/bus/serve";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import type { Registry } from "prom-client";
import { createBrokerMetrics } from "./broker-metrics.ts";
import { createCallOnce } from "./call-once.ts";
import { createCallStore } from "./call-store.ts";
import { openChildRecords } from "./child-records.ts";
import { createConnectionReporter } from "./connection-reporter.ts";
import { handle } from "./handlers.ts";
import { createSessionOpener } from "./mcp-session.ts";
import { createPolicyGate } from "./policy-gate.ts";
import { readServerFile } from "./server-file.ts";
import { createServerPool, type ServerPool } from "./server-pool.ts";

export interface BrokerOptions {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly metrics: Registry;
  readonly version: string;
  readonly serversFile: string;
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

/** Requests other than calls that are answered at a time. */
const LISTINGS = 64;

/** How long the start waits for the servers' first attempts; slow ones connect later. */
const FIRST_ATTEMPTS_MS = 5_000;

/** Starts the broker on an open bus. Resolves when it serves and its quick servers are connected. */
export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const { bus, redis, log, version, env, drainMs } = options;
  const entries = await readServerFile(options.serversFile);
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
    concurrency: LISTINGS + pool.capacity,
    description: "Lists and calls the tools of MCP servers, each call after the policy allowed it",
    onFault: ({ error, contract, correlationId }) =>
      log.error({ err: error, contract, correlationId }, "handler fault"),
  });
  handle(service, { pool, gate: createPolicyGate(bus), once, store, metrics, now: Date.now });
  await within(FIRST_ATTEMPTS_MS, pool.start());

  return {
    pool,
    async stop() {
      await within(drainMs, service.drain());
      await pool.stop();
    },
  };
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
