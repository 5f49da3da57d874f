import type { Decision } from "@switchyard/contracts/policy/policy";

/**
 * Labels that administrators give to tools, describing how a tool affects the secrecy of a run: a run that has read untrusted
 * content and has seen sensitive data may send nothing out without a person's approval.
 */
export const FLOW_LABELS = ["untrusted-in", "sensitive", "egress"] as const;
export type FlowLabel = (typeof FLOW_LABELS)[number];

/** The flow labels that a run has accumulated so far. */
export interface FlowTouches {
  readonly untrusted: boolean;
  readonly sensitive: boolean;
}

export function hasFlowLabel(labels: ReadonlySet<string>): boolean {
  return labels.size > 0 && FLOW_LABELS.some((label) => labels.has(label));
}

/** Returns the labels of a call that its run accumulates. */
export function touchesOf(labels: ReadonlySet<string>): FlowLabel[] {
  return (["untrusted-in", "sensitive"] as const).filter((label) => labels.has(label));
}

/** Turns an allowed call into one that needs approval for this very call, when the run, this call included, has touched both sides. */
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
