import { matchesGlob } from "@switchyard/contracts/glob";
import type { Decision, Principal } from "@switchyard/contracts/policy";
import { canonicalToolName, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  entriesFor,
  selectsTool,
  targetOf,
  type CompiledBundle,
  type CompiledRule,
  type RuleIndex,
  type Target,
} from "../bundle/compile-bundle.ts";
import type { CompiledCondition } from "./conditions.ts";
import { refusingLayer, type ToolLayer, type ToolLayers } from "./tool-layers.ts";

/**
 * The decision, pure. Its order, each step only narrowing:
 *
 * 1. a tool reference that contradicts itself is denied;
 * 2. any matching deny rule denies;
 * 3. a tool that the run token keeps out is denied;
 * 4. any matching allow rule allows;
 * 5. nothing matched: denied.
 *
 * The order of rules in the file plays no part. Of several matching rules the one whose id sorts
 * first is named.
 */
export interface Call {
  readonly principal: Principal;
  readonly tool: ToolRef;
  readonly args: Readonly<Record<string, unknown>>;
  /** What the run token lets pass; null when the call came without a token. */
  readonly layers: ToolLayers | null;
}

export function decide(bundle: CompiledBundle, call: Call): Decision {
  const policyDigest = bundle.digest;
  const deny = (rule: string | null, reason: string): Decision => ({
    effect: "deny",
    rule,
    reason,
    policyDigest,
  });
  if (!isConsistent(call.tool)) {
    return deny(null, `the tool reference ${call.tool.name} contradicts its server and tool name`);
  }
  const target = targetOf(call.tool);

  const denying = firstMatch(bundle.deny, call, target);
  if (denying !== null) return deny(denying.rule.id, reasonOf(denying, call));

  const layer = call.layers === null ? null : refusingLayer(call.layers, call.tool);
  if (layer !== null) return deny(null, layerReason(layer, call));

  const allowing = firstMatch(bundle.allow, call, target);
  if (allowing === null) return deny(null, unmatchedReason(bundle, call, target));
  return {
    effect: "allow",
    rule: allowing.rule.id,
    reason: reasonOf(allowing, call),
    policyDigest,
  };
}

/**
 * True when some arguments could make {@link decide} allow the tool: an allow rule selects it, and
 * no deny rule denies it whatever the arguments are. Every call that is allowed is of such a tool.
 */
export function mayEverAllow(bundle: CompiledBundle, asked: Omit<Call, "args">): boolean {
  if (!isConsistent(asked.tool)) return false;
  if (asked.layers !== null && refusingLayer(asked.layers, asked.tool) !== null) return false;
  const target = targetOf(asked.tool);
  if (firstSelecting(bundle.allow, asked.principal, target) === null) return false;
  return firstSelecting(bundle.deny, asked.principal, target, isUnconditional) === null;
}

/**
 * True when {@link decide} gives the same answer whatever the arguments are, for as long as the
 * bundle is in force: no rule with conditions is about this principal and tool. A rule whose answer
 * depends on anything else that changes, such as a person's approval or a budget, must count as one
 * with conditions here.
 */
export function ignoresArguments(
  bundle: CompiledBundle,
  { principal, tool }: Pick<Call, "principal" | "tool">,
): boolean {
  const target = targetOf(tool);
  const isConditional = (rule: CompiledRule): boolean => !isUnconditional(rule);
  return [bundle.deny, bundle.allow].every(
    (index) => firstSelecting(index, principal, target, isConditional) === null,
  );
}

function isUnconditional(rule: CompiledRule): boolean {
  return rule.conditions.length === 0;
}

export interface Match {
  readonly rule: CompiledRule;
  /** The argument that could not be compared, when a deny rule matched because of that. */
  readonly incomparable: string | null;
}

function firstMatch(index: RuleIndex, call: Call, target: Target): Match | null {
  let first: Match | null = null;
  for (const entries of entriesFor(index, target)) {
    for (const entry of entries) {
      if (first !== null && entry.rule.id >= first.rule.id) break;
      const isSelected = selectsTool(entry, target) && selectsPrincipal(entry.rule, call.principal);
      const match = isSelected ? matchConditions(entry.rule, call.args) : null;
      if (match !== null) {
        first = match;
        break;
      }
    }
  }
  return first;
}

/** The first rule that is about this principal and tool, leaving the arguments aside. */
function firstSelecting(
  index: RuleIndex,
  principal: Principal,
  target: Target,
  wanted: (rule: CompiledRule) => boolean = () => true,
): CompiledRule | null {
  let first: CompiledRule | null = null;
  for (const entries of entriesFor(index, target)) {
    const found = entries.find(
      (entry) =>
        wanted(entry.rule) && selectsTool(entry, target) && selectsPrincipal(entry.rule, principal),
    )?.rule;
    if (found !== undefined && (first === null || found.id < first.id)) first = found;
  }
  return first;
}

export function selectsPrincipal(rule: CompiledRule, principal: Principal): boolean {
  return selectsUser(rule, principal) && selectsAgent(rule, principal);
}

export function selectsUser(rule: CompiledRule, { user }: Principal): boolean {
  return rule.users === null || matchesAny(rule.users, user);
}

export function selectsAgent(rule: CompiledRule, { agent }: Principal): boolean {
  return rule.agents === null || (agent !== null && matchesAny(rule.agents, agent));
}

/** All conditions must hold. */
export function matchConditions(rule: CompiledRule, args: Call["args"]): Match | null {
  let incomparable: string | null = null;
  for (const condition of rule.conditions) {
    const counted = countsAs(rule.effect, condition, args);
    if (counted === "fails") return null;
    if (counted === "unsure") incomparable ??= condition.arg;
  }
  return { rule, incomparable };
}

/**
 * How a condition counts in its rule. What cannot be judged counts as holding for a deny rule,
 * which is then `unsure`, and not for an allow rule.
 */
export function countsAs(
  effect: CompiledRule["effect"],
  condition: CompiledCondition,
  args: Call["args"],
): "holds" | "unsure" | "fails" {
  const verdict = condition.judge(args);
  if (verdict === "holds") return "holds";
  const isUnsure = verdict === "incomparable" || (verdict === "missing" && condition.required);
  return effect === "deny" && isUnsure ? "unsure" : "fails";
}

function matchesAny(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name));
}

/** The three facts of a reference must agree, or a rule about one of them could be got round by another. */
export function isConsistent({ name, server, tool }: ToolRef): boolean {
  if (server === null) return name === tool && !name.startsWith("mcp__");
  return name === `mcp__${server}__${tool}` || name === canonicalToolName(server, tool);
}

function reasonOf({ rule, incomparable }: Match, call: Call): string {
  const verb = rule.effect === "allow" ? "allows" : "denies";
  const note = rule.note === null ? "" : `: ${rule.note}`;
  const why =
    incomparable === null
      ? ""
      : ` (${incomparable} is not what the rule can compare with, which counts as a match)`;
  return `rule ${rule.id} ${verb} ${call.tool.name}${note}${why}`;
}

function layerReason(layer: ToolLayer, call: Call): string {
  const shown = layer.texts.slice(0, 5).join(", ");
  const more = layer.texts.length > 5 ? `, and ${layer.texts.length - 5} more` : "";
  const allowed = layer.texts.length === 0 ? "no tool" : `only ${shown}${more}`;
  return `${nameOf(call.principal)} may not use ${call.tool.name}: its run token lets pass ${allowed}`;
}

function unmatchedReason(bundle: CompiledBundle, call: Call, target: Target): string {
  const nearest = firstSelecting(bundle.allow, call.principal, target);
  return nearest === null
    ? `no rule allows ${call.tool.name} for ${nameOf(call.principal)}`
    : `no rule allows ${call.tool.name} with these arguments for ${nameOf(call.principal)}; rule ${nearest.id} allows it with others`;
}

export function nameOf(principal: Principal): string {
  return principal.agent === null ? `user ${principal.user}` : `agent ${principal.agent}`;
}
