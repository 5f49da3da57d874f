import type { ResolvedServer } from "../declaration/env-references.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import {
  createConnectionAuth,
  type ConnectionAuthOptions,
  type HttpAuth,
} from "./connection-auth.ts";

export type UpstreamLoginOptions = Pick<ConnectionAuthOptions, "store" | "guard" | "now">;

export interface UpstreamLogin {
  readonly provider: HttpAuth;
  /** Names the login without being one; null before the first. */
  readonly grant: string | null;
}

/** Creates the authorization of a connection from a login that a person made earlier. */
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
