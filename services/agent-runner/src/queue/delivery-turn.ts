import type { Delivery } from "@switchyard/bus/delivery";
import { firstCheckAt } from "../core/due.ts";
import type { RunnerParts } from "../run/runner-parts.ts";

type Parts = Pick<RunnerParts, "letters" | "parked" | "now">;

/** The record of a delivery while its command is worked on: it has its turn in the queue, or it was taken before that. */
export interface DeliveryTurn {
  /** Returns how many runners died of the message; null when it is not to be worked on now. */
  begin(): Promise<number | null>;
  /** Before its run is claimed. */
  claiming(runId: string): Promise<void>;
  /** The message is done with, or its run is claimed and counts deaths from here on. */
  done(): Promise<void>;
  /** The work did not complete; the caller handles the consequences next. */
  failed(): Promise<void>;
  /** The message is left: in order, or by a fault of the program, which counts like a death. */
  left(isFault: boolean): Promise<void>;
}

export function turnOf(delivery: Delivery, parts: Parts): DeliveryTurn {
  return delivery.isEarly ? earlyTurn(delivery, parts) : ownTurn(delivery, parts);
}

/**
 * Counts how many runners died of a message before it had a run that counts them. An outage, a stop and a lost claim are not
 * deaths, however often and for however long.
 */
function ownTurn(delivery: Delivery, { letters }: Parts): DeliveryTurn {
  const { deliveryCount } = delivery;
  return {
    async begin() {
      const deaths = letters.begin(delivery);
      if (deliveryCount > 1) return deaths;
      deaths.catch(() => {}); // no runner can have died of it yet, so nothing waits for the mark
      return 0;
    },

    async claiming() {},

    async done() {
      const forgotten = letters.forget(delivery);
      if (deliveryCount > 1) return forgotten;
      forgotten.catch(() => {}); // the message does not come again
    },

    async failed() {},

    async left(isFault) {
      try {
        if (isFault) await letters.fail(delivery, deliveryCount);
        else await letters.leave(delivery);
      } catch {
        // During an outage of Redis the mark stays: it is this runner's own, which does not count as a death while the runner lives.
      }
    },
  };
}

/** A failed early attempt is not reported to the queue, which delivers the message again when it has its turn. */
function earlyTurn(delivery: Delivery, { letters, parked, now }: Parts): DeliveryTurn {
  return {
    async begin() {
      return (await letters.beginEarly(delivery)) ? 0 : null;
    },

    /**
     * The queue does not notice when a runner that took a message early dies, and the message's turn may be far. So the run is
     * added to the sweeper's list, like one that waits.
     */
    async claiming(runId) {
      await parked.lookAgain(runId, firstCheckAt(0, now()));
    },

    async done() {},

    async failed() {
      await letters.forgetEarly(delivery);
    },

    async left() {},
  };
}
