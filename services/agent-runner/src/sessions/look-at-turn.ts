import { lookAt, type RunFacts } from "../core/look-at.ts";

/** What a sweep does about the run that has its turn in a session. */
export type TurnLook =
  /** Nobody works on it, and nobody is about to. */
  | { readonly next: "hint" }
  | { readonly next: "later" }
  /** It is over, and the session does not know that yet. */
  | { readonly next: "settle" }
  /** There was a run and there is none any more. */
  | { readonly next: "gone" };

/**
 * Decides by the claim on the run: a hint may be lost, late or used up, and says nothing about who works. A run that
 * waits has a place in the list of those, which is looked at by itself.
 */
export function lookAtTurn(
  { begun }: { readonly begun: boolean },
  facts: RunFacts | null,
  nowMs: number,
): TurnLook {
  if (facts === null) return { next: begun ? "gone" : "hint" };
  switch (facts.status) {
    case "waiting":
      return { next: "later" };
    case "running":
      return { next: lookAt(facts, nowMs).next === "wake" ? "hint" : "later" };
    default:
      return { next: "settle" };
  }
}
