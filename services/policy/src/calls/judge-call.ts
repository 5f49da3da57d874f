import { randomUUID } from "node:crypto";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { ConsideredLimit } from "@switchyard/contracts/policy/policy-explain";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import type { FeatureKind } from "@switchyard/rules/bundle/feature-patterns";
import type { BudgetStore } from "../budgets/budget-store.ts";
import { considerCall, narrowCall, narrowFeature, type Consideration } from "./narrow-call.ts";
import { recordDenial } from "./record-outcome.ts";
import { stopInForce, stopReason, type StopList } from "../stops/stop-list.ts";
import { decideFeature } from "@switchyard/rules/engine/evaluate-feature";
import { decide, type Call } from "@switchyard/rules/engine/evaluate";
import { planWindows } from "@switchyard/rules/engine/plan-windows";
import { explain, type Explanation } from "@switchyard/rules/engine/explain";
import { isKeepable } from "@switchyard/rules/engine/keepable";

/** The inputs of a decision beside the call: the rules in force, the stops, and the earlier calls. */
export interface Circumstances {
  readonly bundle: CompiledBundle;
  readonly stops: Pick<StopList, "find">;
  readonly budgets: BudgetStore;
}

export interface Judged {
  readonly decision: Decision;
  /** To be released when the call is over; null when it holds no slot. */
  readonly reservation: string | null;
  readonly isKeepable: boolean;
  /** The decision of the rules alone; null when a stop decided before they were evaluated. */
  readonly byRules: Decision["effect"] | null;
}

/**
 * Makes the whole decision about a call: stops, then the rules and what narrows them, then flow labels and budgets. The caller
 * must have checked that the list of stops is current.
 */
export async function judgeCall(
  { bundle, stops, budgets }: Circumstances,
  { kind, call }: { readonly kind: "tool" | FeatureKind; readonly call: Call },
): Promise<Judged> {
  const stopped = stoppedDecision({ bundle, stops }, call);
  if (stopped !== null)
    return { decision: stopped, reservation: null, isKeepable: false, byRules: null };
  if (kind !== "tool") {
    const byRules = decideFeature(bundle, { ...call, kind });
    const decision = await narrowFeature(budgets, bundle, { call, decision: byRules });
    return { decision, reservation: null, isKeepable: false, byRules: byRules.effect };
  }
  const plan = planWindows(bundle, call);
  const decision = decide(bundle, plan?.atBest ?? call);
  const counted = await narrowCall(budgets, bundle, { call, decision, plan });
  if (counted.decision.effect === "deny") {
    const unrecorded = await recordDenial(budgets, bundle, call, randomUUID());
    if (unrecorded !== null) {
      const reason = `${counted.decision.reason}; ${unrecorded}`;
      return { ...counted, decision: { ...counted.decision, reason }, isKeepable: false };
    }
  }
  return { ...counted, isKeepable: isKeepable(bundle, call, counted.decision) };
}

/** Explains how {@link judgeCall} decides about a tool call; it counts nothing. */
export async function explainCall(
  { bundle, stops, budgets }: Circumstances,
  call: Call,
): Promise<Explanation> {
  const stop = stops.find(call);
  const counted = await considerCall(budgets, bundle, call);
  const explained = explain(bundle, counted.call);
  const limits: ConsideredLimit[] = [
    ...(stop === null
      ? []
      : [
          { kind: "stop" as const, name: stop.scope.kind, passes: false, detail: stopReason(stop) },
        ]),
    ...explained.limits,
    ...counted.limits,
  ];
  const decision =
    stoppedDecision({ bundle, stops }, call) ?? narrowed(explained.decision, counted);
  return { ...explained, decision, limits: limits.slice(0, 200) };
}

function stoppedDecision(
  { bundle, stops }: { readonly bundle: CompiledBundle; readonly stops: Pick<StopList, "find"> },
  call: Call,
): Decision | null {
  const stop = stops.find(call);
  if (stop === null) return null;
  const { digest: policyDigest } = bundle;
  return {
    effect: "deny",
    rule: null,
    reason: stopReason(stop),
    policyDigest,
    stop: stopInForce(stop),
  };
}

/** Applies the limits that were read to a decision. */
function narrowed(decision: Decision, { limits, uncounted }: Consideration): Decision {
  const { ttlMs: _, tier: __, approveRules, ...rest } = decision;
  if (decision.effect === "deny") return decision;
  if (uncounted !== null) return { ...rest, effect: "deny", rule: null, reason: uncounted };
  // The rules have decided about windows already.
  const failing = limits.find(({ passes, kind }) => !passes && kind !== "window");
  if (failing === undefined) return decision;
  if (failing.kind === "flow")
    return {
      ...rest,
      effect: "ask",
      tier: "always",
      reason: `${rest.reason}; ${failing.detail}`,
      ...(approveRules && { approveRules }),
    };
  const reason = `budget ${failing.name} is used up: ${failing.detail}`;
  return { ...rest, effect: "deny", rule: null, reason };
}
