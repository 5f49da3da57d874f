import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import { listIssuers } from "@switchyard/contracts/policy/user-tokens";
import type { Context } from "hono";
import { addressOf } from "../identity/session-cookie.ts";
import type { GatewayEnv } from "../identity/request-context.ts";

export const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** The policy service reads its file when it starts. Clients without a credential may request the metadata at any rate. */
const ISSUERS_CACHED_MS = 60_000;

interface MetadataParts {
  readonly bus: Bus;
  /** The provider at which people sign in; null without one. */
  readonly issuer: string | null;
  readonly publicUrl: URL | null;
  readonly now: () => number;
}

/** Returns the address of the metadata for the address of a request. */
export function resourceMetadataUrl(c: Context<GatewayEnv>, publicUrl: URL | null): string {
  return `${baseOf(c, publicUrl)}${WELL_KNOWN}${c.req.path}`;
}

/** RFC 9728, for `/mcp` and for each `/mcp/servers/{id}`; without a path it is about `/mcp`. */
export function createResourceMetadata(
  parts: MetadataParts,
): (c: Context<GatewayEnv>) => Promise<Response> {
  const issuers = cachedIssuers(parts);
  return async (c) => {
    const path = c.req.path.slice(WELL_KNOWN.length) || "/mcp";
    const servers = await issuers();
    return c.json({
      resource: `${baseOf(c, parts.publicUrl)}${path}`,
      resource_name: "Switchyard",
      bearer_methods_supported: ["header"],
      ...(servers.length > 0 && { authorization_servers: servers }),
    });
  };
}

/** The provider of people first, then the other issuers of the policy service. While that does not reply, the provider alone. */
function cachedIssuers({ bus, issuer, now }: MetadataParts): () => Promise<readonly string[]> {
  const own = issuer === null ? [] : [issuer];
  let cached: { readonly issuers: Promise<readonly string[]>; readonly until: number } | null =
    null;
  return () => {
    if (cached !== null && now() < cached.until) return cached.issuers;
    const issuers = call(bus, listIssuers, {}).then(
      (reply) => [...new Set([...own, ...reply.issuers])],
      () => {
        cached = null;
        return own;
      },
    );
    cached = { issuers, until: now() + ISSUERS_CACHED_MS };
    return issuers;
  };
}

function baseOf(c: Context<GatewayEnv>, publicUrl: URL | null): string {
  return addressOf(c, publicUrl).origin;
}
