import { AsyncLocalStorage } from "node:async_hooks";
import {
  classifyInboundRequest,
  createMcpHandler,
  type AuthInfo,
  type InboundClassificationOutcome,
} from "@modelcontextprotocol/server";
import { ServerId } from "@switchyard/contracts/ids";
import { isRecord } from "@switchyard/contracts/json-record";
import { invalidParams, lenientMessages } from "@switchyard/contracts/mcp-broker/mcp-requests";
import type { Log } from "@switchyard/service/log";
import type { Context } from "hono";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import { requesterOf } from "../identity/requester.ts";
import { openSlots } from "../identity/slots.ts";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";
import { instructionsOfServer, requireServer, missingServers } from "./catalogue.ts";
import { createListChanges, listChangesBus } from "./list-changes.ts";
import { authInfoOf, requesterIn } from "./mcp-request.ts";
import { createMcpServer, wholeInstructions } from "./mcp-server.ts";
import { openMcpSessions } from "./mcp-sessions.ts";
import { createPendingCalls } from "./pending-calls.ts";
import { createPlainAnswers, plainRequestIn, type McpHeaders } from "./plain-request.ts";
import type { McpParts } from "./tool-call.ts";

const BODY_LIMITS = bodyLimits(4 * 1024 * 1024);
/** The limit of messages in one request, which revisions before 2025-06-18 allow. */
const MOST_IN_BATCH = 50;
const SESSIONS = 100;
const STREAMS = 200;
/** The delay lets a gateway that stops send its last answers. */
const CLOSE_AFTER_MS = 250;

/** `/mcp` and `/mcp/servers/{id}`: MCP over Streamable HTTP, sessions before 2026-07-28 and requests without them since. */
export function createMcpEndpoint(
  follow: FollowParts & { readonly log: Log },
): (c: Context<GatewayEnv>) => Promise<Response> {
  let isStopping = false;
  const parts: McpParts = {
    ...follow,
    isStopping: () => isStopping,
    calls: createPendingCalls(follow.hub),
  };
  const onerror = (err: unknown): void => parts.log.debug({ err }, "MCP request refused");
  const changes = createListChanges(parts.hub);
  const sessions = openMcpSessions(
    async (server, authInfo) => {
      const instructions = await instructionsFor(server, authInfo);
      return createMcpServer(parts, { server, era: "legacy", instructions });
    },
    openSlots("MCP sessions", SESSIONS),
    changes,
  );
  const streams = openSlots("MCP requests", STREAMS);
  const plain = createPlainAnswers(parts);
  // The SDK's event bus does not pass the request to which a stream belongs.
  const scopes = new AsyncLocalStorage<string | null>();
  const modern = createMcpHandler(
    async ({ authInfo, requestInfo }) => {
      const named = authInfo?.extra?.["server"];
      const server = typeof named === "string" ? named : null;
      const isDiscovery = requestInfo?.headers.get("mcp-method") === "server/discover";
      const instructions = isDiscovery ? await instructionsFor(server, authInfo) : undefined;
      return createMcpServer(parts, { server, era: "modern", instructions });
    },
    { legacy: "reject", onerror, bus: listChangesBus(changes, () => scopes.getStore() ?? null) },
  );
  follow.hub.onStop(() => {
    isStopping = true;
    setTimeout(() => {
      plain.close();
      modern.close().catch(onerror);
      sessions.close().catch(onerror);
    }, CLOSE_AFTER_MS);
  });

  return async (c) => {
    const scope = scopeOf(c);
    const { value } = await readBody(c, BODY_LIMITS);
    const body = lenientMessages(value);
    const refused = invalidParams(body);
    // Within a session clients read an error from a reply that is well.
    if (refused !== null) return c.json(refused, isInitialize(body) ? 400 : 200);
    if (Array.isArray(body) && body.length > MOST_IN_BATCH) throw tooManyMessages();
    const requester = requesterOf(c, parts);
    if (scope !== null && isOpening(c, body)) await requireServer(requester, scope);
    const release = streams.take(requester.caller);
    const { outgoing } = c.env;
    // The answer has been sent, or the client has disconnected.
    if (outgoing.closed) release();
    else outgoing.once("close", release);
    const route = routeOf(c, body);
    const simple = route === null ? null : plainRequestIn(route, headersOf(c));
    if (simple !== null) return plain.answer(simple, { requester, server: scope }, c.env);
    const { caller } = requester;
    const authInfo = authInfoOf(requester, scope);
    const request = lenientRequest(c.req.raw);
    return route === null || route.kind === "legacy"
      ? sessions.answer({ request, body, caller, scope, authInfo })
      : scopes.run(scope, () => modern.fetch(request, { authInfo, parsedBody: body }));
  };
}

/** Returns how the SDK classifies the request; null for one without a body. */
function routeOf(c: Context<GatewayEnv>, body: unknown): InboundClassificationOutcome | null {
  if (body === undefined) return null;
  const { version, method, name } = headersOf(c);
  return classifyInboundRequest({
    httpMethod: c.req.method,
    body,
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    ...(name !== undefined && { mcpNameHeader: name }),
  });
}

function headersOf(c: Context<GatewayEnv>): McpHeaders {
  return {
    version: headerOf(c, "mcp-protocol-version"),
    method: headerOf(c, "mcp-method"),
    name: headerOf(c, "mcp-name"),
  };
}

/** Those of one server are the server's own; those of all name the servers that are missing for the sender of the request. */
async function instructionsFor(
  server: string | null,
  authInfo: AuthInfo | undefined,
): Promise<string | undefined> {
  const requester = authInfo === undefined ? null : requesterIn(authInfo);
  if (server === null)
    return wholeInstructions(requester === null ? [] : await missingServers(requester));
  return requester === null ? undefined : instructionsOfServer(requester, server);
}

function isInitialize(body: unknown): boolean {
  return isRecord(body) && body["method"] === "initialize";
}

/** True for what a client of either era sends first. */
function isOpening(c: Context<GatewayEnv>, body: unknown): boolean {
  return isInitialize(body) || headerOf(c, "mcp-method") === "server/discover";
}

function tooManyMessages(): Problem {
  const detail = `a batch may have ${MOST_IN_BATCH} messages: send the others in further requests`;
  return new Problem({ status: 400, code: "invalid_request", detail });
}

function scopeOf(c: Context<GatewayEnv>): string | null {
  const id = c.req.param("id");
  if (id === undefined) return null;
  if (ServerId.safeParse(id).success) return id;
  const detail = "the id of an MCP server is 1-24 characters of a-z 0-9 -";
  throw new Problem({ status: 404, code: "unknown_server", detail });
}

/** Sets the `Accept` header that the official SDK requires, for a client that accepts anything or sends no `Accept`. */
function lenientRequest(request: Request): Request {
  const accept = request.headers.get("accept") ?? "*/*";
  if (!/(?:^|,)\s*\*\/\*/.test(accept)) return request;
  const headers = new Headers(request.headers);
  const isGet = request.method === "GET";
  headers.set("accept", isGet ? "text/event-stream" : "application/json, text/event-stream");
  const { method, signal, url } = request;
  return new Request(url, { method, headers, signal });
}
