import type { IncomingMessage, ServerResponse } from "node:http";
import {
  CLIENT_CAPABILITIES_META_KEY,
  SERVER_INFO_META_KEY,
  type InboundClassificationOutcome,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type ProtocolError,
  type Tool,
} from "@modelcontextprotocol/server";
import { isRecord } from "@switchyard/contracts/json-record";
import type { Requester } from "../identity/requester.ts";
import { withErrors } from "./mcp-errors.ts";
import { abilitiesIn } from "./mcp-request.ts";
import { callTool, catalogueOf, identityOf, listTools, logFault } from "./mcp-server.ts";
import { PostReply } from "./post-reply.ts";
import type { McpParts } from "./tool-call.ts";

/** The headers in which a request of 2026-07-28 repeats what its body states. */
export interface McpHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** A `tools/list` or `tools/call` of 2026-07-28 that one message answers. */
export interface PlainRequest {
  readonly id: JSONRPCRequest["id"];
  readonly method: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

const REVISION = "2026-07-28";
const PARAMS = new Set(["name", "arguments", "cursor", "_meta"]);

/**
 * Returns a well-formed call or list of tools that one message answers. Null for every other request, which the SDK answers: one
 * that it refuses, one that wants progress, and one with the answer to an earlier question.
 */
export function plainRequestIn(
  outcome: InboundClassificationOutcome,
  headers: McpHeaders,
): PlainRequest | null {
  if (outcome.kind !== "modern" || outcome.messageKind !== "request") return null;
  const { id, method, params = {} } = outcome.message;
  const { name = "", arguments: args = {}, _meta: meta = {} } = params;
  const isKnown = method === "tools/list" || (method === "tools/call" && headers.name === name);
  const isStated = headers.version === REVISION && headers.method === method;
  if (!isKnown || !isStated || !Object.keys(params).every((key) => PARAMS.has(key))) return null;
  if (typeof name !== "string" || !isRecord(args) || meta.progressToken !== undefined) return null;
  return { id, method, name, args, meta };
}

/** Answers plain requests itself: a server object of the SDK for each costs a tenth of a call's processor time. */
export function createPlainAnswers(parts: McpParts) {
  const open = new Set<AbortController>();
  return {
    answer(
      request: PlainRequest,
      { requester, server }: { readonly requester: Requester; readonly server: string | null },
      {
        incoming,
        outgoing,
      }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
    ): Promise<Response> {
      const ended = new AbortController();
      open.add(ended);
      // A client that disconnects cancels its request.
      const abort = (): void => ended.abort();
      if (outgoing.closed) abort();
      outgoing.once("close", abort);
      const { id, method } = request;
      const onFault = (err: unknown): void => logFault(parts, { err, method }, requester);
      const sender = { requester, server, signal: ended.signal, onFault };
      const { accept = "" } = incoming.headers;
      const readsStreams = accept.includes("text/event-stream");
      const reply = new PostReply([id], {}, { onEnd: () => {}, readsStreams });
      const finish = async (): Promise<void> => {
        const message = await messageOf(parts, request, sender);
        outgoing.off("close", abort);
        open.delete(ended);
        reply.answer(id, message);
      };
      void finish();
      return reply.response;
    },
    /** Ends the requests under way, when the gateway stops. */
    close(): void {
      for (const ended of open) ended.abort();
    },
  };
}

interface Sender {
  readonly requester: Requester;
  /** The only server that it may use; null is all. */
  readonly server: string | null;
  readonly signal: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

async function messageOf(
  parts: McpParts,
  request: PlainRequest,
  sender: Sender,
): Promise<JSONRPCMessage> {
  const { id } = request;
  try {
    const result = await withErrors(sender.onFault, () => resultOf(parts, request, sender));
    return { jsonrpc: "2.0", id, result: completed(result, sender.server) };
  } catch (error) {
    const { code, message, data } = error as ProtocolError; // as withErrors throws
    return { jsonrpc: "2.0", id, error: { code, message, data } };
  }
}

async function resultOf(
  parts: McpParts,
  { method, name, args, meta }: PlainRequest,
  { requester, server, signal, onFault }: Sender,
): Promise<object> {
  if (method === "tools/list") {
    const { tools, ...rest } = await listTools(catalogueOf(server), requester);
    return { ...rest, tools: tools.map(withoutExecution), ...NOT_CACHED };
  }
  const abilities = abilitiesIn(meta[CLIENT_CAPABILITIES_META_KEY]);
  const mcpReq = { _meta: meta, signal, requestState: () => undefined, notify: async () => {} };
  return callTool(server, name, {
    parts,
    requester,
    context: { mcpReq },
    abilities,
    args,
    onFault,
  });
}

/** The cache hints of 2026-07-28 for a list that each client has of its own. */
const NOT_CACHED = { ttlMs: 0, cacheScope: "private" };

/** The revision has no tasks of the protocol's own, and so none of the member that announces them. */
function withoutExecution(tool: Tool): Tool {
  const { execution: _, ...rest } = tool;
  return rest;
}

/** Returns the result with the members that 2026-07-28 adds to every one. */
function completed(result: object, server: string | null): Record<string, unknown> {
  const { _meta: own } = result as { readonly _meta?: unknown }; // Each result may have it.
  const meta = isRecord(own) ? own : {};
  return {
    resultType: "complete",
    ...result,
    _meta: { [SERVER_INFO_META_KEY]: identityOf(server), ...meta },
  };
}
