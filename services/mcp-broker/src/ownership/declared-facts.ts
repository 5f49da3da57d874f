import type { ServerPool } from "../connection/server-pool.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { FactsOf, RolesOf } from "@switchyard/service/tool-provider/server-access";
import { serverFacts } from "../declaration/server-facts.ts";

/** What the declaration of a server says, for the policy and its gate. */
export function declaredFacts(
  pool: ServerPool,
  leases: KnownLeases,
): { readonly rolesOf: RolesOf; readonly factsOf: FactsOf } {
  const configOf = (server: string) => pool.find(server)?.connection.entry.config ?? null;
  /** What its owner says, of a server that stands in another broker's file alone. */
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
