import { Finding, findingsText, type Inspection } from "@switchyard/contracts/policy/findings";
import { countsOf, type FoundValue } from "./count-findings.ts";

/** The effect of a decision on a result. */
export type EffectOnResult =
  | { readonly effect: "pass" }
  | { readonly effect: "mask" }
  | { readonly effect: "deny"; readonly reason: string };

/** Returns the kinds that a decision looks for in a result. */
export function inspectedKinds({ results }: Inspection): Finding[] {
  return Finding.options.filter((kind) => results[kind] !== undefined);
}

/** `deny` counts before `mask`. Null as `found` is a result that cannot be inspected, which counts as one in which everything was found. */
export function effectOnResult(
  inspection: Inspection,
  found: readonly FoundValue[] | null,
): EffectOnResult {
  const kinds = inspectedKinds(inspection);
  if (kinds.length === 0) return { effect: "pass" };
  if (found === null) {
    const rules = [...new Set(kinds.map((kind) => inspection.results[kind]?.rule))].join(", ");
    const reason = `it is too long or too deep for the inspection that the policy requires (${rules})`;
    return { effect: "deny", reason };
  }
  const counts = countsOf(found);
  const denied = kinds.find((kind) => counts[kind] && inspection.results[kind]?.effect === "deny");
  if (denied !== undefined) {
    const rule = inspection.results[denied]?.rule ?? "";
    const reason = `rule ${rule} denies results with ${denied} (found: ${findingsText(counts)})`;
    return { effect: "deny", reason };
  }
  return { effect: found.length === 0 ? "pass" : "mask" };
}
