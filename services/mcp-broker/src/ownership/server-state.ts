import { isRecord } from "@switchyard/contracts/json-record";
import { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { ServerInfo } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ServerFacts } from "@switchyard/contracts/policy/policy";
import { ToolRef } from "@switchyard/contracts/tool-names";
import { z } from "zod";
import { serverFacts } from "../declaration/server-facts.ts";
import type { CatalogueTool } from "../catalogue/tool-catalogue.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import { parseJson } from "../json/json-value.ts";
import { workSlices } from "../limits/work-slices.ts";

const ListedElsewhere = z.object({ ref: ToolRef, info: ToolInfo });

/** The state that the owner of a server publishes to the other brokers, so that each can answer for all of them. */
export const ServerState = z.object({
  info: ServerInfo,
  tools: z.array(ListedElsewhere),
  problems: z.array(z.string()),
  /** True when every broker may connect it: nothing at the server is bound to one connection. */
  isStateless: z.boolean(),
  /** The reason why a person wants it unconnected; the next owner respects it. */
  heldBecause: z.string().nullable(),
  /** The facts of its declaration, for brokers that do not have it; older owners leave it out. */
  declared: z
    .object({ roles: z.array(z.string()).nullable(), facts: ServerFacts.nullable() })
    .optional(),
});
export type ServerState = z.infer<typeof ServerState>;

/** The parts of a connection that are published. */
export interface PublishedConnection extends Pick<
  ServerConnection,
  "info" | "heldBecause" | "isStateless"
> {
  readonly catalogue: {
    readonly tools: readonly Pick<CatalogueTool, "ref" | "info">[];
    readonly problems: readonly string[];
  };
  readonly entry: Pick<ServerConnection["entry"], "config">;
}

/** The state of this moment as JSON. A server may have ten thousand tools, so it is written in slices. */
export async function serverStateText(connection: PublishedConnection): Promise<string> {
  const { info, catalogue, heldBecause, entry } = connection;
  const { config } = entry;
  const state: Omit<ServerState, "tools"> = {
    info,
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
  const rest = JSON.stringify(state);
  const tools: string[] = [];
  const slice = workSlices();
  for (const { ref, info: tool } of catalogue.tools) {
    await slice();
    tools.push(JSON.stringify({ ref, info: tool }));
  }
  return `{"tools":[${tools.join(",")}],${rest.slice(1)}`;
}

/** The state that another broker wrote, read in slices; null when it is none. */
export async function readServerState(text: string): Promise<ServerState | null> {
  const value = parseJson(text);
  if (!isRecord(value) || !Array.isArray(value["tools"])) return null;
  const state = ServerState.safeParse({ ...value, tools: [] });
  if (!state.success) return null;
  const tools: ServerState["tools"] = [];
  const slice = workSlices();
  for (const listed of value["tools"]) {
    await slice();
    const tool = ListedElsewhere.safeParse(listed);
    if (!tool.success) return null;
    tools.push(tool.data);
  }
  return { ...state.data, tools };
}
