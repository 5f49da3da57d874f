import { ServiceError } from "@switchyard/contracts/errors";
import { ServerStatus } from "@switchyard/contracts/mcp";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { ServerPool } from "./connection/server-pool.ts";

/** What the broker counts. Labels are server ids of the configuration and codes of the contract, so their number is fixed. */
export interface BrokerMetrics {
  /** Times a call and counts its end by outcome. */
  measureCall<R extends { isError: boolean; replayed: boolean }>(
    server: string,
    call: () => Promise<R>,
  ): Promise<R>;
  countRestart(server: string): void;
  /** Reads the gauges from the pool at every scrape. */
  watch(pool: ServerPool): void;
}

export function createBrokerMetrics(registry: Registry): BrokerMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: "yard_mcp_calls_total",
    help: "Tool calls by server and outcome: ok, tool_error, replayed or an error code.",
    labelNames: ["server", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "yard_mcp_call_seconds",
    help: "Time from the request of a tool call to its reply.",
    labelNames: ["server"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const restarts = new Counter({
    name: "yard_mcp_reconnects_total",
    help: "Attempts to connect a server again after its connection ended or failed.",
    labelNames: ["server"],
    registers,
  });
  return {
    async measureCall(server, call) {
      const stop = seconds.startTimer({ server });
      let outcome = "internal";
      try {
        const reply = await call();
        outcome = reply.replayed ? "replayed" : reply.isError ? "tool_error" : "ok";
        return reply;
      } catch (error) {
        if (error instanceof ServiceError) outcome = error.code;
        throw error;
      } finally {
        stop();
        calls.inc({ server, outcome });
      }
    },
    countRestart: (server) => restarts.inc({ server }),
    watch: (pool) => watchPool(pool, registry),
  };
}

function watchPool(pool: ServerPool, registry: Registry): void {
  const gauge = (
    name: string,
    help: string,
    label: string,
    collect: (gauge: Gauge) => void,
  ): void =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        collect() {
          this.reset(); // a server that went leaves no value behind
          collect(this);
        },
      }),
    );
  gauge("yard_mcp_servers", "Configured MCP servers by status.", "status", (servers) => {
    for (const status of ServerStatus.options) {
      servers.set(
        { status },
        pool.members.filter(({ connection }) => connection.info.status === status).length,
      );
    }
  });
  gauge("yard_mcp_calls_in_flight", "Tool calls that a server works on.", "server", (calls) => {
    for (const { connection, queue } of pool.members)
      calls.set({ server: connection.entry.id }, queue.inFlight);
  });
  gauge(
    "yard_mcp_calls_queued",
    "Tool calls that wait for a place at a server.",
    "server",
    (calls) => {
      for (const { connection, queue } of pool.members)
        calls.set({ server: connection.entry.id }, queue.queued);
    },
  );
}
