import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { publishCommand } from "@switchyard/bus/publish";
import { fullRunId } from "@switchyard/contracts/ids";
import { callTool } from "@switchyard/contracts/mcp";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import type { Context } from "hono";
import { readRequest } from "../routes/read-request.ts";
import { entityTag, isKnown, versionAt } from "../routes/entity-tag.ts";
import type { OwnOperations } from "../routes/own-operations.ts";
import { shapeOf } from "../routes/route-shape.ts";
import type { Route } from "../routes/route-table.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, isJson, readBody, streamBytes, type Body } from "../routes/read-body.ts";
import type { AccessAudit } from "../identity/access-audit.ts";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";

const BODY_LIMIT = 1024 * 1024;
const NO_QUERY = new URLSearchParams();
const NO_BODY: Pick<Body, "value" | "isLarge"> = { value: undefined, isLarge: false };

export interface RouteParts {
  readonly bus: Bus;
  readonly access: AccessAudit;
  readonly own: OwnOperations;
}

/** The handler of a route: who may, what is meant, the contract's answer. */
export function serveRoute(
  { bus, access, own }: RouteParts,
  route: Route,
): (c: Context<GatewayEnv>) => Promise<Response> {
  const { contract } = route;
  const limits = bodyLimits(route.bodyLimit ?? BODY_LIMIT, contract.limits);
  return async (c) => {
    const shape = shapeOf(route);
    const user = c.get("user");
    const refusal = refusalOf(contract, user);
    if (refusal !== null) {
      access.refused(c, user, { operation: contract.name, status: 403, code: "forbidden" });
      throw new Problem({ status: 403, code: "forbidden", detail: refusal });
    }
    const attachment = attachmentOf(c, contract);
    const body = attachment === undefined ? await readBody(c, limits) : NO_BODY;
    const { tokens, request } = readRequest(route, shape, {
      path: c.req.param(),
      query: c.req.url.includes("?") ? new URL(c.req.url).searchParams : NO_QUERY,
      body,
      idempotencyKey: headerOf(c, "idempotency-key"),
      ifMatch: headerOf(c, "if-match"),
      caller: user.caller,
    });
    const about = { userToken: user.token, correlationId: c.get("requestId") };
    if (contract.kind === "command") {
      const { sequence } = await publishCommand(bus, contract, tokens, request, about);
      const runId = fullRunId(user.caller, runOf(route, tokens, request));
      return c.json({ runId, sequence }, 202, { location: `/api/v1/runs/${runId}` });
    }
    const options = { ...about, tokens, attachment, signal: c.req.raw.signal };
    const answer = own.of(contract);
    const ask = async () => {
      if (answer !== undefined) return answer(request, user.caller);
      return contract === callTool
        ? callMcpTool(bus, callTool.request.parse(request), {
            ...options,
            tokens: { server: tokens["server"] ?? "" },
          })
        : call(bus, contract, request, options);
    };
    const reply =
      contract.role === "admin"
        ? await access.administered(c, user, contract.name, ask)
        : await ask();
    return answerOf(c, route, reply);
  };
}

/** A body that is no JSON, where the contract accepts one: the fields of the request are in the query then. */
function attachmentOf(c: Context<GatewayEnv>, contract: Route["contract"]) {
  if (contract.kind === "command" || contract.attachment === null) return undefined;
  const type = headerOf(c, "content-type");
  return type === undefined || isJson(type)
    ? undefined
    : streamBytes(c, contract.attachment.maxBytes);
}

function answerOf(c: Context<GatewayEnv>, { method, status, version }: Route, reply: unknown) {
  const body = JSON.stringify(reply);
  const at = version === undefined ? null : versionAt(reply, version);
  const isRead = method === "get";
  if (isRead) {
    const tag = entityTag(body, at);
    if (isKnown(tag, headerOf(c, "if-none-match") ?? "")) return c.body(null, 304, { etag: tag });
    c.header("etag", tag);
  } else if (at !== null) c.header("etag", `"${at}"`);
  return c.body(body, status as 200, { "content-type": "application/json" });
}

/** The run that a command is about. */
function runOf(route: Route, tokens: Readonly<Record<string, string>>, request: unknown): string {
  const named =
    route.idempotent === undefined
      ? undefined
      : (request as Record<string, unknown>)[route.idempotent];
  return typeof named === "string" ? named : (tokens["runId"] ?? "");
}
