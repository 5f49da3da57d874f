import { masksInValue } from "@switchyard/service/inspect/masks-in";
import type { Finding, Inspection } from "@switchyard/contracts/policy/findings";
import {
  selectsLabels,
  selectsTool,
  type CompiledBundle,
  type CompiledRule,
  type Target,
} from "../bundle/compile-bundle.ts";
import type { Judgeable } from "../bundle/conditions.ts";
import type { NarrowedCall } from "../layers/narrowing.ts";
import { matchConditions } from "./match-conditions.ts";
import { selectsPrincipal } from "./select-principal.ts";

type Call = NarrowedCall & Judgeable;

/**
 * Returns what the tool provider does with findings in the result of an allowed call, and which masks in its arguments it turns back. Of
 * several rules about one kind `deny` counts before `mask`, then the id that sorts first. Undefined when there is nothing to do.
 */
export function inspectionOf(
  bundle: CompiledBundle,
  call: Call,
  target: Target,
): Inspection | undefined {
  if (bundle.results.length === 0) return undefined;
  const results = strictestResults(
    bundle.results.filter(({ selector }) => selects(selector, call, target)),
  );
  if (!bundle.masks && Object.keys(results).length === 0) return undefined;
  return { results, unmask: unmasked(bundle, call, target) };
}

/** Returns the effect for each kind, of rules in the order of their ids. */
export function strictestResults(rules: CompiledBundle["results"]): Inspection["results"] {
  const results: Inspection["results"] = {};
  for (const { selector, finds, effect } of rules)
    for (const kind of finds)
      if (results[kind] === undefined || (results[kind].effect === "mask" && effect === "deny"))
        results[kind] = { effect, rule: selector.id };
  return results;
}

/** Denies a call whose arguments have masks that no matching allow rule turns back: its tool would get a text that means nothing. */
export function unmaskDenial(
  bundle: CompiledBundle,
  call: Call,
  inspection: Inspection | undefined,
): string | null {
  if (!bundle.masks || inspection === undefined) return null;
  const masked = masksInValue(call.args).map(({ kind }) => kind);
  const kept = masked.filter((kind) => !inspection.unmask.includes(kind));
  const [first] = kept;
  if (first === undefined) return null;
  return `the arguments have masked values (${[...new Set(kept)].join(", ")}), and no rule that allows ${call.tool.name} has unmask: [${first}]`;
}

function unmasked(bundle: CompiledBundle, call: Call, target: Target): Finding[] {
  if (!bundle.masks) return [];
  const rules = bundle.rules.filter(
    (rule) =>
      rule.unmask.length > 0 && selects(rule, call, target) && matchConditions(rule, call) !== null,
  );
  return [...new Set(rules.flatMap(({ unmask }) => unmask))].toSorted();
}

function selects(rule: CompiledRule, { principal }: Call, target: Target): boolean {
  return (
    rule.patterns.some((pattern) => selectsTool({ pattern }, target)) &&
    selectsLabels(rule, target.labels) &&
    selectsPrincipal(rule, principal)
  );
}
