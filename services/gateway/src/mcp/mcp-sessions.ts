import { randomUUID } from "node:crypto";
import {
  WebStandardStreamableHTTPServerTransport as Transport,
  type Server,
} from "@modelcontextprotocol/server";
import type { Slots } from "../identity/slots.ts";
import { Problem } from "../problems/problem.ts";

/** The session of a client of a revision before 2026-07-28: its connection in parts. It lives on one replica. */
interface Session {
  readonly caller: string;
  readonly scope: string | null;
  readonly transport: Transport;
  usedAt: number;
  /** Requests under way; the stream that only listens is none. */
  busy: number;
}

export interface McpSessions {
  /** Answers a request of a session, or begins one. */
  answer(request: SessionRequest): Promise<Response>;
  close(): Promise<void>;
}

export interface SessionRequest {
  readonly request: Request;
  readonly body: unknown;
  readonly caller: string;
  /** The one server that the session is about; null is all. */
  readonly scope: string | null;
  readonly authInfo: NonNullable<Parameters<Transport["handleRequest"]>[1]>["authInfo"];
}

/** Clients end their sessions without a word, so that those nobody uses end by themselves. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;

export function openMcpSessions(
  createServer: (scope: string | null) => Server,
  slots: Slots,
): McpSessions {
  const sessions = new Map<string, Session>();
  const sweep = setInterval(() => {
    const before = Date.now() - IDLE_MS;
    for (const { usedAt, busy, transport } of sessions.values())
      if (busy === 0 && usedAt < before) void transport.close();
  }, SWEEP_MS).unref();

  const begin = async ({ caller, scope }: SessionRequest): Promise<Session> => {
    const release = slots.take(caller);
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, session),
    });
    const session: Session = { caller, scope, transport, usedAt: Date.now(), busy: 0 };
    const server = createServer(scope);
    await server.connect(transport);
    const closed = transport.onclose;
    // oxlint-disable-next-line prefer-add-event-listener -- a transport has no other way
    transport.onclose = () => {
      release();
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
        const options = { parsedBody: body, ...(authInfo !== undefined && { authInfo }) };
        const response = await session.transport.handleRequest(request, options);
        // What was no beginning of a session leaves none behind.
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
