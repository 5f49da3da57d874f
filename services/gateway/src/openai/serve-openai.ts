import { getAgent, listAgents } from "@switchyard/contracts/skill-importer/agents";
import { cutText } from "@switchyard/contracts/cut-text";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { isError } from "@switchyard/contracts/errors";
import type { Context } from "hono";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import { checkRights, requesterOf, type Requester } from "../identity/requester.ts";
import { openSlots } from "../identity/slots.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, readBody } from "../routes/read-body.ts";
import { serveChat, type Served } from "./chat-completions.ts";
import { cancelResponse, getResponse, serveResponses } from "./responses.ts";

const BODY_LIMITS = bodyLimits(4 * 1024 * 1024);
const STREAMS = 200;
type Handler = (c: Context<GatewayEnv>) => Promise<Response>;

export interface OpenAiRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly handle: Handler;
}

/** Returns the routes of the OpenAI API: agents are its models. */
export function openAiRoutes(parts: FollowParts): readonly OpenAiRoute[] {
  const slots = openSlots("answers", STREAMS);
  const starts =
    (serve: (c: Context<GatewayEnv>, served: Served) => Promise<Response>): Handler =>
    async (c) => {
      checkRights(startRun, c.get("user"));
      const body = await readBody(c, BODY_LIMITS);
      const requester = requesterOf(c, parts);
      const release = slots.take(requester.caller);
      try {
        return await serve(c, { parts, requester, body, release });
      } catch (error) {
        release();
        throw isError(error, getAgent, "unknown_agent") ? noModel(error) : error;
      }
    };
  return [
    { method: "GET", path: "/v1/models", handle: (c) => listModels(c, requesterOf(c, parts)) },
    { method: "GET", path: "/v1/models/:id", handle: (c) => getModel(c, requesterOf(c, parts)) },
    { method: "POST", path: "/v1/chat/completions", handle: starts(serveChat) },
    { method: "POST", path: "/v1/responses", handle: starts(serveResponses) },
    {
      method: "GET",
      path: "/v1/responses/:id",
      handle: (c) => getResponse(c, { parts, requester: requesterOf(c, parts), slots }),
    },
    {
      method: "POST",
      path: "/v1/responses/:id/cancel",
      handle: (c) => cancelResponse(c, requesterOf(c, parts)),
    },
  ];
}

async function listModels(c: Context<GatewayEnv>, requester: Requester): Promise<Response> {
  const { agents } = requester.may(startRun) ? await requester.ask(listAgents, {}) : { agents: [] };
  return c.json({ object: "list", data: agents.map(({ name }) => modelOf(name)) });
}

async function getModel(c: Context<GatewayEnv>, requester: Requester): Promise<Response> {
  const name = c.req.param("id") ?? "";
  const { agents } = await requester.ask(listAgents, {});
  if (!agents.some((agent) => agent.name === name))
    throw noModel(new Error(`there is no agent ${cutText(name, 100)}`));
  return c.json(modelOf(name));
}

function modelOf(id: string) {
  return { id, object: "model", created: 0, owned_by: "switchyard" };
}

function noModel({ message }: Error): Problem {
  const data = { param: "model" };
  return new Problem({ status: 404, code: "model_not_found", detail: message, data });
}
