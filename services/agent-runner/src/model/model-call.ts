import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { inSpan } from "@switchyard/bus/tracing";
import type { Usage } from "@switchyard/contracts/runs";
import type { ThinkingLevel } from "@switchyard/contracts/thinking";
import {
  dynamicTool,
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  jsonSchema,
  type JSONSchema7,
  type LanguageModelStreamPart,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolSet,
} from "ai";
import type { AnswerPart, FinishReason } from "../core/answer-part.ts";
import { answerAttributes, modelSpan } from "../telemetry/gen-ai-spans.ts";
import { isNestedTooDeeply, MAX_NESTING } from "../core/nesting.ts";
import { linkSignals } from "../signals/linked-signal.ts";
import { tokensOf, tokensOfChars } from "./estimate-tokens.ts";
import { ModelFailure, modelFailureOf } from "./model-failure.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

export interface ModelRequest {
  readonly model: LanguageModelV4;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: readonly OfferedTool[];
  readonly temperature: number | null;
  /** Missing: the provider's own. */
  readonly thinking?: ThinkingLevel | undefined;
  readonly limits?: { readonly maxOutputTokens: number; readonly stopSequences: string[] };
  /** Makes the id of the n-th tool call of this answer. */
  readonly callIdOf: (index: number) => string;
  /** A provider that is silent for so long is given up, in milliseconds. */
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal;
  readonly onDelta: (text: string) => void;
  /** Hears what an answer has used that began and did not end: as the provider says, else estimated. */
  readonly onBrokenOff?: (usage: Usage) => void;
  /** What a provider is told beside the prompt, by the provider's name. */
  readonly providerOptions?: SharedV4ProviderOptions;
}

export interface ModelAnswer {
  readonly content: AnswerPart[];
  readonly usage: Usage;
  readonly finishReason: FinishReason;
  readonly servedModel: string;
  /** What a runtime says that it cost, in US dollars; missing: its price says it. */
  readonly saidCostUsd?: number;
}

/**
 * Asks a model once and gives back its whole answer. No tool is executed here. Rejects with
 * ModelFailure, or with the signal's reason.
 */
export function callModel(request: ModelRequest): Promise<ModelAnswer> {
  return inSpan(modelSpan(request.model), async (span) => {
    const answer = await ask(request);
    span.set(answerAttributes(answer));
    return answer;
  });
}

async function ask(request: ModelRequest): Promise<ModelAnswer> {
  const idle = idleSignal(request);
  const { signal } = idle;
  const instructions = request.instructions === "" ? {} : { instructions: request.instructions };
  const answer = new AnswerCollector(request);
  try {
    signal.throwIfAborted();
    const { stream } = await streamLanguageModelCall({
      model: request.model,
      ...instructions,
      messages: request.messages,
      tools: toolSet(request.tools),
      abortSignal: signal,
      ...request.limits,
      ...(request.providerOptions === undefined
        ? {}
        : { providerOptions: request.providerOptions }),
      ...(request.temperature === null ? {} : { temperature: request.temperature }),
      ...reasoningOf(request.thinking),
    });
    for await (const part of stream) {
      // The SDK hands the signal to the provider and does not look at it itself.
      signal.throwIfAborted();
      idle.touch();
      answer.add(part);
    }
    return answer.finish();
  } catch (error) {
    const used = answer.usedSoFar();
    if (used !== null) request.onBrokenOff?.(used);
    signal.throwIfAborted(); // whatever the provider makes of an abort, its reason is the truth
    throw modelFailureOf(error, Date.now());
  } finally {
    idle.stop();
  }
}

/** In the words of the SDK, which has one for each level. */
function reasoningOf(
  level: ThinkingLevel | undefined,
): Pick<LanguageModelV4CallOptions, "reasoning"> {
  return level === undefined ? {} : { reasoning: level === "off" ? "none" : level };
}

/** Puts the parts of a stream together: one part of the answer for each block of the model. */
class AnswerCollector {
  readonly #request: ModelRequest;
  readonly #content: AnswerPart[] = [];
  readonly #blocks = new Map<string, AnswerPart & { type: "text" | "reasoning" }>();
  readonly #toolCallIds = new Set<string>();
  #calls = 0;
  /** Characters that the model has written, in whatever. */
  #written = 0;
  #servedModel: string;
  #end: Pick<ModelAnswer, "usage" | "finishReason" | "saidCostUsd"> | null = null;

  constructor(request: ModelRequest) {
    this.#request = request;
    this.#servedModel = request.model.modelId;
  }

  add(part: LanguageModelStreamPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end":
        return this.#addText(part);
      case "tool-call":
        return this.#addCall(part);
      case "model-call-response-metadata":
        this.#servedModel = part.modelId ?? this.#servedModel;
        return;
      case "model-call-end":
        this.#end = {
          usage: usageOf(part.usage),
          finishReason: finishReasonOf(part.finishReason),
          ...saidCost(part.providerMetadata?.["runtime"]?.["costUsd"]),
        };
        return;
      case "tool-input-delta":
        this.#written += part.delta.length;
        return;
      case "error":
        throw part.error;
      default: // warnings, raw chunks, sources and files are not part of the answer
    }
  }

  finish(): ModelAnswer {
    if (this.#end === null) {
      throw new ModelFailure("the provider's answer ended without its last part", {
        isRetryable: true,
      });
    }
    const content = this.#content.filter((part) => part.type !== "text" || part.text !== "");
    return { content, ...this.#end, servedModel: this.#servedModel };
  }

  /** Null while nothing of an answer has come: then the provider has most likely not begun one. */
  usedSoFar(): Usage | null {
    if (this.#end !== null) return this.#end.usage;
    if (this.#written === 0) return null;
    const inputTokens = tokensOf(this.#request);
    const outputTokens = tokensOfChars(this.#written);
    return { inputTokens, outputTokens, estimatedTokens: inputTokens + outputTokens };
  }

  #addText(
    part: Extract<
      LanguageModelStreamPart,
      { id: string; type: `${"text" | "reasoning"}-${string}` }
    >,
  ): void {
    const type = part.type.startsWith("text") ? "text" : "reasoning";
    const key = `${type}:${part.id}`;
    const block = this.#blocks.get(key) ?? { type, text: "" };
    if (!this.#blocks.has(key)) this.#content.push(block);
    this.#blocks.set(key, block);
    if ("text" in part && part.text !== "") {
      block.text += part.text;
      this.#written += part.text.length;
      if (type === "text") this.#request.onDelta(part.text);
    }
    if (part.providerMetadata !== undefined) block.providerOptions = part.providerMetadata;
    if (part.type.endsWith("-end")) this.#blocks.delete(key);
  }

  #addCall(part: Extract<LanguageModelStreamPart, { type: "tool-call" }>): void {
    const callId = this.#request.callIdOf(this.#calls);
    this.#calls += 1;
    // Some servers leave the id out or give every call of an answer the same one.
    const isUsable = part.toolCallId !== "" && !this.#toolCallIds.has(part.toolCallId);
    const toolCallId = isUsable ? part.toolCallId : callId;
    this.#toolCallIds.add(toolCallId);
    this.#content.push({
      type: "tool-call",
      callId,
      toolCallId,
      tool: part.toolName,
      input: storable(part.input),
      ...(part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata }),
    });
  }
}

/** Tools without `execute`: the SDK reports the calls and the runner makes them. */
function toolSet(tools: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      // The provider of the tool validates its arguments; a JSON Schema of a server passes unchanged.
      dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema as JSONSchema7),
      }),
    ]),
  );
}

function usageOf(usage: LanguageModelUsage): Usage {
  const cacheReadTokens = wholeNumber(usage.inputTokenDetails.cacheReadTokens);
  const cacheWriteTokens = wholeNumber(usage.inputTokenDetails.cacheWriteTokens);
  return {
    inputTokens: wholeNumber(usage.inputTokens),
    outputTokens: wholeNumber(usage.outputTokens),
    ...(cacheReadTokens > 0 ? { cacheReadTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
  };
}

function saidCost(costUsd: unknown): { readonly saidCostUsd?: number } {
  const isCost = typeof costUsd === "number" && Number.isFinite(costUsd) && costUsd >= 0;
  return isCost ? { saidCostUsd: costUsd } : {};
}

/** More than any call can use; the sum of all calls of a run is an exact integer still. */
const MAX_TOKENS = 1e9;

function wholeNumber(value: number | undefined): number {
  if (value === undefined || Number.isNaN(value) || value <= 0) return 0;
  return Math.min(Math.round(value), MAX_TOKENS);
}

/** The arguments as they came; in place of what is nested too deeply, a text, which no tool accepts. */
function storable(input: unknown): unknown {
  return isNestedTooDeeply(input) ? `(nested deeper than ${MAX_NESTING} levels)` : input;
}

function finishReasonOf(reason: string): FinishReason {
  switch (reason) {
    case "stop":
    case "length":
    case "content-filter":
    case "tool-calls":
      return reason;
    case "error":
    case "interrupted":
      return "error";
    default:
      return "other";
  }
}

/** Aborts with the request, and when its provider is silent for too long. */
function idleSignal({ idleTimeoutMs, signal }: Pick<ModelRequest, "idleTimeoutMs" | "signal">): {
  signal: AbortSignal;
  touch: () => void;
  stop: () => void;
} {
  const call = linkSignals(signal);
  const timer = setTimeout(() => {
    const said = `the provider was silent for ${idleTimeoutMs} ms`;
    call.abort(new ModelFailure(said, { isRetryable: true }));
  }, idleTimeoutMs);
  return {
    signal: call.signal,
    touch: () => timer.refresh(),
    stop() {
      clearTimeout(timer);
      call.release();
    },
  };
}
