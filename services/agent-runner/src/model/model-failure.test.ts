import assert from "node:assert/strict";
import { test } from "node:test";
import { APICallError } from "@ai-sdk/provider";
import { StreamProviderError } from "ai";
import { TemplateError } from "@switchyard/contracts/pointer-template";
import {
  MAX_RETRIES,
  ModelFailure,
  modelFailureOf,
  retryDelay,
  refusedFieldIn,
  withoutFields,
} from "./model-failure.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test("retries temporary failures and not permanent ones", () => {
  const cases: [unknown, boolean][] = [
    [apiError(429), true],
    [apiError(503), true],
    [apiError(200), true],
    [apiError(400), false],
    [apiError(401), false],
    [new TypeError("terminated"), true],
    [Object.assign(new Error("bad"), { isRetryable: false }), false],
    [new TemplateError("plan step 1: no"), false],
  ];
  for (const [error, expected] of cases) {
    assert.equal(modelFailureOf(error, NOW).isRetryable, expected, String(error));
  }
});

test("keeps the provider's text and drops request and response", () => {
  const failure = modelFailureOf(apiError(400), NOW);
  assert.equal(failure.message, "the provider failed (HTTP 400): no");
  assert.equal(failure.cause, undefined);
  assert.ok(!JSON.stringify(failure).includes("secret prompt"));
});

test("waits longer each time, never shorter than the provider requests, and gives up", () => {
  const failure = new ModelFailure("busy", { isRetryable: true, retryAfterMs: 1_500 });
  assert.equal(retryDelay(failure, 1, 0), 1_500);
  assert.equal(retryDelay(failure, 3, 0.5), 2_000);
  assert.equal(retryDelay(failure, MAX_RETRIES + 1, 0), null);
  assert.equal(retryDelay(new ModelFailure("no", { isRetryable: false }), 1, 0), null);
  const patient = new ModelFailure("busy", { isRetryable: true, retryAfterMs: 3_600_000 });
  assert.equal(retryDelay(patient, 1, 0), 60_000);
});

test("distinguishes failures that a wait ends from those that need another request or another model", () => {
  const cases: [unknown, Partial<ModelFailure>][] = [
    [apiError(529), { isOutage: true, isRetryable: true }],
    [apiError(429, { "retry-after": "9" }), { isOutage: true, retryAfterMs: 9_000 }],
    [apiError(200), { isOutage: false, isRetryable: true }],
    [streamError({ type: "overloaded_error", message: "busy" }), { isOutage: true }],
    [streamError({ message: "no more memory" }), { isOutage: false, isRetryable: true }],
    [
      apiError(429, {}, { error: { code: "insufficient_quota", message: "pay" } }),
      { code: "quota_exceeded", isRetryable: false, isOutage: false },
    ],
    [
      apiError(400, {}, { error: { message: "prompt is too long: 9000 tokens > 8000 maximum" } }),
      { code: "context_too_long", windowTokens: 8_000, isRetryable: false },
    ],
    [
      streamError({ code: "context_length_exceeded", message: "too long" }),
      { code: "context_too_long", isRetryable: false },
    ],
    [
      apiError(400, {}, { error: { message: "Missing `reasoning_content` field in message 1" } }),
      { reasoningField: "always" },
    ],
    [
      apiError(422, {}, { detail: [{ type: "extra_forbidden", loc: ["reasoning_content"] }] }),
      { reasoningField: "never" },
    ],
    [unreachable("getaddrinfo ENOTFOUND api.example"), { isRetryable: false, isOutage: false }],
    [unreachable("connect ECONNREFUSED 127.0.0.1:1"), { isRetryable: true, isOutage: true }],
  ];
  for (const [error, expected] of cases) {
    const facts: object = Object.assign({}, modelFailureOf(error, NOW));
    assert.partialDeepStrictEqual(facts, expected, String(error));
  }
});

test("shows a provider's message in a form that the SDK does not parse", () => {
  const failure = modelFailureOf(apiError(400, {}, { detail: "model not found" }), NOW);
  assert.match(failure.message, /HTTP 400.*model not found/);
});

function streamError(data: { message: string; type?: string; code?: string }): StreamProviderError {
  return new StreamProviderError({ ...data, data });
}

function unreachable(message: string): APICallError {
  return new APICallError({ message, url: "http://x/", requestBodyValues: {}, isRetryable: true });
}

function apiError(
  statusCode: number,
  responseHeaders: Record<string, string> = {},
  body?: unknown,
): APICallError {
  return new APICallError({
    message: "no",
    url: "http://127.0.0.1/",
    requestBodyValues: { prompt: "secret prompt" },
    responseBody: body === undefined ? "secret prompt" : JSON.stringify(body),
    statusCode,
    responseHeaders,
  });
}

test("recognizes the optional field that a provider refuses", () => {
  const refused = (text: string, status = 400, body = "") => refusedFieldIn({ status, text }, body);
  const mistral = '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}';
  assert.equal(refused("Unprocessable", 422, mistral), "stream_options");
  const renamed =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  assert.equal(refused(renamed), "max_tokens");
  const only = "Unsupported value: 'temperature' does not support 0.2 with this model.";
  assert.equal(refused(only), "temperature");
  assert.equal(refused("`temperature` and `top_p` cannot both be specified"), "top_p");
  assert.equal(refused("temperature must be at most 2"), null);
  assert.equal(refused("Unsupported parameter: 'tools'"), null);
  assert.equal(refused(only, 500), null);
});

test("leaves the fields out and keeps the limit of output tokens under its newer name", () => {
  const json = '{"model":"m","max_tokens":9,"temperature":1}';
  assert.equal(withoutFields(json, []), json);
  assert.deepEqual(JSON.parse(withoutFields(json, ["max_tokens", "temperature"])), {
    model: "m",
    max_completion_tokens: 9,
  });
});
