import { StreamableHTTPClientTransport, type Client } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../declaration/server-config.ts";
import { isModern } from "./connect-approach.ts";

/**
 * True when nothing at the server belongs to this one connection, so that several brokers may have
 * one each: Streamable HTTP of 2026-07-28, or an earlier one whose server gave out no session id.
 * A process, an event stream and a session id make a server stateful. `stateful` in the
 * configuration overrules what was negotiated over Streamable HTTP.
 */
export function isStatelessSession(
  client: Pick<Client, "getProtocolEra" | "transport">,
  config: ServerConfig,
): boolean {
  const { transport } = client;
  if (config.scope !== "shared" || !(transport instanceof StreamableHTTPClientTransport))
    return false;
  if (config.stateful !== null) return !config.stateful;
  return isModern(client) || transport.sessionId === undefined;
}
