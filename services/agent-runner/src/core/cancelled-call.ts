import type { CallState } from "./run-state.ts";
import { failure, type CallOutcome } from "./call-outcome.ts";

/** Builds the result of a call that is open when its run is cancelled: it states whether the call can have had an effect. */
export function cancelledCall(call: CallState): CallOutcome {
  return failure(
    call.part.callId,
    "cancelled",
    `the run was cancelled while this call ${fateOf(call)}`,
  );
}

const MAYBE = "it may have had its effect";

function fateOf({ dispatched, wait }: CallState): string {
  switch (wait?.reason) {
    case undefined:
      return dispatched ? `was in flight; ${MAYBE}` : "was not sent";
    case "approval":
      return wait.again === true
        ? `waited to be made again; ${MAYBE} the first time`
        : "waited for an approval and was not sent";
    case "question":
      return wait.about === "outcome" ? `had an unknown outcome; ${MAYBE}` : "waited for an answer";
    case "child":
      return `waited for run ${wait.childRunId}, which is cancelled, too`;
    case "timer":
      return "waited for its time";
    default:
      return wait satisfies never;
  }
}
