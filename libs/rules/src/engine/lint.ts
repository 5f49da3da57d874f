import { canonicalJson } from "@switchyard/contracts/canonical-json";
import type { ApprovalTier } from "@switchyard/contracts/policy/approval-tier";
import { MAX_LINT_FINDINGS, type LintFinding } from "@switchyard/contracts/policy/policy-texts";
import type { ToolPattern } from "@switchyard/contracts/tool-patterns";
import type { Bundle, Rule } from "../schema/bundle.ts";
import { featurePatternsOf } from "../bundle/feature-patterns.ts";
import { toolPatternsOf } from "../schema/tool-selectors.ts";
import { unknownToolLists } from "../layers/unknown-tools.ts";
import { unapprovable } from "./lint-approve.ts";
import { openShells } from "./lint-shell.ts";
import { coversGlob, coversTool } from "./pattern-cover.ts";

/** Limits the comparisons of globs when searching for dead rules, which bounds the cost of a lint. */
const MAX_COMPARISONS = 100_000;

/**
 * Finds rules that are most likely not meant as written. Each finding is certain: a rule that is reported as dead can decide no
 * call, whatever the principal and the arguments.
 */
export function lint(bundle: Bundle): LintFinding[] {
  const rules = bundle.rules.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const alike = sameSelectors(rules);
  const reported = new Set(alike.map(({ rule }) => rule));
  const unreported = rules.filter(({ id, effect }) => effect === "deny" || !reported.has(id));
  const dead = deadRules(unreported);
  const gone = new Set(dead.map(({ rule }) => rule));
  const shadowed = shadowedRules(
    unreported.filter(({ id }) => !gone.has(id)),
    bundle.defaults?.approval ?? null,
  );
  const others = [...unknownToolLists(bundle), ...openShells(rules), ...unapprovable(bundle)];
  return [...alike, ...dead, ...shadowed, ...others].slice(0, MAX_LINT_FINDINGS);
}

/** Two rules with one effect and the same selectors, and an allow rule with the selectors of a deny rule. */
function sameSelectors(rules: readonly Rule[]): LintFinding[] {
  const first = { allow: new Map<string, string>(), deny: new Map<string, string>() };
  const findings: LintFinding[] = [];
  const keyed = rules.map((rule) => ({ rule, key: selectorKey(rule) }));
  for (const { rule, key } of keyed) {
    const approve = rule.approve === undefined ? "" : canonicalJson(rule.approve);
    const asking = `${key} ${rule.approval ?? ""}${approve}`; // two rules that require different approvals are not duplicates
    const earlier = first[rule.effect].get(asking);
    if (earlier === undefined) first[rule.effect].set(asking, rule.id);
    else {
      const message = `rule ${rule.id} has the effect and the selectors of rule ${earlier}; one of them is enough`;
      findings.push({ kind: "duplicate", rule: rule.id, message });
    }
  }
  for (const { rule, key } of keyed) {
    const denying = rule.effect === "allow" ? first.deny.get(`${key} `) : undefined;
    if (denying === undefined) continue;
    const message = `rule ${rule.id} allows what rule ${denying} denies with the same selectors; the denial always wins`;
    findings.push({ kind: "conflict", rule: rule.id, message });
  }
  return findings;
}

function deadRules(rules: readonly Rule[]): LintFinding[] {
  // A deny rule about labels covers only tools with these labels, and which tools have them is unknown here.
  const denies = rules.filter(
    ({ effect, when, what }) =>
      effect === "deny" && when === undefined && what?.labels === undefined,
  );
  const denying = denies.map(selectorsOf);
  const findings: LintFinding[] = [];
  let comparisons = 0;
  // Rules about features are left out: only certain findings are reported, and globs of features are not compared.
  const allows = rules.filter(({ effect, what }) => effect === "allow" && !selectsFeatures(what));
  for (const allow of allows.map(selectorsOf)) {
    for (const deny of denying) {
      comparisons += sizeOf(deny) * sizeOf(allow);
      if (comparisons > MAX_COMPARISONS) return [...findings, incompleteFrom(allow.id)];
      if (!covers(deny, allow)) continue;
      const message = `rule ${allow.id} can never allow anything: rule ${deny.id} denies all that it selects, whatever the arguments are`;
      findings.push({ kind: "dead", rule: allow.id, message });
      break;
    }
  }
  return findings;
}

/**
 * Finds allow rules that never decide because another one without conditions covers them and requires a stricter approval. Only
 * rules whose approval is set in the rule or in the defaults are compared: that of the others depends on the tool.
 */
function shadowedRules(rules: readonly Rule[], defaultTier: ApprovalTier | null): LintFinding[] {
  const allows = rules.flatMap((rule) => {
    const tier = rule.approval ?? defaultTier;
    // The `approve` of a rule counts beside stricter rules, too.
    const decides = rule.effect === "allow" && rule.approve === undefined;
    const isCompared = decides && tier !== null && !selectsFeatures(rule.what);
    return isCompared ? [{ rule, tier, selectors: selectorsOf(rule) }] : [];
  });
  const covering = allows.filter(
    ({ rule, tier }) =>
      tier !== "auto" && rule.when === undefined && rule.what?.labels === undefined,
  );
  let comparisons = 0;
  const findings: LintFinding[] = [];
  for (const { rule, tier, selectors } of allows) {
    for (const stricter of covering) {
      if (STRICTNESS[stricter.tier] <= STRICTNESS[tier]) continue;
      comparisons += sizeOf(stricter.selectors) * sizeOf(selectors);
      if (comparisons > MAX_COMPARISONS) return [...findings, incompleteFrom(rule.id)];
      if (rule.who?.replayed === true && stricter.rule.who?.replayed !== true) continue;
      if (!covers(stricter.selectors, selectors)) continue;
      const message = `rule ${rule.id} never decides: rule ${stricter.rule.id} allows all that it selects with approval: ${stricter.tier}, and the strictest approval counts`;
      findings.push({ kind: "shadowed", rule: rule.id, message });
      break;
    }
  }
  return findings;
}

const STRICTNESS: Readonly<Record<ApprovalTier, number>> = { auto: 0, session: 1, always: 2 };

function incompleteFrom(rule: string): LintFinding {
  const message = `the bundle is too large to compare every rule with every other; from ${rule} on dead and shadowed rules were not looked for`;
  return { kind: "incomplete", rule: null, message };
}

interface Selectors {
  readonly id: string;
  readonly users: readonly string[] | null;
  readonly agents: readonly string[] | null;
  readonly roles: readonly string[] | null;
  readonly channels: readonly string[] | null;
  readonly groups: readonly string[] | null;
  readonly tools: readonly ToolPattern[] | null;
}

function selectorsOf({ id, who, what }: Rule): Selectors {
  return {
    id,
    users: who?.users ?? null,
    agents: who?.agents ?? null,
    roles: who?.roles ?? null,
    channels: who?.channels ?? null,
    groups: who?.groups ?? null,
    tools: toolPatternsOf(what),
  };
}

function selectsFeatures(what: Rule["what"]): boolean {
  return featurePatternsOf(what).length > 0;
}

/** Returns how many globs of one side a comparison may have to check. */
function sizeOf({ users, agents, roles, channels, groups, tools }: Selectors): number {
  const lists = [users, agents, roles, channels, groups, tools];
  return Math.max(1, ...lists.map((list) => list?.length ?? 0));
}

/** True when every call that the other one selects is selected. */
function covers(deny: Selectors, allow: Selectors): boolean {
  return (
    coversUsers(deny.users, allow.users) &&
    coversNames(deny.agents, allow.agents) &&
    coversNames(deny.roles, allow.roles) &&
    coversNames(deny.channels, allow.channels) &&
    coversNames(deny.groups, allow.groups) &&
    coversTools(deny.tools, allow.tools)
  );
}

/** Every call has a user, so `*` is all of them; that is not so for agents. */
function coversUsers(globs: Texts, others: Texts): boolean {
  return coversNames(globs, others ?? ["*"]);
}

type Texts = readonly string[] | null;

function coversNames(globs: Texts, others: Texts): boolean {
  if (globs === null) return true;
  return others?.every((other) => globs.some((glob) => coversGlob(glob, other))) ?? false;
}

function coversTools(patterns: Selectors["tools"], others: Selectors["tools"]): boolean {
  if (patterns === null) return true;
  return (others ?? [EVERYTHING]).every((other) =>
    patterns.some((pattern) => coversTool(pattern, other)),
  );
}

const EVERYTHING: ToolPattern = { kind: "everything" };

/** The same for rules that select the same, however their lists are ordered and their patterns spelt. */
function selectorKey({ who, what, when }: Rule): string {
  return canonicalJson({
    agents: setOf(who?.agents),
    users: setOf(who?.users),
    roles: setOf(who?.roles),
    channels: setOf(who?.channels),
    groups: setOf(who?.groups),
    replayed: who?.replayed ?? false,
    labels: [setOf(what?.labels?.any), setOf(what?.labels?.not)],
    tools: setOf(toolPatternsOf(what) ?? undefined),
    features: setOf(featurePatternsOf(what)),
    when: setOf(when),
  });
}

function setOf(values: readonly unknown[] | undefined): readonly string[] | null {
  return values === undefined ? null : [...new Set(values.map(canonicalJson))].toSorted();
}
