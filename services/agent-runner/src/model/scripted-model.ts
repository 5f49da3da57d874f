import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { Plan, PlanCall } from "@switchyard/contracts/plan";
import type { RunInput } from "@switchyard/contracts/runs";
import { fillTemplate, fillValue, type PlanDocument } from "./plan-template.ts";

/** The name under which it is shown everywhere: it is a script and claims no intelligence. */
export const SCRIPTED_MODEL = "scripted/plan";

/**
 * A deterministic stand-in for a model: it plays a plan. It keeps no state. The position in the plan
 * is the number of assistant turns in the prompt and the results are read from the tool messages,
 * so a run that moves to another runner goes on where it was. Token counts are characters / 4.
 */
export function createScriptedModel(plan: Plan, input: RunInput): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: "plan",
    supportedUrls: {},
    async doGenerate(options) {
      const { content, usage, finishReason } = playStep(plan, input, options);
      return { content, usage, finishReason, warnings: [] };
    },
    async doStream(options) {
      return { stream: streamOf(playStep(plan, input, options), options.abortSignal) };
    },
  };
}

interface PlayedStep {
  readonly content: LanguageModelV4Content[];
  readonly usage: LanguageModelV4Usage;
  readonly finishReason: { unified: "stop" | "tool-calls"; raw: undefined };
}

function playStep(plan: Plan, input: RunInput, options: LanguageModelV4CallOptions): PlayedStep {
  const turn = options.prompt.filter((message) => message.role === "assistant").length;
  const document = { input, results: resultsOf(plan, options.prompt) };
  const step = plan.steps[turn];
  const where = `plan step ${turn + 1}`;
  const content: LanguageModelV4Content[] = [];
  if (step === undefined) {
    content.push({ type: "text", text: fillTemplate(plan.answer, document, "plan answer") });
  } else {
    if (step.say !== undefined) {
      content.push({ type: "text", text: fillTemplate(step.say, document, where) });
    }
    for (const [index, call] of step.calls.entries()) {
      content.push({
        type: "tool-call",
        toolCallId: `plan-${turn + 1}-${index + 1}`,
        toolName: call.tool,
        input: JSON.stringify(argumentsOf(call, document, `${where}, call ${index + 1}`)),
      });
    }
  }
  const unified = step === undefined ? "stop" : "tool-calls";
  return {
    content,
    usage: usageOf(options.prompt, content),
    finishReason: { unified, raw: undefined },
  };
}

function argumentsOf(call: PlanCall, document: PlanDocument, where: string): unknown {
  return fillValue(call.with, document, where);
}

/** The finished calls, by the name their plan gives them or else by their position over all steps. */
function resultsOf(plan: Plan, prompt: LanguageModelV4Prompt): PlanDocument["results"] {
  const planned = plan.steps.flatMap((step) => step.calls);
  const ids = prompt.flatMap(toolCallIdsOf);
  const results: Record<string, { text: string; isError: boolean }> = Object.create(null);
  const found = new Map(prompt.flatMap(toolResultsOf));
  for (const [position, id] of ids.entries()) {
    const output = found.get(id);
    if (output !== undefined)
      results[planned[position]?.as ?? String(position)] = readOutput(output);
  }
  return results;
}

function toolCallIdsOf(message: LanguageModelV4Message): string[] {
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
}

function toolResultsOf(
  message: LanguageModelV4Message,
): [string, LanguageModelV4ToolResultOutput][] {
  if (message.role !== "tool") return [];
  return message.content.flatMap((part): [string, LanguageModelV4ToolResultOutput][] =>
    part.type === "tool-result" ? [[part.toolCallId, part.output]] : [],
  );
}

function readOutput(output: LanguageModelV4ToolResultOutput): { text: string; isError: boolean } {
  switch (output.type) {
    case "text":
      return { text: output.value, isError: false };
    case "error-text":
      return { text: output.value, isError: true };
    case "json":
      return { text: JSON.stringify(output.value), isError: false };
    case "error-json":
      return { text: JSON.stringify(output.value), isError: true };
    case "execution-denied":
      return { text: output.reason ?? "denied", isError: true };
    case "content":
      return {
        text: output.value.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
        isError: false,
      };
    default:
      return output satisfies never;
  }
}

const CHUNK = /[\s\S]{1,48}/gu;

function streamOf(
  step: PlayedStep,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const parts = partsOf(step);
  return new ReadableStream({
    pull(controller) {
      if (signal?.aborted === true) return controller.error(signal.reason);
      const next = parts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
  });
}

function* partsOf({
  content,
  usage,
  finishReason,
}: PlayedStep): Generator<LanguageModelV4StreamPart> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "response-metadata", modelId: "plan" };
  for (const [index, part] of content.entries()) {
    if (part.type === "text") {
      const id = `text-${index}`;
      yield { type: "text-start", id };
      for (const delta of part.text.match(CHUNK) ?? []) yield { type: "text-delta", id, delta };
      yield { type: "text-end", id };
    } else if (part.type === "tool-call") {
      yield part;
    }
  }
  yield { type: "finish", usage, finishReason };
}

function usageOf(
  prompt: LanguageModelV4Prompt,
  content: LanguageModelV4Content[],
): LanguageModelV4Usage {
  const input = tokensIn(JSON.stringify(prompt));
  const output = tokensIn(
    content
      .map((part) =>
        part.type === "text" ? part.text : part.type === "tool-call" ? part.input : "",
      )
      .join(""),
  );
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / 4);
}
