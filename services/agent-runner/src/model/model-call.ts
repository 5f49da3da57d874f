import { type LanguageModelV4CallOptions, APICallError } from "@ai-sdk/provider";
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
import { createHash } from "node:crypto";

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

/** Statuses with which providers refuse the content of a request. */
const REFUSED = new Set([400, 422]);
/** References of providers that count tools instead of naming them: `tools.3`, `tools[3]`, `function_declarations[3]`. */
const BY_POSITION = /(?:tools|functions|function_declarations)(?:\.|\[)(\d+)/g;
const MAX_REMEMBERED = 1_000;

/** The names of the tools because of which a provider refused a request; none when its error is about something else. */
function refusedTools(error: unknown, tools: readonly OfferedTool[]): string[] {
  if (!APICallError.isInstance(error) || !REFUSED.has(error.statusCode ?? 0)) return [];
  const text = `${error.message}\n${error.responseBody ?? ""}`;
  if (!/tool|function|schema|parameter|properties/i.test(text)) return [];
  const named = tools.filter(({ name }) => isNamed(text, name));
  const counted = [...text.matchAll(BY_POSITION)].flatMap(([, n]) => tools[Number(n)] ?? []);
  return [...new Set([...named, ...counted].map(({ name }) => name))];
}

/** True where the name appears as a separate word: `read` is not in `read_file`. */
function isNamed(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + name.length] ?? " "}`;
    // Other names also occur as plain words in providers' sentences, unless they are quoted: "skill", "agent".
    if (/^[^\w-][^\w-]$/.test(around) && (name.includes("__") || /^["'`([{]/.test(around)))
      return true;
  }
  return false;
}

/** Tools that providers refused, so that the next step of a run does not send them again. */
function createRefusals() {
  const known = new Set<string>();
  return {
    add(model: string, tools: readonly OfferedTool[]): void {
      if (known.size >= MAX_REMEMBERED) known.clear();
      for (const tool of tools) known.add(keyOf(model, tool));
    },
    isRefused: (model: string, tool: OfferedTool): boolean =>
      known.size > 0 && known.has(keyOf(model, tool)),
  };
}

function keyOf(model: string, { name, inputSchema }: OfferedTool): string {
  return createHash("sha256")
    .update(JSON.stringify([model, name, inputSchema]))
    .digest("base64url");
}
