import type { Service } from "@switchyard/bus/serve";
import { isError, type Fail } from "@switchyard/contracts/errors";
import {
  callTool as callToolContract,
  listTools as listToolsContract,
} from "@switchyard/contracts/mcp-broker/mcp";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import {
  cancelCall as cancelCallContract,
  cancelCallAt,
} from "@switchyard/contracts/mcp-broker/mcp-calls";
import { cancelCall, cancelHere, type CancelDeps } from "@switchyard/tool-provider/cancel-call";
import { requesterOf } from "@switchyard/tool-provider/policy-gate";
import type { BrokerMetrics } from "./broker-metrics.ts";
import type { ServerEndpoints } from "../ownership/server-endpoints.ts";
import { callTool, type CallDeps } from "../calls/call-tool.ts";
import { memberOf, openFeatureEndpoints } from "./feature-endpoints.ts";
import { handleRefresh } from "./pin-handlers.ts";
import { createListTools } from "../calls/list-tools.ts";
import type { Features } from "../features/start-features.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerOwner } from "../ownership/server-owner.ts";

export interface HandlerDeps {
  readonly pool: ServerPool;
  readonly owner: Pick<ServerOwner, "views" | "leases">;
  /** The endpoints that answer for each server. */
  readonly endpoints: ServerEndpoints;
  readonly calls: CallDeps & CancelDeps;
  readonly features: Features;
  readonly metrics: BrokerMetrics;
  /** NATS users that may make the broker read a tool list. */
  readonly admins: readonly string[];
}

/** The NATS user of every broker. */
const BROKER = "broker";

/** Answers the broker's contracts: the lists for everyone, calls on one subject per server. */
export function handle(service: Service, deps: HandlerDeps): void {
  const { pool, owner, endpoints, calls, features, metrics } = deps;
  const listTools = createListTools(calls.gate);

  service.handle(listServers, () => ({ servers: owner.views().map(({ info }) => info) }));
  service.handle(listToolsContract, (request, context) =>
    listTools(owner.views(), request, requesterOf(context, request.token)),
  );
  service.handle(
    cancelCallAt,
    (request, context) => {
      // Only brokers may publish here, so their statement about the caller is trusted.
      if (context.caller !== BROKER) return { cancelled: false };
      const requester = { ...requesterOf(context, request.token), onBehalfOf: request.onBehalfOf };
      return cancelHere(calls, request, requester);
    },
    { broker: calls.holder },
  );
  endpoints.add((server) => {
    const called = service.handle(
      callToolContract,
      (request, context) => {
        const member = memberOf(server, deps);
        return metrics.measureCall(server, () =>
          whileOwned(server, { owner, fail: context.fail }, () =>
            callTool(calls, { member, request }, requesterOf(context, request.token)),
          ),
        );
      },
      { server },
    );
    const cancelled = service.handle(
      cancelCallContract,
      (request, context) =>
        cancelCall(calls, { ...request, server }, requesterOf(context, request.token)),
      { server },
    );
    const refreshed = handleRefresh(service, server, deps);
    return [
      called,
      cancelled,
      refreshed,
      ...openFeatureEndpoints(service, server, { pool, features, calls }),
    ];
  });
}

/**
 * A server that is down because another broker has become its owner is not down for the caller, who can call there. `server_down`
 * is only returned for calls that were not sent.
 */
async function whileOwned<T>(
  server: string,
  { owner, fail }: Pick<HandlerDeps, "owner"> & { fail: Fail<(typeof callToolContract)["errors"]> },
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!isError(error, callToolContract, "server_down")) throw error;
    if (owner.leases.access.mayConnect(server)) throw error;
    throw fail.not_owner(
      `This broker does not own MCP server ${server} any more, and the call was not sent; ask mcp.ensure and send it again.`,
      { server },
    );
  }
}
