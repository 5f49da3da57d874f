import type { CompiledRule } from "../bundle/compile-bundle.ts";
import type { CompiledCondition, Judgeable } from "../bundle/conditions.ts";

export interface Match {
  readonly rule: CompiledRule;
  /** The argument that could not be compared, when a deny rule matched because of that. */
  readonly incomparable: string | null;
}

/** All conditions must hold. */
export function matchConditions(rule: CompiledRule, call: Judgeable): Match | null {
  let incomparable: string | null = null;
  for (const condition of rule.conditions) {
    const counted = countsAs(rule.effect, condition, call);
    if (counted === "fails") return null;
    if (counted === "unsure") incomparable ??= condition.arg;
  }
  return { rule, incomparable };
}

/**
 * Returns how a condition counts in its rule. An argument that cannot be judged counts as matching for a deny rule, which is then
 * `unsure`, and not for an allow rule.
 */
export function countsAs(
  effect: CompiledRule["effect"],
  condition: CompiledCondition,
  call: Judgeable,
): "holds" | "unsure" | "fails" {
  const verdict = condition.judge(call);
  if (verdict === "holds") return "holds";
  if (verdict === "unknown") return call.facts?.recorded?.assume[effect] ? "holds" : "fails";
  const isUnsure = verdict === "incomparable" || (verdict === "missing" && condition.required);
  return effect === "deny" && isUnsure ? "unsure" : "fails";
}
