import type { Endpoint } from "@switchyard/bus/rpc-endpoint";
import type { CallContext, Handler, Service } from "@switchyard/bus/serve";
import type { Rpc, Tokens } from "@switchyard/contracts/define";
import { failuresOf } from "@switchyard/contracts/errors";
import * as contracts from "@switchyard/contracts/mcp-features";
import type { z } from "zod";
import type { AskedFor } from "@switchyard/service/tool-provider/policy-gate";
import type { ServerPool } from "../connection/server-pool.ts";
import type { Features } from "../features/start-features.ts";
import type { FeatureGate } from "../server-requests/feature-gate.ts";
import { completeArgument, getPrompt, listPrompts } from "../features/prompts.ts";
import type { RequestOrigins } from "../server-requests/request-origins.ts";
import { listResources, listResourceTemplates, readResource } from "../features/resources.ts";
import type { RequestTarget } from "../features/send-request.ts";

export interface FeatureEndpointDeps {
  readonly pool: ServerPool;
  readonly features: Features;
  readonly origins: RequestOrigins;
}

const fail = failuresOf(contracts.featureErrors);

type Target = RequestTarget & { readonly gate: FeatureGate };

/** A handler that is told the server and on whose behalf it is asked. */
type FeatureHandler<R extends Rpc> = (
  request: z.output<R["request"]>,
  asked: AskedFor,
  target: Target,
) => Promise<z.input<R["reply"]>>;

/** Opens the subjects of one server for everything that it offers beside tools. */
export function openFeatureEndpoints(
  service: Service,
  server: string,
  deps: FeatureEndpointDeps,
): readonly Endpoint[] {
  const open = <R extends Rpc<`yard.rpc.{caller}.mcp.${string}.{server}`>>(
    contract: R,
    handler: FeatureHandler<R>,
  ): Endpoint => {
    const handle: Handler<R> = async (request, context) =>
      handler(request, askedFor(context, request), targetOf(server, deps));
    // The subject of each of these contracts has the token; its type got lost in the parameter.
    return service.handle(contract, handle, { server } as Partial<Tokens<R["subject"]>>);
  };
  const { subscriptions, levels, messagesOf } = deps.features;
  return [
    open(contracts.listResources, (_request, asked, target) => listResources(target, asked)),
    open(contracts.listResourceTemplates, (_request, asked, target) =>
      listResourceTemplates(target, asked),
    ),
    open(contracts.readResource, ({ uri }, asked, target) => readResource(target, uri, asked)),
    open(contracts.subscribeResource, (request, asked, target) =>
      subscriptions.subscribe(target, request, asked),
    ),
    open(contracts.unsubscribeResource, async ({ uri }, { onBehalfOf }, target) => {
      await subscriptions.unsubscribe(target, uri, onBehalfOf);
      return { subscribed: false as const };
    }),
    open(contracts.listPrompts, (_request, asked, target) => listPrompts(target, asked)),
    open(contracts.getPrompt, (request, asked, target) => getPrompt(target, request, asked)),
    open(contracts.completeArgument, (request, asked, target) =>
      completeArgument(target, request, asked),
    ),
    open(contracts.setLogLevel, async ({ level }, asked, target) => {
      await levels.set(target, level, asked);
      for (const { connection } of deps.pool.instances.of(server))
        if (connection.session !== null) await levels.restore(server, connection.session);
      return { level };
    }),
    open(contracts.listMessages, async ({ tail }, asked, { gate }) => {
      await gate.allow({ kind: "logging", server, name: "logging", args: {} }, asked);
      const messages = messagesOf(server);
      return { messages: messages?.last(tail) ?? [], dropped: messages?.dropped ?? 0 };
    }),
  ];
}

function targetOf(server: string, deps: FeatureEndpointDeps): Target {
  const { pool, features, origins } = deps;
  const { gate, askToOpen } = features;
  const member = pool.find(server);
  if (member !== null) {
    const { entry } = member.connection;
    const route: Target["route"] = (principal) => pool.instances.memberFor(entry, principal);
    return { ...member, gate, origins, askToOpen, route };
  }
  const lastError = "the server was removed";
  throw fail.server_down(`MCP server not found: ${server}`, {
    server,
    status: "disconnected",
    lastError,
  });
}

function askedFor<R extends Rpc>(context: CallContext<R>, request: unknown): AskedFor {
  const { caller, deadline, signal, correlationId, traceparent } = context;
  const hasToken = typeof request === "object" && request !== null && "token" in request;
  const token = hasToken && typeof request.token === "string" ? request.token : undefined;
  return { onBehalfOf: caller, token, deadline, signal, correlationId, traceparent };
}
