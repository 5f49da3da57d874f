import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { cutText } from "@switchyard/contracts/cut-text";
import type { StartedEntry } from "../core/started-entry.ts";
import type { RunState } from "../core/run-state.ts";
import type { Usage } from "@switchyard/contracts/runs";
import type { CallNeed } from "./step-budget.ts";
import type { RunContext } from "../context/run-context.ts";
import type { StepListener } from "../events/live-steps.ts";
import type { ProviderScope } from "../limits/provider-limiter.ts";
import { pause, Suspended } from "../signals/interruption.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import {
  compactionPoint,
  SUMMARY_INSTRUCTIONS,
  SUMMARY_TOKENS,
  transcriptOf,
} from "../core/compaction.ts";
import { OBSERVATION_BYTES } from "../core/observation.ts";
import { cutWithNote } from "../core/cut-with-note.ts";
import { conversationOf } from "../core/conversation.ts";
import { tokensOf } from "../model/estimate-tokens.ts";
import { callModel } from "../model/model-call.ts";
import type { ModelAnswer, ModelRequest } from "../model/model-request.ts";
import { ModelFailure, retryDelay } from "../model/model-failure.ts";
import { costOf, type Spent } from "../core/model-price.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import { recordedRequest } from "../core/recorded-request.ts";
import { REPLAY_MODEL, REPLAY_OPTIONS, type ReplayQuestion } from "../model/replay-model.ts";
import { SCRIPTED_OPTIONS } from "../model/scripted-model.ts";
import { RUNTIME_OPTIONS } from "../runtime/runtime-model.ts";

export type AskContext = Pick<
  RunContext,
  "models" | "limiter" | "modelIdleTimeoutMs" | "signal" | "waiting" | "random"
>;

export interface AskListener extends StepListener {
  /** Hears of an answer that broke off, or was broken off, and what it has used all the same. What it throws ends the asking. */
  readonly onDiscarded: (use: Spent) => void;
  /** Called with the names of tools that the model's provider does not accept. */
  readonly onToolsLeftOut?: (names: readonly string[]) => void;
}

/** A model that was to answer and could not. */
export interface PassedOver {
  readonly model: string;
  readonly message: string;
}

export interface StepAnswer extends Omit<ModelAnswer, "startedInReasoning"> {
  /** The model that was asked, by its name in the configuration. */
  readonly model: string;
  /** In US dollars; null when its price is not known. */
  readonly costUsd: number | null;
  readonly passedOver?: PassedOver[];
}

/** A pause of this length is spent waiting; for a longer one the run goes back to the queue. */
const LONGEST_WAIT_MS = 60_000;
/** What an answer is taken to need before it is there. */
const ANSWER_TOKENS = 1_000;

/**
 * Asks the models of one run. A model that cannot answer is replaced by the next of the models file's
 * fallbacks, and the run stays with the one that did: the journal says which.
 */
export class ModelCaller {
  readonly #context: AskContext;
  readonly #listener: AskListener;
  readonly #opened = new Map<string, LanguageModelV4>();

  constructor(context: AskContext, listener: AskListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /** The answer of one step. Rejects with ModelFailure or ModelUnusable when no model gives one. */
  async ask(state: RunState, step: number, tools: readonly OfferedTool[]): Promise<StepAnswer> {
    const { started } = state;
    const { runId, instructions, temperature, thinking } = started;
    const answer = await this.#askAny(started, candidatesOf(state, this.#context.models), {
      instructions,
      messages: conversationOf(state),
      tools,
      temperature,
      thinking,
      callIdOf: (index) => `${runId}:${step}:${index}`,
      onDelta: (delta) => this.#listener.onDelta(step, delta),
      onReset: () => this.#listener.onReset(step),
      scripted: { turns: playedTurns(state) },
      replayed: () => ({ answer: state.turns.length, request: recordedRequest(state) }),
    });
    this.#listener.onAnswered(step);
    return answer;
  }

  /** A summary of the first `upTo` answers. Rejects as `ask` does. */
  async summarise(
    state: RunState,
    { upTo, windowTokens }: { readonly upTo: number; readonly windowTokens: number },
  ): Promise<Pick<StepAnswer, "usage" | "model" | "costUsd"> & { readonly summary: string }> {
    const { started } = state;
    const { usage, model, costUsd, content } = await this.#askAny(
      started,
      candidatesOf(state, this.#context.models),
      {
        instructions: SUMMARY_INSTRUCTIONS,
        messages: [{ role: "user", content: transcriptOf(state, { upTo, windowTokens }) }],
        tools: [],
        temperature: null,
        limits: { maxOutputTokens: SUMMARY_TOKENS, stopSequences: [] },
        callIdOf: (index) => `${started.runId}:summary:${index}`,
        onDelta: () => {},
        onReset: () => {},
        scripted: { task: "summarise" },
        replayed: () => ({ upTo }),
      },
    );
    const summary = content.map((part) => (part.type === "text" ? part.text : "")).join("");
    if (summary.trim() === "")
      throw new ModelFailure("the model gave an empty summary of the run so far", {
        isRetryable: false,
      });
    return { summary, usage, model, costUsd };
  }

  /** What the next model call is expected to use up. A price that is not known counts as nothing. */
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

  /** When the next request would nearly fill the model's window: how many answers to summarise. */
  compactionFor(
    state: RunState,
    tools: readonly OfferedTool[],
  ): { readonly upTo: number; readonly windowTokens: number } | null {
    const own = state.started.contextWindow ?? null;
    const { contextWindow: known, isRuntime } = this.#context.models.factsOf(state.model);
    if (isRuntime) return null;
    const windowTokens = Math.min(own ?? Infinity, known ?? Infinity);
    if (windowTokens === Infinity) return null;
    const upTo = compactionPoint(state, { windowTokens, toolChars: JSON.stringify(tools).length });
    return upTo === null ? null : { upTo, windowTokens };
  }

  async #askAny(
    started: StartedEntry,
    candidates: readonly string[],
    question: Question,
  ): Promise<StepAnswer> {
    const passedOver: PassedOver[] = [];
    for (const [index, name] of candidates.entries()) {
      const isLast = index === candidates.length - 1;
      try {
        const answer = await this.#askOne(started, { name, isLast }, question);
        const { saidCostUsd, startedInReasoning: _, ...said } = answer;
        const costUsd =
          saidCostUsd ?? costOf(answer.usage, this.#context.models.factsOf(name).price);
        return {
          ...said,
          model: name,
          costUsd,
          ...(passedOver.length === 0 ? {} : { passedOver }),
        };
      } catch (error) {
        if (isLast || !isReplaceable(error)) throw error;
        passedOver.push({ model: name, message: cutText(error.message, 500) });
        question.onReset();
      }
    }
    throw new TypeError("a run has at least one model");
  }

  /** Asks one model until there is an answer or a failure that stands. */
  async #askOne(
    started: StartedEntry,
    { name, isLast }: { readonly name: string; readonly isLast: boolean },
    question: Question,
  ): Promise<ModelAnswer> {
    const { models, limiter, random, waiting, signal, modelIdleTimeoutMs } = this.#context;
    const model = await this.#open(name, started);
    const scope = await models.scopeOf(name);
    const estimate = scope === null ? 0 : tokensOf(question) + ANSWER_TOKENS;
    const { price, startsInReasoning } = models.factsOf(name);
    for (let attempt = 1; ; attempt += 1) {
      const taken = scope === null ? 0 : await this.#permit(scope, estimate, { isLast });
      let broken: Usage | null = null;
      try {
        const answer = await callModel({
          ...question,
          model,
          idleTimeoutMs: modelIdleTimeoutMs,
          signal,
          onBrokenOff: (usage) => (broken = usage),
          onToolsLeftOut: (names) => this.#listener.onToolsLeftOut?.(names),
          startsInReasoning,
          onTextVoid: question.onReset,
          ...(models.factsOf(name).isRuntime
            ? { providerOptions: { [RUNTIME_OPTIONS]: { runId: started.runId } } }
            : providerOptionsFor(name, question)),
        });
        models.noteAnswer(name, answer);
        if (scope !== null) {
          const { inputTokens, outputTokens } = answer.usage;
          await limiter.settle(scope, taken, inputTokens + outputTokens);
        }
        return answer;
      } catch (error) {
        const used = broken as Usage | null; // the callback may have set it
        if (used !== null)
          this.#listener.onDiscarded({ usage: used, costUsd: costOf(used, price) });
        if (!(error instanceof ModelFailure)) throw error;
        if (scope !== null) await this.#settleFailure(scope, { taken, used }, error);
        const delayMs = retryDelay(error, attempt, random());
        if (delayMs === null) throw error;
        question.onReset();
        // A provider's longer pause is what the next permit is about.
        const isLong = scope !== null && (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS;
        if (!isLong) await pause(delayMs, waiting);
      }
    }
  }

  /** Waits for the provider's limits, which all runners share; resolves with the tokens that were taken. */
  async #permit(
    scope: ProviderScope,
    tokens: number,
    { isLast }: { readonly isLast: boolean },
  ): Promise<number> {
    const { limiter, waiting, random } = this.#context;
    for (;;) {
      const permit = await limiter.take(scope, tokens);
      if (permit.granted) return permit.tokens;
      const { waitMs } = permit;
      if (waitMs > LONGEST_WAIT_MS) {
        const message = `provider ${scope.key.split(":")[0]} takes no call for another ${waitMs} ms`;
        if (!isLast) throw new ModelFailure(message, { isRetryable: false });
        throw new Suspended(message, { waitMs });
      }
      // A little later than said, and not all at once.
      await pause(waitMs + Math.round(random() * 250), waiting);
    }
  }

  async #settleFailure(
    scope: ProviderScope,
    { taken, used }: { readonly taken: number; readonly used: Usage | null },
    { retryAfterMs }: ModelFailure,
  ): Promise<void> {
    const { limiter } = this.#context;
    await limiter.settle(scope, taken, used === null ? 0 : used.inputTokens + used.outputTokens);
    if (retryAfterMs !== null) await limiter.pause(scope, retryAfterMs);
  }

  async #open(name: string, { plan, input, replay }: StartedEntry): Promise<LanguageModelV4> {
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const model = await this.#context.models.open(name, { plan, input, replay });
    this.#opened.set(name, model);
    return model;
  }
}

type Question = Omit<
  ModelRequest,
  | "model"
  | "idleTimeoutMs"
  | "signal"
  | "onBrokenOff"
  | "onToolsLeftOut"
  | "providerOptions"
  | "startsInReasoning"
  | "onTextVoid"
> & {
  readonly onReset: () => void;
  readonly scripted: SharedV4ProviderOptions[string];
  readonly replayed: () => ReplayQuestion;
};

/** The model that answered last, else the run's; then what may replace it. */
function candidatesOf({ model, started }: RunState, models: ModelRegistry): string[] {
  return [...new Set([model, started.model, ...models.factsOf(started.model).fallbacks])];
}

/** A mistake in a plan is not an outage: another model would hide it. */
function isReplaceable(error: unknown): error is ModelFailure | ModelUnusable {
  return (
    error instanceof ModelUnusable ||
    (error instanceof ModelFailure && error.code === "model_error")
  );
}

function providerOptionsFor(
  name: string,
  { scripted, replayed }: Question,
): Pick<ModelRequest, "providerOptions"> {
  if (name === REPLAY_MODEL) return { providerOptions: { [REPLAY_OPTIONS]: replayed() } };
  return name.startsWith("scripted/") ? { providerOptions: { [SCRIPTED_OPTIONS]: scripted } } : {};
}

/** What a script has to know of the run: the results of each answer, in the order of its calls. */
function playedTurns({ turns }: RunState) {
  return turns.map(({ calls }) => ({
    results: calls.map(({ result }) => ({
      text: cutWithNote(result?.text ?? "", OBSERVATION_BYTES),
      isError: result?.isError ?? true,
    })),
  }));
}
