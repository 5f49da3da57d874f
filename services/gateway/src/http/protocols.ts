import type { Log } from "@switchyard/service/log";
import type { Context, Hono } from "hono";
import { createAgUiEndpoint } from "../ag-ui/serve-ag-ui.ts";
import type { FollowParts } from "../agent-runs/follow-run.ts";
import { createA2aEndpoint } from "../a2a/serve-a2a.ts";
import { createChannelHookEndpoint } from "../hooks/serve-channel-hook.ts";
import { createDecisionPage } from "../hooks/serve-decision-page.ts";
import { createHookEndpoint } from "../hooks/serve-hook.ts";
import type { Hooks } from "../hooks/hooks-file.ts";
import { authenticate, type AuthenticationParts } from "../identity/authenticate.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import {
  createResourceMetadata,
  resourceMetadataUrl,
  WELL_KNOWN,
} from "../mcp/resource-metadata.ts";
import { createMcpEndpoint } from "../mcp/serve-mcp.ts";
import { openAiAnswer } from "../openai/openai-errors.ts";
import { openAiRoutes } from "../openai/serve-openai.ts";
import { Problem } from "../problems/problem.ts";
import { serveToolsInvoke } from "../tools-invoke/serve-tools-invoke.ts";

export interface ProtocolParts extends FollowParts, AuthenticationParts {
  readonly log: Log;
  /** The provider at which people sign in; null without one. */
  readonly issuer: string | null;
  /** The agent whose A2A card is at the host's root; null: the only one that the caller sees. */
  readonly rootAgent: string | null;
  readonly hooks: Hooks;
  readonly now: () => number;
}

/** Mounts the agent protocols beside REST: callers, roles and limits are the same, the form of messages is each protocol's own. */
export function mountProtocols(app: Hono<GatewayEnv>, parts: ProtocolParts): void {
  const metadata = createResourceMetadata(parts);
  for (const path of ["", "/mcp", "/mcp/servers/:id"]) app.get(`${WELL_KNOWN}${path}`, metadata);
  const mcp = createMcpEndpoint(parts);
  for (const path of ["/mcp", "/mcp/servers/:id"])
    app.on(
      ["GET", "POST", "DELETE"],
      path,
      (c, next) => authenticate(c, next, parts).catch(withSignInHint(c, parts)),
      mcp,
    );
  const a2a = createA2aEndpoint(parts);
  app.use("/a2a/*", (c, next) => authenticate(c, next, parts));
  app.get("/a2a/:agent/.well-known/agent-card.json", a2a.card);
  app.get("/.well-known/agent-card.json", (c, next) => authenticate(c, next, parts), a2a.rootCard);
  for (const path of ["/a2a/:agent", "/a2a/:agent/"]) app.post(path, a2a.rpc);
  app.post("/ag-ui/:agent", (c, next) => authenticate(c, next, parts), createAgUiEndpoint(parts));
  app.all(
    "/tools/invoke",
    (c, next) => authenticate(c, next, parts),
    (c) => serveToolsInvoke(c, parts),
  );
  // Hooks are authenticated by the sender's signature instead of a credential.
  app.post("/hooks/:name", createHookEndpoint(parts));
  app.post("/hooks/:channel/:account", createChannelHookEndpoint(parts));
  // The link itself is the credential.
  app.on(["GET", "POST"], "/decide/:token", createDecisionPage(parts));
  app.use("/v1/*", (c, next) => authenticate(c, next, parts));
  for (const { method, path, handle } of openAiRoutes(parts)) app.on(method, path, handle);
}

/** Returns an error in the protocol of the request's address; null where that is RFC 9457. */
export function protocolAnswer(c: Context<GatewayEnv>, problem: Problem): Response | null {
  return c.req.path.startsWith("/v1/") ? openAiAnswer(problem, c.get("requestId")) : null;
}

/** A refused MCP client receives the address of the metadata that names the issuers of tokens (RFC 9728 §5.1). */
function withSignInHint(
  c: Context<GatewayEnv>,
  { publicUrl }: ProtocolParts,
): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    const { status, code, message: detail, headers } = error;
    const challenge = headers["www-authenticate"] ?? "Bearer";
    const where = `resource_metadata="${resourceMetadataUrl(c, publicUrl)}"`;
    throw new Problem({
      status,
      code,
      detail,
      headers: { ...headers, "www-authenticate": `${challenge}, ${where}` },
    });
  };
}
