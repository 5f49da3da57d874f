import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp-broker/mcp";
import type { Decision } from "@switchyard/contracts/policy/policy";
import { mcpToolRef, type ToolRef } from "@switchyard/contracts/tool-names";
import type { CallStore } from "@switchyard/tool-provider/call-store";
import { ownCallId } from "@switchyard/tool-provider/own-call-id";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import type { ServerConnection } from "../connection/server-connection.ts";
import { serverDown } from "./send-request.ts";

type CallRequest = z.output<typeof contract.request>;

const fail = failuresOf(contract.errors);

/** A tool of the catalogue, or the tool of the stored call when its server has gone down since. */
export async function findTool(
  { store, gate }: { readonly store: CallStore; readonly gate: PolicyGate },
  { connection, request }: { readonly connection: ServerConnection; readonly request: CallRequest },
  requester: Requester,
): Promise<ToolRef> {
  const server = connection.entry.id;
  const found =
    connection.catalogue.find(request.tool) ??
    (await storedTool(store, request, { server, caller: requester.onBehalfOf }));
  // Looked up again, at the same moment as the session: the server may have been connected again meanwhile.
  const tool = found ?? connection.catalogue.find(request.tool);
  if (tool !== null) return tool.ref;
  if (connection.session === null) throw serverDown(connection);
  await denyUnknown(gate, { server, request }, requester);
  throw fail.unknown_tool(
    `MCP server ${server} has no tool ${request.tool}; mcp.tools lists what it has.`,
    {
      server,
      tool: request.tool,
    },
  );
}

async function storedTool(
  store: CallStore,
  { callId, tool }: CallRequest,
  { server, caller }: { readonly server: string; readonly caller: string },
): Promise<{ readonly ref: ToolRef } | null> {
  const record = callId === undefined ? null : await store.read(ownCallId(caller, callId));
  if (record === null || record.state === "cancelled") return null;
  const { ref } = record;
  return ref.server === server && [ref.name, ref.tool].includes(tool) ? { ref } : null;
}

/** A caller that may not call a tool of this name gets the same refusal, whether the tool exists or not. */
async function denyUnknown(
  gate: PolicyGate,
  { server, request }: { server: string; request: CallRequest },
  requester: Requester,
): Promise<void> {
  const prefix = `mcp__${server}__`;
  const { tool, args } = request;
  const ref = mcpToolRef(server, tool.startsWith(prefix) ? tool.slice(prefix.length) : tool);
  const { decision } = await gate.check({ ref, args }, requester);
  if (decision.effect === "deny") throw denied(ref, decision);
}

export function denied(ref: ToolRef, decision: Decision) {
  return fail.denied(`The policy denies ${ref.name}: ${decision.reason}`, decision);
}
