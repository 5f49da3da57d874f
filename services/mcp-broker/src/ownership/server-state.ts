import { ServerInfo, ToolInfo } from "@switchyard/contracts/mcp";
import { ToolRef } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import type { ServerConnection } from "../connection/server-connection.ts";

/** What the owner of a server tells the other brokers, so that each can answer for all of them. */
export const ServerState = z.object({
  info: ServerInfo,
  tools: z.array(z.object({ ref: ToolRef, info: ToolInfo })),
  problems: z.array(z.string()),
  /** True when every broker may connect it: nothing at the server is bound to one connection. */
  isStateless: z.boolean(),
  /** Why somebody wants it unconnected; the next owner keeps to it. */
  heldBecause: z.string().nullable(),
});
export type ServerState = z.infer<typeof ServerState>;

export function serverStateText(connection: ServerConnection): string {
  const { info, catalogue, heldBecause } = connection;
  const state: ServerState = {
    info,
    tools: catalogue.tools.map(({ ref, info: tool }) => ({ ref, info: tool })),
    problems: [...catalogue.problems],
    isStateless: connection.isStateless,
    heldBecause,
  };
  return JSON.stringify(state);
}
