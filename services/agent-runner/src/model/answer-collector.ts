import type { Usage } from "@switchyard/contracts/agent-runner/runs";
import {
  ReasoningSplitter,
  type ReasoningSegment,
} from "@switchyard/contracts/agent-runner/split-reasoning";
import type { LanguageModelStreamPart, LanguageModelUsage } from "ai";
import { wellFormedJson } from "@switchyard/contracts/well-formed";
import type { AnswerPart, FinishReason } from "../core/answer-part.ts";
import { isNestedTooDeeply, MAX_NESTING } from "../core/nesting.ts";
import type { SentMessage } from "../core/sent-messages.ts";
import { tokensOf, tokensOfChars } from "./estimate-tokens.ts";
import type { ModelAnswer, ModelRequest } from "./model-request.ts";
import { ModelFailure } from "./model-failure.ts";
import type { ProviderTools } from "./provider-tools.ts";

type TextPart = AnswerPart & { type: "text" | "reasoning" };

/** A block of the model's text, whose beginning may be reasoning in tags. */
interface TextBlock {
  readonly splitter: ReasoningSplitter;
  parts: TextPart[];
  providerOptions?: TextPart["providerOptions"];
}

/** Assembles the parts of a stream: one part of the answer for each block of the model, and one for reasoning in its text. */
export class AnswerCollector {
  readonly #request: ModelRequest;
  readonly #restore: ProviderTools["restore"];
  readonly #content: (AnswerPart | TextBlock)[] = [];
  readonly #texts = new Map<string, TextBlock>();
  readonly #reasonings = new Map<string, TextPart>();
  readonly #toolCallIds = new Set<string>();
  #calls = 0;
  /** Characters that the model has written, in whatever. */
  #written = 0;
  #startedInReasoning: boolean | null = null;
  #servedModel: string;
  #end: Pick<ModelAnswer, "usage" | "finishReason" | "saidCostUsd" | "sent"> | null = null;

  constructor(request: ModelRequest, restore: ProviderTools["restore"] = (_tool, input) => input) {
    this.#request = request;
    this.#restore = restore;
    this.#servedModel = request.model.modelId;
  }

  add(part: LanguageModelStreamPart): void {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
        return this.#addText(part);
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        return this.#addReasoning(part);
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
          ...sentIn(part.providerMetadata?.["runtime"]?.["sent"]),
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
    const isCut = this.#end.finishReason === "length";
    for (const block of this.#texts.values()) this.#endText(block, { isCut });
    const parts = this.#content.flatMap((part) => ("splitter" in part ? partsOf(part) : [part]));
    const content = parts.filter((part) => part.type !== "text" || part.text !== "");
    const startedInReasoning = this.#startedInReasoning;
    return { content, ...this.#end, servedModel: this.#servedModel, startedInReasoning };
  }

  /** Null while nothing of an answer has come: then the provider has most likely not begun one. */
  usedSoFar(): Usage | null {
    if (this.#end !== null) return this.#end.usage;
    if (this.#written === 0) return null;
    const inputTokens = tokensOf(this.#request);
    const outputTokens = tokensOfChars(this.#written);
    return { inputTokens, outputTokens, estimatedTokens: inputTokens + outputTokens };
  }

  #addText(part: Extract<LanguageModelStreamPart, { type: `text-${string}` }>): void {
    const known = this.#texts.get(part.id);
    const block = known ?? this.#newBlock();
    if (known === undefined) {
      this.#texts.set(part.id, block);
      this.#content.push(block);
    }
    if ("text" in part) {
      this.#written += part.text.length;
      this.#take(block, block.splitter.push(part.text));
    }
    if (part.providerMetadata !== undefined) block.providerOptions = part.providerMetadata;
    // Held-back text is decided on once the reason for the answer's end is known.
    if (part.type !== "text-end" || this.#request.startsInReasoning === true) return;
    this.#texts.delete(part.id);
    this.#endText(block, { isCut: false });
  }

  #newBlock(): TextBlock {
    const { startsInReasoning = false } = this.#request;
    return { splitter: new ReasoningSplitter({ startsInReasoning }), parts: [] };
  }

  #endText(block: TextBlock, how: { readonly isCut: boolean }): void {
    const { rest, corrected } = block.splitter.end(how);
    if (corrected !== null) {
      block.parts = [];
      this.#request.onTextVoid?.();
    }
    this.#take(block, corrected ?? rest);
    if (block.parts.length > 0)
      this.#startedInReasoning =
        this.#startedInReasoning === true || block.splitter.startedInReasoning;
  }

  #take(block: TextBlock, segments: readonly ReasoningSegment[]): void {
    for (const { type, text } of segments) {
      const last = block.parts.at(-1);
      if (last?.type === type) last.text += text;
      else block.parts.push({ type, text });
      if (type === "text") this.#request.onDelta(text);
    }
  }

  #addReasoning(
    part: Extract<LanguageModelStreamPart, { type: `reasoning-${"start" | "delta" | "end"}` }>,
  ): void {
    const known = this.#reasonings.get(part.id);
    const reasoning = known ?? { type: "reasoning" as const, text: "" };
    if (known === undefined) {
      this.#reasonings.set(part.id, reasoning);
      this.#content.push(reasoning);
    }
    if ("text" in part) {
      reasoning.text += part.text;
      this.#written += part.text.length;
    }
    if (part.providerMetadata !== undefined) reasoning.providerOptions = part.providerMetadata;
    if (part.type === "reasoning-end") this.#reasonings.delete(part.id);
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
      input: this.#restore(part.toolName, storable(part.input)),
      ...(part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata }),
    });
  }
}

/** The metadata that a provider wants returned with a text is stored on the answer part of it. */
function partsOf({ parts, providerOptions }: TextBlock): TextPart[] {
  const answer = parts.findLast(({ type }) => type === "text") ?? parts.at(-1);
  if (answer !== undefined && providerOptions !== undefined)
    answer.providerOptions = providerOptions;
  return parts;
}

function usageOf(usage: LanguageModelUsage): Usage {
  const cacheReadTokens = wholeNumber(usage.inputTokenDetails.cacheReadTokens);
  const cacheWriteTokens = wholeNumber(usage.inputTokenDetails.cacheWriteTokens);
  const reasoningTokens = wholeNumber(usage.outputTokenDetails.reasoningTokens);
  return {
    inputTokens: wholeNumber(usage.inputTokens),
    outputTokens: wholeNumber(usage.outputTokens),
    ...(cacheReadTokens > 0 ? { cacheReadTokens } : {}),
    ...(cacheWriteTokens > 0 ? { cacheWriteTokens } : {}),
    ...(reasoningTokens > 0 ? { reasoningTokens } : {}),
  };
}

function sentIn(sent: unknown): { readonly sent?: SentMessage[] } {
  return Array.isArray(sent) ? { sent: sent as SentMessage[] } : {}; // the runtime's own model made it
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

/**
 * The arguments as received, without halves of characters. Arguments that are nested too deeply become a text, which no tool
 * accepts.
 */
function storable(input: unknown): unknown {
  if (isNestedTooDeeply(input)) return `(nested deeper than ${MAX_NESTING} levels)`;
  const json = JSON.stringify(input) as string | undefined;
  if (json === undefined) return input;
  const clean = wellFormedJson(json);
  return clean === json ? input : JSON.parse(clean);
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
