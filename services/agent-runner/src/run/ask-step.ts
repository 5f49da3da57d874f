import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { RunState } from "../core/run-state.ts";
import type { CallNeed } from "./reserve-step.ts";
import type { StepListener } from "../journal/live-text.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import {
  compactionPoint,
  SUMMARY_INSTRUCTIONS,
  SUMMARY_TOKENS,
  transcriptOf,
} from "../core/compaction.ts";
import { OBSERVATION_BYTES } from "../core/observation.ts";
import { cutWithNote } from "../core/cut-with-note.ts";
import { withNamedTools } from "../core/call-tool.ts";
import { conversationOf } from "../core/conversation.ts";
import { tokensOf } from "../model/estimate-tokens.ts";
import { costOf } from "../core/model-price.ts";
import { effectsOfTurn } from "../core/sent-messages.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import { recordedRequest } from "../core/recording-of.ts";
import { textBesideCalls } from "../core/next-action.ts";
import {
  ANSWER_TOKENS,
  windowOf,
  type CandidateCaller,
  type StepAnswer,
} from "./ask-candidates.ts";

/**
 * The answer of one step. `isTooLongFinal`: a request that is larger than a model's window cannot be made smaller, so a fallback is called.
 * Rejects with ModelFailure or ModelUnusable when no model gives one.
 */
export async function askStep(
  candidates: CandidateCaller,
  state: RunState,
  {
    step,
    tools,
    isTooLongFinal = true,
    live,
  }: {
    readonly step: number;
    readonly tools: readonly OfferedTool[];
    readonly isTooLongFinal?: boolean;
    readonly live: StepListener;
  },
): Promise<StepAnswer> {
  const { started } = state;
  const { runId, instructions, temperature, thinking, sampling } = started;
  const answer = await candidates.ask(state, {
    instructions,
    messagesFor: (reader) => conversationOf(state, reader),
    mayBeEmpty: textBesideCalls(state) !== null,
    isTooLongFinal,
    tools,
    output: started.output,
    temperature,
    thinking,
    sampling,
    callIdOf: (index) => `${runId}:${step}:${index}`,
    onDelta: (delta) => live.onDelta(step, delta),
    onReset: () => live.onReset(step),
    scripted: { turns: playedTurns(state) },
    effects: () => JSON.stringify(effectsOfTurn(state.turns.at(-1), state)),
    replayed: () => ({ answer: state.turns.length, request: recordedRequest(state) }),
  });
  live.onAnswered(step);
  return { ...answer, content: withNamedTools(answer.content) };
}

/** The answers of a conversation that are to be summarised, and the window that the summary has to fit into. */
export interface Compaction {
  readonly upTo: number;
  readonly windowTokens: number;
}

/** A summary of the first `upTo` answers. Rejects as `askStep` does. */
export async function askSummary(
  candidates: CandidateCaller,
  state: RunState,
  { upTo, windowTokens }: Compaction,
): Promise<Pick<StepAnswer, "usage" | "model" | "costUsd"> & { readonly summary: string }> {
  const { runId } = state.started;
  const { usage, model, costUsd, content } = await candidates.ask(state, {
    instructions: SUMMARY_INSTRUCTIONS,
    messagesFor: () => [{ role: "user", content: transcriptOf(state, { upTo, windowTokens }) }],
    mayBeEmpty: false,
    isTooLongFinal: true,
    tools: [],
    output: undefined,
    temperature: null,
    limits: { maxOutputTokens: SUMMARY_TOKENS, stopSequences: [] },
    callIdOf: (index) => `${runId}:summary:${index}`,
    onDelta: () => {},
    onReset: () => {},
    scripted: { task: "summarise" },
    effects: () => "{}",
    replayed: () => ({ upTo }),
  });
  const summary = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return { summary, usage, model, costUsd };
}

/** The expected use of the next model call. A model without a price counts as free of charge. */
export function needOf(
  state: RunState,
  tools: readonly OfferedTool[],
  models: ModelRegistry,
): CallNeed {
  const { price } = models.factsOf(state.model);
  const { instructions } = state.started;
  const inputTokens = tokensOf({ instructions, messages: conversationOf(state), tools });
  const cost = (usage: Usage): number => costOf(usage, price) ?? 0;
  return {
    request: { tokens: inputTokens, costUsd: cost({ inputTokens, outputTokens: 0 }) },
    answer: {
      tokens: ANSWER_TOKENS,
      costUsd: cost({ inputTokens: 0, outputTokens: ANSWER_TOKENS }),
    },
  };
}

/** Returns the answers to summarise when the next request would nearly fill the model's window. */
export function compactionFor(
  state: RunState,
  tools: readonly OfferedTool[],
  models: ModelRegistry,
): Compaction | null {
  const facts = models.factsOf(state.model);
  if (facts.isRuntime) return null;
  const windowTokens = windowOf(state.started, facts);
  if (windowTokens === undefined) return null;
  const upTo = compactionPoint(state, { windowTokens, toolChars: JSON.stringify(tools).length });
  return upTo === null ? null : { upTo, windowTokens };
}

/** The facts about the run for a scripted model: the results of each answer, in the order of its calls. */
function playedTurns({ turns }: RunState) {
  return turns.map(({ calls }) => ({
    results: calls.map(({ result }) => ({
      text: cutWithNote(result?.text ?? "", OBSERVATION_BYTES),
      isError: result?.isError ?? true,
    })),
  }));
}
