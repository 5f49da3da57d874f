import {
  compareTiers,
  stricterTier,
  type ApprovalTier,
} from "@switchyard/contracts/policy/approval-tier";
import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import type { Decision, Principal } from "@switchyard/contracts/policy/policy";
import { canonicalToolName, type ToolRef } from "@switchyard/contracts/tool-names";
import {
  entriesFor,
  selectsLabels,
  selectsTool,
  targetOf,
  tierOf,
  type ApprovingRule,
  type CompiledBundle,
  type CompiledRule,
  type RuleEntry,
  type RuleIndex,
  type Target,
} from "../bundle/compile-bundle.ts";
import { firstRefusal, nameOf, type NarrowedCall } from "../layers/narrowing.ts";
import { inspectionOf, unmaskDenial } from "./inspection.ts";
import { approveTerms, approveWords, type ApproveTerms } from "./approve-terms.ts";
import { isUndecidedFile, shownAccess, undecidedFile } from "./file-decision.ts";
import { findingsInArguments } from "../bundle/findings-in-arguments.ts";
import type { CompiledCondition, Judgeable } from "../bundle/conditions.ts";
import { matchConditions, type Match } from "./match-conditions.ts";
import { selectsPrincipal } from "./select-principal.ts";

/**
 * The decision, a pure function. Its order, each step only narrowing:
 *
 * 1. a tool reference that contradicts itself is denied;
 * 2. any matching deny rule denies;
 * 3. a tool that the run token, its server's administrator or a layer excludes is denied;
 * 4. of the matching allow rules the strictest approval counts: none, for a session, or always;
 * 5. without a match the call is denied.
 *
 * An approval that the agent's definition requires counts beside 4 when it is stricter. Of every matching allow rule `approve`
 * counts: see `approve-terms.ts`.
 *
 * A file access that no rule names is allowed before all of this. One that a rule names has no step 3, and needs no approval of the agent.
 *
 * The order of rules in the file plays no part. Of several rules that would decide the same, the one whose id sorts first is
 * named.
 */
export interface Call extends NarrowedCall {
  readonly args: Judgeable["args"];
  readonly facts?: Judgeable["facts"];
}

export function decide(bundle: CompiledBundle, call: Call): Decision {
  const policyDigest = bundle.digest;
  const found = foundIn(bundle, call);
  const deny = (rule: string | null, reason: string): Decision => ({
    effect: "deny",
    rule,
    reason,
    policyDigest,
    ...found,
  });
  if (!isConsistent(call.tool)) {
    return deny(null, `the tool reference ${call.tool.name} contradicts its server and tool name`);
  }
  if (isUndecidedFile(bundle, call.tool)) return undecidedFile(bundle, call.tool);
  const target = targetOf(bundle, call.tool, call.server?.labels);

  const denying = firstMatch(bundle.deny, call, target);
  if (denying !== null) return deny(denying.rule.id, reasonOf(denying, call));

  const refusal = firstRefusal(bundle.narrowings, call);
  if (refusal !== null) return deny(null, refusal.detail);

  const allowing = strictestMatch(bundle, call, target);
  if (allowing === null) return deny(null, unmatchedReason(bundle, call, target));
  const inspection = inspectionOf(bundle, call, target);
  const denial = unmaskDenial(bundle, call, inspection);
  if (denial !== null) return deny(null, denial);
  const { match, ttlMs } = allowing;
  const { id } = match.rule;
  const isFile = fileAccessOf(call.tool) !== null;
  const tier = isFile ? allowing.tier : stricterTier(allowing.tier, call.principal.approval);
  const own = tier === allowing.tier ? "" : `; ${nameOf(call.principal)} wants more (its approval)`;
  const reason = `${reasonOf(match, call)}${own}`;
  const inspects = { ...found, ...(inspection && { inspection }) };
  if (tier === "auto")
    return { effect: "allow", rule: id, reason, policyDigest, tier, ...inspects };
  const approving = approvingRules(bundle, call, target);
  const people = approving.map(({ approve }) => approveWords(approve));
  const question = `${reason}; ${APPROVAL_TEXT[tier]}${people.length === 0 ? "" : `: ${people.join("; ")}`}`;
  return {
    effect: "ask",
    rule: id,
    reason: question,
    policyDigest,
    tier,
    ...inspects,
    ...(tier === "session" && { ttlMs }),
    ...(approving.length > 0 && { approveRules: approving.map((rule) => rule.id) }),
  };
}

/** Returns the matching allow rules that state who has to approve the call. */
export function approvingRules(
  bundle: CompiledBundle,
  call: Call,
  target: Target = targetOf(bundle, call.tool, call.server?.labels),
): readonly ApprovingRule[] {
  return bundle.approving.filter(
    (rule) =>
      rule.patterns.some((pattern) => selectsTool({ pattern }, target)) &&
      selectsCall(rule, call.principal, target) &&
      matchConditions(rule, call) !== null,
  );
}

const APPROVAL_TEXT = {
  session: "a person has to approve it, for this call or for a while",
  always: "a person has to approve this very call",
} as const;

/**
 * True when some arguments could make {@link decide} allow the tool, with or without approval: an allow rule selects it, and no
 * deny rule denies it whatever the arguments are. Every call that is not denied is of such a tool.
 */
export function mayEverAllow(bundle: CompiledBundle, question: Omit<Call, "args">): boolean {
  const { principal, tool, layers, server } = question;
  if (!isConsistent(tool)) return false;
  if (isUndecidedFile(bundle, tool)) return true;
  if (firstRefusal(bundle.narrowings, { principal, tool, layers, server }) !== null) return false;
  const target = targetOf(bundle, tool, server?.labels);
  if (firstSelecting(bundle.allow, principal, target) === null) return false;
  return firstSelecting(bundle.deny, principal, target, isUnconditional) === null;
}

/**
 * True when {@link decide} returns the same answer whatever the arguments are, for as long as the bundle is in force: no rule
 * with conditions is about this principal and tool. A rule whose answer depends on anything else that changes, such as a person's
 * approval or a budget, must count as one with conditions here.
 */
export function ignoresArguments(
  bundle: CompiledBundle,
  call: Pick<Call, "principal" | "tool" | "server">,
): boolean {
  return !hasCondition(bundle, call, () => true);
}

/**
 * Returns who has to approve a call that waits: by the rules that its decision named, and by those that match. A tool provider of an
 * earlier version drops the names, and this service may not have the labels of the tool's server, so both count.
 */
export function termsOfCall(
  bundle: CompiledBundle,
  {
    call,
    named,
    now,
  }: { readonly call: Call; readonly named: readonly string[]; readonly now: number },
): ApproveTerms {
  const matching = approvingRules(bundle, call);
  const rules = bundle.approving.filter(
    (rule) => named.includes(rule.id) || matching.includes(rule),
  );
  return approveTerms(bundle, rules, now);
}

/** True when a rule about this principal and tool has such a condition. */
export function hasCondition(
  bundle: CompiledBundle,
  { principal, tool, server }: Pick<Call, "principal" | "tool" | "server">,
  isSuch: (condition: CompiledCondition) => boolean,
): boolean {
  const target = targetOf(bundle, tool, server?.labels);
  return [bundle.deny, bundle.allow].some(
    (index) =>
      firstSelecting(index, principal, target, ({ conditions }) => conditions.some(isSuch)) !==
      null,
  );
}

/** Returns what inspectors find in the arguments, where a rule about this call looks for it. */
function foundIn(bundle: CompiledBundle, call: Call): Pick<Decision, "found"> {
  if (bundle.finds.length === 0 || call.facts?.recorded !== undefined) return {};
  if (!hasCondition(bundle, call, ({ finds }) => finds !== undefined)) return {};
  const found = findingsInArguments(call.args, bundle.finds);
  return found === null || Object.keys(found).length === 0 ? {} : { found };
}

function isUnconditional(rule: CompiledRule): boolean {
  return rule.conditions.length === 0;
}

function firstMatch(index: RuleIndex, call: Call, target: Target): Match | null {
  let first: Match | null = null;
  for (const entries of entriesFor(index, target)) {
    for (const entry of entries) {
      if (first !== null && entry.rule.id >= first.rule.id) break;
      const isSelected =
        selectsTool(entry, target) && selectsCall(entry.rule, call.principal, target);
      const match = isSelected ? matchConditions(entry.rule, call) : null;
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
  /** The shortest duration of all rules that require this tier. */
  readonly ttlMs: number;
}

/** Returns the strictest of the matching allow rules; of several equally strict ones the one whose id sorts first. */
function strictestMatch(bundle: CompiledBundle, call: Call, target: Target): Allowance | null {
  let best: Allowance | null = null;
  for (const entries of entriesFor(bundle.allow, target)) {
    for (const entry of entries) best = stricter(bundle, { best, entry, call, target });
  }
  return best;
}

function stricter(
  bundle: CompiledBundle,
  question: { best: Allowance | null; entry: RuleEntry; call: Call; target: Target },
): Allowance | null {
  const { best, entry, call, target } = question;
  const { rule } = entry;
  const tier = tierOf(bundle, rule, call.tool);
  const gain = best === null ? 1 : compareTiers(tier, best.tier);
  const isEarlier = best === null || rule.id < best.match.rule.id;
  const isShorter = best !== null && tier === "session" && rule.ttlMs < best.ttlMs;
  // The conditions of a rule that could not change the result are not evaluated.
  if (gain < 0 || (gain === 0 && !isEarlier && !isShorter)) return best;
  if (!selectsTool(entry, target) || !selectsCall(rule, call.principal, target)) return best;
  const match = matchConditions(rule, call);
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

/** The three facts of a reference must agree, or a rule about one of them could be got round by another. */
export function isConsistent({ name, server, tool }: ToolRef): boolean {
  if (server === null) return name === tool && !name.startsWith("mcp__");
  return name === `mcp__${server}__${tool}` || name === canonicalToolName(server, tool);
}

function reasonOf({ rule, incomparable }: Match, call: Call): string {
  const verb = rule.effect === "allow" ? "allows" : "denies";
  const note = rule.note === null ? "" : `: ${rule.note}`;
  const windows = rule.conditions.flatMap((condition) =>
    condition.window === undefined && condition.finds === undefined
      ? []
      : [stated(condition, call)],
  );
  const history = windows.length === 0 ? "" : ` (${windows.join(", ")})`;
  const why =
    incomparable === null
      ? ""
      : ` (${incomparable} is not what the rule can compare with, which counts as a match)`;
  return `rule ${rule.id} ${verb} ${shownAccess(call)}${history}${note}${why}`;
}

/** Names counts and never values: reasons are in logs and in the audit. */
function stated({ finds, arg, wanted, got }: CompiledCondition, call: Call): string {
  return finds === undefined ? `${arg} is ${wanted}` : `the arguments: ${got(call)}`;
}

function unmatchedReason(bundle: CompiledBundle, call: Call, target: Target): string {
  const { principal } = call;
  const name = shownAccess(call);
  const nearest = firstSelecting(bundle.allow, principal, target);
  if (nearest !== null)
    return `no rule allows ${name} with these arguments for ${nameOf(principal)}; rule ${nearest.id} allows it with others`;
  const unmatched = `no rule allows ${name} for ${nameOf(principal)}`;
  const { context } = principal;
  if (context?.replayed !== true) return unmatched;
  const { replayed: _, ...first } = context;
  const barred = firstSelecting(bundle.allow, { ...principal, context: first }, target);
  return barred === null
    ? unmatched
    : `${unmatched} in a replayed run; rule ${barred.id} applies to one only with replayed: true in its who`;
}
