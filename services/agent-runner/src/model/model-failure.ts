import { backoffMs } from "@switchyard/contracts/backoff";
import {
  APICallError,
  InvalidResponseDataError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { StreamProviderError } from "ai";
import { cutText } from "@switchyard/contracts/cut-text";
import { TemplateError } from "@switchyard/contracts/pointer-template";
import { RuntimeFailure } from "../runtime/runtime-host.ts";
import type { UnusableCode } from "../core/unusable-answer.ts";
import {
  isContextTooLong,
  isFilteredPrompt,
  isQuotaUsedUp,
  saidIn,
  windowIn,
} from "./provider-errors.ts";
import { retryAfterOf } from "./retry-after.ts";

type FailureCode =
  | "model_error"
  | "plan_error"
  | "replay_mismatch"
  | "quota_exceeded"
  | "context_too_long"
  | "provider_misconfigured"
  | UnusableCode;

interface FailureFacts {
  readonly code?: FailureCode;
  /** The same call may be made again. */
  readonly isRetryable: boolean;
  /** The provider is unavailable or overloaded and began no answer, so waiting for it costs nothing. */
  readonly isOutage?: boolean;
  /** The pause that the provider requested, in milliseconds. */
  readonly retryAfterMs?: number | null;
  /** Size of the model's window in tokens, as its refusal states it. */
  readonly windowTokens?: number | null;
  /** Set when the refusal is about the reasoning of earlier answers. */
  readonly reasoningField?: "always" | "never" | null;
  /** True when the refusal is about the form of the answer. */
  readonly isAboutForm?: boolean;
  /** The optional field of the request that the provider refuses. */
  readonly refusedField?: string | null;
  /** True when the refusal is about the order of the messages' roles. */
  readonly isAboutRoles?: boolean;
  /** True when the refusal is about a file of the request. */
  readonly refusesFiles?: boolean;
}

/** A model call that returned no usable answer; the fields state whether a retry may help. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly code: FailureCode;
  readonly isRetryable: boolean;
  readonly isOutage: boolean;
  readonly retryAfterMs: number | null;
  readonly windowTokens: number | null;
  readonly reasoningField: "always" | "never" | null;
  readonly isAboutForm: boolean;
  readonly refusedField: string | null;
  readonly isAboutRoles: boolean;
  readonly refusesFiles: boolean;

  constructor(message: string, facts: FailureFacts, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = facts.code ?? "model_error";
    this.isRetryable = facts.isRetryable;
    this.isOutage = facts.isOutage ?? false;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.windowTokens = facts.windowTokens ?? null;
    this.reasoningField = facts.reasoningField ?? null;
    this.isAboutForm = facts.isAboutForm ?? false;
    this.refusedField = facts.refusedField ?? null;
    this.isAboutRoles = facts.isAboutRoles ?? false;
    this.refusesFiles = facts.refusesFiles ?? false;
  }
}

const MAX_MESSAGE = 1_000;

/**
 * Converts an error of the AI SDK to the failure that the run handles. HTTP errors state themselves whether they may be retried;
 * an error in mid-stream is a broken connection unless it states otherwise. The provider's text is kept, its request and response
 * are not: they contain the prompt.
 */
export function modelFailureOf(error: unknown, now: number): ModelFailure {
  if (error instanceof ModelFailure) return error;
  // The SDK wraps the rejection of our own `fetch`.
  if (error instanceof Error && error.cause instanceof ModelFailure) return error.cause;
  if (error instanceof RuntimeFailure)
    return new ModelFailure(error.message, { isRetryable: error.isRetryable });
  if (error instanceof TemplateError) {
    return new ModelFailure(error.message, { code: "plan_error", isRetryable: false });
  }
  if (APICallError.isInstance(error)) return failureOfRequest(error, now);
  // The SDK has no form for a file at this provider.
  if (UnsupportedFunctionalityError.isInstance(error)) {
    const message = `the request cannot be sent to this provider: ${shortMessage(error)}`;
    return new ModelFailure(message, { isRetryable: false, refusesFiles: true });
  }
  // A tool call without a name or an id.
  if (InvalidResponseDataError.isInstance(error)) {
    const message = `the provider's answer cannot be read: ${shortMessage(error)}`;
    return new ModelFailure(message, { code: "malformed_call", isRetryable: false });
  }
  return failureOfStream(error, now);
}

/** A request that the provider refused, or that did not reach it. */
function failureOfRequest(error: APICallError, now: number): ModelFailure {
  const { statusCode: status, responseHeaders: headers = {}, responseBody = "" } = error;
  const said = status === undefined ? "no answer" : `HTTP ${status}`;
  const body = jsonIn(responseBody);
  const text = textOfRefusal(error, body);
  const message = `the provider failed (${said}): ${text}`;
  const refusal = { status, body, text };
  const final = finalFailure(message, refusal);
  if (final !== null) return final;
  // A good status with a body that cannot be read is a connection that broke.
  const isBroken = status !== undefined && status < 300;
  const isUnknownHost = status === undefined && /ENOTFOUND|CERT|Invalid URL/i.test(text);
  return new ModelFailure(message, {
    isRetryable: (error.isRetryable && !isUnknownHost) || isBroken,
    isOutage: error.isRetryable && !isBroken && !isUnknownHost,
    retryAfterMs: retryAfterOf({ status, headers, body }, now),
    reasoningField: reasoningFieldIn(refusal, responseBody),
    isAboutForm: isAboutForm(refusal, responseBody),
    refusedField: refusedFieldIn(refusal, responseBody),
    isAboutRoles: isAboutRoles(refusal, responseBody),
    refusesFiles: isAboutFiles(refusal, responseBody),
  });
}

/**
 * OpenAI refuses with "Invalid schema for response_format 'answer'" and "'response_format' of type 'json_schema' is not supported with this model", with
 * \`text.format\` as the parameter in Responses, and compatible servers with texts of the same names.
 */
function isAboutForm(
  { status, text }: { readonly status: number | undefined; readonly text: string },
  responseBody: string,
): boolean {
  if (status !== 400 && status !== 422) return false;
  return /response_format|text\.format|json_schema|structured output/i.test(
    `${text} ${responseBody}`,
  );
}

/** Mistral refuses with "Unexpected role 'user' after role 'tool'" (code 3230), chat templates with "roles must alternate user/assistant". */
function isAboutRoles(
  { status, text }: { readonly status: number | undefined; readonly text: string },
  responseBody: string,
): boolean {
  if (status !== 400 && status !== 422) return false;
  return /unexpected role '?\w+'? after role|roles must alternate/i.test(`${text} ${responseBody}`);
}

/**
 * DeepSeek refuses with "Missing `reasoning_content` field in the assistant message …", Kimi with "… reasoning_content is missing in assistant tool
 * call message …", Mistral with `extra_forbidden` and Groq with "property 'reasoning_content' is unsupported".
 */
function reasoningFieldIn(
  { status, text }: { readonly status: number | undefined; readonly text: string },
  responseBody: string,
): "always" | "never" | null {
  if (status !== 400 && status !== 422) return null;
  const said = `${text} ${responseBody}`;
  if (!said.includes("reasoning_content")) return null;
  return /missing|must|require|passed back/i.test(said) ? "always" : "never";
}

/**
 * OpenRouter refuses with "No endpoints found that support image input" (404), vLLM with "… is not a multimodal model", DeepSeek with "unknown
 * variant `image_url`", Ollama with "this model is missing data required for image input", Anthropic with "Could not process image".
 */
function isAboutFiles(
  { status, text }: { readonly status: number | undefined; readonly text: string },
  responseBody: string,
): boolean {
  if (status === undefined || ![400, 404, 415, 422, 500].includes(status)) return false;
  return /\b(?:image|audio|pdf|document|file|vision|multi-?modal|modalit(?:y|ies))\b|image_url|input_audio/i.test(
    `${text} ${responseBody}`,
  );
}

/** Converts an error that a provider sent instead of an answer's next part, or a connection that broke. */
function failureOfStream(error: unknown, now: number): ModelFailure {
  const message = `the provider's answer broke off: ${shortMessage(error)}`;
  if (!StreamProviderError.isInstance(error))
    return new ModelFailure(message, { isRetryable: readRetryable(error) ?? true });
  const { statusCode: status, data: body } = error;
  const final = finalFailure(message, { status, body, text: error.message });
  if (final !== null) return final;
  return new ModelFailure(message, {
    // The SDK treats an error without a status as final, but a provider that has begun to answer had accepted the request.
    isRetryable: status === undefined || error.isRetryable,
    isOutage: status === 429 || status === 503 || status === 529 || isOverloaded(error),
    retryAfterMs: retryAfterOf({ status, headers: {}, body }, now),
  });
}

/** `overloaded_error` (Anthropic), `rate_limit_exceeded`, `server_is_overloaded` (OpenAI), `RESOURCE_EXHAUSTED`, `UNAVAILABLE` (Gemini). */
function isOverloaded({ type = "", code = "" }: StreamProviderError): boolean {
  return /overloaded|rate_limit|exhausted|unavailable/i.test(`${type} ${code}`);
}

/** The failure that every repetition of the request would have; null for any other refusal. */
function finalFailure(
  message: string,
  refusal: { readonly status: number | undefined; readonly body: unknown; readonly text: string },
): ModelFailure | null {
  if (isContextTooLong(refusal)) {
    const windowTokens = windowIn(refusal);
    return new ModelFailure(message, {
      code: "context_too_long",
      isRetryable: false,
      windowTokens,
    });
  }
  if (isQuotaUsedUp(refusal))
    return new ModelFailure(message, { code: "quota_exceeded", isRetryable: false });
  if (isFilteredPrompt(refusal))
    return new ModelFailure(message, { code: "content_filter", isRetryable: false });
  return null;
}

/**
 * Returns how long to wait before attempt `attempt` + 1, in milliseconds; null when there is no further one.
 * `random` is in [0, 1).
 */
export function retryDelay(failure: ModelFailure, attempt: number, random: number): number | null {
  if (!failure.isRetryable || attempt > MAX_RETRIES) return null;
  return backoffOf(failure, attempt, random);
}

/** The pause after attempt `attempt`: it doubles up to a minute, and is never shorter than the provider requested, up to a minute. */
export function backoffOf(failure: ModelFailure, attempt: number, random: number): number {
  const jittered = backoffMs(attempt, BACKOFF) * (0.75 + random / 2);
  // The pause that a provider requests is respected: retrying earlier makes it worse.
  return Math.round(Math.min(Math.max(jittered, failure.retryAfterMs ?? 0), BACKOFF.mostMs));
}

export const MAX_RETRIES = 3;
const BACKOFF = { firstMs: 500, mostMs: 60_000 };

/** The SDK replaces a text of an unknown form by the name of the status. */
function textOfRefusal(error: APICallError, body: unknown): string {
  const known = shortMessage(error);
  const said = cutText(saidIn(body), MAX_MESSAGE);
  return said === "" || known.includes(said) ? known : `${known}: ${said}`;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readRetryable(error: unknown): boolean | null {
  if (typeof error !== "object" || error === null || !("isRetryable" in error)) return null;
  return typeof error.isRetryable === "boolean" ? error.isRetryable : null;
}

function shortMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return cutText(message, MAX_MESSAGE);
}

/**
 * Optional fields of a request that some models refuse with 400 or 422. A request without them is answered, too. `top_p` is before `temperature`,
 * because a refusal of both together names both.
 */
const REFUSABLE_FIELDS = [
  "stream_options",
  "max_tokens",
  "prompt_cache_key",
  "top_p",
  "temperature",
] as const;

const REFUSED =
  /unsupported|not support|not permitted|forbidden|unrecognized|unknown|deprecated|cannot both/i;

/**
 * Returns the field that a refusal is about; null when it names none. Mistral refuses `stream_options` as `extra_forbidden`
 * (https://github.com/openai/openai-agents-python/issues/442); OpenAI and Azure refuse `max_tokens` and `temperature` of reasoning models with
 * "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
 * (https://github.com/langgenius/dify/issues/9746).
 */
export function refusedFieldIn(
  { status, text }: { readonly status: number | undefined; readonly text: string },
  responseBody: string,
): string | null {
  if (status !== 400 && status !== 422) return null;
  const said = `${text} ${responseBody}`;
  if (!REFUSED.test(said)) return null;
  return REFUSABLE_FIELDS.find((field) => new RegExp(`\\b${field}\\b`).test(said)) ?? null;
}

/** Returns the JSON of a request without these fields; the limit of output tokens keeps its value under its newer name. */
export function withoutFields(json: string, fields: readonly string[]): string {
  if (fields.length === 0) return json;
  const body = JSON.parse(json) as Record<string, unknown>; // the SDK sends objects
  const { max_tokens: limit } = body;
  for (const field of fields) delete body[field];
  if (limit !== undefined && fields.includes("max_tokens")) body["max_completion_tokens"] = limit;
  return JSON.stringify(body);
}
