import {
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport as Transport,
  type HandleRequestOptions,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { PostReply } from "./post-reply.ts";

/**
 * The transport of a session. It answers requests itself, see {@link PostReply}; the SDK's transport, which answers each with a
 * stream, opens and ends the session, has the stream that only listens, and refuses what is malformed.
 */
export class SessionTransport extends Transport {
  readonly #replies = new Map<RequestId, PostReply>();

  constructor(options: {
    readonly sessionIdGenerator: () => string;
    readonly onsessioninitialized: (id: string) => void;
  }) {
    // The answer to `initialize` comes at once.
    super({ ...options, enableJsonResponse: true });
  }

  /** `parsedBody` is a message of JSON-RPC, or a batch of them, where the request has a body. */
  override async handleRequest(
    request: Request,
    options: HandleRequestOptions = {},
  ): Promise<Response> {
    const { parsedBody: body, authInfo } = options;
    const messages = (Array.isArray(body) ? body : [body]) as (JSONRPCMessage | undefined)[]; // as it was classified
    const requests = messages.filter((message) => isRequest(message));
    if (requests.length === 0 || !this.#answers(request, requests))
      return super.handleRequest(request, options);
    const ids = requests.map(({ id }) => id);
    const session = { "mcp-session-id": this.sessionId ?? "" };
    const onEnd = (): void => {
      for (const id of ids) if (this.#replies.get(id) === reply) this.#replies.delete(id);
    };
    const reply = new PostReply(ids, session, { onEnd, readsStreams: true });
    for (const id of ids) this.#replies.set(id, reply);
    for (const message of messages)
      if (message !== undefined)
        this.onmessage?.(message, { request, ...(authInfo !== undefined && { authInfo }) });
    return reply.response;
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const answered = "method" in message ? undefined : message.id;
    const about = answered ?? options?.relatedRequestId;
    const reply = about === undefined ? undefined : this.#replies.get(about);
    if (reply === undefined) {
      // A message about a request whose client has disconnected is dropped.
      if (about === undefined || answered !== undefined) await super.send(message);
    } else if (answered === undefined) reply.notify(message);
    else reply.answer(answered, message);
  }

  override async close(): Promise<void> {
    for (const reply of new Set(this.#replies.values())) reply.end();
    await super.close();
  }

  /** True for requests that are answered here: those of a session that are well formed. */
  #answers({ method, headers }: Request, requests: readonly JSONRPCRequest[]): boolean {
    const accept = headers.get("accept") ?? "";
    const version = headers.get("mcp-protocol-version");
    return (
      method === "POST" &&
      this.sessionId !== undefined &&
      accept.includes("application/json") &&
      accept.includes("text/event-stream") &&
      (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) &&
      !requests.some((request) => request.method === "initialize")
    );
  }
}

function isRequest(message: JSONRPCMessage | undefined): message is JSONRPCRequest {
  return message !== undefined && "method" in message && "id" in message;
}
