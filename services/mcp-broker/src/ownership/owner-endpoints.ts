import type { Bus } from "@switchyard/bus/connect";
import type { Service } from "@switchyard/bus/serve";
import { askOwner, ensureServer } from "@switchyard/contracts/mcp-ownership";
import { createCallEndpoints, type CallEndpoints } from "./server-endpoints.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerDirectory } from "./server-directory.ts";
import type { OwnerRequests } from "./owner-requests.ts";
import type { ServerOwnership } from "./server-ownership.ts";

/** What the owner of a server answers the other brokers: one subject for each owned server. */
export function serveOwners(
  service: Service,
  deps: { bus: Bus; ownership: ServerOwnership; requests: OwnerRequests },
): CallEndpoints {
  const { bus, ownership, requests } = deps;
  return createCallEndpoints((server) => [
    service.handle(
      askOwner,
      (request, { fail }) => {
        if (ownership.keeps(server)) return requests.atOwner(server, request, NOW);
        throw fail.not_owner(`This broker does not own MCP server ${server}.`, { server });
      },
      // Only the brokers' own user may publish here.
      { server, caller: bus.user },
    ),
  ]);
}

/** The owner itself needs no time to reach the owner. */
const NOW = { deadline: 0 };

/** Answers `mcp.ensure`, which any broker may be asked. */
export function serveEnsure(
  service: Service,
  {
    pool,
    directory,
    requests,
  }: { pool: ServerPool; directory: ServerDirectory; requests: OwnerRequests },
): void {
  service.handle(ensureServer, async ({ server }, { fail, deadline, correlationId }) => {
    const member = pool.find(server);
    if (member === null && directory.stateOf(server) === null)
      throw fail.unknown_server(`MCP server not found: ${server}`, { server });
    if (member?.connection.entry.config?.enabled === false)
      throw fail.server_disabled(`MCP server ${server} is disabled; enable it first.`, { server });
    await requests.ensure(server, { deadline, correlationId });
    return { server };
  });
}
