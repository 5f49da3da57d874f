// Usage as agents of the Agent Client Protocol report it. The protocol has the costs of a session (`usage_update`) and a draft for
// the tokens of a turn (`usage` of the answer to a prompt); Gemini CLI reports its tokens in `_meta.quota`.

import { z } from "zod";
import type { HostEvent } from "./host-protocol.ts";

type Used = Omit<HostEvent & { type: "usage" }, "type">;

const Tokens = z.number().nonnegative().finite();

const Answer = z.object({
  usage: z
    .object({
      inputTokens: Tokens,
      outputTokens: Tokens,
      cachedReadTokens: Tokens.nullish(),
      cachedWriteTokens: Tokens.nullish(),
      thoughtTokens: Tokens.nullish(),
    })
    .nullish()
    .catch(null),
  _meta: z
    .object({
      quota: z.object({
        token_count: z.object({ input_tokens: Tokens, output_tokens: Tokens }),
      }),
    })
    .nullish()
    .catch(null),
});

/** Reads the tokens from the answer to a prompt; null when it contains none. */
export function turnUsage(answer: unknown): Used | null {
  const { data } = Answer.safeParse(answer);
  const usage = data?.usage;
  if (usage) {
    const { inputTokens, outputTokens, cachedReadTokens, cachedWriteTokens, thoughtTokens } = usage;
    const cachedTokens = cachedReadTokens ?? 0;
    return {
      // Each kind is reported separately: the sum of all is `totalTokens`.
      inputTokens: inputTokens + cachedTokens + (cachedWriteTokens ?? 0),
      cachedTokens,
      outputTokens: outputTokens + (thoughtTokens ?? 0),
    };
  }
  const count = data?.["_meta"]?.quota.token_count;
  if (!count) return null;
  return { inputTokens: count.input_tokens, cachedTokens: 0, outputTokens: count.output_tokens };
}

/**
 * The reported cost of a session is a growing total: only the increase since the last report is passed on, and for a resumed
 * session nothing from before.
 */
export class SessionCost {
  readonly #report: (event: HostEvent) => void;
  #hasBegun = false;
  /** Null: a resumed session has reported no cost yet. */
  #saidUsd: number | null = 0;

  constructor(report: (event: HostEvent) => void) {
    this.#report = report;
  }

  /** The session's own turn begins. */
  begin(isResumed: boolean): void {
    this.#hasBegun = true;
    if (isResumed && this.#saidUsd === 0) this.#saidUsd = null;
  }

  /** Other currencies are not counted. */
  update(cost: { readonly amount: number; readonly currency: string } | null | undefined): void {
    if (!cost || cost.currency !== "USD" || !Number.isFinite(cost.amount)) return;
    const { amount } = cost;
    const before = this.#saidUsd ?? amount;
    this.#saidUsd = Math.max(before, amount);
    if (this.#hasBegun && amount > before)
      this.#report({
        type: "usage",
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        costUsd: amount - before,
      });
  }
}
