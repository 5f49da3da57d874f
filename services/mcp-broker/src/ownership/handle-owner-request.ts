import { connectServer } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { askOwner, OwnerRequest } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import type { z } from "zod";
import type { ServerPool } from "../connection/server-pool.ts";
import { shownDeclaration } from "../declaration/shown-declaration.ts";
import { within } from "@switchyard/contracts/timeouts";
import type { ServerRegistry } from "../registry/server-registry.ts";

export type OwnerReply = z.output<typeof askOwner.reply>;

/** An attempt that takes longer continues, and the answer reports that the server is connecting. */
const ATTEMPT_MS = connectServer.timeoutMs - 2_000;

/** Carries out a request about a server, on the broker that has the connection. */
export async function handleOwnerRequest(
  { pool, registry }: { pool: ServerPool; registry: ServerRegistry },
  server: string,
  request: OwnerRequest,
): Promise<OwnerReply> {
  switch (request.do) {
    case "start": {
      await within(pool.known(server).start(), { ms: ATTEMPT_MS });
      return { server: pool.known(server).info };
    }
    case "connect": {
      const { connection, attempt } = registry.connect(server, request.by);
      await within(attempt, { ms: ATTEMPT_MS });
      return { server: connection.info };
    }
    case "disconnect":
      return { server: await registry.disconnect(server, request.by) };
    case "remove":
      await registry.remove(server, { by: request.by, ifVersion: request.ifVersion });
      return { server: null };
    case "update": {
      const { changes, by, isResume, ifVersion } = request;
      return registry.update(server, changes, { by, isResume, ifVersion });
    }
    case "reset":
      return { server: await registry.reset(server, request.by) };
    case "logs": {
      const { info, stderr } = pool.known(server);
      return { server: info, stderr };
    }
    case "get": {
      const { entry, info } = pool.known(server);
      const declaration = shownDeclaration(entry.declaration);
      const updatedAt = registry.updatedAt(server);
      return { server: info, declaration, updatedAt, version: registry.version(server) };
    }
    default:
      return request satisfies never;
  }
}
