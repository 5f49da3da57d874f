import type { ClientCapabilities, Result } from "@modelcontextprotocol/client";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";

/** The requests that a server may send to its client. */
export type ServerRequestMethod = "sampling/createMessage" | "elicitation/create" | "roots/list";

export interface ServerRequest {
  readonly method: ServerRequestMethod;
  readonly params: Readonly<Record<string, unknown>>;
  /** Aborted when the server takes the request back and when the connection ends. */
  readonly signal: AbortSignal;
}

/**
 * The handlers that a connection offers its server beside calls. The same handlers answer the requests of the 2025 protocols and
 * the `input_required` results of 2026-07-28.
 */
export interface SessionHooks {
  /** Declared in the handshake; a request without its capability is refused by the protocol layer. */
  readonly capabilities: ClientCapabilities;
  readonly requests: Readonly<
    Partial<Record<ServerRequestMethod, (request: ServerRequest) => Promise<Result>>>
  >;
  /** Every notification that the session does not use itself: list changes, updates, log messages. */
  onNotification(method: string, params: Readonly<Record<string, unknown>>): void;
}

export type SessionHooksOf = (config: ServerConfig) => SessionHooks;

/** Offers nothing and ignores notifications. */
export const noHooks: SessionHooks = {
  capabilities: {},
  requests: {},
  onNotification: () => undefined,
};
