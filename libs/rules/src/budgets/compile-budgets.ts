import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import type { Principal } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { Bundle } from "../schema/bundle.ts";
import { isAbout } from "../layers/audience.ts";
import type { Budget } from "../schema/budget-schema.ts";

export type CompiledBudget = Budget;

export function compileBudgets({ budgets = [] }: Pick<Bundle, "budgets">): readonly Budget[] {
  return budgets.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Returns the budgets that a call of the principal counts against. Per-run budgets do not apply to calls without a run, and no budget to a
 * file, which is no call.
 */
export function budgetsOf(
  budgets: readonly Budget[],
  { principal, tool }: { readonly principal: Principal; readonly tool: ToolRef },
): readonly Budget[] {
  if (budgets.length === 0 || fileAccessOf(tool) !== null) return [];
  return budgets.filter((budget) => isAbout(budget.for, principal) && ownerOf(budget, principal));
}

/** Returns the owner whose counter the budget uses; null when the principal has no owner of that kind. */
export function ownerOf({ per }: Pick<Budget, "per">, principal: Principal): string | null {
  switch (per) {
    case "run":
      return principal.runId;
    case "agent":
      return principal.agent;
    case "user":
      return principal.user;
    case "all":
      return "all";
    default:
      return per satisfies never;
  }
}
