import { randomUUID } from "node:crypto";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { ConsideredLimit } from "@switchyard/contracts/policy/policy-explain";
import { StoreError } from "@switchyard/service/store-error";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import { decide, type Call } from "@switchyard/rules/engine/evaluate";
import { planWindows, type PlannedCall } from "@switchyard/rules/engine/plan-windows";
import type { WindowAnswer } from "@switchyard/rules/budgets/window-memory";
import { MAX_WINDOW_CALLS } from "@switchyard/rules/schema/window-schema";
import { labelsOf } from "@switchyard/rules/layers/labels";
import { nameOf } from "@switchyard/rules/layers/narrowing";
import { durationText, type Budget } from "@switchyard/rules/schema/budget-schema";
import {
  countedWindows,
  MOST_DIFFERENT,
  type BudgetCount,
  type BudgetStore,
  type Full,
} from "../budgets/budget-store.ts";
import { budgetsOf, ownerOf } from "@switchyard/rules/budgets/compile-budgets";
import { hasFlowLabel, narrowByFlow, touchesOf } from "@switchyard/rules/budgets/flow";

export interface Narrowed {
  readonly decision: Decision;
  /** The effect of the rules, earlier calls included, before budgets and flow labels. */
  readonly byRules: Decision["effect"];
  /** To be released when the call is over. */
  readonly reservation: string | null;
}

/**
 * Narrows a decision by history: the labels that the run has touched, and the number of its calls. When that history cannot be
 * read, the call is denied.
 */
export async function narrowCall(
  store: BudgetStore,
  bundle: CompiledBundle,
  {
    call,
    decision,
    plan,
  }: { readonly call: Call; readonly decision: Decision; readonly plan: PlannedCall | null },
): Promise<Narrowed> {
  let byRules = decision.effect;
  if (decision.effect === "deny") return { decision, byRules, reservation: null };
  const budgets = budgetsOf(bundle.budgets, call);
  const labels = labelsOf(bundle.labels, call.tool, call.server?.labels);
  const isFlow = call.principal.runId !== null && hasFlowLabel(labels);
  if (budgets.length === 0 && !isFlow && plan === null)
    return { decision, byRules, reservation: null };
  const deny = (reason: string): Narrowed => ({
    decision: { effect: "deny", rule: null, reason, policyDigest: decision.policyDigest },
    byRules,
    reservation: null,
  });

  const tooDeep = budgets.find((budget) => !isDeepEnough(budget, call));
  if (tooDeep !== undefined)
    return deny(refusalText(tooDeep, { limit: "depth", endsInMs: null }, call));
  try {
    // Labels are stored before the count, so that a failure leaves nothing counted. A call that is refused afterwards leaves its
    // labels behind, as a call that a person denies does.
    const touches = isFlow ? await store.touch(familyOf(call), touchesOf(labels)) : null;
    const counts = budgets.flatMap((budget) => countOf(budget, call));
    const place = { reservation: randomUUID(), fingerprint: fingerprintOf(call) };
    const isCounted = counts.length > 0 || plan !== null;
    const { full, windows } = isCounted ? await store.take(counts, place, plan) : NOTHING_TAKEN;
    if (full !== null) {
      const budget = budgets.find(({ id }) => full.name.startsWith(`${id}:`));
      return deny(refusalText(budget, full, call));
    }
    const decided = byWindows(bundle, { plan, windows, decision });
    byRules = decided.effect;
    if (decided.effect === "deny") return { decision: decided, byRules, reservation: null };
    const isHeld =
      counts.some(({ concurrency }) => concurrency !== null) || countedWindows(plan).length > 0;
    return {
      decision: touches === null ? decided : narrowByFlow(decided, labels, touches),
      byRules,
      reservation: isHeld ? place.reservation : null,
    };
  } catch (error) {
    return deny(uncounted(error, call));
  }
}

const NOTHING_TAKEN = { full: null, windows: null };

/** Decides again with the earlier calls that the store has read. */
function byWindows(
  bundle: CompiledBundle,
  {
    plan,
    windows,
    decision,
  }: {
    readonly plan: PlannedCall | null;
    readonly windows: WindowAnswer | null;
    readonly decision: Decision;
  },
): Decision {
  if (plan === null || windows === null) return decision;
  const decided = decide(bundle, plan.withReadings(windows.readings));
  if (windows.isTaken || decided.effect === "deny") return decided;
  const { policyDigest } = decision;
  const [rule = ""] = (windows.full === null ? "" : (plan.windows[windows.full]?.key ?? "")).split(
    ".",
  );
  const reason = `a window of rule ${rule} remembers ${MAX_WINDOW_CALLS} calls, which is the most; the call may pass when the oldest have left it`;
  return { effect: "deny", rule: null, reason, policyDigest };
}

/**
 * Undoes the count of {@link narrowCall} for a call that now waits for a person: it is decided and counted again after the
 * person's decision. Never rejects because of Redis: if the call stays counted, the run has only lost an attempt.
 */
export async function uncountCall(
  store: Pick<BudgetStore, "uncount">,
  bundle: CompiledBundle,
  call: Pick<Call, "principal" | "tool" | "args">,
): Promise<void> {
  const counts = budgetsOf(bundle.budgets, call).flatMap((budget) => countOf(budget, call));
  if (counts.length === 0) return;
  try {
    await store.uncount(counts, fingerprintOf(call));
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

/**
 * Narrows a decision about a feature other than a tool by the labels that the run has touched: reading a resource exposes the run
 * as much as a tool does. Budgets apply to tool calls alone.
 */
export async function narrowFeature(
  store: Pick<BudgetStore, "touch">,
  bundle: CompiledBundle,
  decided: { readonly call: Call; readonly decision: Decision },
): Promise<Decision> {
  const { call, decision } = decided;
  const labels = labelsOf(bundle.labels, call.tool, call.server?.labels);
  if (decision.effect === "deny" || call.principal.runId === null || !hasFlowLabel(labels))
    return decision;
  try {
    return await touched(store, labels, decided);
  } catch (error) {
    const { policyDigest } = decision;
    return { effect: "deny", rule: null, reason: uncounted(error, call), policyDigest };
  }
}

/** Stores the labels of the call for the run, and narrows the decision by all labels of the run. */
async function touched(
  store: Pick<BudgetStore, "touch">,
  labels: ReadonlySet<string>,
  { call, decision }: { readonly call: Call; readonly decision: Decision },
): Promise<Decision> {
  return narrowByFlow(decision, labels, await store.touch(familyOf(call), touchesOf(labels)));
}

function uncounted(error: unknown, { principal }: Call): string {
  if (!(error instanceof StoreError)) throw error;
  return `${error.message}, and a call of ${nameOf(principal)} has to be counted; try again`;
}

/** The limits and flow labels that apply to a call. */
export interface Consideration {
  /** The call with its earlier calls as the windows see them. */
  readonly call: Call;
  readonly limits: ConsideredLimit[];
  /** The reason why it cannot be counted now, so that it would be denied; null when it can. */
  readonly uncounted: string | null;
}

/** Applies the same limits as {@link narrowCall}, without counting the call. */
export async function considerCall(
  store: Pick<BudgetStore, "usage" | "touch" | "readWindows">,
  bundle: CompiledBundle,
  call: Call,
): Promise<Consideration> {
  const plan = planWindows(bundle, call);
  const atBest = plan?.atBest ?? call;
  try {
    const limits = await consideredLimits(store, bundle, call);
    if (plan === null) return { call, limits, uncounted: null };
    const { readings } = await store.readWindows(plan);
    const known = plan.withReadings(readings);
    const isDecided = decide(bundle, atBest).effect === "deny";
    return {
      call: isDecided ? atBest : known,
      limits: [...limits, ...windowLimits(plan, known)],
      uncounted: null,
    };
  } catch (error) {
    return { call: atBest, limits: [], uncounted: uncounted(error, call) };
  }
}

/** Lists the windows of the rules about the call, with the used part of each and the time when it frees. */
function windowLimits({ asked }: PlannedCall, { facts }: Call): ConsideredLimit[] {
  return asked.map((window): ConsideredLimit => {
    const holds = facts?.windows?.judge(window) === "holds";
    const passes = window.effect === "allow" ? holds : !holds;
    const detail = `${window.subject} is ${facts?.windows?.shown(window) ?? ""}; the rule ${window.effect === "allow" ? "allows" : "denies"} ${window.wanted}`;
    return { kind: "window", name: window.rule, passes, detail };
  });
}

async function consideredLimits(
  store: Pick<BudgetStore, "usage" | "touch">,
  bundle: CompiledBundle,
  call: Call,
): Promise<ConsideredLimit[]> {
  const budgets = budgetsOf(bundle.budgets, call);
  const counts = budgets.flatMap((budget) => countOf(budget, call));
  const usage = counts.length === 0 ? [] : await store.usage(counts, fingerprintOf(call));
  const limits = budgets.map((budget): ConsideredLimit => {
    const used = usage.find(({ name }) => name.startsWith(`${budget.id}:`));
    const { calls = null, concurrency = null, repeats: repeatable = null } = budget;
    const passes =
      isDeepEnough(budget, call) &&
      (calls === null || (used?.calls ?? 0) < calls) &&
      (repeatable === null || (used?.repeats ?? 0) < repeatable) &&
      (concurrency === null || (used?.concurrent ?? 0) < concurrency);
    const made = calls === null ? [] : [`${used?.calls ?? 0} of ${calls} calls made`];
    const endsInMs = used?.endsInMs ?? null;
    // A window in which no call was made has no end yet.
    const window = windowText(budget, passes && endsInMs === 0 ? null : endsInMs);
    const held =
      concurrency === null ? [] : [`${used?.concurrent ?? 0} of ${concurrency} at a time`];
    const depth = budget.depth === undefined ? [] : [`at most depth ${budget.depth}`];
    const repeats =
      repeatable === null ? [] : [`this very call ${used?.repeats ?? 0} of ${repeatable} times`];
    const detail = [...made, ...held, ...repeats, ...depth].join(", ");
    const text = `per ${budget.per}: ${detail}${window}`;
    return { kind: "budget", name: budget.id, passes, detail: text };
  });
  const labels = labelsOf(bundle.labels, call.tool, call.server?.labels);
  if (call.principal.runId === null || !hasFlowLabel(labels)) return limits;
  const touches = await store.touch(familyOf(call), []);
  const own = touchesOf(labels);
  const both = {
    untrusted: touches.untrusted || own.includes("untrusted-in"),
    sensitive: touches.sensitive || own.includes("sensitive"),
  };
  const detail = `the run has ${both.untrusted ? "" : "not "}read untrusted content and has ${both.sensitive ? "" : "not "}seen sensitive data`;
  const passes = !(labels.has("egress") && both.untrusted && both.sensitive);
  return [...limits, { kind: "flow", name: "flow labels", passes, detail }];
}

function isDeepEnough({ depth }: Budget, { principal }: Call): boolean {
  return depth === undefined || (principal.context?.depth ?? 0) <= depth;
}

function countOf(budget: Budget, { principal }: Pick<Call, "principal">): BudgetCount[] {
  const { id, per, window, calls = null, repeats = null, concurrency = null } = budget;
  if (calls === null && repeats === null && concurrency === null) return [];
  const name = `${id}:${per}:${ownerOf(budget, principal) ?? ""}`;
  return [{ name, windowMs: window ?? null, calls, repeats, concurrency }];
}

/** Returns the root of a run's family. Runs of a family share their labels, because a sub-agent's result reaches its parent. */
function familyOf({ principal }: Call): string {
  return principal.context?.root ?? principal.runId ?? "";
}

function fingerprintOf({ tool, args }: Pick<Call, "tool" | "args">): string {
  return canonicalDigest({ server: tool.server, tool: tool.tool, args });
}

/** Each limit's unit, for one and for several. */
const LIMIT_TEXT: Readonly<Record<string, readonly [one: string, many: string]>> = {
  calls: ["call", "calls"],
  repeats: ["repetition of this very call", "repetitions of this very call"],
  concurrency: ["call at a time", "calls at a time"],
  depth: ["level of sub-agents", "levels of sub-agents"],
};

function refusalText(
  budget: Budget | undefined,
  { limit, endsInMs }: Pick<Full, "limit" | "endsInMs">,
  { principal }: Call,
): string {
  if (budget === undefined) return `a budget of ${nameOf(principal)} is used up`;
  const { id, per } = budget;
  if (limit === "different")
    return `budget ${id} is used up: its window remembers ${MOST_DIFFERENT} different calls, which is the most${endText(endsInMs)}`;
  const key = limit as "calls" | "repeats" | "concurrency" | "depth"; // the script's answers, and ours
  const whose = per === "all" ? "all together have" : `this ${per} has`;
  const most = budget[key] ?? 0;
  const [one, many] = LIMIT_TEXT[limit] ?? [limit, limit];
  const isWindowed = limit === "calls" || limit === "repeats";
  const window = isWindowed ? windowText(budget, endsInMs) : "";
  return `budget ${id} is used up: ${whose} at most ${most} ${most === 1 ? one : many}${window}`;
}

/** ` in 10m, until 2026-11-27T22:18:00Z`; a run without a window is counted as a whole. */
function windowText({ per, window, calls, repeats }: Budget, endsInMs: number | null): string {
  if (window !== undefined) return ` in ${durationText(window)}${endText(endsInMs)}`;
  const isCounted = calls !== undefined || repeats !== undefined;
  return per === "run" && isCounted ? " in the whole run" : "";
}

/** The time at which the window ends, to the second above. */
function endText(endsInMs: number | null): string {
  if (endsInMs === null) return "";
  const at = new Date(Math.ceil((Date.now() + endsInMs) / 1_000) * 1_000).toISOString();
  return `, until ${at.replace(".000Z", "Z")}`;
}
