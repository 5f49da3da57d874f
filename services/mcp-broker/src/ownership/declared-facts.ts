import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerOwner } from "./server-owner.ts";
import type { FactsOf, RolesOf } from "@switchyard/service/tool-provider/server-access";
import { serverFacts } from "../declaration/server-facts.ts";

/** What the policy and its gate are told of a server: what its declaration says. */
export function declaredFacts(
  pool: ServerPool,
  owner: Pick<ServerOwner, "stateOf">,
): { readonly rolesOf: RolesOf; readonly factsOf: FactsOf } {
  const configOf = (server: string) => pool.find(server)?.connection.entry.config ?? null;
  /** What the owner says, of a server that stands in another broker's file alone. */
  const toldOf = (server: string) =>
    pool.find(server) === null ? owner.stateOf(server)?.declared : undefined;
  return {
    rolesOf: (server) => configOf(server)?.allowedAgentRoles ?? toldOf(server)?.roles ?? null,
    factsOf(server) {
      const config = configOf(server);
      if (config !== null) return serverFacts(config);
      const facts = toldOf(server)?.facts ?? null;
      return facts === null ? null : { facts, text: JSON.stringify(facts) };
    },
  };
}
