import { failuresOf } from "@switchyard/contracts/errors";
import { connectServer, getServer } from "@switchyard/contracts/mcp-servers";
import type { askOwner, OwnerRequest } from "@switchyard/contracts/mcp-ownership";
import type { z } from "zod";
import type { ServerPool } from "../connection/server-pool.ts";
import { shownDeclaration } from "../declaration/shown-declaration.ts";
import { within } from "../limits/within.ts";
import type { ServerRegistry } from "../registry/server-registry.ts";

export type OwnerReply = z.output<typeof askOwner.reply>;

const fail = failuresOf(getServer.errors);

/** An attempt that takes longer goes on, and the answer says that the server is connecting. */
const ATTEMPT_MS = connectServer.timeoutMs - 2_000;

/** Carries out a request about a server, on the broker that has the connection. */
export async function carryOut(
  { pool, registry }: { pool: ServerPool; registry: ServerRegistry },
  server: string,
  request: OwnerRequest,
): Promise<OwnerReply> {
  switch (request.do) {
    case "start": {
      const { connection } = known(pool, server);
      await within(ATTEMPT_MS, connection.start());
      return { server: known(pool, server).connection.info };
    }
    case "connect": {
      const { connection, attempt } = registry.connect(server, request.by);
      await within(ATTEMPT_MS, attempt);
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
      const { connection } = known(pool, server);
      return { server: connection.info, stderr: connection.stderr };
    }
    case "get": {
      const { entry, info } = known(pool, server).connection;
      const declaration = shownDeclaration(entry.declaration);
      const updatedAt = registry.updatedAt(server);
      return { server: info, declaration, updatedAt, version: registry.version(server) };
    }
    default:
      return request satisfies never;
  }
}

function known(pool: ServerPool, server: string) {
  const member = pool.find(server);
  if (member !== null) return member;
  throw fail.unknown_server(`MCP server not found: ${server}`, { server });
}
