import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";

/** US dollars for a million tokens. */
export const ModelPrice = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  /** Input that the provider had in its cache, and that it put there; without them as `input`. */
  cacheRead: z.number().nonnegative().optional(),
  cacheWrite: z.number().nonnegative().optional(),
});
export type ModelPrice = z.infer<typeof ModelPrice>;

/** The usage and cost of model calls. */
export interface Spent {
  readonly usage: Usage;
  /** In US dollars; null when the price of one is not known. */
  readonly costUsd: number | null;
}

/** Returns the cost of a model call in US dollars; null when the price is not known. */
export function costOf(usage: Usage, price: ModelPrice | null): number | null {
  if (price === null) return null;
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens);
  const millionths =
    plain * price.input +
    cacheReadTokens * (price.cacheRead ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return roundUsd(millionths / 1_000_000);
}

/** The sum of two costs; unknown when one of them is. */
export function addCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : roundUsd(one + other);
}

/** The tokens of two calls together. */
export function addUsage(one: Usage, other: Usage): Usage {
  const cacheReadTokens = (one.cacheReadTokens ?? 0) + (other.cacheReadTokens ?? 0);
  const cacheWriteTokens = (one.cacheWriteTokens ?? 0) + (other.cacheWriteTokens ?? 0);
  const reasoningTokens = (one.reasoningTokens ?? 0) + (other.reasoningTokens ?? 0);
  const estimatedTokens = (one.estimatedTokens ?? 0) + (other.estimatedTokens ?? 0);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    ...(cacheReadTokens > 0 ? { cacheReadTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
    ...(estimatedTokens > 0 ? { estimatedTokens } : {}),
  };
}

/** Rounds to a billionth, so that sums do not collect the noise of binary fractions. */
function roundUsd(usd: number): number {
  return Math.round(usd * 1e9) / 1e9;
}

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
