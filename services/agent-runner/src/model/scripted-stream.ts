import {
  APICallError,
  type LanguageModelV4Content,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { PlanFailure } from "@switchyard/contracts/agent-runner/plan";
import { pause } from "@switchyard/contracts/timeouts";

/** The answer of a plan, and how it is streamed. */
export interface PlayedAnswer {
  /** The model that is reported to have answered. */
  readonly servedModel: string;
  readonly content: LanguageModelV4Content[];
  readonly usage: LanguageModelV4Usage;
  readonly finishReason: LanguageModelV4FinishReason;
  readonly pace: {
    readonly delayMs?: number | undefined;
    readonly chunkDelayMs?: number | undefined;
    readonly chunkChars?: number | undefined;
  };
}

const CHUNK_CHARS = 48;

/** Streams an answer in pieces; `cut` breaks it off in the middle as a lost connection would. */
export function streamOf(
  answer: PlayedAnswer,
  { isCut, signal }: { isCut: boolean; signal: AbortSignal | undefined },
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(answer, isCut);
  return new ReadableStream({
    async pull(controller) {
      if (signal?.aborted === true) return controller.error(signal.reason);
      const next = parts.next();
      if (next.done === true) return controller.close();
      const { chunkDelayMs = 0 } = answer.pace;
      if (next.value.type === "text-delta" && chunkDelayMs > 0)
        await pause(chunkDelayMs, signal ?? NEVER);
      controller.enqueue(next.value);
    },
  });
}

/** A failure on purpose that comes before any text. Never resolves for a silence, but ends with the signal. */
export async function failOnPurpose(
  failure: PlanFailure,
  signal: AbortSignal | undefined,
): Promise<never> {
  switch (failure.how) {
    case "rate-limit":
      throw httpError(429, "the plan lets this call be too many", failure.retryAfterMs);
    case "overloaded":
      throw httpError(503, "the plan lets the provider be overloaded");
    case "bad-request":
      throw httpError(400, "the plan lets the provider refuse the call");
    case "cut": // without a stream there is no middle to break off in
      throw httpError(502, "the plan lets the answer break off");
    case "silence":
      return new Promise<never>((_, reject) => {
        const ended = signal ?? NEVER;
        if (ended.aborted) reject(ended.reason);
        ended.addEventListener("abort", () => reject(ended.reason), { once: true });
      });
    default:
      return failure.how satisfies never;
  }
}

/** Waits as long as the plan wants before the answer begins. */
export async function beforeAnswer(
  { pace }: PlayedAnswer,
  signal: AbortSignal | undefined,
): Promise<void> {
  if ((pace.delayMs ?? 0) > 0) await pause(pace.delayMs ?? 0, signal ?? NEVER);
}

const NEVER = new AbortController().signal;

function httpError(statusCode: number, message: string, retryAfterMs?: number): APICallError {
  return new APICallError({
    message,
    url: "scripted:plan",
    requestBodyValues: {},
    statusCode,
    ...(retryAfterMs === undefined
      ? {}
      : { responseHeaders: { "retry-after-ms": String(retryAfterMs) } }),
  });
}

function* partsOf(answer: PlayedAnswer, isCut: boolean): Generator<LanguageModelV4StreamPart> {
  const { servedModel, content, usage, finishReason, pace } = answer;
  const size = pace.chunkChars ?? CHUNK_CHARS;
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", modelId: servedModel };
  for (const [index, part] of content.entries()) {
    if (part.type === "text") {
      const id = `text-${index}`;
      yield { type: "text-start", id };
      const pieces = piecesOf(part.text, size);
      const shown = isCut ? pieces.slice(0, Math.ceil(pieces.length / 2)) : pieces;
      for (const delta of shown) yield { type: "text-delta", id, delta };
      if (isCut) break;
      yield { type: "text-end", id };
    } else if (part.type === "reasoning") {
      const id = `reasoning-${index}`;
      yield { type: "reasoning-start", id };
      yield { type: "reasoning-delta", id, delta: part.text };
      yield { type: "reasoning-end", id };
    } else if (part.type === "tool-call" && !isCut) {
      yield part;
    }
  }
  if (isCut) yield { type: "error", error: httpError(502, "the plan lets the answer break off") };
  else yield { type: "finish", usage, finishReason };
}

/** Splits by whole characters, so that no piece ends in half of one. */
function piecesOf(text: string, size: number): string[] {
  const characters = Array.from(text);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += size)
    pieces.push(characters.slice(at, at + size).join(""));
  return pieces;
}
