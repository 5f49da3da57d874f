import type { SpanFacts } from "@switchyard/bus/tracing";
import type { EntryOf } from "../core/journal-entry.ts";

// Names of https://opentelemetry.io/docs/specs/semconv/gen-ai/, which are not stable yet: the packages advise to copy them.
const OPERATION = "gen_ai.operation.name";

/** One attempt at a run, from the command that a runner took to its end or its next wait. */
export function agentSpan(run: {
  readonly runId: string;
  readonly agent: string;
  readonly model: string;
  readonly requester: string;
  readonly session?: { readonly sessionId: string } | undefined;
}): SpanFacts {
  return {
    name: `invoke_agent ${run.agent}`,
    kind: "internal",
    attributes: {
      [OPERATION]: "invoke_agent",
      "gen_ai.agent.name": run.agent,
      "gen_ai.request.model": run.model,
      "gen_ai.conversation.id": run.session?.sessionId,
      "switchyard.run.id": run.runId,
      "switchyard.requester": run.requester,
    },
  };
}

/** One request to a model. */
export function modelSpan(model: {
  readonly provider: string;
  readonly modelId: string;
}): SpanFacts {
  return {
    name: `chat ${model.modelId}`,
    kind: "client",
    attributes: {
      [OPERATION]: "chat",
      "gen_ai.provider.name": providerName(model.provider),
      "gen_ai.request.model": model.modelId,
    },
  };
}

/** Returns the attributes that are available once the model has answered. */
export function answerAttributes({
  servedModel,
  usage,
  finishReason,
}: Pick<EntryOf<"model-responded">, "servedModel" | "usage" | "finishReason">) {
  return {
    "gen_ai.response.model": servedModel,
    "gen_ai.response.finish_reasons": [finishReason],
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens ?? 0,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens ?? 0,
  };
}

/** One tool call of a run, with all that it takes to get its result. */
export function toolSpan(call: {
  readonly tool: string;
  readonly server: string | null;
  readonly callId: string;
}): SpanFacts {
  return {
    name: `execute_tool ${call.tool}`,
    kind: "internal",
    attributes: {
      [OPERATION]: "execute_tool",
      "gen_ai.tool.name": call.tool,
      "gen_ai.tool.call.id": call.callId,
      "gen_ai.tool.type": "extension",
      "switchyard.tool.server": call.server ?? "toolbox",
    },
  };
}

/** The AI SDK names providers `openai.chat`, `anthropic.messages`, `google.generative-ai`. */
function providerName(provider: string): string {
  const [name = provider] = provider.split(".");
  return name === "google" ? "gcp.gemini" : name;
}
