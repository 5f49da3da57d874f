import type { Context } from "hono";
import { addressOf } from "../identity/session-cookie.ts";
import type { GatewayEnv } from "../identity/request-context.ts";

export const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Returns the address of the metadata for the address of a request. */
export function resourceMetadataUrl(c: Context<GatewayEnv>, publicUrl: URL | null): string {
  return `${baseOf(c, publicUrl)}${WELL_KNOWN}${c.req.path}`;
}

/** RFC 9728, for `/mcp` and for each `/mcp/servers/{id}`; without a path it is about `/mcp`. */
export function serveResourceMetadata(
  c: Context<GatewayEnv>,
  { issuer, publicUrl }: { readonly issuer: string | null; readonly publicUrl: URL | null },
): Response {
  const path = c.req.path.slice(WELL_KNOWN.length) || "/mcp";
  return c.json({
    resource: `${baseOf(c, publicUrl)}${path}`,
    resource_name: "Switchyard",
    bearer_methods_supported: ["header"],
    ...(issuer !== null && { authorization_servers: [issuer] }),
  });
}

function baseOf(c: Context<GatewayEnv>, publicUrl: URL | null): string {
  return addressOf(c, publicUrl).origin;
}
