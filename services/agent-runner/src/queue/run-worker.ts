import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import type { RunnerParts } from "../run/runner-parts.ts";
import { RunAttempt } from "./run-attempt.ts";
import { asOwnersStart } from "./take-message.ts";

/** Handles the messages of a runner's queue. */
export interface RunWorker {
  handle(delivery: Delivery): Promise<Outcome>;
  /** False when another runner has taken the run of a delivery. */
  renew(delivery: Delivery): Promise<boolean>;
}

/**
 * A message is a hint that a run has work; the truth about the run is in Redis. So a message may be lost late, repeated or
 * delivered twice at once, and it is acknowledged only when the journal holds the end of the run, or its wait; its last events
 * follow (publish-behind.ts).
 */
export function createRunWorker(options: RunnerParts): RunWorker {
  const attempts = new WeakMap<Delivery, RunAttempt>();
  return {
    async handle(delivery) {
      const attempt = new RunAttempt(options, asOwnersStart(delivery));
      attempts.set(delivery, attempt);
      return attempt.perform();
    },
    async renew(delivery) {
      return attempts.get(delivery)?.renew() ?? true;
    },
  };
}
