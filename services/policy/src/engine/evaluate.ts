import { matchesGlob } from "@switchyard/contracts/glob";
import type { ApprovalTier, Decision, Principal } from "@switchyard/contracts/policy";
import { canonicalToolName, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  entriesFor,
  selectsLabels,
  selectsTool,
  targetOf,
  tierOf,
  type CompiledBundle,
  type CompiledRule,
  type RuleEntry,
  type RuleIndex,
  type Target,
} from "../bundle/compile-bundle.ts";
import { firstRefusal, nameOf, type NarrowedCall } from "../layers/narrowing.ts";
import type { CompiledCondition } from "./conditions.ts";

/**
 * The decision, pure. Its order, each step only narrowing:
 *
 * 1. a tool reference that contradicts itself is denied;
 * 2. any matching deny rule denies;
 * 3. a tool that the run token, its server's administrator or a layer keeps out is denied;
 * 4. of the matching allow rules the strictest approval counts: none, for a session, or always;
 * 5. nothing matched: denied.
 *
 * The order of rules in the file plays no part. Of several rules that would decide the same, the
 * one whose id sorts first is named.
 */
export interface Call extends NarrowedCall {
  readonly args: Readonly<Record<string, unknown>>;
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
  const target = targetOf(bundle, call.tool, call.server?.labels);

  const denying = firstMatch(bundle.deny, call, target);
  if (denying !== null) return deny(denying.rule.id, reasonOf(denying, call));

  const refusal = firstRefusal(bundle.narrowings, call);
  if (refusal !== null) return deny(null, refusal.detail);

  const allowing = strictestMatch(bundle, call, target);
  if (allowing === null) return deny(null, unmatchedReason(bundle, call, target));
  const { match, tier, ttlMs } = allowing;
  const { id } = match.rule;
  const reason = reasonOf(match, call);
  if (tier === "auto") return { effect: "allow", rule: id, reason, policyDigest, tier };
  const asked = `${reason}; ${APPROVAL_TEXT[tier]}`;
  return tier === "session"
    ? { effect: "ask", rule: id, reason: asked, policyDigest, tier, ttlMs }
    : { effect: "ask", rule: id, reason: asked, policyDigest, tier };
}

const APPROVAL_TEXT = {
  session: "a person has to approve it, for this call or for a while",
  always: "a person has to approve this very call",
} as const;

/**
 * True when some arguments could make {@link decide} let the tool pass, be it with an approval: an
 * allow rule selects it, and no deny rule denies it whatever the arguments are. Every call that is
 * not denied is of such a tool.
 */
export function mayEverAllow(bundle: CompiledBundle, asked: Omit<Call, "args">): boolean {
  if (!isConsistent(asked.tool)) return false;
  if (firstRefusal(bundle.narrowings, asked) !== null) return false;
  const target = targetOf(bundle, asked.tool, asked.server?.labels);
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
  { principal, tool, server }: Pick<Call, "principal" | "tool" | "server">,
): boolean {
  const target = targetOf(bundle, tool, server?.labels);
  return [bundle.deny, bundle.allow].every(
    (index) => firstSelecting(index, principal, target, isConditional) === null,
  );
}

function isConditional({ conditions }: CompiledRule): boolean {
  return conditions.length > 0;
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
      const isSelected =
        selectsTool(entry, target) && selectsCall(entry.rule, call.principal, target);
      const match = isSelected ? matchConditions(entry.rule, call.args) : null;
      if (match !== null) {
        first = match;
        break;
      }
    }
  }
  return first;
}

interface Allowance {
  readonly match: Match;
  readonly tier: ApprovalTier;
  /** The shortest of all rules that ask for this tier. */
  readonly ttlMs: number;
}

const STRICTNESS: Readonly<Record<ApprovalTier, number>> = { auto: 0, session: 1, always: 2 };

/** Of the matching allow rules the strictest; of several the one whose id sorts first. */
function strictestMatch(bundle: CompiledBundle, call: Call, target: Target): Allowance | null {
  let best: Allowance | null = null;
  for (const entries of entriesFor(bundle.allow, target)) {
    for (const entry of entries) best = stricter(bundle, { best, entry, call, target });
  }
  return best;
}

function stricter(
  bundle: CompiledBundle,
  asked: { best: Allowance | null; entry: RuleEntry; call: Call; target: Target },
): Allowance | null {
  const { best, entry, call, target } = asked;
  const { rule } = entry;
  const tier = tierOf(bundle, rule, call.tool);
  const gain = best === null ? 1 : STRICTNESS[tier] - STRICTNESS[best.tier];
  const isEarlier = best === null || rule.id < best.match.rule.id;
  const isShorter = best !== null && tier === "session" && rule.ttlMs < best.ttlMs;
  // What could change nothing needs no look at its conditions.
  if (gain < 0 || (gain === 0 && !isEarlier && !isShorter)) return best;
  if (!selectsTool(entry, target) || !selectsCall(rule, call.principal, target)) return best;
  const match = matchConditions(rule, call.args);
  if (match === null) return best;
  if (best === null || gain > 0) return { match, tier, ttlMs: rule.ttlMs };
  return {
    match: isEarlier ? match : best.match,
    tier,
    ttlMs: Math.min(rule.ttlMs, best.ttlMs),
  };
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
        wanted(entry.rule) &&
        selectsTool(entry, target) &&
        selectsCall(entry.rule, principal, target),
    )?.rule;
    if (found !== undefined && (first === null || found.id < first.id)) first = found;
  }
  return first;
}

function selectsCall(rule: CompiledRule, principal: Principal, { labels }: Target): boolean {
  return selectsLabels(rule, labels) && selectsPrincipal(rule, principal);
}

export function selectsPrincipal(rule: CompiledRule, principal: Principal): boolean {
  return PRINCIPAL_SELECTORS.every(({ selects }) => selects(rule, principal));
}

/** Each part of `who`: what the rule wants, what the principal has, and whether it fits. */
export const PRINCIPAL_SELECTORS = [
  {
    part: "who.agents",
    wanted: (rule) => rule.agents,
    got: ({ agent }) => agent ?? "no agent",
    selects: ({ agents }, { agent }) => selectsName(agents, agent),
  },
  {
    part: "who.users",
    wanted: (rule) => rule.users,
    got: ({ user }) => user,
    selects: ({ users }, { user }) => selectsName(users, user),
  },
  {
    part: "who.roles",
    wanted: (rule) => rule.roles,
    got: ({ roles }) => roles?.join(", ") ?? "no role",
    selects: ({ roles }, principal) =>
      roles === null || principal.roles?.some((role) => selectsName(roles, role)) === true,
  },
  {
    part: "who.channels",
    wanted: (rule) => rule.channels,
    got: ({ context }) => context?.channel ?? "no channel",
    selects: ({ channels }, { context }) => selectsName(channels, context?.channel),
  },
  {
    part: "who.groups",
    wanted: (rule) => rule.groups,
    got: ({ context }) => context?.group ?? "no group",
    selects: ({ groups }, { context }) => selectsName(groups, context?.group),
  },
] as const satisfies readonly {
  readonly part: string;
  readonly wanted: (rule: CompiledRule) => readonly string[] | null;
  readonly got: (principal: Principal) => string;
  readonly selects: (rule: CompiledRule, principal: Principal) => boolean;
}[];

function selectsName(globs: readonly string[] | null, name: string | null | undefined): boolean {
  if (globs === null) return true;
  return name !== null && name !== undefined && globs.some((glob) => matchesGlob(glob, name));
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

function unmatchedReason(bundle: CompiledBundle, call: Call, target: Target): string {
  const nearest = firstSelecting(bundle.allow, call.principal, target);
  return nearest === null
    ? `no rule allows ${call.tool.name} for ${nameOf(call.principal)}`
    : `no rule allows ${call.tool.name} with these arguments for ${nameOf(call.principal)}; rule ${nearest.id} allows it with others`;
}
