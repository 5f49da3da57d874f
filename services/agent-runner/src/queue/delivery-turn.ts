import type { Delivery } from "@switchyard/bus/delivery";
import { firstCheckAt } from "../core/due.ts";
import type { RunnerParts } from "../run/runner-parts.ts";

type Parts = Pick<RunnerParts, "letters" | "parked" | "now">;

/** The record of a delivery while its command is worked on: it has its turn in the queue, or it was taken before that. */
export interface DeliveryTurn {
  /** False before its turn: a refusal is left for the turn, since the run that it is about may come first. */
  readonly mayRefuse: boolean;
  /** Returns how many runners died of the message; null when it is not to be worked on now. */
  begin(): Promise<number | null>;
  /** Before its run is claimed. */
  claiming(runId: string): Promise<void>;
  /** Its run is claimed, and counts deaths from here on. */
  claimed(): Promise<void>;
  /** The message is done with. */
  done(): Promise<void>;
  /** The work did not complete; the caller handles the consequences next. */
  failed(): Promise<void>;
  /** The message is left: in order, or by a fault of the program, which counts like a death. */
  left(isFault: boolean): Promise<void>;
}

export function turnOf(delivery: Delivery, parts: Parts): DeliveryTurn {
  return delivery.isEarly ? new EarlyTurn(delivery, parts) : new OwnTurn(delivery, parts);
}

/**
 * Counts how many runners died of a message before it had a run that counts them. An outage, a stop and a lost claim are not
 * deaths, however often and for however long.
 */
class OwnTurn implements DeliveryTurn {
  readonly mayRefuse = true;
  readonly #delivery: Delivery;
  readonly #parts: Parts;
  #isForgotten = false;

  constructor(delivery: Delivery, parts: Parts) {
    this.#delivery = delivery;
    this.#parts = parts;
  }

  async begin(): Promise<number> {
    const deaths = this.#parts.letters.begin(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return deaths;
    deaths.catch(() => {}); // no runner can have died of it yet, so nothing waits for the mark
    return 0;
  }

  async claiming(): Promise<void> {}

  async claimed(): Promise<void> {
    await this.done();
  }

  async done(): Promise<void> {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    const forgotten = this.#parts.letters.forget(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return forgotten;
    forgotten.catch(() => {}); // the message does not come again
  }

  async failed(): Promise<void> {}

  async left(isFault: boolean): Promise<void> {
    const { letters } = this.#parts;
    try {
      if (isFault) await letters.fail(this.#delivery, this.#delivery.deliveryCount);
      else await letters.leave(this.#delivery);
    } catch {
      // During an outage of Redis the mark stays: it is this runner's own, which does not count as a death while the runner lives.
    }
  }
}

/** A failed early attempt is not reported to the queue, which delivers the message again when it has its turn. */
class EarlyTurn implements DeliveryTurn {
  readonly mayRefuse = false;
  readonly #delivery: Delivery;
  readonly #parts: Parts;

  constructor(delivery: Delivery, parts: Parts) {
    this.#delivery = delivery;
    this.#parts = parts;
  }

  async begin(): Promise<number | null> {
    return (await this.#parts.letters.beginEarly(this.#delivery)) ? 0 : null;
  }

  /**
   * The queue does not notice when a runner that took a message early dies, and the message's turn may be far. So the run is added
   * to the sweeper's list, like one that waits.
   */
  async claiming(runId: string): Promise<void> {
    const { parked, now } = this.#parts;
    await parked.lookAgain(runId, firstCheckAt(0, now()));
  }

  async claimed(): Promise<void> {}

  async done(): Promise<void> {}

  async failed(): Promise<void> {
    await this.#parts.letters.forgetEarly(this.#delivery);
  }

  async left(): Promise<void> {}
}
