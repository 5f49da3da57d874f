import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { listTools as contract, type ToolInfo } from "@switchyard/contracts/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import { collidingNames } from "./name-collisions.ts";
import type { ServerView } from "../ownership/server-views.ts";

type ListRequest = z.output<typeof contract.request>;
type ListReply = z.input<typeof contract.reply>;

const fail = failuresOf(contract.errors);

/**
 * The tools that the principal may call, over one server or all of them, in a fixed order. A server
 * that is not connected is a named failure, never a reason to wait or to fail the whole list.
 */
export async function listTools(
  deps: { connections: readonly ServerView[]; gate: PolicyGate },
  request: ListRequest,
  asked: AskedFor,
): Promise<ListReply> {
  const connections = await chosen(deps.connections, request.server);
  const listed = connections.flatMap((connection) => connection.catalogue.tools);
  const colliding = collidingNames(
    deps.connections.map(({ entry }) => entry.id),
    deps.connections.flatMap(({ catalogue }) => catalogue.tools.map(({ ref }) => ref)),
  );
  const tools = listed.filter(({ ref }) => !colliding.has(ref.name));
  const allowed = await deps.gate.filter(
    tools.map((tool) => tool.ref),
    asked,
  );
  return {
    tools: tools
      .filter((tool) => allowed.has(tool.ref.name))
      .map(({ info }) => (request.findings === true ? info : withoutFindings(info))),
    failures: [
      ...connections.flatMap(failuresOfServer),
      ...connections.flatMap((connection) => collisionsOf(connection, colliding)),
    ],
  };
}

function withoutFindings(info: ToolInfo): ToolInfo {
  if (info.findings === undefined) return info;
  const { findings: _, ...rest } = info;
  return rest;
}

/** A list for models has each name once; the calls of such tools go to their own servers all the same. */
function collisionsOf(
  { entry: { id: server }, info: { status } }: ServerView,
  colliding: ReadonlyMap<string, readonly ToolRef[]>,
): ListReply["failures"] {
  const own = [...colliding].filter(([, group]) => group.some((ref) => ref.server === server));
  return own
    .filter(([name, group]) => group.some((ref) => ref.server === server && ref.name === name))
    .map(([name, group]) => {
      const others = group.filter((ref) => ref.name !== name).map((ref) => ref.name);
      return {
        server,
        status,
        error: `tool ${name} is left out: it reads as ${others.join(", ")}`,
      };
    });
}

async function chosen(
  connections: readonly ServerView[],
  server: string | undefined,
): Promise<readonly ServerView[]> {
  if (server === undefined) return connections;
  const connection = connections.find(({ entry }) => entry.id === server);
  if (connection === undefined)
    throw fail.unknown_server(`MCP server not found: ${server}`, { server });
  await connection.start(); // named for the first time: connects what does not connect by itself
  return [connection];
}

function failuresOfServer(connection: ServerView): ListReply["failures"] {
  const { id, status, lastError } = connection.info;
  if (status === "disabled") return [];
  if (status === "connected") {
    return connection.catalogue.problems.map((error) => ({ server: id, status, error }));
  }
  return [{ server: id, status, error: lastError ?? `MCP server not connected: ${id}` }];
}
