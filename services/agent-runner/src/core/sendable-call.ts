import { isArguments, type FinishReason } from "./answer-part.ts";
import type { CallState, RunState } from "./run-state.ts";
import { routeOf, type ToolCatalogue } from "./tool-catalogue.ts";
import { hasChanged } from "./tool-print.ts";

/** True for a call that was not sent yet and that goes to a tool provider unchanged. */
export function goesToProvider(call: CallState, tools: ToolCatalogue, state: RunState): boolean {
  const { tool, input } = call.part;
  const { to } = routeOf(tool, tools);
  const isWhole = isArguments(input) && !isCutOff(call, state);
  return to === "server" && isWhole && !hasChanged(tool, tools, state.shownTools);
}

/**
 * True for the last call of an answer that broke off, when it has no arguments: they may not have been sent yet. Arguments that
 * were cut in the middle are not JSON.
 */
export function isCutOff({ part }: CallState, { turns }: RunState): boolean {
  const last = turns.at(-1);
  if (last === undefined || !BROKEN_OFF.has(last.finishReason)) return false;
  const isLast = last.calls.at(-1)?.part.callId === part.callId;
  return isLast && isArguments(part.input) && Object.keys(part.input).length === 0;
}

const BROKEN_OFF: ReadonlySet<FinishReason> = new Set(["length", "content-filter", "error"]);

/** True for a call that cannot have had its effect yet. */
export function isUnsent({ dispatched, wait }: CallState): boolean {
  return !dispatched || (wait?.reason === "approval" && wait.again !== true);
}
