import { actionFor, type RunFacts } from "../core/due.ts";

/** The action of a sweep for the run that has its turn in a session. */
export type TurnCheck =
  /** No runner holds it and no delivery is pending. */
  | { readonly next: "hint" }
  | { readonly next: "later" }
  /** It is over, and the session has not recorded that yet. */
  | { readonly next: "settle" }
  /** The run existed and is gone. */
  | { readonly next: "gone" };

/**
 * Decides by the claim on the run: a hint may be lost, late or used up, and does not show whether a runner works on the run. A
 * waiting run is in the list of parked runs, which is swept separately.
 */
export function checkTurn(
  { begun }: { readonly begun: boolean },
  facts: RunFacts | null,
  nowMs: number,
): TurnCheck {
  if (facts === null) return { next: begun ? "gone" : "hint" };
  switch (facts.status) {
    case "waiting":
      return { next: "later" };
    case "running":
      return { next: actionFor(facts, nowMs).next === "wake" ? "hint" : "later" };
    default:
      return { next: "settle" };
  }
}
