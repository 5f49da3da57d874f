import type { Principal } from "@switchyard/contracts/policy/policy";
import { matchesTool } from "@switchyard/contracts/tool-patterns";
import {
  isWithinLimit,
  windowOwner,
  windowValueText,
  type CompiledWindow,
} from "../budgets/compile-window.ts";
import type {
  WindowAsked,
  WindowClause,
  WindowPlan,
  WindowReading,
} from "../budgets/window-memory.ts";
import {
  selectsLabels,
  selectsTool,
  targetOf,
  type CompiledBundle,
  type CompiledRule,
  type Target,
} from "../bundle/compile-bundle.ts";
import type { Verdict, WindowFacts } from "../bundle/conditions.ts";
import { decide, type Call } from "./evaluate.ts";
import { countsAs } from "./match-conditions.ts";
import { selectsPrincipal } from "./select-principal.ts";

/** A plan for the store, and the call with the facts that the store's answer adds to it. */
export interface PlannedCall extends WindowPlan {
  /** The call with the windows that speak against it left aside: when it is denied then, it is denied at any readings. */
  readonly atBest: Call;
  /** Returns the call with the readings of the plan's windows, in their order. */
  readonly withReadings: (readings: readonly WindowReading[]) => Call;
  /** The windows of the rules that select the call. */
  readonly asked: readonly CompiledWindow[];
}

/**
 * Plans the part of a decision that depends on earlier calls: which windows are read, in which ones the call counts, and which of them
 * deny. Null when no window is about the call, so that the decision depends on the call alone.
 */
export function planWindows(bundle: CompiledBundle, call: Call): PlannedCall | null {
  if (bundle.temporal.length === 0) return null;
  const target = targetOf(bundle, call.tool, call.server?.labels);
  const uses = new Uses(call);
  const selecting: CompiledRule[] = [];
  for (const rule of bundle.temporal) {
    const isSelected = selectsRule(rule, call.principal, target);
    const isMatched =
      isSelected && rule.conditions.every((one) => isStaticallyMet(rule, one, call));
    if (isMatched) selecting.push(rule);
    for (const { window } of rule.conditions) {
      if (window === undefined) continue;
      const isCounted = window.outcome === "made" && (isAbout(window, target.ref) ?? isMatched);
      if (isMatched || isCounted) uses.add(window, isCounted);
    }
  }
  if (uses.isEmpty) return null;
  const atBest = uses.callWith((window) => (window.effect === "allow" ? "holds" : "fails"));
  const alone = uses.callWith(() => "fails");
  const entries = (effect: CompiledRule["effect"]) =>
    selecting.filter((rule) => rule.effect === effect).flatMap((rule) => uses.entryOf(rule));
  return {
    windows: uses.windows,
    denies: entries("deny"),
    allows: entries("allow"),
    passesAlone: decide(bundle, alone).effect !== "deny",
    atBest,
    withReadings: (readings) => uses.withReadings(readings),
    asked: selecting.flatMap(({ conditions }) => conditions.flatMap(({ window }) => window ?? [])),
  };
}

/** True when the tool is one of those that the window is about; undefined when the rule's own selectors decide. */
function isAbout({ counted }: CompiledWindow, ref: Target["ref"]): boolean | undefined {
  return counted?.some((pattern) => matchesTool(pattern, ref));
}

/** An outcome of a call that windows count. */
export type CallOutcome = Exclude<CompiledWindow["outcome"], "made">;

/** Returns the windows in which a call with this outcome counts. */
export function outcomeWindows(
  bundle: Pick<CompiledBundle, "temporal" | "labels">,
  { principal, tool }: Pick<Call, "principal" | "tool">,
  outcome: CallOutcome,
): readonly WindowAsked[] {
  const { ref } = targetOf(bundle, tool, undefined);
  const found = new Map<string, WindowAsked>();
  for (const { conditions } of bundle.temporal)
    for (const { window } of conditions) {
      if (window?.outcome !== outcome || isAbout(window, ref) !== true) continue;
      const owner = windowOwner(window, principal);
      const { kind, withinMs } = window;
      if (owner === null) continue;
      const key = keyOf(window, owner);
      found.set(key, { key, kind, withinMs, share: "1" });
    }
  return [...found.values()];
}

function keyOf({ name, per }: CompiledWindow, owner: string): string {
  return `${name}:${per}:${owner}`;
}

function selectsRule(rule: CompiledRule, principal: Principal, target: Target): boolean {
  return (
    rule.patterns.some((pattern) => selectsTool({ pattern }, target)) &&
    selectsLabels(rule, target.labels) &&
    selectsPrincipal(rule, principal)
  );
}

function isStaticallyMet(
  { effect }: CompiledRule,
  condition: CompiledRule["conditions"][number],
  call: Call,
): boolean {
  return condition.window !== undefined || countsAs(effect, condition, call) !== "fails";
}

interface Use {
  readonly window: CompiledWindow;
  /** The position in the plan; null when the verdict does not depend on earlier calls. */
  readonly position: number | null;
  readonly on: "before" | "after";
  readonly fixed: Verdict | null;
}

/** The windows that are about one call. Windows of one rule that count the same share a position. */
class Uses {
  readonly windows: WindowAsked[] = [];
  readonly #uses = new Map<CompiledWindow, Use>();
  readonly #positions = new Map<string, number>();
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  get isEmpty(): boolean {
    return this.#uses.size === 0;
  }

  add(window: CompiledWindow, isCounted: boolean): void {
    const owner = windowOwner(window, this.#call.principal);
    const share = isCounted ? window.shareOf(this.#call.args) : null;
    const on = window.countsThis && isCounted ? "after" : "before";
    // Earlier calls have no part in a call whose own amount cannot be added.
    const fixed =
      owner === null ? "missing" : window.countsThis && typeof share === "string" ? share : null;
    if (owner === null || fixed !== null) {
      this.#uses.set(window, { window, position: null, on, fixed });
      return;
    }
    const counts = share !== null && typeof share !== "string" ? share.counts : null;
    const key = keyOf(window, owner);
    const position = this.#positions.get(key) ?? this.windows.length;
    if (position === this.windows.length) {
      const { kind, withinMs } = window;
      this.windows.push({ key, kind, withinMs, share: counts });
      this.#positions.set(key, position);
    }
    this.#uses.set(window, { window, position, on, fixed });
  }

  /** The comparisons that decide about a rule; none when one of them is decided and fails. */
  entryOf({ effect, conditions }: CompiledRule): WindowClause[][] {
    const clauses: WindowClause[] = [];
    for (const condition of conditions) {
      const use = condition.window === undefined ? undefined : this.#uses.get(condition.window);
      if (use === undefined) continue;
      if (use.position === null) {
        const decided = this.callWith(() => "fails");
        if (countsAs(effect, condition, decided) === "fails") return [];
      } else {
        clauses.push({ window: use.position, on: use.on, ...use.window.limit });
      }
    }
    return [clauses];
  }

  callWith(judge: (window: CompiledWindow) => Verdict): Call {
    return this.#withFacts({
      judge: (window) => this.#uses.get(window)?.fixed ?? judge(window),
      shown: () => "not known",
    });
  }

  withReadings(readings: readonly WindowReading[]): Call {
    const valueOf = (window: CompiledWindow) => {
      const use = this.#uses.get(window);
      const reading = readings[use?.position ?? -1];
      return { use, reading };
    };
    return this.#withFacts({
      judge(window) {
        const { use, reading } = valueOf(window);
        if (use !== undefined && use.fixed !== null) return use.fixed;
        if (use === undefined || reading === undefined) return "incomparable";
        return isWithinLimit(window, reading[use.on]) ? "holds" : "fails";
      },
      shown(window) {
        const { use, reading } = valueOf(window);
        if (use !== undefined && use.fixed !== null)
          return use.fixed === "missing" ? "missing" : "not comparable";
        return reading === undefined ? "not known" : readingText(window, reading);
      },
    });
  }

  #withFacts(windows: WindowFacts): Call {
    return { ...this.#call, facts: { ...this.#call.facts, windows } };
  }
}

/** The value before and with the call, and when it begins to fall. */
function readingText(window: CompiledWindow, { before, after, oldestMs }: WindowReading): string {
  const values =
    before === after
      ? windowValueText(window, before)
      : `${windowValueText(window, before)} before this call and ${windowValueText(window, after)} with it`;
  if (oldestMs === null) return values;
  const freesAt = new Date(Math.ceil((oldestMs + window.withinMs) / 1_000) * 1_000).toISOString();
  return `${values}, and the oldest call counts until ${freesAt.replace(".000Z", "Z")}`;
}
