import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
} from "@ai-sdk/provider";
import type {
  RecordedPart,
  RecordedRequest,
  Recording,
} from "@switchyard/contracts/agent-runner/recording";
import { ModelFailure } from "./model-failure.ts";
import { differenceOf } from "../core/recording-of.ts";
import { streamOf, type PlayedAnswer } from "./scripted-stream.ts";

/** The name of a model that plays a recording back. */
export const REPLAY_MODEL = "replay/recording";

/** Name of the provider options with which a run sends its position to the model, beside the prompt. */
export const REPLAY_OPTIONS = "replay";

/** The recorded answer to return: the n-th one, counted from 0, or the summary of the first `upTo`. */
export type ReplayQuestion =
  | { readonly answer: number; readonly request: RecordedRequest }
  | { readonly upTo: number };

/**
 * Returns the answers of a recording, each only to its recorded request: a run that diverges fails with `replay_mismatch`, which
 * names the step.
 */
export function createReplayModel(recording: Recording): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "replay",
    modelId: "recording",
    supportedUrls: {},
    async doGenerate(options) {
      const { content, usage, finishReason } = playedAnswer(recording, options);
      return { content, usage, finishReason, warnings: [] };
    },
    async doStream(options) {
      const answer = playedAnswer(recording, options);
      return { stream: streamOf(answer, { isCut: false, signal: options.abortSignal }) };
    },
  };
}

const REMEDY =
  "If the policy denied a call because the run is replayed, its rule needs replayed: true in who; else record the run again.";

function playedAnswer(
  recording: Recording,
  { providerOptions }: LanguageModelV4CallOptions,
): PlayedAnswer {
  // The runner itself put it there, in this shape.
  const question = providerOptions?.[REPLAY_OPTIONS] as unknown as ReplayQuestion;
  if ("upTo" in question) return playedSummary(recording, question.upTo);
  const { answer: index, request } = question;
  const answer = recording.answers[index];
  const step = `step ${index + 1}`;
  if (answer === undefined)
    throw mismatch(`the recording ends before ${step}: it has ${recording.answers.length} answers`);
  const difference = differenceOf(answer.request, request);
  if (difference !== null)
    throw mismatch(`${step} is not the recorded one: ${difference}. ${REMEDY}`);
  const { content, usage, finishReason, servedModel } = answer;
  return {
    servedModel,
    content: content.map(playedPart),
    usage: playedUsage(usage),
    finishReason: { unified: finishReason, raw: undefined },
    pace: {},
  };
}

function playedSummary({ summaries }: Recording, upTo: number): PlayedAnswer {
  const found = summaries.find((summary) => summary.upTo === upTo);
  if (found === undefined)
    throw mismatch(`no summary of the first ${upTo} answers was recorded. Record the run again.`);
  return {
    servedModel: "recording",
    content: [{ type: "text", text: found.text }],
    usage: playedUsage(found.usage),
    finishReason: { unified: "stop", raw: undefined },
    pace: {},
  };
}

function playedPart(part: RecordedPart): LanguageModelV4Content {
  if (part.type !== "tool-call") return { type: part.type, text: part.text };
  const { toolCallId, tool, input } = part;
  return {
    type: "tool-call",
    toolCallId,
    toolName: tool,
    // Input that is not valid JSON was stored as the original text.
    input: typeof input === "string" ? input : JSON.stringify(input),
  };
}

function playedUsage({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) {
  return {
    inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
  };
}

function mismatch(message: string): ModelFailure {
  return new ModelFailure(message, { code: "replay_mismatch", isRetryable: false });
}
