import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  completeModel,
  type CompletionPart,
} from "@switchyard/contracts/agent-runner/model-completion";
import { StoreError } from "@switchyard/service/store-error";
import type { FilePart, ModelMessage, TextPart } from "ai";
import type { z } from "zod";
import type { FinishReason } from "../core/answer-part.ts";
import type { ProviderLimiter, ProviderScope } from "./provider-limiter.ts";
import { callModel } from "./model-call.ts";
import { ModelFailure } from "./model-failure.ts";
import { ModelUnusable, type ModelRegistry } from "./model-registry.ts";

type Request = z.output<typeof completeModel.request>;
type Reply = z.input<typeof completeModel.reply>;

export interface CompletionOptions {
  readonly models: ModelRegistry;
  /** Shared with the runs of all runners. */
  readonly limiter: ProviderLimiter;
  /** The models that a completion may use; the first is the default without a matching hint. */
  readonly choices: () => readonly [string, ...string[]];
  readonly idleTimeoutMs: number;
}

/** Concurrent completions in this runner: they share its provider's limits with the runs. */
const MAX_COMPLETIONS = 8;

const fail = failuresOf(completeModel.errors);

/** Answers the sampling requests of MCP servers, one model call each, without tools and outside of any run. */
export function handleCompletions(service: Service, options: CompletionOptions): void {
  let inWork = 0;
  service.handle(completeModel, async (request, { signal }) => {
    if (inWork >= MAX_COMPLETIONS)
      throw fail.too_many_completions(
        `this runner has ${MAX_COMPLETIONS} completions in work; try again`,
        { limit: MAX_COMPLETIONS },
      );
    inWork += 1;
    try {
      return await completeOnce(options, request, signal);
    } finally {
      inWork -= 1;
    }
  });
}

async function completeOnce(
  { models, limiter, choices, idleTimeoutMs }: CompletionOptions,
  request: Request,
  signal: AbortSignal,
): Promise<Reply> {
  const name = chooseModel(choices(), request.hints);
  let held: { readonly scope: ProviderScope; readonly tokens: number } | null = null;
  let used = 0;
  try {
    held = await permitFor(name, request, { models, limiter });
    const answer = await callModel({
      model: await models.open(name, { plan: null, input: "" }),
      instructions: request.system ?? "",
      messages: request.messages.map(messageOf),
      tools: [],
      temperature: request.temperature,
      limits: { maxOutputTokens: request.maxTokens, stopSequences: request.stopSequences },
      callIdOf: (index) => `call-${index}`,
      idleTimeoutMs,
      signal,
      startsInReasoning: models.factsOf(name).startsInReasoning,
      onDelta: () => undefined,
    });
    used = answer.usage.inputTokens + answer.usage.outputTokens;
    const text = answer.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return {
      model: name,
      text,
      stopReason: stopReasonOf(answer.finishReason),
      usage: answer.usage,
    };
  } catch (error) {
    const data = { reason: error instanceof Error ? error.message : "" };
    if (error instanceof ModelUnusable) throw fail.no_model(noModelText(error, name), data);
    if (error instanceof ModelFailure) {
      if (held !== null && error.retryAfterMs !== null)
        await limiter.pause(held.scope, error.retryAfterMs).catch(ignoreOutage);
      throw fail.model_failed(error.message, data);
    }
    throw error;
  } finally {
    // A failed update of the count, which covers a minute, must not lose the model's answer.
    if (held !== null) await limiter.settle(held.scope, held.tokens, used).catch(ignoreOutage);
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** A server that samples does not wait for the provider's limits: it is rejected with a time to retry. */
async function permitFor(
  name: string,
  { messages, maxTokens }: Request,
  { models, limiter }: Pick<CompletionOptions, "models" | "limiter">,
): Promise<{ readonly scope: ProviderScope; readonly tokens: number } | null> {
  const scope = await models.scopeOf(name);
  if (scope === null) return null;
  const permit = await limiter.take(scope, textLength(messages) / 4 + maxTokens);
  if (permit.granted) return { scope, tokens: permit.tokens };
  throw fail.too_many_completions(
    `the provider of ${name} takes no call for another ${permit.waitMs} ms; try again`,
    { limit: MAX_COMPLETIONS },
  );
}

/** Images and sounds are not counted here: their usage is known only after the call. */
function textLength(messages: Request["messages"]): number {
  const parts = messages.flatMap(({ content }) => content);
  return parts.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 0), 0);
}

function noModelText(error: ModelUnusable, name: string): string {
  return error.code === "plan_missing"
    ? `there is no model to ask: ${name} only plays plans; let "default" or "sampling" of the models file name another one`
    : error.message;
}

function messageOf({ role, content }: Request["messages"][number]): ModelMessage {
  const parts = content.map(partOf);
  if (role === "user") return { role, content: parts };
  return { role, content: parts };
}

function partOf(part: CompletionPart): TextPart | FilePart {
  if (part.type === "text") return part;
  return { type: "file", data: part.data, mediaType: part.mimeType };
}

function stopReasonOf(reason: FinishReason): Reply["stopReason"] {
  if (reason === "stop") return "endTurn";
  return reason === "length" ? "maxTokens" : "other";
}

/**
 * Chooses the model that fits the hints best: the first choice whose name contains the first hint that any choice contains. Hints
 * only select among what the operator offers; without a match, the first choice is taken.
 */
export function chooseModel(
  choices: readonly [string, ...string[]],
  hints: readonly string[],
): string {
  for (const hint of hints) {
    const wanted = hint.trim().toLowerCase();
    const found = choices.find((name) => wanted !== "" && name.toLowerCase().includes(wanted));
    if (found !== undefined) return found;
  }
  return choices[0];
}
