import { answerRunTool } from "./run-tools.ts";
import type { EntryOf } from "./journal-entry.ts";
import { applyEntry } from "./replay.ts";
import { isCutOff, type CallState, type RunState } from "./run-state.ts";
import { isArguments } from "./answer-part.ts";
import { hasChanged } from "./tool-print.ts";
import type { CallOutcome } from "./call-outcome.ts";
import { routeOf, type ToolCatalogue } from "./tool-catalogue.ts";
import { nextAction } from "./next-action.ts";

/** The consequences of an answer that need no call to a service. */
export interface Consequences {
  /** Results of the calls of tools that read the run itself. */
  readonly results: readonly (CallOutcome & { readonly at: string })[];
  /** Calls that are sent as soon as this is written. */
  readonly dispatched: readonly EntryOf<"tool-dispatched">[];
  readonly end: EntryOf<"finished"> | null;
}

/**
 * Derives the consequences of a new answer from the journal alone. They are written together with the answer, so that no write is
 * awaited in between. `now` is milliseconds since the Unix epoch, `atOnce` how many calls are sent side by side.
 */
export function consequencesOf(
  state: RunState,
  answer: EntryOf<"model-responded">,
  {
    tools,
    now,
    atOnce,
  }: { readonly tools: ToolCatalogue; readonly now: number; readonly atOnce: number },
): Consequences {
  if (state.cancellation !== null) return { results: [], dispatched: [], end: null };
  const { at } = answer;
  const answered = applyEntry(state, answer);
  const results: (CallOutcome & { readonly at: string })[] = [];
  for (const outcome of resultsIn(answered, tools, now)) results.push({ ...outcome, at });
  const after = results.reduce(applyEntry, answered);
  const dispatched = callsNow(after, tools, now)
    .slice(0, atOnce)
    .filter((call) => goesToProvider(call, tools, after))
    .map(({ part }) => ({ kind: "tool-dispatched" as const, at, callId: part.callId }));
  return { results, dispatched, end: endNow(after, now) };
}

/** Returns the end of a run whose journal requires nothing more; null when there is work left. */
export function endNow(state: RunState, now: number): EntryOf<"finished"> | null {
  const next = nextAction(state, now);
  if (next.action !== "finish") return null;
  return { kind: "finished", at: new Date(now).toISOString(), output: next.output };
}

function resultsIn(state: RunState, tools: ToolCatalogue, now: number): CallOutcome[] {
  const calls = callsNow(state, tools, now);
  return calls.flatMap((call) => answerRunTool(call, state, tools.hidden ?? []) ?? []);
}

/** None beside a skill, which may take tools away from them. */
function callsNow(state: RunState, tools: ToolCatalogue, now: number): readonly CallState[] {
  const next = nextAction(state, now);
  if (next.action !== "call-tools") return [];
  return next.calls.some(({ part }) => routeOf(part.tool, tools).to === "skill") ? [] : next.calls;
}

/** True for a call that was not sent yet and that goes to a tool provider unchanged. */
function goesToProvider(call: CallState, tools: ToolCatalogue, state: RunState): boolean {
  const { tool, input } = call.part;
  const { to } = routeOf(tool, tools);
  const isWhole = isArguments(input) && !isCutOff(call, state);
  return to === "server" && isWhole && !hasChanged(tool, tools, state.shownTools);
}
