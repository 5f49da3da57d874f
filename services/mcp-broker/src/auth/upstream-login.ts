import type { UpstreamLogin } from "../connection/open-session.ts";
import type { ResolvedServer } from "../registry/env-references.ts";
import type { ServerConfig } from "../registry/server-config.ts";
import { createConnectionAuth, type ConnectionAuthOptions } from "./connection-auth.ts";

export type UpstreamLoginOptions = Pick<ConnectionAuthOptions, "store" | "guard" | "now">;

/** Makes what a connection logs in with, from the login that somebody made before. */
export function createUpstreamLogins(
  options: UpstreamLoginOptions,
): (config: ServerConfig, resolved: ResolvedServer) => Promise<UpstreamLogin | null> {
  return async ({ id }, { launch }) => {
    if (launch.transport === "stdio" || launch.oauth === null) return null;
    const { store } = options;
    const login = store === null ? null : await store.find(id);
    const provider = createConnectionAuth({ ...options, server: id, launch });
    return { provider, grant: login?.grant ?? null };
  };
}
