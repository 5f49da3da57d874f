import type { RunState } from "../core/run-state.ts";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { CallNeed } from "./step-budget.ts";
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
import { recordedRequest } from "../core/recorded-request.ts";
import { textBesideCalls } from "../core/next-action.ts";
import {
  ANSWER_TOKENS,
  CandidateCaller,
  type CandidateListener,
  windowOf,
  type AskContext,
  type StepAnswer,
} from "./ask-candidates.ts";

export type AskListener = StepListener & CandidateListener;

/**
 * Calls the models of one run. A model that cannot answer is replaced by the next of the models file's fallbacks, and the run
 * stays with the one that answered: the journal records which.
 */
export class ModelCaller {
  readonly #context: AskContext;
  readonly #listener: AskListener;
  readonly #candidates: CandidateCaller;

  constructor(context: AskContext, listener: AskListener) {
    this.#context = context;
    this.#listener = listener;
    this.#candidates = new CandidateCaller(context, listener);
  }

  /**
   * The answer of one step. `isTooLongFinal`: a request that is larger than a model's window cannot be made smaller, so a fallback is called.
   * Rejects with ModelFailure or ModelUnusable when no model gives one.
   */
  async ask(
    state: RunState,
    step: number,
    tools: readonly OfferedTool[],
    { isTooLongFinal = true }: { readonly isTooLongFinal?: boolean } = {},
  ): Promise<StepAnswer> {
    const { started } = state;
    const { runId, instructions, temperature, thinking, sampling } = started;
    const answer = await this.#candidates.ask(started, candidatesOf(state, this.#context.models), {
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
      onDelta: (delta) => this.#listener.onDelta(step, delta),
      onReset: () => this.#listener.onReset(step),
      scripted: { turns: playedTurns(state) },
      effects: () => JSON.stringify(effectsOfTurn(state.turns.at(-1), state)),
      replayed: () => ({ answer: state.turns.length, request: recordedRequest(state) }),
    });
    this.#listener.onAnswered(step);
    return { ...answer, content: withNamedTools(answer.content) };
  }

  /** A summary of the first `upTo` answers. Rejects as `ask` does. */
  async summarise(
    state: RunState,
    { upTo, windowTokens }: { readonly upTo: number; readonly windowTokens: number },
  ): Promise<Pick<StepAnswer, "usage" | "model" | "costUsd"> & { readonly summary: string }> {
    const { started } = state;
    const { usage, model, costUsd, content } = await this.#candidates.ask(
      started,
      candidatesOf(state, this.#context.models),
      {
        instructions: SUMMARY_INSTRUCTIONS,
        messagesFor: () => [{ role: "user", content: transcriptOf(state, { upTo, windowTokens }) }],
        mayBeEmpty: false,
        isTooLongFinal: true,
        tools: [],
        output: undefined,
        temperature: null,
        limits: { maxOutputTokens: SUMMARY_TOKENS, stopSequences: [] },
        callIdOf: (index) => `${started.runId}:summary:${index}`,
        onDelta: () => {},
        onReset: () => {},
        scripted: { task: "summarise" },
        effects: () => "{}",
        replayed: () => ({ upTo }),
      },
    );
    const summary = content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return { summary, usage, model, costUsd };
  }

  /** The expected use of the next model call. A model without a price counts as free of charge. */
  needOf(state: RunState, tools: readonly OfferedTool[]): CallNeed {
    const { price } = this.#context.models.factsOf(state.model);
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

  /** Returns the number of answers to summarise when the next request would nearly fill the model's window. */
  compactionFor(
    state: RunState,
    tools: readonly OfferedTool[],
  ): { readonly upTo: number; readonly windowTokens: number } | null {
    const facts = this.#context.models.factsOf(state.model);
    if (facts.isRuntime) return null;
    const windowTokens = windowOf(state.started, facts);
    if (windowTokens === undefined) return null;
    const upTo = compactionPoint(state, { windowTokens, toolChars: JSON.stringify(tools).length });
    return upTo === null ? null : { upTo, windowTokens };
  }
}

/** The model that answered last, else the run's model; then its fallbacks. */
function candidatesOf({ model, started }: RunState, models: ModelRegistry): string[] {
  return [...new Set([model, started.model, ...models.factsOf(started.model).fallbacks])];
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
