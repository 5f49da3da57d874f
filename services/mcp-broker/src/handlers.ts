import type { CallContext, Service } from "@switchyard/bus/serve";
import type { Rpc } from "@switchyard/contracts/define";
import {
  callTool as callToolContract,
  listServers,
  listTools as listToolsContract,
} from "@switchyard/contracts/mcp";
import type { BrokerMetrics } from "./broker-metrics.ts";
import { callTool } from "./call-tool.ts";
import type { CallOnce } from "./call-once.ts";
import type { CallStore } from "./call-store.ts";
import { listTools } from "./list-tools.ts";
import type { AskedFor, PolicyGate } from "./policy-gate.ts";
import type { ServerPool } from "./server-pool.ts";

export interface HandlerDeps {
  readonly pool: ServerPool;
  readonly gate: PolicyGate;
  readonly once: CallOnce;
  readonly store: CallStore;
  readonly metrics: BrokerMetrics;
  readonly now: () => number;
}

/** Answers the broker's contracts: the lists for everyone, calls on one subject per configured server. */
export function handle(service: Service, deps: HandlerDeps): void {
  const { pool, gate, once, store, metrics, now } = deps;
  const connections = pool.members.map(({ connection }) => connection);

  service.handle(listServers, () => ({ servers: connections.map(({ info }) => info) }));
  service.handle(listToolsContract, (request, context) =>
    listTools({ connections, gate }, request, askedFor(context, request.token)),
  );
  for (const { connection, queue } of pool.members) {
    const server = connection.entry.id;
    const call = { connection, queue, gate, once, store, now };
    service.handle(
      callToolContract,
      (request, context) =>
        metrics.measureCall(server, () =>
          callTool(call, request, askedFor(context, request.token)),
        ),
      { server },
    );
  }
}

function askedFor<R extends Rpc>(context: CallContext<R>, token: string | undefined): AskedFor {
  const { caller, deadline, signal, correlationId, traceparent } = context;
  return { onBehalfOf: caller, token, deadline, signal, correlationId, traceparent };
}
