import { call } from "@switchyard/bus/call";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { SESSION_TOKEN_HEADER } from "@switchyard/contracts/agent-runner/session-claims";
import { callBuiltin, listBuiltins } from "@switchyard/contracts/toolbox/toolbox";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import type { Context } from "hono";
import { readRequest } from "../routes/read-request.ts";
import { answerJson, isPacked } from "../routes/pack-body.ts";
import { entityTag, isKnown, versionAt } from "../routes/entity-tag.ts";
import type { OwnOperations } from "../routes/own-operations.ts";
import { shapeOf } from "../routes/route-shape.ts";
import type { Route } from "../routes/route-table.ts";
import { Problem } from "../problems/problem.ts";
import { bodyLimits, isJson, readBody, streamBytes, type Body } from "../routes/read-body.ts";
import { readRun } from "../agent-runs/follow-run.ts";
import type { AccessAudit } from "../identity/access-audit.ts";
import type { Idempotency } from "../identity/idempotency.ts";
import { headerOf, type GatewayEnv } from "../identity/request-context.ts";
import { aboutServer } from "./known-server.ts";
import { acceptCommand, type AcceptedCommand, type CommandParts } from "./accept-command.ts";

const BODY_LIMIT = 1024 * 1024;
const NO_QUERY = new URLSearchParams();
const NO_BODY: Body = { bytes: new Uint8Array(), value: undefined, isLarge: false };

export interface RouteParts extends CommandParts {
  readonly access: AccessAudit;
  readonly own: OwnOperations;
  readonly idempotency: Idempotency;
}

/** Returns the handler of a route: it checks rights, builds the contract's request and returns the contract's answer. */
export function serveRoute(
  parts: RouteParts,
  route: Route,
): (c: Context<GatewayEnv>) => Promise<Response> {
  const { bus, access, own } = parts;
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
    const { tokens, request: given } = readRequest(route, shape, {
      path: c.req.param(),
      query: c.req.url.includes("?") ? new URL(c.req.url).searchParams : NO_QUERY,
      body,
      idempotencyKey: headerOf(c, "idempotency-key"),
      ifMatch: headerOf(c, "if-match"),
      caller: user.caller,
    });
    const claimed = UNDER_CLAIMS.has(contract) ? headerOf(c, SESSION_TOKEN_HEADER) : undefined;
    const request = claimed === undefined ? given : { ...Object(given), token: claimed };
    const about = { userToken: user.token, correlationId: c.get("requestId") };
    const repeat = repeatOf(c, parts, { route, body });
    const known = await repeat?.begin();
    if (contract.kind === "command") {
      if (typeof known === "string") return commandAnswer(c, known);
      const read = { tokens, request, user, correlationId: c.get("requestId") };
      const answer = JSON.stringify(await acceptCommand(parts, contract, read));
      await repeat?.answered(answer);
      return commandAnswer(c, answer);
    }
    const options = { ...about, tokens, attachment, signal: c.req.raw.signal };
    const answer = own.of(contract);
    const ask = async () => {
      if (answer !== undefined)
        return answer(request, user.caller, { user, credential: c.get("credential") });
      if (contract === getRun)
        return readRun(parts, user, { request: getRun.request.parse(request), options });
      return contract === callTool
        ? callMcpTool(bus, callTool.request.parse(request), {
            ...options,
            tokens: { server: tokens["server"] ?? "" },
          })
        : call(bus, contract, request, options);
    };
    const server = c.req.param("id") ?? "";
    const askServer = () => aboutServer(route, ask, () => call(bus, listTools, { server }, about));
    const reply =
      contract.role === "admin"
        ? await access.administered(
            c,
            user,
            { operation: contract.name, isRead: route.method === "get" },
            askServer,
          )
        : await askServer();
    return answerOf(c, route, reply);
  };
}

/** Operations whose calls can be made under the rules of a session, with the token that confirmed claims about it [F39]. */
const UNDER_CLAIMS: ReadonlySet<Route["contract"]> = new Set<Route["contract"]>([
  listBuiltins,
  callBuiltin,
  listTools,
  callTool,
]);

/** Returns a body that is not JSON, where the contract accepts one: the fields of the request are in the query then. */
function attachmentOf(c: Context<GatewayEnv>, contract: Route["contract"]) {
  if (contract.kind === "command" || contract.attachment === null) return undefined;
  const type = headerOf(c, "content-type");
  return type === undefined || isJson(type)
    ? undefined
    : streamBytes(c, contract.attachment.maxBytes);
}

async function answerOf(
  c: Context<GatewayEnv>,
  { method, status, version }: Route,
  reply: unknown,
): Promise<Response> {
  const body = JSON.stringify(reply);
  const at = version === undefined ? null : versionAt(reply, version);
  if (method !== "get") {
    if (at !== null) c.header("etag", `"${at}"`);
    return c.body(body, status as 200, { "content-type": "application/json" });
  }
  const tag = entityTag(body, at, isPacked(c, body) ? "gzip" : null);
  if (isKnown(tag, headerOf(c, "if-none-match") ?? "")) return c.body(null, 304, { etag: tag });
  c.header("etag", tag);
  return answerJson(c, body, status);
}

/** Returns the request's `Idempotency-Key`, on an operation that supports one. */
function repeatOf(
  c: Context<GatewayEnv>,
  { idempotency }: Pick<RouteParts, "idempotency">,
  { route, body }: { readonly route: Route; readonly body: Pick<Body, "bytes"> },
) {
  const key = headerOf(c, "idempotency-key");
  if (key === undefined || route.idempotent === undefined) return null;
  const { caller } = c.get("user");
  const { method = "", url: target = "" } = c.env.incoming;
  const keyed = { method, target, body: body.bytes };
  return {
    begin: () => idempotency.begin(caller, key, keyed),
    answered: (answer: string) => idempotency.answered(caller, key, keyed, answer),
  };
}

function commandAnswer(c: Context<GatewayEnv>, answer: string): Response {
  const { runId } = JSON.parse(answer) as AcceptedCommand; // This function wrote the text below.
  const location = `/api/v1/runs/${runId}`;
  return c.body(answer, 202, { "content-type": "application/json", location });
}
