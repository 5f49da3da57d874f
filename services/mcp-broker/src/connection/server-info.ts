import type { ServerInfo, ServerStatus } from "@switchyard/contracts/mcp-servers";
import type { CircuitState } from "@switchyard/contracts/mcp-calls";
import type { ServerEntry } from "../declaration/server-config.ts";
import type { McpSession } from "./mcp-session.ts";

export interface ConnectionState {
  readonly entry: ServerEntry;
  readonly status: ServerStatus;
  /** Null while it is not connected, and while this broker may not speak to it. */
  readonly session: McpSession | null;
  readonly toolCount: number;
  readonly lastError: string | null;
  readonly connectedAt: Date | null;
  readonly owner: string | null;
  readonly circuit: CircuitState;
}

/** What everybody may know of a server. */
export function serverInfo(state: ConnectionState): ServerInfo {
  const { entry, status, session, toolCount, owner, circuit } = state;
  const { id, name, origin, transport, config, overridesFile = false, warnings } = entry;
  // Connected, but not by right any more: the connection ends in a moment.
  const isLeft = status === "connected" && session === null;
  return {
    id,
    name,
    origin,
    transport,
    status: isLeft ? "disconnected" : status,
    toolCount,
    serverVersion: session?.serverVersion ?? null,
    protocolVersion: session?.protocolVersion ?? null,
    lastError: isLeft ? "this broker does not own the server any more" : state.lastError,
    connectedAt: isLeft ? null : (state.connectedAt?.toISOString() ?? null),
    capabilities: session === null ? null : offered(session),
    owner,
    circuit,
    ...(config === null ? {} : { autoConnect: config.autoConnect }),
    ...(overridesFile ? { overridesFile } : {}),
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
  };
}

function offered({ capabilities }: McpSession): NonNullable<ServerInfo["capabilities"]> {
  const { tools, resources, prompts } = capabilities;
  return {
    tools: tools !== undefined,
    resources: resources !== undefined,
    prompts: prompts !== undefined,
  };
}
