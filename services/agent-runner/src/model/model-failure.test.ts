import { APICallError } from "@ai-sdk/provider";
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_RETRIES, ModelFailure, modelFailureOf, retryDelay } from "./model-failure.ts";
import { TemplateError } from "@switchyard/contracts/pointer-template";

const NOW = Date.parse("2026-01-01T00:00:00Z");

test("reads how long a provider wants to be left alone", () => {
  const cases: [Record<string, string>, number | null][] = [
    [{}, null],
    [{ "retry-after-ms": "120" }, 120],
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, 10_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, null],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "-1" }, null],
  ];
  for (const [responseHeaders, expected] of cases) {
    const failure = modelFailureOf(apiError(429, responseHeaders), NOW);
    assert.equal(failure.retryAfterMs, expected, JSON.stringify(responseHeaders));
  }
});

test("repeats what may pass and not what will stay", () => {
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

test("waits longer each time, never shorter than asked, and gives up", () => {
  const failure = new ModelFailure("busy", { isRetryable: true, retryAfterMs: 1_500 });
  assert.equal(retryDelay(failure, 1, 0), 1_500);
  assert.equal(retryDelay(failure, 3, 0.5), 2_000);
  assert.equal(retryDelay(failure, MAX_RETRIES + 1, 0), null);
  assert.equal(retryDelay(new ModelFailure("no", { isRetryable: false }), 1, 0), null);
  const patient = new ModelFailure("busy", { isRetryable: true, retryAfterMs: 3_600_000 });
  assert.equal(retryDelay(patient, 1, 0), 60_000);
});

function apiError(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({
    message: "no",
    url: "http://127.0.0.1/",
    requestBodyValues: { prompt: "secret prompt" },
    responseBody: "secret prompt",
    statusCode,
    responseHeaders,
  });
}
