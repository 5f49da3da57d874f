import { isAdmin } from "@switchyard/contracts/user-roles";
import type { Endpoint } from "@switchyard/bus/rpc-endpoint";
import type { Service } from "@switchyard/bus/serve";
import { refreshTools } from "@switchyard/contracts/mcp-pins";
import { errorText } from "../limits/call-failure.ts";
import type { ServerPool } from "../connection/server-pool.ts";

/** Answers `mcp.refresh` of one server. */
export function handleRefresh(
  service: Service,
  server: string,
  { pool, admins }: { pool: ServerPool; admins: readonly string[] },
): Endpoint {
  return service.handle(
    refreshTools,
    async (_request, { caller, roles, fail }) => {
      if (!isAdmin(admins, { caller, roles })) {
        const setting = "YARD_MCP_ADMINS";
        throw fail.forbidden_admin(
          `NATS user ${caller} may not make the broker read tool lists. Who may is in the broker's setting ${setting}.`,
          { caller, setting },
        );
      }
      const connection = pool.find(server)?.connection;
      const session = connection?.session ?? null;
      if (connection === undefined || session === null)
        throw fail.server_down(`MCP server ${server} is not connected; mcp.connect connects it.`, {
          server,
        });
      try {
        await session.refreshTools();
      } catch (error) {
        const cause = session.redact(errorText(error));
        throw fail.refresh_failed(
          `The tools of MCP server ${server} could not be read: ${cause}; those from before stay.`,
          { cause },
        );
      }
      return { toolCount: connection.catalogue.tools.length };
    },
    { server },
  );
}
