import type { CompiledRule } from "../bundle/compile-bundle.ts";
import type { CompiledCondition } from "../bundle/conditions.ts";

type Arguments = Readonly<Record<string, unknown>>;

export interface Match {
  readonly rule: CompiledRule;
  /** The argument that could not be compared, when a deny rule matched because of that. */
  readonly incomparable: string | null;
}

/** All conditions must hold. */
export function matchConditions(rule: CompiledRule, args: Arguments): Match | null {
  let incomparable: string | null = null;
  for (const condition of rule.conditions) {
    const counted = countsAs(rule.effect, condition, args);
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
  args: Arguments,
): "holds" | "unsure" | "fails" {
  const verdict = condition.judge(args);
  if (verdict === "holds") return "holds";
  const isUnsure = verdict === "incomparable" || (verdict === "missing" && condition.required);
  return effect === "deny" && isUnsure ? "unsure" : "fails";
}
