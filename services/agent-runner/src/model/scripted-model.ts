import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type {
  Plan,
  PlanCall,
  PlanFailure,
  PlanCondition,
  PlanStep,
} from "@switchyard/contracts/agent-runner/plan";
import { fillTemplate, fillValue, TemplateError } from "@switchyard/contracts/pointer-template";
import type { RunInput } from "@switchyard/contracts/agent-runner/runs";
import { beforeAnswer, failOnPurpose, streamOf, type PlayedAnswer } from "./scripted-stream.ts";
import { locate, parsePointer } from "@switchyard/contracts/json-pointer";

/** The answer to one turn, and whether it fails first. */
interface PlayedTurnAnswer extends PlayedAnswer {
  readonly turn: number;
  readonly fail?: PlanFailure | undefined;
}

/** The name under which it is shown everywhere: it is a script and claims no intelligence. */
export const SCRIPTED_MODEL = "scripted/plan";

const MODEL_ID = "plan";

/** Name of the provider options with which a run sends its turns to the scripted model, beside the prompt. */
export const SCRIPTED_OPTIONS = "scripted";

/**
 * A deterministic model that plays a plan. Its position in the plan is computed from the answers and results so far, so a run that
 * moves to another runner continues at the same position. They come as provider options (`{ scripted: { turns } }`), because a
 * prompt may have been compacted;
 * without them they are read from the prompt. Only intended failures are counted in memory: a runner that takes the run over
 * repeats them. Token counts are characters / 4.
 */
export function createScriptedModel(plan: Plan, input: RunInput): LanguageModelV4 {
  const failures = new Map<number, number>();
  const failureAt = (turn: number, failure: PlanFailure | undefined): PlanFailure | null => {
    const count = failures.get(turn) ?? 0;
    if (failure === undefined || count >= failure.times) return null;
    failures.set(turn, count + 1);
    return failure;
  };
  const play = (options: LanguageModelV4CallOptions): PlayedTurnAnswer =>
    isSummary(options) ? summarise(options) : playStep(plan, input, options);
  return {
    specificationVersion: "v4",
    provider: "scripted",
    modelId: MODEL_ID,
    supportedUrls: {},
    async doGenerate(options) {
      const answer = play(options);
      const failure = failureAt(answer.turn, answer.fail);
      if (failure !== null) return failOnPurpose(failure, options.abortSignal);
      await beforeAnswer(answer, options.abortSignal);
      const { content, usage, finishReason } = answer;
      return { content, usage, finishReason, warnings: [] };
    },
    async doStream(options) {
      const answer = play(options);
      const failure = failureAt(answer.turn, answer.fail);
      if (failure !== null && failure.how !== "cut")
        return failOnPurpose(failure, options.abortSignal);
      await beforeAnswer(answer, options.abortSignal);
      return { stream: streamOf(answer, { isCut: failure !== null, signal: options.abortSignal }) };
    },
  };
}

function playStep(
  plan: Plan,
  input: RunInput,
  options: LanguageModelV4CallOptions,
): PlayedTurnAnswer {
  const turns = turnsOf(options);
  const said = Array.isArray(input) ? inputText(input) : input;
  const { step, number, document } = positionIn(plan, said, turns);
  const where = `plan step ${number}`;
  const content: LanguageModelV4Content[] = [];
  if (step === null) {
    content.push({ type: "text", text: fillTemplate(plan.answer, document, "plan answer") });
  } else {
    const text = step.answer ?? step.say;
    if (text !== undefined)
      content.push({ type: "text", text: fillTemplate(text, document, where) });
    for (const [index, call] of step.calls.entries()) {
      content.push({
        type: "tool-call",
        toolCallId: `plan-${turns.length + 1}-${index + 1}`,
        toolName: call.tool,
        input: argumentsOf(call, document, `${where}, call ${index + 1}`),
      });
    }
  }
  return {
    turn: turns.length,
    servedModel: MODEL_ID,
    fail: step?.fail,
    content,
    usage: usageOf(options.prompt, content),
    finishReason: {
      unified: step === null || step.calls.length === 0 ? "stop" : "tool-calls",
      raw: undefined,
    },
    pace: step ?? plan,
  };
}

/** Returns the arguments as text: the text of `raw`, however broken, or the JSON of `with`. */
function argumentsOf(call: PlanCall, document: PlanDocument, where: string): string {
  return call.raw ?? JSON.stringify(fillValue(call.with, document, where));
}

/** A script cannot understand the text that it summarises: the summary states this and keeps the lines that name calls. */
function summarise(options: LanguageModelV4CallOptions): PlayedTurnAnswer {
  const text = options.prompt
    .flatMap((message) => (message.role === "user" ? message.content : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n");
  const calls = text.split("\n").filter((line) => line.startsWith("call "));
  const content: LanguageModelV4Content[] = [
    {
      type: "text",
      text: `Rule-based summary, no AI: ${calls.length} calls so far.\n${calls.slice(-20).join("\n")}`,
    },
  ];
  return {
    turn: -1,
    servedModel: MODEL_ID,
    content,
    usage: usageOf(options.prompt, content),
    finishReason: { unified: "stop", raw: undefined },
    pace: {},
  };
}

function isSummary({ providerOptions }: LanguageModelV4CallOptions): boolean {
  return providerOptions?.[SCRIPTED_OPTIONS]?.["task"] === "summarise";
}

function turnsOf({ prompt, providerOptions }: LanguageModelV4CallOptions): readonly PlayedTurn[] {
  const given = providerOptions?.[SCRIPTED_OPTIONS]?.["turns"];
  // The runner itself put them there, in this shape.
  return Array.isArray(given) ? given : turnsOfPrompt(prompt);
}

/** The answers of a prompt with the results that have come. */
function turnsOfPrompt(prompt: LanguageModelV4Prompt): PlayedTurn[] {
  const found = new Map<string, PlanResult>();
  for (const message of prompt) {
    if (message.role !== "tool") continue;
    for (const part of message.content)
      if (part.type === "tool-result") found.set(part.toolCallId, readOutput(part.output));
  }
  return prompt.flatMap((message) => {
    if (message.role !== "assistant") return [];
    const ids = message.content.flatMap((part) =>
      part.type === "tool-call" ? [part.toolCallId] : [],
    );
    return [{ results: ids.map((id) => found.get(id) ?? { text: "", isError: true }) }];
  });
}

function readOutput(output: LanguageModelV4ToolResultOutput): PlanResult {
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

/** The result of a call in a plan. */
interface PlanResult {
  readonly text: string;
  readonly isError: boolean;
}

/** The document that the pointers of a plan are resolved against. */
interface PlanDocument {
  readonly input: unknown;
  readonly results: Readonly<Record<string, PlanResult>>;
  /** The result of the last call of the step before; missing at the first step. */
  readonly last?: PlanResult;
}

/** One answer that was given before, by the results of its calls in their order. */
export interface PlayedTurn {
  readonly results: readonly PlanResult[];
}

/** The current position in a plan. */
interface PlanPosition {
  /** The step to play now; null when only the plan's answer is left. */
  readonly step: PlanStep | null;
  /** Position of the step in the plan, from 1. */
  readonly number: number;
  readonly document: PlanDocument;
}

/**
 * Walks a plan along the answers so far. It is stateless: the same turns lead to the same position, in every process. Throws
 * TemplateError for an invalid pointer.
 */
export function positionIn(plan: Plan, input: unknown, turns: readonly PlayedTurn[]): PlanPosition {
  const results: Record<string, PlanResult> = Object.create(null);
  let document: PlanDocument = { input, results };
  let index = 0;
  let plays = 0;
  let position = 0;
  for (const turn of turns) {
    if (plays === 0) index = firstPlayable(plan, index, document);
    const step = plan.steps[index];
    for (const [call, result] of turn.results.entries()) {
      results[step?.calls[call]?.as ?? String(position)] = result;
      position += 1;
    }
    const last = turn.results.at(-1);
    document = { input, results, ...(last === undefined ? {} : { last }) };
    if (step === undefined) continue;
    plays += 1;
    if (isRepeated(step, plays, { document, number: index + 1 })) continue;
    index += 1;
    plays = 0;
  }
  if (plays === 0) index = firstPlayable(plan, index, document);
  return { step: plan.steps[index] ?? null, number: index + 1, document };
}

function firstPlayable(plan: Plan, from: number, document: PlanDocument): number {
  let index = from;
  for (;;) {
    const when = plan.steps[index]?.when;
    if (when === undefined || holds(when, document, `plan step ${index + 1}, when`)) return index;
    index += 1;
  }
}

function isRepeated(
  { repeat }: PlanStep,
  plays: number,
  { document, number }: { document: PlanDocument; number: number },
): boolean {
  if (repeat === undefined || plays >= repeat.times) return false;
  return holds(repeat.while, document, `plan step ${number}, repeat`);
}

/** A pointer that finds nothing is no mistake here: the condition does not hold. */
function holds(condition: PlanCondition, document: PlanDocument, where: string): boolean {
  const tokens = parsePointer(condition.at);
  if (tokens === null)
    throw new TemplateError(
      `${where}: ${condition.at} is not a JSON pointer such as /last/isError`,
    );
  const located = locate(document, tokens);
  const isTrue = located.kind === "found" && fits(condition, located.value);
  return isTrue !== (condition.not === true);
}

function fits({ equals, contains }: PlanCondition, value: unknown): boolean {
  if (equals !== undefined && value !== equals) return false;
  if (contains === undefined) return true;
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).includes(contains);
}
