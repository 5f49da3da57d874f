import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import { completeModel, type CompletionPart } from "@switchyard/contracts/model-completion";
import type { FilePart, ModelMessage, TextPart } from "ai";
import type { z } from "zod";
import type { FinishReason } from "../journal/journal-entry.ts";
import { callModel } from "./model-call.ts";
import { chooseModel } from "./choose-model.ts";
import { ModelFailure } from "./model-failure.ts";
import { ModelUnusable, type ModelRegistry } from "./model-registry.ts";

type Request = z.output<typeof completeModel.request>;
type Reply = z.input<typeof completeModel.reply>;

export interface CompletionOptions {
  readonly models: ModelRegistry;
  /** The models that a completion may take; the first is for who wishes none of them. */
  readonly choices: readonly [string, ...string[]];
  readonly idleTimeoutMs: number;
}

/** Completions in work at a time in this runner: they share its provider's limits with the runs. */
const MAX_COMPLETIONS = 8;

const fail = failuresOf(completeModel.errors);

/** Answers what MCP servers sample, one model call each, without tools and outside of any run. */
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
  { models, choices, idleTimeoutMs }: CompletionOptions,
  request: Request,
  signal: AbortSignal,
): Promise<Reply> {
  const name = chooseModel(choices, request.hints);
  try {
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
      onDelta: () => undefined,
    });
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
    if (error instanceof ModelFailure) throw fail.model_failed(error.message, data);
    throw error;
  }
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
