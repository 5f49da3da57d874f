import { randomUUID } from "node:crypto";
import {
  type AuthInfo,
  type Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport as Transport,
  type HandleRequestOptions,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import type { Slots } from "../identity/slots.ts";
import type { ListChange, ListChanges } from "./list-changes.ts";
import { Problem } from "../problems/problem.ts";
import { PostReply } from "./post-reply.ts";

/** A session of a client that uses a revision before 2026-07-28. It lives on one replica. */
interface Session {
  readonly caller: string;
  readonly scope: string | null;
  readonly transport: SessionTransport;
  usedAt: number;
  /** Requests under way, without the stream that only listens. */
  busy: number;
}

export interface McpSessions {
  /** Answers a request of a session, or starts one. */
  answer(request: SessionRequest): Promise<Response>;
  close(): Promise<void>;
}

export interface SessionRequest {
  readonly request: Request;
  readonly body: unknown;
  readonly caller: string;
  /** The only server that the session may use; null is all. */
  readonly scope: string | null;
  readonly authInfo: AuthInfo;
}

/** Many clients disappear without ending their sessions, so unused sessions expire. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;

export function openMcpSessions(
  createServer: (scope: string | null, authInfo: AuthInfo) => Promise<Server>,
  slots: Slots,
  changes: ListChanges,
): McpSessions {
  const sessions = new Map<string, Session>();
  const sweep = setInterval(() => {
    const before = Date.now() - IDLE_MS;
    for (const { usedAt, busy, transport } of sessions.values())
      if (busy === 0 && usedAt < before) void transport.close();
  }, SWEEP_MS).unref();

  /**
   * Acquires a slot for one more session of the caller; the session that was unused for longest is closed for it. Throws a
   * Problem when all are in use.
   */
  const takeSlot = async (caller: string): Promise<() => void> => {
    try {
      return slots.take(caller);
    } catch (error) {
      const idle = [...sessions.values()].filter((one) => one.caller === caller && one.busy === 0);
      const [oldest] = idle.toSorted((one, other) => one.usedAt - other.usedAt);
      if (oldest === undefined) throw error;
      await oldest.transport.close();
      return slots.take(caller);
    }
  };

  const begin = async ({ caller, scope, authInfo }: SessionRequest): Promise<Session> => {
    const release = await takeSlot(caller);
    const server = await createServer(scope, authInfo).catch((error: unknown) => {
      release();
      throw error;
    });
    const transport = new SessionTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
    });
    const session: Session = { caller, scope, transport, usedAt: Date.now(), busy: 0 };
    await server.connect(transport);
    const unfollow = changes.subscribe((change) => notifySession(server, scope, change));
    const closed = transport.onclose;
    // oxlint-disable-next-line prefer-add-event-listener -- a transport has no other way
    transport.onclose = () => {
      release();
      unfollow();
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
      closed?.();
    };
    return session;
  };

  return {
    async answer(asked) {
      const { request, body, caller, scope, authInfo } = asked;
      const id = request.headers.get("mcp-session-id");
      const known = id === null ? undefined : sessions.get(id);
      // Another caller's session is as unknown as one that does not exist.
      const isOwn = known?.caller === caller && known.scope === scope;
      if (id !== null && !isOwn)
        throw new Problem({
          status: 404,
          code: "unknown_session",
          detail: "there is no such session: initialize a new one",
        });
      const session = known ?? (await begin(asked));
      session.usedAt = Date.now();
      session.busy += 1;
      try {
        // The previous stream may be half open: its client has disconnected, and TCP has not noticed yet.
        if (request.method === "GET") session.transport.closeStandaloneSSEStream();
        const options = { parsedBody: body, authInfo };
        const response = await session.transport.handleRequest(request, options);
        // A request that did not start a session leaves none behind.
        if (known === undefined && session.transport.sessionId === undefined)
          await session.transport.close();
        return response;
      } finally {
        session.busy -= 1;
        session.usedAt = Date.now();
      }
    },
    async close() {
      clearInterval(sweep);
      for (const { transport } of sessions.values()) await transport.close();
    },
  };
}

/** A client without a stream of its own cannot receive the notification, and lists when it needs to. */
function notifySession(server: Server, scope: string | null, change: ListChange): void {
  if (scope !== null && change.server !== null && scope !== change.server) return;
  const send = {
    tools: () => server.sendToolListChanged(),
    resources: () => server.sendResourceListChanged(),
    prompts: () => server.sendPromptListChanged(),
  };
  for (const kind of change.kinds) send[kind]().catch(() => {}); // A failure means that the client has disconnected.
}

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
