import type { ServerPool } from "../connection/server-pool.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { FactsOf, RolesOf } from "@switchyard/tool-provider/server-access";
import { serverFacts } from "../declaration/server-facts.ts";

/** The facts that a server's declaration states, for the policy and its gate. */
export function declaredFacts(
  pool: ServerPool,
  leases: KnownLeases,
): { readonly rolesOf: RolesOf; readonly factsOf: FactsOf } {
  const configOf = (server: string) => pool.find(server)?.connection.entry.config ?? null;
  /** The facts that its owner states, for a server that only another broker's file names. */
  const elsewhere = (server: string) =>
    pool.find(server) === null ? leases.stateOf(server)?.declared : undefined;
  return {
    rolesOf: (server) => configOf(server)?.allowedAgentRoles ?? elsewhere(server)?.roles ?? null,
    factsOf(server) {
      const config = configOf(server);
      if (config !== null) return serverFacts(config);
      return elsewhere(server)?.facts ?? null;
    },
  };
}
