import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterOf } from "./retry-after.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const geminiDelay = (retryDelay: string) => ({
  error: {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }],
  },
});

test("reads the pause that a provider requests, in every form that providers use", () => {
  const cases: [Record<string, string>, unknown, number | null][] = [
    [{}, undefined, null],
    [{ "retry-after-ms": "120" }, undefined, 120],
    [{ "retry-after": "3" }, undefined, 3_000],
    [{ "retry-after": "0.5" }, undefined, 500],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, undefined, 10_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, undefined, null],
    [{ "retry-after": "soon" }, undefined, null],
    [{ "retry-after": "-1" }, undefined, null],
    // Gemini: google.rpc.RetryInfo, a Protobuf duration.
    [{}, geminiDelay("9s"), 9_000],
    [{}, [geminiDelay("9.257s")], 9_257],
    [{}, geminiDelay("later"), null],
    // OpenAI and Groq: durations as Go writes them.
    [{ "x-ratelimit-reset-requests": "6m0s" }, undefined, 360_000],
    [{ "x-ratelimit-reset-tokens": "17.6ms" }, undefined, 18],
    [{ "x-ratelimit-reset": "7" }, undefined, 7_000],
    // The limit that is used up counts, else the first that is over.
    [
      {
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-remaining-requests": "9",
        "x-ratelimit-reset-tokens": "20s",
        "x-ratelimit-remaining-tokens": "0",
      },
      undefined,
      20_000,
    ],
    [{ "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "20s" }, undefined, 1_000],
    // Anthropic: RFC 3339.
    [{ "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:30Z" }, undefined, 30_000],
    // OpenRouter: milliseconds since 1970, also in the body; GitHub Models: seconds since 1970.
    [{ "x-ratelimit-reset": String(NOW + 4_000) }, undefined, 4_000],
    [{}, { error: { metadata: { headers: { "X-RateLimit-Reset": String(NOW + 5_000) } } } }, 5_000],
    [{ "x-ratelimit-reset": String(NOW / 1_000 + 6) }, undefined, 6_000],
    // Texts of Kimi, Azure and OpenAI.
    [{}, { error: { message: "reached max RPM: 3, please try again after 2 seconds" } }, 2_000],
    [{}, { error: { message: "Please retry after 1 second." } }, 1_000],
    [{}, { error: { message: "Limit 3. Please try again in 6m0.5s. Visit" } }, 360_500],
    [{}, { error: { message: "please try again later" } }, null],
  ];
  for (const [headers, body, expected] of cases)
    assert.equal(retryAfterOf({ headers, body }, NOW), expected, JSON.stringify([headers, body]));
  const headers = { "x-ratelimit-reset-requests": "6m0s" };
  assert.equal(retryAfterOf({ status: 500, headers, body: undefined }, NOW), null);
  assert.equal(retryAfterOf({ status: 429, headers, body: undefined }, NOW), 360_000);
});
