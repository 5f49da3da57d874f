import type { RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { cutOf, type RunEnd } from "../agent-runs/run-event.ts";

export interface ResponseFacts {
  readonly id: string;
  readonly runId: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly previousId: string | null;
  readonly isBackground: boolean;
  /** False: it cannot be read by its id, though its run stays on record. */
  readonly isStored: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** Events before this time (milliseconds since 1970) belong to earlier responses of the run. */
  readonly from: number;
}

export type Json = Record<string, unknown>;
export type Status = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

/** Returns a response that is not streamed, from the current state of its run. */
export function responseOf(facts: ResponseFacts, run: RunDetail): Json {
  const { status, output, failure, usage } = run;
  const cut = cutOf(failure);
  const content = output === null ? [] : [partOf(output)];
  const message = {
    type: "message",
    id: `msg_${facts.id}`,
    role: "assistant",
    status: "completed",
  };
  return shapeOf(facts, {
    status: cut === null ? STATUS[status] : "incomplete",
    output: output === null ? [] : [{ ...message, content }],
    error: failure === null || cut !== null || status === "cancelled" ? null : errorOf(failure),
    incomplete_details: incompleteDetails(cut),
    usage: usageOf(usage),
  });
}

/** Returns a response whose run no runner has claimed yet, or which was refused. */
export function queuedResponse(facts: ResponseFacts, refused: RunEnd | null): Json {
  const failure = refused?.failure ?? null;
  const error = failure === null ? null : errorOf(failure);
  const status = refused === null ? "queued" : "failed";
  return shapeOf(facts, { status, output: [], error, usage: null });
}

/** The reason in the words of the protocol why an answer is not complete. */
export function incompleteDetails(cut: RunEnd["cut"]): Json | null {
  return cut === null ? null : { reason: cut === "length" ? "max_output_tokens" : cut };
}

/** The protocol has few codes, so the gateway's own code is a prefix of the message. */
export function errorOf({
  code,
  message,
}: {
  readonly code: string;
  readonly message: string;
}): Json {
  return { code: "server_error", message: `${code}: ${message}` };
}

const STATUS = {
  queued: "queued",
  rejected: "failed",
  running: "in_progress",
  waiting: "in_progress",
  succeeded: "completed",
  failed: "failed",
  dead: "failed",
  cancelled: "cancelled",
} as const;

export function shapeOf(facts: ResponseFacts, more: Json): Json {
  return {
    id: facts.id,
    object: "response",
    created_at: facts.createdAt,
    model: facts.model,
    background: facts.isBackground,
    previous_response_id: facts.previousId,
    metadata: { ...facts.metadata, run_id: facts.runId },
    incomplete_details: null,
    instructions: null,
    store: facts.isStored,
    parallel_tool_calls: true,
    temperature: null,
    tool_choice: "auto",
    tools: [],
    top_p: null,
    ...more,
  };
}

export function partOf(text: string): Json {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}

export function usageOf({
  inputTokens,
  outputTokens,
  cacheReadTokens = 0,
  reasoningTokens = 0,
}: RunDetail["usage"]): Json {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}
