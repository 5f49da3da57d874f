import type { Decision, Principal, ServerFacts } from "@switchyard/contracts/policy/policy";

/** The roles that a server is reserved for; null allows every agent. */
export type RolesOf = (server: string) => readonly string[] | null;

/**
 * The facts that the declaration of a server states for the policy, one object until it changes. Null for a server whose declaration
 * states nothing that a rule could be about.
 */
export type FactsOf = (server: string) => ServerFacts | null;

/**
 * True when the server's `allowedAgentRoles` lets the principal pass. It limits agents: a person or
 * a program that calls without a run token is not an agent, and the policy alone decides about it.
 */
export function mayUseServer(roles: readonly string[] | null, principal: Principal): boolean {
  if (roles === null || principal.agent === null) return true;
  return principal.roles?.some((role) => roles.includes(role)) === true;
}

/** Narrows a decision by the server's roles; it can only turn an allowed call into a denied one. */
export function narrowByRoles(
  { decision, principal }: { readonly decision: Decision; readonly principal: Principal },
  { server, roles }: { readonly server: string; readonly roles: readonly string[] | null },
): Decision {
  if (decision.effect === "deny" || mayUseServer(roles, principal)) return decision;
  const own = principal.roles?.join(", ") ?? "";
  return {
    effect: "deny",
    rule: null,
    reason: `server ${server} is kept for agents with one of the roles ${roles?.join(", ") ?? ""}; agent ${principal.agent} has ${own === "" ? "none" : `only ${own}`} (allowedAgentRoles of the server, roles of the agent)`,
    policyDigest: decision.policyDigest,
  };
}
