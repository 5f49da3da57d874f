import type { ToolInfo } from "@switchyard/contracts/mcp";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Peers } from "../peers.ts";

/** A tool of a provider: of an MCP server, or of the toolbox, and then without a server. */
export interface ListedTool extends Pick<
  ToolInfo,
  "name" | "tool" | "description" | "inputSchema" | "pin"
> {
  readonly server: string | null;
}

/** What the policy lets a run call, of every tool provider: built-in tools, then those of MCP servers. */
export async function listProviderTools(
  peers: Pick<Peers, "listTools" | "listBuiltins">,
  token: string,
  options: { readonly signal: AbortSignal; readonly correlationId: string },
): Promise<readonly ListedTool[]> {
  const [builtins, { tools }] = await Promise.all([
    peers.listBuiltins({ token }, options).catch(noneWithoutToolbox),
    peers.listTools({ token }, options),
  ]);
  return [
    ...builtins.tools.map(({ name, description, inputSchema }) => {
      return { name, tool: name, server: null, description, inputSchema };
    }),
    ...tools,
  ];
}

/** There need not be a toolbox. One that is there and does not answer is an outage. */
function noneWithoutToolbox(error: unknown): { tools: [] } {
  if (error instanceof ServiceError && error.code === "no_responders") return { tools: [] };
  throw error;
}
