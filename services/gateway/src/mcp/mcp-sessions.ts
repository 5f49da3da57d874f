import { randomUUID } from "node:crypto";
import type { AuthInfo, Server } from "@modelcontextprotocol/server";
import type { Slots } from "../identity/slots.ts";
import type { ListChange, ListChanges } from "./list-changes.ts";
import { Problem } from "../problems/problem.ts";
import { SessionTransport } from "./session-transport.ts";

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
