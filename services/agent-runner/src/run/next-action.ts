import type { RunFailure } from "@switchyard/contracts/runs";
import type { AnswerPart } from "../journal/journal-entry.ts";
import { openCalls, type CallState, type RunState, type Turn } from "../journal/replay.ts";

/** What a runner does next. */
export type NextAction =
  | { readonly action: "call-model"; readonly step: number }
  | { readonly action: "call-tools"; readonly calls: readonly CallState[] }
  | { readonly action: "finish"; readonly output: string }
  | { readonly action: "fail"; readonly failure: RunFailure }
  /** Ends the run; the open calls get a result that says so. */
  | { readonly action: "cancel"; readonly open: readonly CallState[] }
  | { readonly action: "stop" };

/** Decides from the journal alone; `now` is milliseconds since the Unix epoch. */
export function nextAction(state: RunState, now: number): NextAction {
  if (state.end !== null) return { action: "stop" };
  if (state.cancellation !== null) return { action: "cancel", open: openCalls(state) };
  const { limits } = state;
  if (now >= deadlineOf(state)) return limitExceeded("timeoutMs", limits.timeoutMs);

  if (limits.maxToolCalls !== null && state.toolCalls > limits.maxToolCalls) {
    return limitExceeded("maxToolCalls", limits.maxToolCalls);
  }
  const calls = openCalls(state);
  if (calls.length > 0) return { action: "call-tools", calls };

  const last = state.turns.at(-1);
  if (last !== undefined && last.calls.length === 0) return endOf(last);

  if (state.turns.length >= limits.maxSteps) return limitExceeded("maxSteps", limits.maxSteps);
  const { inputTokens, outputTokens } = state.usage;
  // Between two model calls only: an answer that was paid for is used.
  if (limits.maxTokens !== undefined && inputTokens + outputTokens >= limits.maxTokens)
    return limitExceeded("maxTokens", limits.maxTokens);
  return { action: "call-model", step: state.turns.length + 1 };
}

/** When the run's time is over, in milliseconds since the Unix epoch. */
export function deadlineOf(state: RunState): number {
  return Date.parse(state.clockFrom) + state.limits.timeoutMs;
}

/** The text of an answer, without reasoning and calls. */
export function textOf(content: readonly AnswerPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The failure of a run that came to one of its limits. */
export function limitFailure(limit: string, value: number): RunFailure {
  const unit = limit === "timeoutMs" ? " ms" : "";
  return {
    code: "limit_exceeded",
    message: `the run came to its limit ${limit} (${value}${unit}); raise it in the command's limits or in the agent`,
  };
}

function endOf(turn: Turn): NextAction {
  switch (turn.finishReason) {
    case "length":
      return modelFailure("the model stopped at its output limit in mid-answer");
    case "content-filter":
      return modelFailure("the provider's content filter stopped the answer");
    case "error":
      return modelFailure("the provider ended the answer with an error");
    case "stop":
    case "tool-calls":
    case "other":
      return { action: "finish", output: textOf(turn.content) };
    default:
      return turn.finishReason satisfies never;
  }
}

function limitExceeded(limit: string, value: number): NextAction {
  return { action: "fail", failure: limitFailure(limit, value) };
}

function modelFailure(message: string): NextAction {
  return { action: "fail", failure: { code: "model_error", message } };
}
