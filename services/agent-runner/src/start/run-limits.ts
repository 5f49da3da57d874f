import type { OnLimit } from "@switchyard/contracts/runs";
import type { AgentDefinition } from "@switchyard/contracts/agents";
import type { RunCommand } from "../commands/run-command.ts";
import type { StartedEntry } from "../core/started-entry.ts";

/** A run that does the same with the same result so often is going round in circles. */
const DEFAULT_REPEATED_CALLS = 25;

/** What holds for runs that ask for nothing else. */
export interface RunDefaults {
  /** In milliseconds. */
  readonly defaultTimeoutMs: number;
  readonly onLimit: OnLimit;
}

/** What a new run may use up: of agent and command the stricter. */
export function limitsOf(
  { payload }: RunCommand,
  agent: AgentDefinition,
  { defaultTimeoutMs, onLimit }: RunDefaults,
): StartedEntry["limits"] {
  const wanted = payload.limits ?? {};
  const maxTokens = smaller(agent.limits.maxTokens, wanted.maxTokens);
  const maxCostUsd = smaller(agent.limits.maxCostUsd, wanted.maxCostUsd);
  return {
    maxSteps: Math.min(agent.maxSteps, wanted.maxSteps ?? agent.maxSteps),
    maxToolCalls: smaller(agent.limits.maxToolCalls, wanted.maxToolCalls),
    ...(maxTokens === null ? {} : { maxTokens }),
    ...(maxCostUsd === null ? {} : { maxCostUsd }),
    maxRepeatedCalls: wanted.maxRepeatedCalls ?? DEFAULT_REPEATED_CALLS,
    timeoutMs: smaller(agent.limits.timeoutMs, wanted.timeoutMs) ?? defaultTimeoutMs,
    onLimit: wanted.onLimit ?? onLimit,
  };
}

/** The stricter of what the agent and the command say; null when neither says anything. */
function smaller(own: number | null, wanted: number | undefined): number | null {
  if (own === null) return wanted ?? null;
  return wanted === undefined ? own : Math.min(own, wanted);
}
