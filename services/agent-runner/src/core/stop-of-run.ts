import type { Decision } from "@switchyard/contracts/policy/policy";
import type { StopInForce } from "@switchyard/contracts/policy/policy-budgets";

/**
 * Returns the stop behind a denial, when it blocks all calls of the run; null for a denial by the rules, and for a stop of one
 * server or key, which is the result of the call: the run has other tools, or gets another token.
 */
export function stopOfRun({ stop }: Pick<Decision, "stop">): StopInForce | null {
  const ofRun = stop !== undefined && stop.scope.kind !== "server" && stop.scope.kind !== "key";
  return ofRun ? stop : null;
}
