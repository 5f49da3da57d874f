import { ownerOfRun } from "./ids.ts";
import { GATEWAY_USER, RUNNER_USER, TOOLBOX_USER } from "./user-names.ts";

/**
 * The NATS users that act for another user, as every service treats them. The toolbox calls for itself, too, where the policy and other
 * toolboxes answer to it alone; the gateway does so only for contracts without a role.
 */
export const DELEGATION = {
  speakers: new Set([GATEWAY_USER, TOOLBOX_USER]),
  mustNameUser: GATEWAY_USER,
  /** Runners act for the owners of runs, and name the run. For other services, the subject of a request is not verified. */
  forWhom: (caller: string, correlationId: string): string =>
    caller === RUNNER_USER ? (ownerOfRun(correlationId) ?? caller) : caller,
} as const;
