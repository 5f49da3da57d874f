import assert from "node:assert/strict";
import type { StartRun } from "@switchyard/contracts/agent-runner/runs";
import type { ScriptedAnswer } from "../scripted-answer.ts";
import { filteredPrompt } from "./azure.ts";
import { FAMILIES, FAMILY_NAMES, type FamilyName } from "./families.ts";
import type { Row, RowAnswer } from "./family-server.ts";
import { midStreamError, openRouterError } from "./openrouter.ts";

/** A run through all services: the model, its answers, and the outcome. */
export interface ConformanceRow {
  readonly what: string;
  readonly family: FamilyName;
  /** The family of the model that is called when the first cannot answer. */
  readonly fallback?: FamilyName;
  /** Missing: the family's usual one. */
  readonly model?: string;
  /** The answers to the requests that the providers accept; the run makes exactly so many. */
  readonly answers: readonly RowAnswer[];
  /** The run's answer, or the code that it fails with and a part of the message. */
  readonly ends: { readonly output: string } | { readonly code: string; readonly says?: RegExp };
  /** Members of the command beside agent and input. */
  readonly command?: Pick<StartRun, "thinking" | "sampling">;
  readonly input?: string;
  /** The input has an image. */
  readonly hasImage?: boolean;
  /** Refusals that the runner learns from, beside those of the family. */
  readonly lessons?: readonly RegExp[];
  readonly check?: (seen: Pick<Row, "accepted">, run: { readonly usage: unknown }) => void;
}

/** Providers that refuse requests without the time of the next one. */
const WITHOUT_HINT: ReadonlySet<FamilyName> = new Set(["mistral", "deepseek", "ollama", "vllm"]);

const OK = { text: ["4", "2"] };
const FORTY_TWO = { output: "42" };
const SECRET = "secret thought";

function callOf(
  family: FamilyName,
  index = 0,
  file = "a.txt",
): NonNullable<ScriptedAnswer["calls"]>[number] {
  const args = JSON.stringify({ path: file });
  return { id: FAMILIES[family].callId(index, "read_file"), name: "read_file", args };
}

/** An answer with a call, and with reasoning where the family has any. */
function calling(family: FamilyName): ScriptedAnswer {
  const calls = [callOf(family)];
  return FAMILIES[family].reasons ? { reasoning: SECRET, calls } : { calls };
}

const lastBody = ({ accepted }: Pick<Row, "accepted">): string =>
  JSON.stringify(accepted.at(-1)?.body);

/** Anthropic's models think when the request contains a level. */
const thinkingOf = (family: FamilyName) =>
  family === "anthropic" ? { command: { thinking: "low" as const } } : {};

/** The rows that every family has, as far as its API has the case. */
function commonRows(family: FamilyName): ConformanceRow[] {
  const { quota, tooLong, sees, reasons, busy } = FAMILIES[family];
  const rows: ConformanceRow[] = [
    {
      what: "an answer in pieces, with its tokens and the cached ones",
      family,
      answers: [{ ...OK, cached: 40 }],
      ends: FORTY_TWO,
      check: (_seen, { usage }) =>
        assert.deepEqual(usage, { inputTokens: 100, outputTokens: 20, cacheReadTokens: 40 }),
    },
    {
      what: "two calls side by side, whose arguments come in pieces",
      family,
      answers: [{ text: ["I read. "], calls: [callOf(family), callOf(family, 1, "b.txt")] }, OK],
      ends: FORTY_TWO,
      check: (seen) => assert.match(lastBody(seen), /ALPHA.*BETA/),
    },
    {
      what: "an empty answer after a call",
      family,
      answers: [calling(family), {}, OK],
      ends: FORTY_TWO,
      ...thinkingOf(family),
      check: (seen) => assert.match(lastBody(seen), /ALPHA.*Your last answer was empty/),
    },
    {
      what: "no capacity for a second",
      family,
      answers: [() => busy(1), OK],
      ends: FORTY_TWO,
      check: ({ accepted: [first, second] }) => {
        const waitedMs = (second?.at ?? 0) - (first?.at ?? 0);
        if (!WITHOUT_HINT.has(family)) assert.ok(waitedMs >= 950, `it waited ${waitedMs} ms`);
      },
    },
    {
      what: "an image in the input",
      family,
      answers: [OK],
      ends: FORTY_TWO,
      hasImage: true,
      check: (seen) =>
        sees
          ? assert.match(lastBody(seen), /iVBORw0KGgo/)
          : assert.match(lastBody(seen), /this model does not accept image\/png/),
    },
  ];
  if (reasons)
    rows.push({
      what: "its reasoning is sent back or left out, as the provider has it",
      family,
      answers: [calling(family), { calls: [callOf(family, 1, "b.txt")] }, OK],
      ends: FORTY_TWO,
      ...thinkingOf(family),
    });
  if (quota !== null)
    rows.push({
      what: "an account without credit",
      family,
      answers: [quota],
      ends: { code: "quota_exceeded" },
    });
  if (tooLong !== null)
    rows.push({
      what: "a conversation that is larger than the window",
      family,
      input: "x".repeat(6_000),
      answers: [
        { calls: [callOf(family)] },
        { calls: [callOf(family, 1)] },
        tooLong,
        { text: ["a summary"] },
        OK,
      ],
      ends: FORTY_TWO,
    });
  return rows;
}

/** A run that changes its provider between a call and its result. */
function fallbackRow(
  family: FamilyName,
  fallback: FamilyName,
  calls?: ScriptedAnswer["calls"],
): ConformanceRow {
  const { quota, busy } = FAMILIES[family];
  const away: RowAnswer[] = quota === null ? Array.from({ length: 4 }, () => busy(0)) : [quota];
  return {
    what: `a fallback to ${fallback} between a call and its result${calls === undefined ? "" : ", with a foreign id"}`,
    family,
    fallback,
    answers: [{ ...calling(family), ...(calls && { calls }) }, ...away, OK],
    ends: FORTY_TWO,
    ...thinkingOf(family),
    check: (seen) => {
      assert.equal(seen.accepted.at(-1)?.family, fallback);
      assert.match(lastBody(seen), /ALPHA/);
      assert.doesNotMatch(
        lastBody(seen),
        new RegExp(SECRET),
        "reasoning is for its provider alone",
      );
    },
  };
}

function fallbackRows(): ConformanceRow[] {
  const long = { ...callOf("openai-chat"), id: `call_${"x".repeat(90)}` };
  return FAMILY_NAMES.flatMap((family, index) => {
    const next = FAMILY_NAMES[(index + 1) % FAMILY_NAMES.length] ?? family;
    const fromKimi =
      family === "kimi" || next === "kimi" ? [] : [fallbackRow("kimi", family, [long])];
    return [fallbackRow(family, next), fallbackRow(next, family), ...fromKimi];
  });
}

/** Answers that are none: the runner repeats the request once with a hint. */
const UNUSABLE: readonly { family: FamilyName; bad: RowAnswer; code: string }[] = [
  { family: "openai-chat", bad: { text: [""] }, code: "empty_answer" },
  { family: "anthropic", bad: {}, code: "empty_answer" },
  { family: "kimi", bad: { reasoning: "hm" }, code: "reasoning_only" },
  { family: "responses", bad: { reasoning: "hm" }, code: "reasoning_only" },
  { family: "gemini", bad: { reasoning: "hm" }, code: "reasoning_only" },
  { family: "openai-chat", bad: { finish: "tool_calls" }, code: "missing_calls" },
  { family: "vllm", bad: { finish: "tool_calls" }, code: "missing_calls" },
  { family: "anthropic", bad: { finish: "tool_use" }, code: "missing_calls" },
  {
    family: "openai-chat",
    bad: { calls: [{ ...callOf("openai-chat"), name: "" }] },
    code: "malformed_call",
  },
  { family: "gemini", bad: { finish: "MALFORMED_FUNCTION_CALL" }, code: "malformed_call" },
  {
    family: "openai-chat",
    bad: { text: ["par"], finish: "content_filter" },
    code: "content_filter",
  },
  { family: "azure", bad: { text: ["par"], finish: "content_filter" }, code: "content_filter" },
  { family: "anthropic", bad: { finish: "refusal" }, code: "content_filter" },
  { family: "gemini", bad: { finish: "SAFETY" }, code: "content_filter" },
  {
    family: "gemini",
    // https://ai.google.dev/api/generate-content#PromptFeedback: a blocked prompt has no candidates.
    bad: {
      raw: [{ promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, modelVersion: "served" }],
    },
    code: "content_filter",
  },
];

function unusableRows(): ConformanceRow[] {
  return UNUSABLE.flatMap(({ family, bad, code }) => [
    { what: `${code} once`, family, answers: [bad, OK], ends: FORTY_TWO },
    { what: `${code} twice`, family, answers: [bad, bad], ends: { code } },
  ]);
}

const SAID = "Here is the full answer: 42.";

/** Cases of one family each. */
function ownRows(): ConformanceRow[] {
  const { gemini, azure } = FAMILIES;
  const sampling = { maxOutputTokens: 500, temperature: 0.2 };
  return [
    {
      what: "an empty answer after the whole answer beside the last call",
      family: "openai-chat",
      answers: [{ text: [SAID], calls: [callOf("openai-chat")] }, {}, {}],
      ends: { output: SAID },
    },
    {
      what: "two empty answers before a fallback that has one",
      family: "kimi",
      fallback: "anthropic",
      answers: [{}, {}, OK],
      ends: FORTY_TWO,
    },
    {
      what: "a login page in place of a stream",
      family: "openai-chat",
      answers: [{ contentType: "text/html", page: "<!doctype html><title>Sign in</title>" }],
      ends: { code: "provider_misconfigured" },
    },
    {
      what: "JSON in place of a stream",
      family: "anthropic",
      answers: [{ contentType: "application/json", page: '{"id":"msg_1","content":[]}' }],
      ends: { code: "provider_misconfigured" },
    },
    {
      what: "a message that is larger than the window",
      family: "gemini",
      answers: [gemini.tooLong ?? assert.fail(), gemini.tooLong ?? assert.fail()],
      ends: { code: "context_too_long" },
    },
    ...(["openai-chat", "azure"] as const).map((family) => ({
      what: "a reasoning model that refuses max_tokens and a temperature",
      family,
      model: "gpt-5-mini",
      command: { sampling },
      answers: [OK],
      ends: FORTY_TWO,
      lessons: [/'max_tokens' is not supported/, /'temperature' does not support/],
      check: ({ accepted }: Pick<Row, "accepted">) =>
        assert.equal(accepted[0]?.body["max_completion_tokens"], 500),
    })),
    {
      what: "a prompt that the content filter refuses",
      family: "azure",
      answers: [filteredPrompt],
      ends: { code: "content_filter" },
    },
    {
      what: "a prompt that the content filter refuses, with a fallback",
      family: "azure",
      fallback: "mistral",
      answers: [filteredPrompt, OK],
      ends: FORTY_TWO,
    },
    {
      what: "a flagged prompt",
      family: "openrouter",
      answers: [
        openRouterError(403, "Input was flagged: z-ai requires moderation on this model", {
          reasons: ["violence"],
        }),
      ],
      ends: { code: "content_filter" },
    },
    {
      what: "an error of the provider behind it in mid-stream",
      family: "openrouter",
      answers: [{ raw: [": OPENROUTER PROCESSING", midStreamError] }, OK],
      ends: FORTY_TWO,
    },
    {
      what: "an error of the provider behind it with a success status",
      family: "openrouter",
      answers: [
        {
          contentType: "application/json",
          page: JSON.stringify(openRouterError(502, "Provider returned error").body),
        },
        OK,
      ],
      ends: FORTY_TWO,
    },
    {
      what: "overload in mid-stream",
      family: "anthropic",
      // https://docs.claude.com/en/docs/build-with-claude/streaming#error-events
      answers: [
        {
          raw: [
            { type: "ping" },
            { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
          ],
        },
        OK,
      ],
      ends: FORTY_TWO,
    },
    {
      what: "a response that fails in mid-stream",
      family: "responses",
      // https://platform.openai.com/docs/api-reference/responses-streaming/response/failed
      answers: [{ raw: [responseEvent("response.created"), responseEvent("response.failed")] }, OK],
      ends: FORTY_TWO,
    },
    {
      what: "a server without a parser of calls",
      family: "vllm",
      model: "no-parser",
      answers: [],
      ends: { code: "model_error", says: /--enable-auto-tool-choice and --tool-call-parser/ },
      lessons: [/--enable-auto-tool-choice/],
    },
    {
      what: "a chat template that requires alternating roles",
      family: "vllm",
      model: "alternating",
      answers: [calling("vllm"), {}, OK],
      ends: FORTY_TWO,
    },
    {
      what: "a deployment that does not exist",
      family: "azure",
      model: "gpt-4.1",
      answers: [
        azure.refusal({ path: "/", query: new URLSearchParams(), headers: {}, body: {} }) ??
          assert.fail(),
      ],
      ends: { code: "model_error", says: /Resource not found/ },
    },
  ];
}

function responseEvent(type: string): Readonly<Record<string, unknown>> {
  const error =
    type === "response.failed" ? { code: "server_error", message: "The model failed" } : null;
  const status = error === null ? "in_progress" : "failed";
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "gpt-5",
    status,
    error,
    output: [],
    usage: null,
    incomplete_details: null,
  };
  return { type, sequence_number: error === null ? 0 : 1, response };
}

/** Every row of the table, the families' own cases last. */
export const CONFORMANCE_ROWS: readonly ConformanceRow[] = [
  ...FAMILY_NAMES.flatMap(commonRows),
  ...fallbackRows(),
  ...unusableRows(),
  ...ownRows(),
];
