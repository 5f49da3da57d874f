import type { OnLimit, RunLimits } from "@switchyard/contracts/agent-runner/runs";

/** The options of a command for the limits of a run. */
export interface LimitOptions {
  readonly maxSteps?: number;
  readonly maxToolCalls?: number;
  readonly maxTokens?: number;
  /** US dollars. */
  readonly maxCost?: number;
  readonly maxRepeatedCalls?: number;
  /** Seconds. */
  readonly maxTime?: number;
  /** Seconds; the limit of a run that is also waited for. */
  readonly waitFor?: number;
  readonly onLimit?: OnLimit;
}

/** The limits that the options name; what is left out stays as the agent or the run has it. */
export function limitsOf(options: LimitOptions): RunLimits {
  const { maxSteps, maxToolCalls, maxTokens, maxCost, maxRepeatedCalls, onLimit } = options;
  const seconds = options.maxTime ?? options.waitFor;
  return {
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(maxToolCalls === undefined ? {} : { maxToolCalls }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(maxCost === undefined ? {} : { maxCostUsd: maxCost }),
    ...(maxRepeatedCalls === undefined ? {} : { maxRepeatedCalls }),
    ...(seconds === undefined ? {} : { timeoutMs: seconds * 1_000 }),
    ...(onLimit === undefined ? {} : { onLimit }),
  };
}
