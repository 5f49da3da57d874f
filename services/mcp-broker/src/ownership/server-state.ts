import { ToolInfo } from "@switchyard/contracts/mcp";
import { ServerInfo } from "@switchyard/contracts/mcp-servers";
import { ServerFacts } from "@switchyard/contracts/policy";
import { ToolRef } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import { serverFacts } from "../declaration/server-facts.ts";
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
  /** What its declaration says, for brokers that do not have it; older owners leave it out. */
  declared: z
    .object({ roles: z.array(z.string()).nullable(), facts: ServerFacts.nullable() })
    .optional(),
});
export type ServerState = z.infer<typeof ServerState>;

export function serverStateText(connection: ServerConnection): string {
  const { info, catalogue, heldBecause, entry } = connection;
  const { config } = entry;
  const state: ServerState = {
    info,
    tools: catalogue.tools.map(({ ref, info: tool }) => ({ ref, info: tool })),
    problems: [...catalogue.problems],
    isStateless: connection.isStateless,
    heldBecause,
    ...(config === null
      ? {}
      : {
          declared: {
            roles: config.allowedAgentRoles === null ? null : [...config.allowedAgentRoles],
            facts: serverFacts(config),
          },
        }),
  };
  return JSON.stringify(state);
}
