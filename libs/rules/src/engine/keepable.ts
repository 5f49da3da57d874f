import { masksInValue } from "@switchyard/service/inspect/masks-in";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { CompiledBundle } from "../bundle/compile-bundle.ts";
import { budgetsOf } from "../budgets/compile-budgets.ts";
import { hasFlowLabel } from "../budgets/flow.ts";
import { labelsOf } from "../layers/labels.ts";
import { ignoresArguments, type Call } from "./evaluate.ts";
import { outcomeWindows, planWindows } from "./plan-windows.ts";
import { ignoreArguments } from "../layers/tool-layers.ts";

/**
 * True when a tool provider may cache the decision for a while: it is the same for any arguments, and depends neither on an
 * approval, nor a budget, nor earlier calls, nor the labels of the run.
 */
export function isKeepable(bundle: CompiledBundle, call: Call, decision: Decision): boolean {
  if (decision.effect === "ask") return false;
  // The provider requests a decision for each call with masks.
  if (bundle.masks && masksInValue(call.args).length > 0) return false;
  // Another rule may count the call, although no rule with conditions is about it.
  if (planWindows(bundle, call) !== null) return false;
  // Each denial counts for the rules about denied calls.
  if (outcomeWindows(bundle, call, "denied").length > 0) return false;
  if (budgetsOf(bundle.budgets, call).length > 0) return false;
  if (hasFlowLabel(labelsOf(bundle.labels, call.tool, call.server?.labels))) return false;
  if (call.layers !== null && !ignoreArguments(call.layers, call.tool)) return false;
  return ignoresArguments(bundle, call);
}
