import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { AgentCard } from "@a2a-js/sdk";
import {
  defaultServerCallContextBuilder,
  JsonRpcTransportHandler,
  validateVersion,
} from "@a2a-js/sdk/server";
import { A2AError, ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";
import {
  getAgent,
  listAgents,
  type AgentDefinition,
} from "@switchyard/contracts/skill-importer/agents";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import type { Log } from "@switchyard/service/log";
import type { Context } from "hono";
import { FILE_TYPES } from "@switchyard/contracts/agent-runner/content-parts";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import { openEventStream } from "../events/event-stream.ts";
import { requesterOf, type Requester } from "../identity/requester.ts";
import { openSlots } from "../identity/slots.ts";
import { addressOf } from "../identity/session-cookie.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem, problemOf } from "../problems/problem.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";
import { checkParams, notRpc } from "./check-request.ts";
import { RunHandler } from "./run-handler.ts";

const BODY_LIMITS = bodyLimits(4 * 1024 * 1024);
const STREAMS = 200;
/** https://www.jsonrpc.org/specification#error_object */
const PARSE_ERROR = -32_700;
type Rpc = Record<string, unknown>;

export interface A2aParts extends FollowParts {
  readonly log: Log;
  readonly publicUrl: URL | null;
  readonly rootAgent: string | null;
}

/** `/a2a/{agent}`: JSON-RPC of A2A 1.0, and the agent's card. A closed connection cancels nothing. */
export function createA2aEndpoint(parts: A2aParts): {
  readonly card: (c: Context<GatewayEnv>) => Promise<Response>;
  readonly rootCard: (c: Context<GatewayEnv>) => Promise<Response>;
  readonly rpc: (c: Context<GatewayEnv>) => Promise<Response>;
} {
  const slots = openSlots("A2A requests", STREAMS);
  const cardOf = async (c: Context<GatewayEnv>, name: string): Promise<AgentCard> => {
    const requester = requesterOf(c, parts);
    if (!requester.may(startRun))
      throw new Problem({
        status: 403,
        code: "forbidden",
        detail: "this credential may not start runs",
      });
    const { agent } = await requester.ask(getAgent, { name });
    const base = addressOf(c, parts.publicUrl).origin;
    return agentCard(agent, `${base}/a2a/${agent.name}`);
  };
  const serveCard = async (c: Context<GatewayEnv>, name: string): Promise<Response> => {
    const json = AgentCard.toJSON(await cardOf(c, name));
    const text = JSON.stringify(json);
    const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"`;
    const headers = { etag, ...CARD_CACHING };
    if (c.req.header("if-none-match") === etag) return c.body(null, 304, headers);
    return c.json(json as object, 200, headers);
  };
  return {
    card: (c) => serveCard(c, c.req.param("agent") ?? ""),
    rootCard: async (c) =>
      serveCard(c, parts.rootAgent ?? (await onlyAgent(requesterOf(c, parts)))),
    async rpc(c) {
      const read = await readBody(c, BODY_LIMITS).catch(unreadable);
      if (read instanceof Unreadable) return c.json(read.answer, read.status as 400); // Each of these statuses has a body.
      const body = read.value;
      const invalid = notRpc(body);
      if (invalid !== null) return c.json({ jsonrpc: "2.0", id: idIn(body), error: invalid });
      const card = await cardOf(c, c.req.param("agent") ?? "");
      const requester = requesterOf(c, parts);
      const { id = null, method, params } = body as Rpc; // It is a request, which was checked above.
      const failed = (error: unknown): Rpc => ({
        jsonrpc: "2.0",
        id,
        error: JsonRpcTransportHandler.mapToJSONRPCError(reportedErrorOf(error, parts.log)),
      });
      const release = slots.take(requester.caller);
      try {
        const headers = Object.fromEntries(c.req.raw.headers);
        // The protocol negotiates the minor version; the patch version is ignored.
        const requestedVersion = c.req.header("a2a-version")?.replace(/^(\d+\.\d+)\.\d+$/, "$1");
        const context = defaultServerCallContextBuilder({
          headers,
          user: undefined,
          extensions: undefined,
          ...(requestedVersion !== undefined && { requestedVersion }),
        });
        validateVersion(context.requestedVersion, card, "JSONRPC");
        checkParams(String(method), params);
        const handler = new RunHandler(parts, requester, { agent: card.name, card });
        const transport = new JsonRpcTransportHandler(withReportedErrors(handler, parts.log));
        const answer = await transport.handle(body as Rpc, context);
        if (!(Symbol.asyncIterator in answer)) {
          release();
          return c.json(answer as object);
        }
        // An error of the request itself is a plain JSON answer; only later errors are sent in the stream.
        const first = await answer.next();
        const outcome = { first, rest: answer, failed, onEnd: release };
        return stream(c.env.outgoing, outcome);
      } catch (error) {
        release();
        return c.json(failed(error));
      }
    },
  };
}

/** https://a2a-protocol.org/v1.0.0/specification/#861-server-requirements: a card is one caller's, so no shared cache may store it. */
const CARD_CACHING = { "cache-control": "private, max-age=60", vary: "authorization" };

/** Returns the agent whose card is served for the whole host when no setting names one. */
async function onlyAgent(requester: Requester): Promise<string> {
  const { agents } = requester.may(startRun) ? await requester.ask(listAgents, {}) : { agents: [] };
  const [agent] = agents;
  if (agent !== undefined && agents.length === 1) return agent.name;
  const detail = `a card is of one agent, and here are ${agents.length}: read /a2a/{agent}/.well-known/agent-card.json, or set YARD_A2A_AGENT`;
  throw new Problem({ status: 404, code: "unknown_agent", detail });
}

/** The id of an invalid request, if it has one. https://www.jsonrpc.org/specification#response_object */
function idIn(body: unknown): unknown {
  const { id = null } = Object(body) as { readonly id?: unknown };
  return typeof id === "string" || typeof id === "number" ? id : null;
}

/** A body that is not a request of the protocol, with the JSON-RPC error that answers it. */
class Unreadable {
  readonly status: number;
  readonly answer: Rpc;

  constructor(status: number, error: unknown) {
    this.status = status;
    this.answer = { jsonrpc: "2.0", id: null, error };
  }
}

function unreadable(error: unknown): Unreadable {
  if (!(error instanceof Problem)) throw error;
  const { status, code, message } = error;
  switch (code) {
    case "unsupported_media_type": {
      const reported = new ContentTypeNotSupportedError({ message });
      return new Unreadable(status, JsonRpcTransportHandler.mapToJSONRPCError(reported));
    }
    case "malformed_json":
    case "json_too_complex":
      return new Unreadable(status, { code: PARSE_ERROR, message });
    default:
      throw error;
  }
}

function stream(
  outgoing: ServerResponse,
  {
    first,
    rest,
    failed,
    onEnd,
  }: {
    first: IteratorResult<unknown, void>;
    rest: AsyncGenerator<unknown, void>;
    failed: (error: unknown) => Rpc;
    onEnd: () => void;
  },
): Response {
  const events = openEventStream(outgoing);
  events.onClose(() => {
    onEnd();
    rest.return().catch(() => undefined); // The body is no longer needed.
  });
  const send = async (): Promise<void> => {
    try {
      for (let next = first; next.done !== true; next = await rest.next())
        if (!events.send({ data: next.value })) return;
    } catch (error) {
      events.send({ event: "error", data: failed(error) });
    }
    events.end();
  };
  void send();
  return events.response;
}

/** The SDK passes on the message of any error: only errors that are meant for the client keep theirs. */
function reportedErrorOf(error: unknown, log: Log): unknown {
  if (error instanceof A2AError) return error;
  const problem = problemOf(error);
  if (problem?.status === 400) return new RequestMalformedError({ message: problem.message });
  if (problem !== null && problem.code !== "internal")
    return new A2AError({ message: `${problem.code}: ${problem.message}` });
  log.error({ err: error }, "request fault");
  return new A2AError({ message: "the gateway failed by a fault of its own" });
}

function withReportedErrors(handler: RunHandler, log: Log): RunHandler {
  return new Proxy(handler, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, args);
        if (!(result instanceof Promise)) return result; // The reader of a stream reports its errors.
        return result.catch((error: unknown) => {
          throw reportedErrorOf(error, log);
        });
      };
    },
  });
}

/** The agent card of the A2A protocol, from which other agents learn how to call this one: https://a2a-protocol.org, version 1.0. */
function agentCard(
  { name, description, digest }: Pick<AgentDefinition, "name" | "description" | "digest">,
  address: string,
): AgentCard {
  const modes = ["text/plain", "application/json"];
  return AgentCard.fromJSON({
    name,
    description,
    version: digest.slice("sha256:".length, "sha256:".length + 12),
    supportedInterfaces: [{ url: address, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: [...modes, ...FILE_TYPES],
    defaultOutputModes: modes,
    skills: [{ id: name, name, description, tags: ["switchyard"] }],
  });
}
