import type { Endpoint } from "@switchyard/bus/rpc-endpoint";
import type { Handler } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import type { Rpc, Tokens } from "@switchyard/contracts/define";
import { failuresOf } from "@switchyard/contracts/errors";
import * as contracts from "@switchyard/contracts/mcp-broker/mcp-features";
import type { z } from "zod";
import { requesterOf, type Requester } from "@switchyard/tool-provider/policy-gate";
import { isRecord } from "@switchyard/contracts/json-record";
import type { ServerPool } from "../connection/server-pool.ts";
import type { Features } from "../features/start-features.ts";
import type { PoolMember } from "../connection/pool-member.ts";
import { listFeature } from "../features/list-features.ts";
import { allow, type FeatureDeps } from "../features/perform-feature.ts";
import { completeArgument, getPrompt, PROMPTS } from "../features/prompts.ts";
import { readResource, RESOURCES, TEMPLATES } from "../features/resources.ts";

export interface FeatureEndpointDeps {
  readonly pool: ServerPool;
  readonly features: Features;
  readonly calls: FeatureDeps;
}

const fail = failuresOf(contracts.featureErrors);

/** A handler that receives the server and the requester. */
type FeatureHandler<R extends Rpc> = (
  request: z.output<R["request"]>,
  requester: Requester,
  member: PoolMember,
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
      handler(request, requesterOf(context, tokenIn(request)), memberOf(server, deps));
    // The subject of each of these contracts has the token; its type got lost in the parameter.
    return service.handle(contract, handle, { server } as Partial<Tokens<R["subject"]>>);
  };
  const { calls, pool, features } = deps;
  const { subscriptions, levels, messagesOf } = features;
  return [
    open(contracts.listResources, async (_request, requester, member) => {
      const { entries, more } = await listFeature(calls, { member, listed: RESOURCES }, requester);
      return { resources: entries, more };
    }),
    open(contracts.listResourceTemplates, async (_request, requester, member) => {
      const { entries, more } = await listFeature(calls, { member, listed: TEMPLATES }, requester);
      return { templates: entries, more };
    }),
    open(contracts.readResource, ({ uri }, requester, member) =>
      readResource(calls, { member, uri }, requester),
    ),
    open(contracts.subscribeResource, ({ uri, ttlSeconds }, requester, member) =>
      subscriptions.subscribe(calls, { member, uri, ttlSeconds }, requester),
    ),
    open(contracts.unsubscribeResource, async ({ uri }, { onBehalfOf }, member) => {
      await subscriptions.unsubscribe(member, uri, onBehalfOf);
      return { subscribed: false as const };
    }),
    open(contracts.listPrompts, async (_request, requester, member) => {
      const { entries, more } = await listFeature(calls, { member, listed: PROMPTS }, requester);
      return { prompts: entries, more };
    }),
    open(contracts.getPrompt, (request, requester, member) =>
      getPrompt(calls, { member, request }, requester),
    ),
    open(contracts.completeArgument, (request, requester, member) =>
      completeArgument(calls, { member, request }, requester),
    ),
    open(contracts.setLogLevel, async ({ level }, requester, member) => {
      await levels.set(calls, { member, level }, requester);
      for (const { connection } of pool.instances.of(server))
        if (connection.session !== null) await levels.restore(server, connection.session);
      return { level };
    }),
    open(contracts.listMessages, async ({ tail }, requester) => {
      const feature = { kind: "logging", server, name: "logging", args: {} } as const;
      await allow(calls.gate, feature, requester);
      const messages = messagesOf(server);
      return { messages: messages?.last(tail) ?? [], dropped: messages?.dropped ?? 0 };
    }),
  ];
}

/** Throws `server_down` when the server was removed while the call was in flight. */
export function memberOf(server: string, { pool }: Pick<FeatureEndpointDeps, "pool">): PoolMember {
  const member = pool.find(server);
  if (member !== null) return member;
  const lastError = "the server was removed";
  throw fail.server_down(`MCP server not found: ${server}`, {
    server,
    status: "disconnected",
    lastError,
  });
}

function tokenIn(request: unknown): string | undefined {
  const token = isRecord(request) ? request["token"] : undefined;
  return typeof token === "string" ? token : undefined;
}
