import type { OnLimit } from "@switchyard/contracts/agent-runner/runs";
import type { AgentDefinition } from "@switchyard/contracts/skill-importer/agents";
import type { RunCommand } from "../commands/run-command.ts";
import type { StartedEntry } from "../core/started-entry.ts";

/** After so many equal calls with equal results a run is considered to be in a loop. */
const DEFAULT_REPEATED_CALLS = 25;

/** The limits of runs that request no others. */
export interface RunDefaults {
  /** In milliseconds. */
  readonly defaultTimeoutMs: number;
  readonly onLimit: OnLimit;
}

/** Computes the limits of a new run: the stricter ones of agent and command. */
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

/** The stricter limit of agent and command; null when neither sets one. */
function smaller(own: number | null, wanted: number | undefined): number | null {
  if (own === null) return wanted ?? null;
  return wanted === undefined ? own : Math.min(own, wanted);
}
