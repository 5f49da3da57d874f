/* oxlint-disable oxc/no-map-spread -- the entries are shared with the caller, so they have to be copied */
import { cutForReader } from "@switchyard/contracts/cut-text";
import { type Decision } from "@switchyard/contracts/policy/policy";
import {
  MAX_CONSIDERED_RULES,
  type ConsideredLimit,
  type ConsideredRule,
  type RuleMismatch,
} from "@switchyard/contracts/policy/policy-explain";
import {
  selectsLabels,
  selectsTool,
  targetOf,
  tierOf,
  type CompiledBundle,
  type CompiledRule,
  type Target,
} from "../bundle/compile-bundle.ts";
import { allNarrowings } from "../layers/narrowing.ts";
import { decide, type Call } from "./evaluate.ts";
import { countsAs } from "./match-conditions.ts";
import { PRINCIPAL_SELECTORS } from "./select-principal.ts";

export interface Explanation {
  readonly decision: Decision;
  readonly labels: string[];
  readonly limits: ConsideredLimit[];
  readonly considered: ConsideredRule[];
  readonly omitted: number;
  readonly nearest: { readonly rule: string; readonly failed: RuleMismatch[] } | null;
}

const MAX_TEXT = 300;

/**
 * Returns the decision of {@link decide}, and for each rule whether it matches. The rules are checked one by one with the
 * functions that decide, so decision and explanation cannot contradict each other.
 */
export function explain(bundle: CompiledBundle, call: Call): Explanation {
  const decision = decide(bundle, call);
  const target = targetOf(bundle, call.tool, call.server?.labels);
  const judged = bundle.rules
    .map((rule) => ({ rule, failed: mismatches(rule, call, target) }))
    .toSorted((a, b) => nearness(b.failed) - nearness(a.failed));
  const considered = judged.slice(0, MAX_CONSIDERED_RULES).map(({ rule, failed }) => ({
    rule: rule.id,
    effect: rule.effect,
    match: failed.length === 0,
    failed: failed[0] ?? null,
    ...(rule.effect === "allow" ? { tier: tierOf(bundle, rule, call.tool) } : {}),
  }));
  const nearest = decision.effect === "deny" ? nearestOf(judged) : null;
  return {
    decision,
    labels: [...target.labels].toSorted(),
    limits: allNarrowings(bundle.narrowings, call),
    considered,
    omitted: judged.length - considered.length,
    nearest,
  };
}

interface Judged {
  readonly rule: CompiledRule;
  readonly failed: RuleMismatch[];
}

/** Returns the parts of a rule that the call does not match, in the order in which they are checked. */
function mismatches(rule: CompiledRule, call: Call, target: Target): RuleMismatch[] {
  const failed: RuleMismatch[] = [];
  if (!rule.patterns.some((pattern) => selectsTool({ pattern }, target))) {
    failed.push({ part: "what.tools", expected: listed(rule.tools), got: call.tool.name });
  }
  if (!selectsLabels(rule, target.labels)) {
    const expected = short(wantedLabels(rule));
    const got = target.labels.size === 0 ? "no label" : short([...target.labels].join(", "));
    failed.push({ part: "what.labels", expected, got });
  }
  for (const { part, wanted, got, selects } of PRINCIPAL_SELECTORS) {
    if (selects(rule, call.principal)) continue;
    failed.push({ part, expected: listed(wanted(rule)), got: short(got(call.principal)) });
  }
  for (const [index, condition] of rule.conditions.entries()) {
    if (countsAs(rule.effect, condition, call) !== "fails") continue;
    const expected = short(`${condition.arg} ${condition.wanted}`);
    const got = short(condition.got(call));
    failed.push({ part: `when[${index}]`, expected, got });
  }
  return failed;
}

/** Rules that match come first, then those about the tool, then those about the principal; ids keep their order. */
function nearness(failed: readonly RuleMismatch[]): number {
  const part = failed[0]?.part;
  if (part === undefined) return 3;
  if (part.startsWith("when")) return 2;
  return part.startsWith("who") ? 1 : 0;
}

/** Null when an allow rule matches: then a deny rule decided, and no allow rule is missing. */
function nearestOf(judged: readonly Judged[]): Explanation["nearest"] {
  const allows = judged.filter(({ rule }) => rule.effect === "allow");
  const [first, ...others] = allows;
  if (first === undefined || allows.some(({ failed }) => failed.length === 0)) return null;
  const { rule, failed } = others.reduce(
    (best, other) => (other.failed.length < best.failed.length ? other : best),
    first,
  );
  return { rule: rule.id, failed };
}

function wantedLabels({ anyLabel, notLabels }: CompiledRule): string {
  const any = anyLabel === null ? [] : [`any of ${anyLabel.join(", ")}`];
  const not = notLabels.length === 0 ? [] : [`none of ${notLabels.join(", ")}`];
  return [...any, ...not].join(" and ");
}

function listed(texts: readonly string[] | null): string {
  return texts?.length === 0 ? "none" : short(texts?.join(", ") ?? "any");
}

function short(text: string): string {
  return cutForReader(text, MAX_TEXT);
}
