import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { inSpan } from "@switchyard/bus/tracing";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import {
  dynamicTool,
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  jsonSchema,
  Output,
  type JSONSchema7,
  type ToolSet,
} from "ai";
import { markedInstructions } from "../core/cache-marks.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";
import { linkSignals } from "../core/linked-signal.ts";
import { answerAttributes, modelSpan } from "./gen-ai-spans.ts";
import { AnswerCollector } from "./answer-collector.ts";
import { ModelFailure, modelFailureOf } from "./model-failure.ts";
import { onBytes } from "./provider-fetch.ts";
import type { ModelAnswer, ModelRequest } from "./model-request.ts";
import { providerTools, type ProviderTools } from "./provider-tools.ts";
import { createRefusals, refusedTools } from "./refused-tools.ts";

/**
 * Calls a model once and returns its whole answer. No tool is executed here. Rejects with ModelFailure, or with the signal's
 * reason.
 */
export function callModel(request: ModelRequest): Promise<ModelAnswer> {
  return inSpan(modelSpan(request.model), async (span) => {
    const answer = await ask(request);
    span.set(answerAttributes(answer));
    return answer;
  });
}

const refusals = createRefusals();
/** Providers name one tool at a time. */
const MOST_REFUSALS = 8;

/** Sends a request with its tools in a form that providers accept. When a refusal names a tool, sends it again without that tool. */
async function ask(request: ModelRequest): Promise<ModelAnswer> {
  const { provider, modelId } = request.model;
  const model = `${provider} ${modelId}`;
  const { tools: adapted, restore } = providerTools(request.tools);
  let tools = adapted.filter((tool) => !refusals.isRefused(model, tool));
  for (let refused = 0; ; refused += 1) {
    const sent = new Set(tools.map(({ name }) => name));
    const leftOut = request.tools.map(({ name }) => name).filter((name) => !sent.has(name));
    if (leftOut.length > 0) request.onToolsLeftOut?.(leftOut);
    try {
      return await askOnce({ ...request, tools }, restore);
    } catch (error) {
      if (!(error instanceof ToolsRefused)) throw error;
      if (refused === MOST_REFUSALS) throw error.failure;
      const { named } = error;
      refusals.add(
        model,
        tools.filter(({ name }) => named.includes(name)),
      );
      tools = tools.filter(({ name }) => !named.includes(name));
    }
  }
}

/** The provider does not accept these tools. */
class ToolsRefused extends Error {
  override readonly name = "ToolsRefused";
  readonly named: readonly string[];
  readonly failure: ModelFailure;

  constructor(named: readonly string[], failure: ModelFailure) {
    super(failure.message);
    this.named = named;
    this.failure = failure;
  }
}

async function askOnce(
  request: ModelRequest,
  restore: ProviderTools["restore"],
): Promise<ModelAnswer> {
  const idle = idleSignal(request);
  const { signal } = idle;
  const { instructions: text, hasCacheMarks = false } = request;
  const instructions =
    text === "" ? {} : { instructions: hasCacheMarks ? markedInstructions(text) : text };
  const answer = new AnswerCollector(request, restore);
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
      ...request.sampling,
      ...reasoningOf(request.thinking),
      ...formOf(request.form),
    });
    for await (const part of stream) {
      // The SDK passes the signal to the provider and does not check it itself.
      signal.throwIfAborted();
      idle.touch();
      answer.add(part);
    }
    return answer.finish();
  } catch (error) {
    const used = answer.usedSoFar();
    if (used !== null) request.onBrokenOff?.(used);
    signal.throwIfAborted(); // whatever the provider makes of an abort, its reason is the truth
    const failure = modelFailureOf(error, Date.now());
    const named = refusedTools(error, request.tools);
    throw named.length === 0 ? failure : new ToolsRefused(named, failure);
  } finally {
    idle.stop();
  }
}

/** Returns the SDK's name for the thinking level; it has one for each. */
function reasoningOf(
  level: ThinkingLevel | undefined,
): Pick<LanguageModelV4CallOptions, "reasoning"> {
  return level === undefined ? {} : { reasoning: level === "off" ? "none" : level };
}

function formOf(form: ModelRequest["form"]) {
  if (form === undefined) return {};
  return { output: Output.object({ schema: jsonSchema(form as JSONSchema7), name: "answer" }) }; // the SDK sends it unchanged
}

/** Tools without `execute`: the SDK reports the calls and the runner makes them. */
function toolSet(tools: readonly OfferedTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      // The provider of the tool validates its arguments.
      dynamicTool({
        description,
        inputSchema: jsonSchema(inputSchema as JSONSchema7),
      }),
    ]),
  );
}

/** Aborts with the request, and when its provider is silent for too long. */
function idleSignal({ idleTimeoutMs, signal }: Pick<ModelRequest, "idleTimeoutMs" | "signal">): {
  signal: AbortSignal;
  touch: () => void;
  stop: () => void;
} {
  const call = linkSignals(signal);
  // A comment of the stream is no part of the answer, but shows that the provider works on it.
  onBytes(call.signal, () => timer.refresh());
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
