import { cutText } from "@switchyard/contracts/cut-text";
import type { Context } from "hono";
import { z } from "zod";
import { sessionKeyOf } from "../agent-runs/start-run.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import type { Body } from "../routes/read-body.ts";
import { ChatMessage, inputOf } from "./conversation.ts";
import {
  Effort,
  labelsOf,
  only,
  readOptions,
  refused,
  samplingOf,
  sharedOptions,
  type RunSettings,
} from "./options.ts";
import { outputSchemaOf } from "./output-format.ts";

const Penalty = z.number().min(-2).max(2).nullish();
const MaxTokens = z.int().min(1).max(1_000_000).nullish();
const Stop = z.string().min(1).max(256);

/** https://platform.openai.com/docs/api-reference/chat/create */
export const ChatRequest = z.strictObject({
  ...sharedOptions,
  messages: z.array(ChatMessage).min(1).max(10_000),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      include_obfuscation: only([false], "chunks are not padded: leave it out"),
    })
    .nullish(),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({ schema: z.record(z.string(), z.unknown()).optional() })
        .optional(),
    })
    .nullish(),
  max_tokens: MaxTokens,
  max_completion_tokens: MaxTokens,
  stop: z.union([Stop, z.array(Stop).max(4)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: Penalty,
  frequency_penalty: Penalty,
  reasoning_effort: Effort,
  n: only([1], "there is one answer: leave it out"),
  logprobs: only([false], "answers have no logprobs: leave it out"),
  logit_bias: refused("tokens cannot be biased: leave it out"),
  store: only([false], "chat completions are not stored: leave it out, or use /v1/responses"),
  functions: refused("an agent has its own tools: leave it out"),
  function_call: only(["auto"], "an agent has its own tools: leave it out"),
  modalities: z.array(z.literal("text", { error: "answers are text" })).nullish(),
  audio: refused("answers are text: leave it out"),
  prediction: refused("agents do not take predicted outputs: leave it out"),
  verbosity: only(["medium"], "an agent's answers are as long as its prompt says: leave it out"),
  web_search_options: refused("an agent has its own tools: leave it out"),
});
type ChatRequest = z.output<typeof ChatRequest>;

/** Returns the run of a request. Throws a Problem (400) that names the field which is not accepted. */
export function readChat(c: Context<GatewayEnv>, body: Body) {
  const request = readOptions(ChatRequest, body);
  const session = sessionOf(request);
  const chat = c.req.header("x-openwebui-chat-id");
  return {
    model: request.model,
    pieces: inputOf(request.messages, session !== undefined),
    session,
    output: formOf(request),
    settings: settingsOf(request),
    labels: { ...labelsOf(request), ...(chat && { "openwebui-chat": cutText(chat, 256) }) },
    isStream: request.stream === true,
    withUsage: request.stream_options?.include_usage === true,
  };
}

function formOf({ response_format: format }: ChatRequest) {
  return outputSchemaOf(format && { type: format.type, schema: format.json_schema?.schema }, {
    at: "response_format",
    schemaAt: "response_format.json_schema.schema",
  });
}

function settingsOf(request: ChatRequest): RunSettings {
  const { stop, reasoning_effort: effort } = request;
  const sampling = samplingOf({
    temperature: request.temperature,
    topP: request.top_p,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    seed: request.seed,
    stopSequences: typeof stop === "string" ? [stop] : stop,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
  });
  return { sampling, thinking: effort ?? undefined };
}

/**
 * Returns the session for a conversation that its client names. `user` alone names no conversation: clients send it with all of
 * them, and the whole history. Nor does the id of a chat that Open WebUI sends: it sends the whole history, too, and under the
 * same id titles, regenerated answers and edited messages, which would stay in the session's history.
 */
function sessionOf({ metadata, user }: ChatRequest): string | undefined {
  const named = metadata?.["session"];
  if (typeof named !== "string" || named === "") return undefined;
  return sessionKeyOf("openai", `${user ?? ""}\n${named}`);
}
