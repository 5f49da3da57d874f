import type { Delivery } from "@switchyard/bus/consume";
import type { DeadLetters } from "../commands/dead-letters.ts";

/**
 * How many runners died of a message before it had a run that counts them. An outage, a stop and a lost claim are not deaths,
 * however often and for however long.
 */
export class DeathMarks {
  readonly #letters: DeadLetters;
  readonly #delivery: Delivery;
  #isForgotten = false;

  constructor(letters: DeadLetters, delivery: Delivery) {
    this.#letters = letters;
    this.#delivery = delivery;
  }

  /** Marks the message as begun here, and counts the others. */
  async count(): Promise<number> {
    const deaths = this.#letters.begin(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return deaths;
    deaths.catch(() => {}); // nobody can have died of it yet, so nothing waits for the mark
    return 0;
  }

  /** The message is done with, or its run counts from here on. */
  async forget(): Promise<void> {
    if (this.#isForgotten) return;
    this.#isForgotten = true;
    const forgotten = this.#letters.forget(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return forgotten;
    forgotten.catch(() => {}); // the message does not come again
  }

  /** The message is left: in order, or by a fault of the program, which counts like a death. */
  async noteLeaving(isFault: boolean): Promise<void> {
    try {
      if (isFault) await this.#letters.fail(this.#delivery, this.#delivery.deliveryCount);
      else await this.#letters.leave(this.#delivery);
    } catch {
      // Where Redis is away the mark stays: it is this runner's own, which counts for nothing while it lives.
    }
  }
}
