import type { Contract } from "@switchyard/contracts/define";
import { client, installedUsers } from "@switchyard/topology/topology";

/** The victim and the attacker: two teams without any relation. */
export const TEAM_A = "team-a";
export const TEAM_B = "team-b";
/** Every user whose name team-b could try. */
export const OTHERS: readonly string[] = [TEAM_A, "me", ...installedUsers.map(({ name }) => name)];

const { calls, publishes } = client(TEAM_B, "The attacker");
const reachable: ReadonlySet<Contract> = new Set<Contract>([...calls, ...publishes]);

/** True for what a client may send in its own name. */
export function isReachable(contract: Contract): boolean {
  return reachable.has(contract);
}

/** Contracts that a client may send in its own name, so each service must separate teams for them. */
export const reachableContracts: readonly Contract[] = [...reachable];
