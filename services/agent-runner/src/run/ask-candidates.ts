import { pause } from "@switchyard/contracts/timeouts";
import { createHash } from "node:crypto";
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import type { ModelMessage } from "ai";
import type { RunContext } from "../context/run-context.ts";
import type { Reader } from "../core/conversation.ts";
import { filesIn } from "../core/file-content.ts";
import { costOf, type Spent } from "../core/model-price.ts";
import { inRoleOrder } from "../core/role-order.ts";
import type { RunState } from "../core/run-state.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import {
  hasText,
  unusableAnswer,
  unusableBy,
  type UnusableAnswer,
} from "../core/unusable-answer.ts";
import type { ProviderScope } from "../model/provider-limiter.ts";
import { fillFiles } from "./fill-files.ts";
import { tokensOf } from "../model/estimate-tokens.ts";
import { callModel } from "../model/model-call.ts";
import { backoffOf, MAX_RETRIES, ModelFailure, retryDelay } from "../model/model-failure.ts";
import { isNativeForm } from "../model/native-form.ts";
import { ModelUnusable, type ModelRegistry } from "../model/model-registry.ts";
import type { ModelAnswer, ModelRequest } from "../model/model-request.ts";
import { REPLAY_MODEL, REPLAY_OPTIONS, type ReplayQuestion } from "../model/replay-model.ts";
import { SCRIPTED_OPTIONS } from "../model/scripted-model.ts";
import { RUNTIME_OPTIONS } from "../runtime/runtime-model.ts";
import { Suspended } from "../core/interruption.ts";

export type AskContext = Pick<
  RunContext,
  | "models"
  | "limiter"
  | "files"
  | "modelIdleTimeoutMs"
  | "modelOutageMs"
  | "signal"
  | "waiting"
  | "random"
  | "now"
>;

/** A model that was called and could not answer. */
export interface PassedOver {
  readonly model: string;
  readonly message: string;
}

export interface StepAnswer extends Omit<ModelAnswer, "startedInReasoning"> {
  /** The model that was called, by its name in the configuration. */
  readonly model: string;
  /** In US dollars; null when its price is unknown. */
  readonly costUsd: number | null;
  readonly passedOver?: PassedOver[];
}

/** One request to the models of a run. */
export type Question = Omit<
  ModelRequest,
  | "model"
  | "messages"
  | "idleTimeoutMs"
  | "signal"
  | "onBrokenOff"
  | "onToolsLeftOut"
  | "providerOptions"
  | "startsInReasoning"
  | "hasCacheMarks"
  | "form"
  | "onTextVoid"
> & {
  readonly messagesFor: (reader: Reader | undefined) => ModelMessage[];
  readonly onReset: () => void;
  /** True when an answer without a text may end the run, because the text is beside the calls before it. */
  readonly mayBeEmpty: boolean;
  /** False when a request that is larger than the model's window can be made smaller, so that no fallback is needed. */
  readonly isTooLongFinal: boolean;
  /** JSON Schema of the run's answer; undefined: any text. */
  readonly output: StartedEntry["output"];
  readonly scripted: SharedV4ProviderOptions[string];
  readonly replayed: () => ReplayQuestion;
  /** JSON of the side effects of the last answer's calls, for the record that a coding CLI's host writes. */
  readonly effects: () => string;
};

/** The run waits in its slot for a pause up to this length; for a longer one it returns to the queue. */
const LONGEST_WAIT_MS = 60_000;
/** If a provider requests a longer pause than this, its fallback is called first. */
const LONGEST_WAIT_BEFORE_FALLBACK_MS = 5_000;
/** Estimated tokens of an answer that has not arrived yet. */
export const ANSWER_TOKENS = 1_000;

interface Candidate {
  readonly name: string;
  /** No other model is left to be called. */
  readonly isLast: boolean;
  /** The number of this round of all models in the step, from 1. */
  readonly round: number;
}

interface Outage {
  readonly model: string;
  readonly failure: ModelFailure;
}

export interface CandidateListener {
  /** Called with the usage of an answer that is no part of the run, because it broke off or was empty. An error that it throws ends the request. */
  readonly onDiscarded: (use: Spent) => void;
  /** Called with the names of tools that the model's provider does not accept. */
  readonly onToolsLeftOut?: (names: readonly string[]) => void;
}

/**
 * Calls the models of a run one after the other, and waits while their providers are unavailable or overloaded. A model that cannot
 * answer is replaced by the next of the models file's fallbacks, and the run stays with the one that answered: the journal records
 * which.
 */
export class CandidateCaller {
  readonly #context: AskContext;
  readonly #listener: CandidateListener;
  readonly #opened = new Map<string, LanguageModelV4>();
  /** Models whose providers refused a file of this run. */
  readonly #withoutFiles = new Set<string>();

  constructor(context: AskContext, listener: CandidateListener) {
    this.#context = context;
    this.#listener = listener;
  }

  /**
   * The first usable answer. Rejects with ModelFailure or ModelUnusable when there is none, and with Suspended when the providers have been
   * unavailable for too long to keep the run in its slot.
   */
  async ask(state: RunState, question: Question): Promise<StepAnswer> {
    const { started } = state;
    const candidates = candidatesOf(state, this.#context.models);
    for (let round = 1; ; round += 1) {
      const passedOver: PassedOver[] = [];
      let outage: Outage | null = null;
      for (const [index, name] of candidates.entries()) {
        const isLast = index === candidates.length - 1;
        try {
          const answer = await this.#askOne(started, { name, isLast, round }, question);
          return this.#stepAnswer(name, answer, passedOver);
        } catch (error) {
          if (!isReplaceable(error, question)) throw error;
          outage = soonerOf(outage, name, error);
          if (isLast && outage === null) throw error;
          passedOver.push({ model: name, message: cutText(error.message, 500) });
          question.onReset();
        }
      }
      if (outage === null) throw new TypeError("a run has at least one model");
      await this.#waitOut(outage, round);
    }
  }

  #stepAnswer(name: string, answer: ModelAnswer, passedOver: PassedOver[]): StepAnswer {
    const { saidCostUsd, startedInReasoning: _, ...said } = answer;
    const costUsd = saidCostUsd ?? costOf(answer.usage, this.#context.models.factsOf(name).price);
    const over = passedOver.length === 0 ? {} : { passedOver };
    return { ...said, model: name, costUsd, ...over };
  }

  /** Calls one model until there is an answer or a failure that no retry changes. */
  async #askOne(
    started: StartedEntry,
    candidate: Candidate,
    question: Question,
  ): Promise<ModelAnswer> {
    const { name } = candidate;
    const { models, random, waiting } = this.#context;
    const model = await this.#open(name, started);
    const scope = await models.scopeOf(name);
    const { isExact, price } = models.factsOf(name);
    /** The first answer that was empty or could not be read. */
    let unusable: { readonly answer: ModelAnswer | null; readonly problem: UnusableAnswer } | null =
      null;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const hint = unusable?.problem.hint ?? null;
        const answer = await this.#askOnce(started, { name, model, scope, hint }, question);
        const problem = isExact ? null : unusableAnswer(answer, question.tools);
        if (problem === null) return answer;
        if (unusable !== null) {
          if (isAccepted(answer, question)) return answer;
          throw new ModelFailure(problem.message, { code: problem.code, isRetryable: false });
        }
        unusable = { answer, problem };
        this.#listener.onDiscarded({ usage: answer.usage, costUsd: costOf(answer.usage, price) });
        question.onReset();
      } catch (error) {
        if (!(error instanceof ModelFailure)) throw error;
        // The request with the hint is optional, since there is a text already.
        const earlier = unusable?.answer ?? null;
        // Its usage was counted when it was unusable.
        if (earlier !== null && isAccepted(earlier, question))
          return { ...earlier, usage: { inputTokens: 0, outputTokens: 0 } };
        if (error.code === "malformed_call" && unusable === null) {
          unusable = { answer: null, problem: unusableBy(error.code, question.tools) };
          question.onReset();
          continue;
        }
        if (models.learned.noteRefusal(name, error)) continue;
        if (error.refusesFiles && this.#leaveFilesOut(name, question)) continue;
        const delayMs = pauseBeforeRetry(error, { ...candidate, attempt, random: random() });
        if (delayMs === null) throw error;
        question.onReset();
        await pause(delayMs, waiting);
      }
    }
  }

  /**
   * True when the request had files, and the next one has texts instead of them. It is stored for this run alone: one damaged
   * image proves nothing about other images.
   */
  #leaveFilesOut(name: string, { messagesFor }: Question): boolean {
    if (this.#withoutFiles.has(name) || filesIn(messagesFor(undefined)).length === 0) return false;
    this.#withoutFiles.add(name);
    return true;
  }

  async #askOnce(
    started: StartedEntry,
    to: {
      readonly name: string;
      readonly model: LanguageModelV4;
      readonly scope: ProviderScope | null;
      readonly hint: string | null;
    },
    question: Question,
  ): Promise<ModelAnswer> {
    const { name, model, scope, hint } = to;
    const { models, limiter, files, signal, modelIdleTimeoutMs } = this.#context;
    const facts = models.factsOf(name);
    const { price, startsInReasoning, isExact, isRuntime, reasoningField, promptCache } = facts;
    const accepts = this.#withoutFiles.has(name) ? [] : facts.accepts;
    const windowTokens = windowOf(started, facts);
    const provider = name.slice(0, name.indexOf("/"));
    // A CLI uses its own ids for calls.
    const hasCacheMarks = promptCache === "marks";
    const reader = isExact ? undefined : { provider, windowTokens, reasoningField, hasCacheMarks };
    const messages = [
      ...question.messagesFor(reader),
      ...(hint === null
        ? []
        : [{ role: "user" as const, content: `Notice from the runner: ${hint}` }]),
    ];
    const { instructions, tools, output } = question;
    const ordered = facts.hasStrictRoles ? inRoleOrder(messages) : messages;
    const hasForm = facts.hasNativeForms && output !== undefined && isNativeForm(output);
    // Counted only where a limit needs it: the count writes the whole conversation as JSON.
    const requestTokens = (): number => tokensOf({ instructions, messages, tools });
    const taken = scope === null ? 0 : await this.#permit(scope, requestTokens() + ANSWER_TOKENS);
    let broken: Usage | null = null;
    try {
      const answer = await callModel({
        ...question,
        messages: await fillFiles(ordered, { accepts, files }).catch(suspendOnOutage),
        model,
        idleTimeoutMs: modelIdleTimeoutMs,
        signal,
        onBrokenOff: (usage) => (broken = usage),
        onToolsLeftOut: (names) => this.#listener.onToolsLeftOut?.(names),
        startsInReasoning,
        hasCacheMarks,
        ...(hasForm ? { form: output } : {}),
        onTextVoid: question.onReset,
        ...(isRuntime
          ? {
              providerOptions: {
                [RUNTIME_OPTIONS]: { runId: started.runId, effects: question.effects() },
              },
            }
          : providerOptionsFor(name, question, promptCache === "key" ? started : null)),
      });
      models.noteAnswer(name, answer);
      const { inputTokens, outputTokens } = answer.usage;
      if (scope !== null) await limiter.settle(scope, taken, inputTokens + outputTokens);
      return answer;
    } catch (error) {
      const used = broken as Usage | null; // the callback may have set it
      if (used !== null) this.#listener.onDiscarded({ usage: used, costUsd: costOf(used, price) });
      if (error instanceof ModelFailure && error.code === "context_too_long")
        models.learned.noteWindow(name, Math.min(error.windowTokens ?? Infinity, requestTokens()));
      if (error instanceof ModelFailure && scope !== null)
        await this.#settleFailure(scope, { taken, used }, error);
      throw error;
    }
  }

  /** Waits for the provider's limits, which all runners share; resolves with the tokens that were reserved. */
  async #permit(scope: ProviderScope, tokens: number): Promise<number> {
    const { limiter, waiting, random } = this.#context;
    for (;;) {
      const permit = await limiter.take(scope, tokens);
      if (permit.granted) return permit.tokens;
      const { waitMs } = permit;
      if (waitMs > LONGEST_WAIT_MS) {
        const message = `provider ${scope.key.split(":")[0]} takes no call for another ${waitMs} ms`;
        throw new ModelFailure(message, {
          isRetryable: false,
          isOutage: true,
          retryAfterMs: waitMs,
        });
      }
      // Runners wait a little longer than the limiter requires, and not all equally long.
      await pause(waitMs + Math.round(random() * 250), waiting);
    }
  }

  async #settleFailure(
    scope: ProviderScope,
    { taken, used }: { readonly taken: number; readonly used: Usage | null },
    { retryAfterMs, isRetryable }: ModelFailure,
  ): Promise<void> {
    const { limiter } = this.#context;
    await limiter.settle(scope, taken, used === null ? 0 : used.inputTokens + used.outputTokens);
    if (retryAfterMs !== null && isRetryable) await limiter.pause(scope, retryAfterMs);
  }

  /** Waits before all models are retried. Rejects with Suspended when that takes too long to keep the run in a slot. */
  async #waitOut({ model, failure }: Outage, round: number): Promise<void> {
    const { models, modelOutageMs, now, random, waiting } = this.#context;
    const awayMs = models.learned.noteOutage(model, now());
    const backoffMs = backoffOf(failure, MAX_RETRIES + round, random());
    const delayMs = Math.max(backoffMs, failure.retryAfterMs ?? 0);
    if (delayMs <= LONGEST_WAIT_MS && awayMs + delayMs <= modelOutageMs)
      return pause(delayMs, waiting);
    const restMs = Math.max(delayMs, Math.min(modelOutageMs, LONGEST_WAIT_MS));
    throw new Suspended(failure.message, { cause: failure, waitMs: restMs });
  }

  async #open(name: string, { plan, input, replay }: StartedEntry): Promise<LanguageModelV4> {
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const model = await this.#context.models.open(name, { plan, input, replay });
    this.#opened.set(name, model);
    return model;
  }
}

/** The model that answered last, else the run's model; then its fallbacks. */
function candidatesOf({ model, started }: RunState, models: ModelRegistry): string[] {
  return [...new Set([model, started.model, ...models.factsOf(started.model).fallbacks])];
}

/** The run waits in the queue until the files of its request can be read. */
function suspendOnOutage(error: unknown): never {
  if (!(error instanceof ServiceError)) throw error;
  throw new Suspended(`the files of the input cannot be read: ${error.message}`, { cause: error });
}

/** The smallest of the windows that the run's start, the models file and earlier refusals name; undefined: none does. */
export function windowOf(
  { contextWindow }: Pick<StartedEntry, "contextWindow">,
  known: { readonly contextWindow: number | null; readonly learnedWindow: number | null },
): number | undefined {
  const windows = [contextWindow, known.contextWindow, known.learnedWindow];
  const smallest = Math.min(...windows.map((window) => window ?? Infinity));
  return smallest === Infinity ? undefined : smallest;
}

/** True for an unusable answer that ends the run when the model repeats it, because there is a text in it or beside the calls before. */
function isAccepted({ content, finishReason }: ModelAnswer, { mayBeEmpty }: Question): boolean {
  if (finishReason === "content-filter" || finishReason === "error") return false;
  return hasText(content) || mayBeEmpty;
}

/** The pause before the same model is retried; null when another model is called, or none. */
function pauseBeforeRetry(
  failure: ModelFailure,
  {
    isLast,
    round,
    attempt,
    random,
  }: Candidate & { readonly attempt: number; readonly random: number },
): number | null {
  const askedMs = failure.retryAfterMs ?? 0;
  if (failure.isOutage && (round > 1 || askedMs > LONGEST_WAIT_MS)) return null;
  if (failure.isOutage && !isLast && askedMs > LONGEST_WAIT_BEFORE_FALLBACK_MS) return null;
  return retryDelay(failure, attempt, random);
}

function soonerOf(
  known: Outage | null,
  model: string,
  failure: ModelFailure | ModelUnusable,
): Outage | null {
  if (!(failure instanceof ModelFailure) || !failure.isOutage) return known;
  const isSooner = (failure.retryAfterMs ?? 0) < (known?.failure.retryAfterMs ?? Infinity);
  return known === null || isSooner ? { model, failure } : known;
}

/** A mistake in a plan is not an outage: another model would hide it. */
function isReplaceable(
  error: unknown,
  { isTooLongFinal }: Question,
): error is ModelFailure | ModelUnusable {
  if (error instanceof ModelUnusable) return true;
  if (!(error instanceof ModelFailure)) return false;
  if (error.code === "context_too_long") return isTooLongFinal;
  return error.code !== "plan_error" && error.code !== "replay_mismatch";
}

/** The cache key of all requests of a run, and of the runs of a session, hashed so that it reveals neither id. */
function promptCacheKeyOf({ runId, session }: StartedEntry): string {
  const name = session?.sessionId ?? runId;
  return createHash("sha256").update(name).digest("base64url").slice(0, 32);
}

function providerOptionsFor(
  name: string,
  { scripted, replayed }: Question,
  keyed: StartedEntry | null,
): Pick<ModelRequest, "providerOptions"> {
  if (keyed !== null)
    return { providerOptions: { openai: { promptCacheKey: promptCacheKeyOf(keyed) } } };
  if (name === REPLAY_MODEL) return { providerOptions: { [REPLAY_OPTIONS]: replayed() } };
  return name.startsWith("scripted/") ? { providerOptions: { [SCRIPTED_OPTIONS]: scripted } } : {};
}
