import type { z } from "zod";
import { prepareListReply } from "@switchyard/bus/prepared-reply";
import { listTools as contract, type ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import { unknownServer } from "../connection/server-pool.ts";
import { createListableTools } from "./listable-tools.ts";
import { createPreparedLists, type PreparedList } from "./prepared-lists.ts";
import type { ServerView } from "../ownership/server-views.ts";

type ListRequest = z.output<typeof contract.request>;
type ListReply = z.input<typeof contract.reply>;

/** The most characters of lists that are cached as JSON; a thousand tools have some 400,000. */
const MAX_PREPARED = 16_000_000;

/**
 * The tools that the principal may call, over one server or all of them, in a fixed order. A server that is not connected is a
 * named failure, never a reason to wait or to fail the whole list. The policy decides each list, or has promised its answer; only
 * the JSON of a list that it allowed is reused.
 */
export function createListTools(gate: Pick<PolicyGate, "filter">) {
  const findListable = createListableTools();
  const prepared = createPreparedLists(MAX_PREPARED);
  return async (
    all: readonly ServerView[],
    request: ListRequest,
    requester: Requester,
  ): Promise<PreparedList> => {
    const connections = await chosen(all, request.server);
    const tools = findListable(all, request.server);
    // Taken at the same moment as the tools: a server that connects during the wait would be in neither.
    const failures = [
      ...connections.flatMap(failuresOfServer),
      ...connections.flatMap((connection) => collisionsOf(connection, tools.colliding)),
    ];
    const allowed = await gate.filter(tools.refs, requester);
    const isShown = tools.refs.map(({ name }) => allowed.has(name));
    const withFindings = request.findings === true;
    const shown = isShown.map((is) => (is ? "1" : "0")).join("");
    const about = isShown.includes(true) ? instructionsOf(connections, request.server) : {};
    return prepared.get(tools, JSON.stringify([withFindings, shown, failures, about]), () => {
      const infos = tools.infos.filter((_, n) => isShown[n]);
      const shownInfos = withFindings ? infos : infos.map(withoutFindings);
      return prepareListReply(contract, { tools: shownInfos, failures, ...about }, "tools");
    });
  };
}

/** A text about the use of one server is part of the list of this server alone. */
function instructionsOf(
  [connection]: readonly ServerView[],
  server: string | undefined,
): Pick<ListReply, "instructions"> {
  const instructions = server === undefined ? undefined : connection?.info.instructions;
  return instructions === undefined ? {} : { instructions };
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
  if (connection === undefined) throw unknownServer(server);
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
