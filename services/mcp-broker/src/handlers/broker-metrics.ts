import { ServerStatus } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { CircuitState } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { createCallMetrics, type CallMetrics } from "@switchyard/tool-provider/call-metrics";
import { Counter, Gauge, type Registry } from "prom-client";
import type { CallQueue } from "../limits/call-queue.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import type { ServerOwner } from "../ownership/server-owner.ts";
import type { ChildMemory } from "../process/child-memory.ts";

/** Server ids with a label value of their own; those beyond count as `other` until the next start. */
const MAX_SERVERS = 1_000;

/**
 * The broker's metrics. Labels are server ids, states and codes of the contract. Servers come and go over the bus, so only a
 * limited number of ids get a label value of their own.
 */
export interface BrokerMetrics extends CallMetrics {
  readonly countRestart: (server: string) => void;
  /** Reads the gauges from the pool and from the children at every scrape. */
  watch(
    pool: ServerPool,
    children: Pick<ChildMemory, "measure">,
    owner: Pick<ServerOwner, "leases">,
  ): void;
}

export function createBrokerMetrics(registry: Registry): BrokerMetrics {
  const { measureCall, countDecision } = createCallMetrics(registry, {
    names: {
      calls: "yard_mcp_calls_total",
      seconds: "yard_mcp_call_seconds",
      decisions: "yard_mcp_decisions_total",
    },
    label: "server",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  const restarts = new Counter({
    name: "yard_mcp_reconnects_total",
    help: "Attempts to connect a server again after its connection ended or failed.",
    labelNames: ["server"],
    registers: [registry],
  });
  const seen = new Set<string>();
  const labelOf = (server: string): string => {
    if (seen.has(server)) return server;
    if (seen.size >= MAX_SERVERS) return "other";
    seen.add(server);
    return server;
  };
  return {
    measureCall: (id, call) => measureCall(labelOf(id), call),
    countDecision,
    countRestart: (id) => restarts.inc({ server: labelOf(id) }),
    watch(pool, children, owner) {
      // A server's owner reports it: here it is unconnected, and nothing is wrong with that. One that all serve has a connection
      // in each.
      const own = (): readonly PoolMember[] =>
        pool.members.filter(
          ({ connection }) => owner.leases.stateOf(connection.entry.id)?.isStateless ?? true,
        );
      const gauge = gaugesIn(registry);
      watchServers(gauge, own);
      watchQueues(gauge, own, pool);
      gauge(
        "yard_mcp_child_memory_bytes",
        { help: "Resident memory of a stdio server's whole process group.", labels: ["server"] },
        async (set) => {
          for (const [server, bytes] of await children.measure()) set({ server }, bytes);
        },
      );
    },
  };
}

type SetValue = (labels: Readonly<Record<string, string>>, value: number) => void;
type AddGauge = (
  name: string,
  about: { help: string; labels: string[] },
  collect: (set: SetValue) => void | Promise<void>,
) => void;

/** Adds gauges that are read anew at every scrape. */
function gaugesIn(registry: Registry): AddGauge {
  return (name, { help, labels }, collect) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers: [],
        async collect() {
          const values: Parameters<SetValue>[] = [];
          await collect((...value) => values.push(value));
          this.reset(); // a removed server leaves no value behind
          for (const [of, value] of values) this.set(of, value);
        },
      }),
    );
}

function watchServers(gauge: AddGauge, own: () => readonly PoolMember[]): void {
  gauge(
    "yard_mcp_servers",
    { help: "MCP servers by status, without those that another broker has.", labels: ["status"] },
    (set) => {
      const statuses = own().map(({ connection }) => connection.info.status);
      for (const status of ServerStatus.options)
        set({ status }, statuses.filter((each) => each === status).length);
    },
  );
  gauge(
    "yard_mcp_circuit",
    {
      help: "1 for the state that the circuit of a server is in: open gets no calls, half_open one that tries.",
      labels: ["server", "state"],
    },
    (set) => {
      for (const { connection } of own())
        for (const state of CircuitState.options)
          set({ server: connection.entry.id, state }, connection.circuit.state === state ? 1 : 0);
    },
  );
}

function watchQueues(gauge: AddGauge, own: () => readonly PoolMember[], pool: ServerPool): void {
  /** Counts the server's own queue and those of its instances. */
  const countCalls = (set: SetValue, count: (queue: CallQueue) => number): void => {
    for (const member of own()) {
      const { id } = member.connection.entry;
      const counts = [member, ...pool.instances.of(id)].map(({ queue }) => count(queue));
      set(
        { server: id },
        counts.reduce((sum, one) => sum + one, 0),
      );
    }
  };
  gauge(
    "yard_mcp_calls_in_flight",
    { help: "Tool calls that a server works on.", labels: ["server"] },
    (set) => countCalls(set, ({ inFlight }) => inFlight),
  );
  gauge(
    "yard_mcp_calls_queued",
    { help: "Tool calls that wait for a place at a server.", labels: ["server"] },
    (set) => countCalls(set, ({ queued }) => queued),
  );
  gauge(
    "yard_mcp_instances",
    {
      help: "Instances for runs and sessions of a server that is not shared.",
      labels: ["server"],
    },
    (set) => {
      for (const { connection } of own()) {
        const { id, config } = connection.entry;
        if (config !== null && config.scope !== "shared")
          set({ server: id }, pool.instances.count(id));
      }
    },
  );
}
