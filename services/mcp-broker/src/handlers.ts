import type { CallContext, Service } from "@switchyard/bus/serve";
import type { Rpc } from "@switchyard/contracts/define";
import type { Fail } from "@switchyard/contracts/errors";
import {
  callTool as callToolContract,
  listServers,
  listTools as listToolsContract,
} from "@switchyard/contracts/mcp";
import type { BrokerMetrics } from "./broker-metrics.ts";
import { createCallEndpoints, type CallEndpoints } from "./calls/call-endpoints.ts";
import { callTool } from "./calls/call-tool.ts";
import type { CallOnce } from "./calls/call-once.ts";
import type { CallStore } from "./calls/call-store.ts";
import { listTools } from "./catalogue/list-tools.ts";
import type { AskedFor, PolicyGate } from "./calls/policy-gate.ts";
import type { ServerPool } from "./connection/server-pool.ts";

export interface HandlerDeps {
  readonly pool: ServerPool;
  readonly gate: PolicyGate;
  readonly once: CallOnce;
  readonly store: CallStore;
  readonly metrics: BrokerMetrics;
  readonly now: () => number;
}

/** Answers the broker's contracts: the lists for everyone, calls on one subject per server. */
export function handle(service: Service, deps: HandlerDeps): CallEndpoints {
  const { pool, gate, once, store, metrics, now } = deps;

  service.handle(listServers, () => ({
    servers: pool.members.map(({ connection }) => connection.info),
  }));
  service.handle(listToolsContract, (request, context) => {
    const connections = pool.members.map(({ connection }) => connection);
    return listTools({ connections, gate }, request, askedFor(context, request.token));
  });
  return createCallEndpoints((server) =>
    service.handle(
      callToolContract,
      (request, context) => {
        const member = pool.find(server);
        if (member === null) throw removed(server, context.fail);
        const call = { ...member, gate, once, store, now };
        return metrics.measureCall(server, () =>
          callTool(call, request, askedFor(context, request.token)),
        );
      },
      { server },
    ),
  );
}

/** The call was on its way when its server went. */
function removed(server: string, fail: Fail<(typeof callToolContract)["errors"]>) {
  const lastError = "the server was removed";
  return fail.server_down(`MCP server not found: ${server}`, {
    server,
    status: "disconnected",
    lastError,
  });
}

function askedFor<R extends Rpc>(context: CallContext<R>, token: string | undefined): AskedFor {
  const { caller, deadline, signal, correlationId, traceparent } = context;
  return { onBehalfOf: caller, token, deadline, signal, correlationId, traceparent };
}
