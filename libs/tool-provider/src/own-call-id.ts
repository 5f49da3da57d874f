/** The user that makes the calls of all runs. */
const RUNNER = "runner";

/**
 * The key of a call: each NATS user has call ids of its own, so no user takes, repeats or stops a call by naming the id of another user.
 * The runner's ids begin with their run's, which has its owner in it; a `/` is in no call id, so ids of other users cannot look like them.
 */
export function ownCallId(caller: string, callId: string): string {
  return caller === RUNNER ? callId : `${caller}/${callId}`;
}
