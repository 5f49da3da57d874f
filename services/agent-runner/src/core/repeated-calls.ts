import { canonicalJson } from "@switchyard/contracts/canonical-json";
import type { CallState, RunState } from "./run-state.ts";

/**
 * Counts how often the most repeated call of the last answer was made with the same arguments and the same result. Repeating a
 * call whose result changes is not a repetition.
 */
export function repeatsOf({ turns }: RunState): number {
  const last = turns.at(-1)?.calls ?? [];
  const all = turns.flatMap(({ calls }) => calls);
  return Math.max(0, ...last.map((call) => all.filter((other) => isSame(call, other)).length));
}

/** The cheap questions first: a run has many calls, and few of them are alike. */
function isSame(one: CallState, other: CallState): boolean {
  if (one === other) return true;
  return (
    one.part.tool === other.part.tool &&
    one.result?.text === other.result?.text &&
    canonicalJson(one.part.input) === canonicalJson(other.part.input)
  );
}
