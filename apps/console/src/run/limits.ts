import type { RunWait } from "@switchyard/client/operations";
import { count, durationText, numberText, usdText } from "../core/format.ts";

export type ReachedLimit = NonNullable<RunWait["limit"]>;

const LIMIT_WORDS: Readonly<Record<string, string>> = {
  maxSteps: "model calls",
  maxToolCalls: "tool calls",
  maxTokens: "tokens",
  maxCostUsd: "US dollars",
  costUsd: "US dollars",
  maxRepeatedCalls: "equal calls",
  timeoutMs: "milliseconds",
};

/** The greatest values that the API accepts: those of `RunLimits`. */
const MOST: Readonly<Record<string, number>> = {
  maxSteps: 1_000,
  maxToolCalls: 10_000,
  maxTokens: 1_000_000_000,
  maxCostUsd: 100_000,
  maxRepeatedCalls: 10_000,
  timeoutMs: 86_400_000,
};

/** The name of a limit, for people. */
export function limitWord(limit: string): string {
  return LIMIT_WORDS[limit] ?? limit;
}

/** `50 model calls`, `$2.00`, `10 min 0 s`. */
export function limitText({ limit, value }: ReachedLimit): string {
  return limit === "timeoutMs" || isMoney(limit)
    ? limitValue(limit, value)
    : count(value, limitWord(limit).replace(/s$/, ""), limitWord(limit));
}

/** The value alone: `50`, `$2.00`, `10 min 0 s`. */
export function limitValue(limit: string, value: number): string {
  if (limit === "timeoutMs") return durationText(value);
  return isMoney(limit) ? usdText(value) : numberText(value);
}

/** The proposed next limit: twice the value, as far as the API accepts it; null when the limit is the greatest already. */
export function raisedLimit({ limit, value }: ReachedLimit): number | null {
  const most = MOST[limit] ?? Number.MAX_SAFE_INTEGER;
  if (value >= most) return null;
  return value === 0 ? 10 : Math.min(most, value * 2);
}

function isMoney(limit: string): boolean {
  return limit.toLowerCase().endsWith("costusd");
}
