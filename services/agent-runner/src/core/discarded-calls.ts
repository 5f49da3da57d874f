import { addCost, addUsage, type Spent } from "./model-price.ts";

/** The usage of a run's answers that broke off, until an entry of the journal records it. */
export class DiscardedCalls {
  #sum: Spent | null = null;

  get sum(): Spent | null {
    return this.#sum;
  }

  add({ usage, costUsd }: Spent): void {
    const { usage: before, costUsd: costBefore } = this.#sum ?? NOTHING;
    this.#sum = { usage: addUsage(before, usage), costUsd: addCost(costBefore, costUsd) };
  }

  /** Passes the field for its entry to `write`; the recorded sum is then cleared. */
  async record(write: (field: { readonly discarded?: Spent }) => Promise<void>): Promise<void> {
    const used = this.#sum;
    await write(used === null ? {} : { discarded: used });
    this.#sum = null;
  }
}

const NOTHING: Spent = { usage: { inputTokens: 0, outputTokens: 0 }, costUsd: 0 };
