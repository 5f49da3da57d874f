import type { ReachedLimit } from "@switchyard/contracts/agent-runner/run-waits";
import type { RunFailure } from "@switchyard/contracts/agent-runner/runs";
import { acceptedAnswer, answerInText, MAX_REMINDERS, missedAnswers } from "./final-answer.ts";
import type { AnswerPart } from "./answer-part.ts";
import { unusableAnswer } from "./unusable-answer.ts";
import { openCalls, type CallState, type RunState, type Turn } from "./run-state.ts";
import { canonicalJson } from "@switchyard/contracts/canonical-json";

/** The next action of a runner. */
export type NextAction =
  | { readonly action: "call-model"; readonly step: number }
  | { readonly action: "call-tools"; readonly calls: readonly CallState[] }
  /**
   * Every open call waits, or the run itself does: no runner is needed until the first of their times, or until an event arrives.
   */
  | { readonly action: "park"; readonly until: string | null }
  /** A skill maps directly to a tool: its call is the run's only step. */
  | { readonly action: "dispatch-skill" }
  | { readonly action: "finish"; readonly output: string }
  | { readonly action: "fail"; readonly failure: RunFailure }
  /** The run reached one of its limits, which state whether it waits there or ends. */
  | { readonly action: "limit"; readonly reached: ReachedLimit & { readonly until: null } }
  /** Ends the run; the open calls get a result that states this. */
  | { readonly action: "cancel" }
  | { readonly action: "stop" };

/** Decides only from the journal; `now` is milliseconds since the Unix epoch. */
export function nextAction(state: RunState, now: number): NextAction {
  if (state.end !== null) return { action: "stop" };
  if (state.cancellation !== null) return { action: "cancel" };
  if (state.stopped !== null) return { action: "park", until: null };
  const { limits, atLimit } = state;
  if (atLimit !== null) return { action: "park", until: atLimit.until };
  if (now >= deadlineOf(state)) return limitReached("timeoutMs", limits.timeoutMs);

  if (limits.maxToolCalls !== null && state.toolCalls > limits.maxToolCalls) {
    return limitReached("maxToolCalls", limits.maxToolCalls);
  }
  const calls = openCalls(state);
  if (calls.length > 0) {
    const ready = calls.filter((call) => !isParked(call, now));
    if (ready.length > 0) return { action: "call-tools", calls: ready };
    return { action: "park", until: firstUntil(calls) };
  }
  if (state.started.dispatch !== undefined) return afterDispatch(state);

  const last = state.turns.at(-1);
  // A message that came too late for the last answer is one more reason to call the model.
  const hasSeenAll = last !== undefined && last.heard >= state.messages.length;
  if (last !== undefined && hasSeenAll) {
    const end = state.started.output === undefined ? endOf(state, last) : endWithForm(state, last);
    if (end !== null) return end;
  }

  if (state.turns.length >= limits.maxSteps) return limitReached("maxSteps", limits.maxSteps);
  const { inputTokens, outputTokens } = state.usage;
  // Between two model calls only: an answer that was paid for is used.
  if (limits.maxTokens !== undefined && inputTokens + outputTokens >= limits.maxTokens)
    return limitReached("maxTokens", limits.maxTokens);
  if (limits.maxCostUsd !== undefined && state.knownCostUsd >= limits.maxCostUsd)
    return limitReached("maxCostUsd", limits.maxCostUsd);
  if (limits.maxRepeatedCalls !== undefined && repeatsOf(state) > limits.maxRepeatedCalls)
    return limitReached("maxRepeatedCalls", limits.maxRepeatedCalls);
  return { action: "call-model", step: state.turns.length + 1 };
}

/** Returns when the run's time is over, in milliseconds since the Unix epoch. Time that it waited does not count. */
export function deadlineOf(state: RunState): number {
  return Date.parse(state.clockFrom) + state.limits.timeoutMs + state.waitedMs;
}

/**
 * The text beside the calls of the last answer, before the next request to the model; null when there is none. A model that is done has often
 * written its answer there, and adds nothing.
 */
export function textBesideCalls({ turns, messages }: RunState): string | null {
  const last = turns.at(-1);
  if (last === undefined || last.calls.length === 0 || last.heard < messages.length) return null;
  const text = textOf(last.content);
  return text.trim() === "" ? null : text;
}

/** The text of an answer, without reasoning and calls. */
export function textOf(content: readonly AnswerPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Builds the failure of a run that reached a limit, its own or that of its team. */
export function limitFailure({ limit, value, team }: ReachedLimit): RunFailure {
  const unit = limit === "timeoutMs" ? " ms" : "";
  const message =
    team === undefined
      ? `the run came to its limit ${limit} (${value}${unit}); a retry with a higher ${limit} continues where it ended`
      : `the runs of ${team.name} came to their limit of ${limit} for a ${team.per} (${value}); it is counted anew with the next ${team.per}`;
  return {
    code: "limit_exceeded",
    message,
    limit: { limit, value, ...(team !== undefined && { team }) },
  };
}

/** The tool's result is the run's; no model comments on it or converts it. */
function afterDispatch({ turns: [turn], started }: RunState): NextAction {
  const result = turn?.calls[0]?.result ?? null;
  if (result === null) return { action: "dispatch-skill" };
  if (result.isError)
    return { action: "fail", failure: { code: "tool_failed", message: result.text } };
  const { output: schema, dispatch } = started;
  const output = schema === undefined ? result.text : answerInText(result.text, schema);
  if (output !== null) return { action: "finish", output };
  const message = `the result of ${dispatch?.tool} does not have the form that the command asks for; start a run without output, or without the skill`;
  return { action: "fail", failure: { code: "invalid_answer", message } };
}

/** An answer of a given form ends the run by its tool; after one in another form or in prose the model is reminded. */
function endWithForm(state: RunState, last: Turn): NextAction | null {
  const { output: schema = {} } = state.started;
  const accepted = acceptedAnswer(last, schema);
  if (accepted !== null) return { action: "finish", output: accepted };
  const end = endOf(state, last);
  if (end !== null && end.action !== "finish") return end;
  const answer = end === null ? null : answerInText(end.output, schema);
  if (answer !== null) return { action: "finish", output: answer };
  if (missedAnswers(state) <= MAX_REMINDERS) return null;
  const message = `the model did not give its answer in the required form, also after ${MAX_REMINDERS} reminders; run.retry asks it again`;
  return { action: "fail", failure: { code: "invalid_answer", message } };
}

function endOf(state: RunState, turn: Turn): NextAction | null {
  if (turn.calls.length > 0) return null;
  switch (turn.finishReason) {
    case "length":
      return {
        action: "fail",
        failure: {
          code: "output_limit",
          message:
            "the model reached its limit of output tokens before its answer was complete; a run sets the limit with sampling.maxOutputTokens",
        },
      };
    case "content-filter":
    case "error": {
      const { code = "model_error", message = "" } = unusableAnswer(turn) ?? {};
      return { action: "fail", failure: { code, message } };
    }
    case "stop":
    case "tool-calls":
    case "other":
      return { action: "finish", output: answerText(state, turn) };
    default:
      return turn.finishReason satisfies never;
  }
}

/** Returns the text of the last answer, and of the one before when the last one has none. */
function answerText(state: RunState, turn: Turn): string {
  const text = textOf(turn.content);
  if (text.trim() !== "") return text;
  return textBesideCalls({ ...state, turns: state.turns.slice(0, -1) }) ?? text;
}

function limitReached(limit: string, value: number): NextAction {
  return { action: "limit", reached: { limit, value, until: null } };
}

/**
 * Counts how often the most repeated call of the last answer was made with the same arguments and the same result. Repeating a
 * call whose result changes is not a repetition.
 */
function repeatsOf({ turns }: RunState): number {
  const last = turns.at(-1)?.calls ?? [];
  const all = turns.flatMap(({ calls }) => calls);
  return Math.max(0, ...last.map((call) => all.filter((other) => isSame(call, other)).length));
}

/** The cheap questions first: a run has many calls, and few of them are alike. */
function isSame(one: CallState, other: CallState): boolean {
  if (one === other) return true;
  return (
    one.part.tool === other.part.tool &&
    one.result?.text === other.result?.text &&
    canonicalJson(one.part.input) === canonicalJson(other.part.input)
  );
}

/** True for a call that nothing can be done for at `now`, in milliseconds since the Unix epoch. */
function isParked({ wait, resolution }: CallState, now: number): boolean {
  if (wait === null || resolution !== null) return false;
  return wait.until === null || now < Date.parse(wait.until);
}

/** Returns when the first of the waits ends by itself; null when none does. */
function firstUntil(calls: readonly CallState[]): string | null {
  const times = calls.flatMap(({ wait }) => (wait?.until ? [wait.until] : []));
  return times.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0] ?? null;
}
