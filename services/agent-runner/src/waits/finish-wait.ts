import type { CallState, ChildState } from "../core/run-state.ts";
import type { EntryOf, WithoutTime, Resolution, Wait } from "../core/journal-entry.ts";
import { cutWithNote } from "../core/cut-with-note.ts";
import { failure, KEPT_BYTES, type CallOutcome, type CallStep } from "../core/call-outcome.ts";

/** Returns the outcome of a call that has waited, when it follows from the journal alone. */
export function finishWait(
  { part: { callId }, wait, resolution }: CallState,
  children: readonly ChildState[],
): CallOutcome {
  switch (wait?.reason) {
    case "question":
      return finishQuestion(callId, wait, resolution);
    case "child": {
      const child = children.find(({ childRunId }) => childRunId === wait.childRunId);
      const { status, text } = child?.end ?? { status: "failed", text: "its end is not known" };
      const said = status === "succeeded" ? text : `run ${wait.childRunId} has ${status}: ${text}`;
      const decision = child?.decision ?? null;
      return { ...ownResult(callId, said, status !== "succeeded"), decision };
    }
    case "timer":
      return ownResult(callId, `the time is over: it is ${wait.until}`, false);
    default:
      throw new TypeError(`call ${callId} waits for nothing that ends here`);
  }
}

function finishQuestion(
  callId: string,
  wait: Extract<Wait, { reason: "question" }>,
  resolution: Resolution | null,
): CallOutcome {
  if (resolution?.type !== "answer") {
    return failure(callId, "no_answer", `no answer came until ${wait.until}`);
  }
  const { answer } = resolution;
  if (wait.about === "outcome") {
    const said = "it is unknown whether the call was carried out, and it was not repeated";
    return failure(callId, "outcome_unknown", said);
  }
  return ownResult(callId, typeof answer === "string" ? answer : JSON.stringify(answer), false);
}

/** True for a call with an unknown outcome that a person wants to be made once more. */
export function isWantedAgain({ wait, resolution }: CallState): boolean {
  if (wait?.reason !== "question" || wait.about !== "outcome") return false;
  return resolution?.type === "answer" && resolution.answer === "retry";
}

/** A call whose approval is still missing at the end of its wait fails, since no person decided. */
export function stillWaiting({ wait, part }: CallState, step: CallStep, now: number): CallStep {
  if (step.kind !== "tool-parked" || step.wait.reason !== "approval") return step;
  if (wait?.reason !== "approval" || wait.approvalId !== step.wait.approvalId) return step;
  if (now < Date.parse(step.wait.until)) return step;
  return failure(part.callId, "approval_expired", `no approval came until ${wait.until}`);
}

/** Creates a result without a decision of the policy, because nothing outside the run is touched. */
export function ownResult(
  callId: string,
  text: string,
  isError: boolean,
): WithoutTime<EntryOf<"tool-completed">> {
  return {
    kind: "tool-completed",
    callId,
    text: cutWithNote(text, KEPT_BYTES),
    textBytes: Buffer.byteLength(text),
    isError,
    decision: null,
    durationMs: 0,
    replayed: false,
    skill: null,
  };
}
