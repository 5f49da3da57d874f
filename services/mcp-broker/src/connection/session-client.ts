import {
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import type { ServerRequestMethod, SessionHooks } from "./session-hooks.ts";

export interface SessionClientOptions {
  readonly version: string;
  readonly mode: VersionNegotiationMode;
  /** The time for which the request for the newest protocol waits for its reply. */
  readonly probeTimeoutMs: number;
  readonly hooks: SessionHooks;
  readonly onToolsChanged: () => void;
}

const TOOLS_CHANGED = "notifications/tools/list_changed";

/** The protocol layer of one connection, with what the session offers its server. */
export function createSessionClient(options: SessionClientOptions): Client {
  const { version, mode, probeTimeoutMs, hooks, onToolsChanged } = options;
  const client = new Client(
    { name: "switchyard", version },
    {
      versionNegotiation: { mode, probe: { timeoutMs: probeTimeoutMs } },
      capabilities: hooks.capabilities,
      jsonSchemaValidator: unchecked,
    },
  );
  // The keys of the record are the methods; `Object.keys` forgets that.
  for (const method of Object.keys(hooks.requests) as ServerRequestMethod[])
    answerRequests(client, method, hooks);
  // Not the SDK's `listChanged`: on 2026-07-28 it subscribes once and never again when that ends.
  client.setNotificationHandler(TOOLS_CHANGED, () => {
    onToolsChanged();
    hooks.onNotification(TOOLS_CHANGED, {});
  });
  client.fallbackNotificationHandler = ({ method, params = {} }) => {
    hooks.onNotification(method, params);
    return Promise.resolve();
  };
  return client;
}

function answerRequests(client: Client, method: ServerRequestMethod, hooks: SessionHooks): void {
  const answer = hooks.requests[method];
  if (answer === undefined) return;
  client.setRequestHandler(method, async ({ params = {} }, { mcpReq }) => {
    const result = await answer({ method, params: { ...params }, signal: mcpReq.signal });
    // The protocol layer checks the answer against the schema of the method.
    return result as never;
  });
}

/**
 * An output schema is the server's own claim about its own result, and compiling a hostile one can
 * stop the event loop; the result is passed on as it came.
 */
const unchecked: jsonSchemaValidator = {
  getValidator<T>(_schema: JsonSchemaType): JsonSchemaValidator<T> {
    // The SDK reads `data` only to return it, so its type is as reliable as the server.
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};
