import type { Decision } from "@switchyard/contracts/policy";

/**
 * What tools do to the secrecy of a run, by labels that administrators give: a run that has read
 * what strangers wrote and has seen what is secret may send nothing out without a person.
 */
export const FLOW_LABELS = ["untrusted-in", "sensitive", "egress"] as const;
export type FlowLabel = (typeof FLOW_LABELS)[number];

/** What a run has touched so far. */
export interface FlowTouches {
  readonly untrusted: boolean;
  readonly sensitive: boolean;
}

export function hasFlowLabel(labels: ReadonlySet<string>): boolean {
  return labels.size > 0 && FLOW_LABELS.some((label) => labels.has(label));
}

/** The labels of a call that its run keeps. */
export function touchesOf(labels: ReadonlySet<string>): FlowLabel[] {
  return (["untrusted-in", "sensitive"] as const).filter((label) => labels.has(label));
}

/** Makes what is allowed ask for this very call, when the run, this call included, has touched both sides. */
export function narrowByFlow(
  decision: Decision,
  labels: ReadonlySet<string>,
  touches: FlowTouches,
): Decision {
  const isExposed = labels.has("egress") && touches.untrusted && touches.sensitive;
  if (decision.effect === "deny" || !isExposed) return decision;
  const { ttlMs: _, ...rest } = decision;
  return {
    ...rest,
    effect: "ask",
    tier: "always",
    reason: `${decision.reason}; the run has read untrusted content and seen sensitive data, and the tool sends data out: a person has to approve this very call`,
  };
}
