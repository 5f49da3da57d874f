/** The user that makes the calls of all runs. */
const RUNNER = "runner";

/**
 * What a call is kept under: each NATS user has call ids of its own, so nobody takes, repeats or stops a call by naming
 * the id that another user gave it. The runner's ids begin with their run's, which has its owner in it; a `/` is in no
 * call id, so nobody else's can look like them.
 */
export function ownCallId(caller: string, callId: string): string {
  return caller === RUNNER ? callId : `${caller}/${callId}`;
}
