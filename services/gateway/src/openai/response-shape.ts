import type { RunDetail } from "@switchyard/contracts/runs";
import type { RunEnd } from "../agent-runs/run-event.ts";

export interface ResponseFacts {
  readonly id: string;
  readonly runId: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly previousId: string | null;
  readonly isBackground: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  /** Events before this time (milliseconds since 1970) belong to earlier responses of the run. */
  readonly from: number;
}

export type Json = Record<string, unknown>;
export type Status = "queued" | "in_progress" | "completed" | "failed" | "cancelled";

/** Returns a response that is not streamed, from the current state of its run. */
export function responseOf(facts: ResponseFacts, run: RunDetail): Json {
  const { status, output, failure, usage } = run;
  const content = output === null ? [] : [partOf(output)];
  const message = {
    type: "message",
    id: `msg_${facts.id}`,
    role: "assistant",
    status: "completed",
  };
  return shapeOf(facts, {
    status: STATUS[status],
    output: output === null ? [] : [{ ...message, content }],
    error: failure === null || status === "cancelled" ? null : errorOf(failure),
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
}: RunDetail["usage"]): Json {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
