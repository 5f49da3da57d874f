import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { listTools as contract } from "@switchyard/contracts/mcp";
import type { AskedFor, PolicyGate } from "../calls/policy-gate.ts";
import type { ServerConnection } from "../connection/server-connection.ts";

type ListRequest = z.output<typeof contract.request>;
type ListReply = z.input<typeof contract.reply>;

const fail = failuresOf(contract.errors);

/**
 * The tools that the principal may call, over one server or all of them, in a fixed order. A server
 * that is not connected is a named failure, never a reason to wait or to fail the whole list.
 */
export async function listTools(
  deps: { connections: readonly ServerConnection[]; gate: PolicyGate },
  request: ListRequest,
  asked: AskedFor,
): Promise<ListReply> {
  const connections = await chosen(deps.connections, request.server);
  const tools = connections.flatMap((connection) => connection.catalogue.tools);
  const allowed = await deps.gate.filter(
    tools.map((tool) => tool.ref),
    asked,
  );
  return {
    tools: tools.filter((tool) => allowed.has(tool.ref.name)).map((tool) => tool.info),
    failures: connections.flatMap(failuresOfServer),
  };
}

async function chosen(
  connections: readonly ServerConnection[],
  server: string | undefined,
): Promise<readonly ServerConnection[]> {
  if (server === undefined) return connections;
  const connection = connections.find(({ entry }) => entry.id === server);
  if (connection === undefined)
    throw fail.unknown_server(`MCP server not found: ${server}`, { server });
  await connection.start(); // named for the first time: connects what does not connect by itself
  return [connection];
}

function failuresOfServer(connection: ServerConnection): ListReply["failures"] {
  const { id, status, lastError } = connection.info;
  if (status === "disabled") return [];
  if (status === "connected") {
    return connection.catalogue.problems.map((error) => ({ server: id, status, error }));
  }
  return [{ server: id, status, error: lastError ?? `MCP server not connected: ${id}` }];
}
