import assert from "node:assert/strict";
import { test } from "node:test";
import { isContextTooLong, isQuotaUsedUp, windowIn } from "./provider-errors.ts";

const error = (fields: object) => ({ error: fields });

test("recognizes a request that is larger than the window in every provider's form, and reads the window", () => {
  const cases: [number, string, unknown, number | null][] = [
    [
      400,
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      error({ code: "context_length_exceeded" }),
      8_192,
    ],
    [
      400,
      "Your input exceeds the context window of this model.",
      error({ code: "context_length_exceeded" }),
      null,
    ],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", undefined, 200_000],
    [
      400,
      "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease one of them",
      undefined,
      200_000,
    ],
    [413, "Request exceeds the maximum size", error({ type: "request_too_large" }), null],
    [
      400,
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      undefined,
      1_048_576,
    ],
    [
      400,
      "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      { code: "3051" },
      32_768,
    ],
    [400, "Invalid request: Your request exceeded model token limit: 8192", undefined, 8_192],
    [
      400,
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      undefined,
      131_072,
    ],
    [
      400,
      "the request exceeds the available context size",
      error({ type: "exceed_context_size_error", n_ctx: 4_096 }),
      4_096,
    ],
    [400, "the input length exceeds the context length", undefined, null],
    [400, "Input is too long for requested model.", undefined, null],
  ];
  for (const [status, text, body, window] of cases) {
    assert.ok(isContextTooLong({ status, text, body }), text);
    assert.equal(windowIn({ status, text, body }), window, text);
  }
  for (const [status, text] of [
    [400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens"],
    [400, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected at most 40."],
    [429, "Rate limit reached for tokens per min. Limit 6000, requested 7000: request too large"],
    [400, "tools.0.name: String should match pattern"],
  ] as const)
    assert.ok(!isContextTooLong({ status, text, body: undefined }), text);
});

test("distinguishes a used up quota, which no pause changes, from a rate limit", () => {
  const daily = { details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProject" }] }] };
  const minute = { details: [{ violations: [{ quotaId: "GenerateRequestsPerMinute" }] }] };
  const cases: [number, string, unknown, boolean][] = [
    [429, "You exceeded your current quota", error({ code: "insufficient_quota" }), true],
    [429, "quota", error({ type: "exceeded_current_quota_error" }), true],
    [402, "Insufficient Balance", undefined, true],
    [400, "Your credit balance is too low to access the Anthropic API.", undefined, true],
    [429, "quota", error(daily), true],
    [429, "quota", error(minute), false],
    [429, "Rate limit reached", error({ code: "rate_limit_exceeded" }), false],
  ];
  for (const [status, text, body, expected] of cases)
    assert.equal(isQuotaUsedUp({ status, text, body }), expected, text);
});
