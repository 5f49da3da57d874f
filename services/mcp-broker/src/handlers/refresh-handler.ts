import type { Endpoint } from "@switchyard/bus/rpc-endpoint";
import type { Service } from "@switchyard/bus/serve";
import { refreshTools } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { errorText } from "../limits/call-failure.ts";
import { checkAdmin } from "./check-admin.ts";
import type { ServerPool } from "../connection/server-pool.ts";

/** Answers `mcp.refresh` of one server. */
export function handleRefresh(
  service: Service,
  server: string,
  { pool, admins }: { pool: ServerPool; admins: readonly string[] },
): Endpoint {
  return service.handle(
    refreshTools,
    async (_request, context) => {
      checkAdmin(admins, context, "make the broker read tool lists");
      const { fail } = context;
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
