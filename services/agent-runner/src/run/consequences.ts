import { answerRunTool } from "../context/run-tools.ts";
import type { EntryOf } from "../journal/journal-entry.ts";
import { applyEntry } from "../journal/replay.ts";
import type { RunState } from "../journal/run-state.ts";
import type { CallOutcome } from "../tools/call-outcome.ts";
import { routeOf, type ToolCatalogue } from "../tools/tool-catalogue.ts";
import { nextAction } from "./next-action.ts";

/** What follows from an answer without anybody being asked. */
export interface Consequences {
  /** Of calls of the tools that look into the run itself. */
  readonly results: readonly (CallOutcome & { readonly at: string })[];
  readonly end: EntryOf<"finished"> | null;
}

/**
 * What the journal alone says about an answer that came just now. It is written together with the answer, so that no
 * write is waited for in between. `now` is milliseconds since the Unix epoch.
 */
export function consequencesOf(
  state: RunState,
  answer: EntryOf<"model-responded">,
  { tools, now }: { readonly tools: ToolCatalogue; readonly now: number },
): Consequences {
  if (state.cancellation !== null) return { results: [], end: null };
  const { at } = answer;
  const answered = applyEntry(state, answer);
  const results: (CallOutcome & { readonly at: string })[] = [];
  for (const outcome of resultsIn(answered, tools, now)) results.push({ ...outcome, at });
  const next = nextAction(results.reduce(applyEntry, answered), now);
  return {
    results,
    end: next.action === "finish" ? { kind: "finished", at, output: next.output } : null,
  };
}

function resultsIn(state: RunState, tools: ToolCatalogue, now: number): CallOutcome[] {
  const next = nextAction(state, now);
  if (next.action !== "call-tools") return [];
  // A skill may take tools away from the calls beside it.
  if (next.calls.some(({ part }) => routeOf(part.tool, tools).to === "skill")) return [];
  return next.calls.flatMap((call) => answerRunTool(call, state, tools.hidden ?? []) ?? []);
}
