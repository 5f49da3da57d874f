import type { Context } from "hono";
import { cutText } from "@switchyard/contracts/cut-text";
import { z } from "zod";
import type { FollowParts, RunFollow, RunItem } from "../agent-runs/follow-run.ts";
import type { RunEnd } from "../agent-runs/run-event.ts";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import { cancelRun, startAgentRun, sessionKeyOf } from "../agent-runs/start-run.ts";
import { storeInput } from "../agent-runs/store-input.ts";
import { streamRun, type RunRenderer } from "../agent-runs/stream-run.ts";
import type { EventStream } from "../events/event-stream.ts";
import type { Requester } from "../identity/requester.ts";
import type { GatewayEnv } from "../identity/request-context.ts";
import { Problem } from "../problems/problem.ts";
import type { Body } from "../routes/read-body.ts";
import { problemOfEnd, streamErrorOf } from "./openai-errors.ts";
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

export interface Served {
  readonly parts: FollowParts;
  readonly requester: Requester;
  readonly body: Body;
  /** Releases the caller's slot for a stream. */
  readonly release: () => void;
}

/**
 * `POST /v1/chat/completions`: a run of the agent that `model` names. In this protocol a client can only cancel by closing the
 * connection, so that cancels the run.
 */
export async function serveChat(c: Context<GatewayEnv>, served: Served): Promise<Response> {
  const { parts, requester } = served;
  const request = readChat(c, served.body);
  const { model: agent, pieces, session, output, settings, labels } = request;
  const repeatKey = c.req.header("idempotency-key");
  const input = await storeInput(requester, pieces);
  const run = { agent, input, session, output, settings, labels, repeatKey, via: "openai" };
  const follow = await startAgentRun(parts, requester, run);
  const chat = { id: `chatcmpl-${nameOf(follow.runId)}`, model: agent, created: now() };
  if (request.isStream)
    return streamRun(c.env.outgoing, follow, {
      rendererOf: (stream) =>
        new ChatRenderer(stream, follow.runId, { requester, chat, withUsage: request.withUsage }),
      onEnd: served.release,
    });
  const { signal } = c.req.raw;
  const leave = (): void => {
    follow.stop();
    void cancelRun(requester, follow.runId, LEFT);
  };
  signal.addEventListener("abort", leave, { once: true });
  try {
    const { text, usage, reason } = await answerOf(follow);
    const message = { role: "assistant", content: text, refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: reason }];
    return c.json({ ...chat, object: "chat.completion", choices, usage });
  } finally {
    signal.removeEventListener("abort", leave);
    follow.stop();
    served.release();
  }
}

const LEFT = "the client closed the connection of its chat completion";

interface ChatAnswer {
  readonly text: string;
  readonly usage: ChatUsage | null;
  /** Never `tool_calls`: an agent calls its tools itself. */
  readonly reason: "stop" | NonNullable<RunEnd["cut"]>;
}

/** A run that waits for a person has no answer yet: the text describes the wait, and the run stays. */
async function answerOf(follow: RunFollow): Promise<ChatAnswer> {
  let begun = { step: 0, text: "" };
  for await (const item of follow.items) {
    if (item.kind === "text") {
      const { step, text } = item;
      begun = { step, text: step === begun.step ? begun.text + text : text };
    } else if (item.kind === "text-void") begun = { step: item.step, text: "" };
    if (item.kind === "end") {
      const usage = usageOf(item);
      if (item.cut !== null) return { text: begun.text, usage, reason: item.cut };
      if (item.failure !== null) throw problemOfEnd(follow.runId, item);
      return { text: item.output, usage, reason: "stop" };
    }
    const wait = waitOf(follow.runId, item);
    if (wait !== null) return { text: wait.text, usage: null, reason: "stop" };
  }
  // It reaches no client, and is no fault of the gateway that would be logged.
  throw new Problem({ status: 400, code: "client_closed_request", detail: LEFT });
}

interface ChatFacts {
  readonly requester: Requester;
  readonly chat: { readonly id: string; readonly model: string; readonly created: number };
  readonly withUsage: boolean;
}

class ChatRenderer implements RunRenderer {
  readonly #stream: EventStream;
  readonly #runId: string;
  readonly #with: ChatFacts;
  #step = 0;

  constructor(stream: EventStream, runId: string, more: ChatFacts) {
    this.#stream = stream;
    this.#runId = runId;
    this.#with = more;
    this.#delta({ role: "assistant", content: "" });
  }

  item(item: RunItem): boolean {
    if (item.kind === "end") return this.#end(item);
    if (item.kind === "text") {
      const isNext = this.#step !== 0 && item.step !== this.#step;
      this.#step = item.step;
      this.#delta({ content: `${isNext ? "\n\n" : ""}${item.text}` });
      return false;
    }
    // Text that was sent cannot be revoked: the correct text follows after a blank line.
    if (item.kind === "text-void") this.#delta({ content: "\n\n" });
    else if (item.name === "tool-requested")
      this.#delta({ reasoning_content: `${item.facts.tool} …\n` });
    const wait = waitOf(this.#runId, item);
    if (wait === null) return false;
    this.#delta({ content: `\n\n${wait.text}\n\n` });
    if (wait.endsTurn) this.#finish("stop", null);
    return wait.endsTurn;
  }

  #end(end: RunEnd): boolean {
    if (end.failure !== null && end.cut === null) {
      this.failed(problemOfEnd(this.#runId, end));
      return true;
    }
    this.#finish(end.cut ?? "stop", usageOf(end));
    return true;
  }

  #finish(reason: ChatAnswer["reason"], usage: ChatUsage | null): void {
    this.#chunk({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: reason }] });
    if (this.#with.withUsage && usage !== null) this.#chunk({ choices: [], usage });
    this.#stream.sendText("[DONE]");
  }

  failed(error: unknown): void {
    this.#stream.send({ data: { error: streamErrorOf(error) } });
  }

  left(): void {
    void cancelRun(this.#with.requester, this.#runId, LEFT);
  }

  #delta(delta: Record<string, string>): void {
    this.#chunk({ choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] });
  }

  #chunk(more: Record<string, unknown>): void {
    this.#stream.send({ data: { ...this.#with.chat, object: "chat.completion.chunk", ...more } });
  }
}

/** Returns the text for a person when the run waits for one. A question ends the turn: its answer does not arrive over this stream. */
function waitOf(runId: string, item: RunItem): { text: string; endsTurn: boolean } | null {
  if (item.kind !== "event" || item.name !== "waiting") return null;
  const waits = item.facts.waits.filter(needsPerson);
  if (waits.length === 0) return null;
  const isQuestion = waits.some(({ reason }) => reason === "question");
  const described = waits.map((wait) => describeWait(runId, wait)).join("; ");
  const how = isQuestion ? ` (answer: POST /api/v1/runs/${runId}/answers)` : "";
  return { text: `Run ${runId} ${described}${how}`, endsTurn: isQuestion };
}

interface ChatUsage {
  readonly prompt_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens: number;
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

function usageOf({ usage }: RunEnd): ChatUsage | null {
  if (usage === null) return null;
  const { inputTokens, outputTokens, cacheReadTokens = 0, reasoningTokens = 0 } = usage;
  return {
    prompt_tokens: inputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
    completion_tokens: outputTokens,
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function nameOf(runId: string): string {
  return runId.slice(runId.indexOf("~") + 1);
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

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
function readChat(c: Context<GatewayEnv>, body: Body) {
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
