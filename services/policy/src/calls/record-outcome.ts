import { StoreError } from "@switchyard/service/store-error";
import type { CompiledBundle } from "@switchyard/rules/bundle/compile-bundle";
import type { Call } from "@switchyard/rules/engine/evaluate";
import { outcomeWindows, type CallOutcome } from "@switchyard/rules/engine/plan-windows";
import type { BudgetStore } from "../budgets/budget-store.ts";
import { uncountCall } from "./narrow-call.ts";

/** Records that a call was denied or approved, for the rules with `after` and `neverAfter` about that. Without such a rule it does nothing. */
export async function recordOutcome(
  store: Pick<BudgetStore, "record">,
  bundle: CompiledBundle,
  of: {
    readonly call: Pick<Call, "principal" | "tool">;
    readonly outcome: CallOutcome;
    /** The same outcome recorded again under the same id counts once. */
    readonly id: string;
  },
): Promise<void> {
  const windows = outcomeWindows(bundle, of.call, of.outcome);
  if (windows.length > 0) await store.record(windows, of.id);
}

/** The changes of counts that admissions of approved calls make, by the rules in force. */
export function countsOfApprovals(budgets: BudgetStore, bundle: () => CompiledBundle) {
  return {
    uncount: (call: Pick<Call, "principal" | "tool" | "args">) =>
      uncountCall(budgets, bundle(), call),
    recordOutcome: (call: Pick<Call, "principal" | "tool">, outcome: CallOutcome, id: string) =>
      recordOutcome(budgets, bundle(), { call, outcome, id }),
  };
}

/** Records a denial. Returns the reason when it could not be recorded, and null otherwise. */
export async function recordDenial(
  store: Pick<BudgetStore, "record">,
  bundle: CompiledBundle,
  call: Pick<Call, "principal" | "tool">,
  id: string,
): Promise<string | null> {
  try {
    await recordOutcome(store, bundle, { call, outcome: "denied", id });
    return null;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return `${error.message}, so the denial is not recorded for the rules about denied calls`;
  }
}
