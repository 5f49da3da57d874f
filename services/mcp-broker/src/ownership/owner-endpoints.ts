import type { Bus } from "@switchyard/bus/bus";
import type { Service } from "@switchyard/bus/serve";
import { askOwner, ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { unknownServer, type ServerPool } from "../connection/server-pool.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";
import { handleOwnerRequest } from "./handle-owner-request.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { OwnerRequests } from "./owner-requests.ts";
import { createServerEndpoints, type ServerEndpoints } from "./server-endpoints.ts";

/** The endpoint on which a server's owner answers the other brokers: one subject for each owned server. */
export function createOwnerEndpoints(
  service: Service,
  deps: { bus: Bus; leases: KnownLeases; pool: ServerPool; registry: ServerRegistry },
): ServerEndpoints {
  const endpoints = createServerEndpoints();
  endpoints.add((server) => [
    service.handle(
      askOwner,
      (request, { fail }) => {
        if (deps.leases.keeps(server)) return handleOwnerRequest(deps, server, request);
        throw fail.not_owner(`This broker does not own MCP server ${server}.`, { server });
      },
      // Only the brokers' own user may publish here.
      { server, caller: deps.bus.user },
    ),
  ]);
  return endpoints;
}

/** Answers `mcp.ensure`, which callers may send to any broker. */
export function serveEnsure(
  service: Service,
  deps: { pool: ServerPool; leases: KnownLeases; requests: OwnerRequests },
): void {
  service.handle(ensureServer, async ({ server }, { fail, deadline, correlationId }) => {
    const member = deps.pool.find(server);
    if (member === null && deps.leases.stateOf(server) === null) throw unknownServer(server);
    if (member?.connection.entry.config?.enabled === false)
      throw fail.server_disabled(`MCP server ${server} is disabled; enable it first.`, { server });
    await deps.requests.ensure(server, { deadline, correlationId });
    return { server };
  });
}
