import { APICallError } from "@ai-sdk/provider";
import { StreamProviderError } from "ai";
import { cutText } from "@switchyard/contracts/cut-text";
import { RuntimeFailure } from "../runtime/runtime-failure.ts";
import { TemplateError } from "@switchyard/contracts/pointer-template";

/** A model call that gave no answer, and whether the same call may be made again. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly code: "model_error" | "plan_error" | "replay_mismatch";
  readonly isRetryable: boolean;
  /** What the provider asked to wait, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    facts: { code?: ModelFailure["code"]; isRetryable: boolean; retryAfterMs?: number | null },
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = facts.code ?? "model_error";
    this.isRetryable = facts.isRetryable;
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }
}

const MAX_MESSAGE = 1_000;

/**
 * What an error of the AI SDK means for the run. HTTP errors say themselves whether they may be
 * repeated; an error in mid-stream is a broken connection unless it says otherwise. The provider's
 * text is kept, its request and response are not: they hold the prompt.
 */
export function modelFailureOf(error: unknown, now: number): ModelFailure {
  if (error instanceof ModelFailure) return error;
  if (error instanceof RuntimeFailure)
    return new ModelFailure(error.message, { isRetryable: error.isRetryable });
  if (error instanceof TemplateError) {
    return new ModelFailure(error.message, { code: "plan_error", isRetryable: false });
  }
  if (APICallError.isInstance(error)) {
    const status = error.statusCode === undefined ? "no answer" : `HTTP ${error.statusCode}`;
    // A good status with a body that cannot be read is a connection that broke.
    const isBroken = error.statusCode !== undefined && error.statusCode < 300;
    return new ModelFailure(`the provider failed (${status}): ${shortMessage(error)}`, {
      isRetryable: error.isRetryable || isBroken,
      retryAfterMs: retryAfterOf(error.responseHeaders ?? {}, now),
    });
  }
  return new ModelFailure(`the provider's answer broke off: ${shortMessage(error)}`, {
    isRetryable: isOfUnknownStatus(error) || (readRetryable(error) ?? true),
  });
}

/**
 * How long to wait before attempt `attempt` + 1, in milliseconds; null when there is no further one.
 * `random` is in [0, 1).
 */
export function retryDelay(failure: ModelFailure, attempt: number, random: number): number | null {
  if (!failure.isRetryable || attempt > MAX_RETRIES) return null;
  const backoff = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), MAX_DELAY_MS);
  const jittered = backoff * (0.75 + random / 2);
  // A provider that wants a long pause is asked again after it; asking earlier makes it worse.
  return Math.round(Math.min(Math.max(jittered, failure.retryAfterMs ?? 0), MAX_DELAY_MS));
}

export const MAX_RETRIES = 3;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 60_000;

/** `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110, 10.2.3). */
function retryAfterOf(headers: Record<string, string>, now: number): number | null {
  const milliseconds = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (milliseconds >= 0) return milliseconds;
  const value = headers["retry-after"];
  if (value === undefined) return null;
  const seconds = Number(value);
  const delay = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - now;
  return Number.isFinite(delay) && delay >= 0 ? delay : null;
}

/** The SDK takes it for final, but a provider that has begun to answer had taken the question. */
function isOfUnknownStatus(error: unknown): boolean {
  return StreamProviderError.isInstance(error) && error.statusCode === undefined;
}

function readRetryable(error: unknown): boolean | null {
  if (typeof error !== "object" || error === null || !("isRetryable" in error)) return null;
  return typeof error.isRetryable === "boolean" ? error.isRetryable : null;
}

function shortMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return cutText(message, MAX_MESSAGE);
}
