/** A provider's refusal: its status, its JSON and its text. */
export interface ProviderError {
  readonly status: number | undefined;
  readonly body: unknown;
  readonly text: string;
}

/**
 * Codes and types of an account without quota or credit: OpenAI and Azure `insufficient_quota` and `billing_hard_limit_reached`, Kimi
 * `exceeded_current_quota_error`, Anthropic `billing_error`; as their error references list them.
 */
const QUOTA_CODES: ReadonlySet<string> = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
  "billing_not_active",
  "billing_error",
  "exceeded_current_quota_error",
  "insufficient_balance",
]);

/**
 * True when money or a daily quota is used up, so that a pause of minutes does not help. 402 is Payment Required at OpenRouter and
 * DeepSeek; Gemini names its quota in `QuotaFailure.violations[].quotaId`, and daily ones end in `PerDay…`; Anthropic returns
 * "Your credit balance is too low".
 */
export function isQuotaUsedUp({ status, body, text }: ProviderError): boolean {
  if (status === 402) return true;
  if (stringsAt(body, ["code", "type"]).some((code) => QUOTA_CODES.has(code))) return true;
  if (stringsAt(body, ["quotaId"]).some((id) => /PerDay/.test(id))) return true;
  return /credit balance is too low|insufficient (balance|credit|funds)/i.test(text);
}

/** Codes of a request whose content the provider refuses: Azure `content_filter`, OpenAI `content_policy_violation`. */
const FILTER_CODES: ReadonlySet<string> = new Set([
  "content_filter",
  "content_policy_violation",
  "ResponsibleAIPolicyViolation",
]);

/** True when the provider's content filter refuses the request itself, so that a repetition does not help. OpenRouter has 403 for it. */
export function isFilteredPrompt({ status, body, text }: ProviderError): boolean {
  if (stringsAt(body, ["code", "type"]).some((code) => FILTER_CODES.has(code))) return true;
  return status === 403 && /requires moderation|was flagged/i.test(text);
}

/** Codes of a request that the model's window does not hold: OpenAI, Azure, Groq, OpenRouter and vLLM have the first, llama.cpp the second. */
const CONTEXT_CODES: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
  "request_too_large",
]);

/**
 * True when the request is larger than the model's window. Most providers have no code for it, so their texts are read: Anthropic "prompt is too long:
 * 210000 tokens > 200000 maximum", Gemini "The input token count (1) exceeds the maximum number of tokens allowed (2)", Mistral "Prompt contains
 * 1 tokens … too large for model with 2 maximum context length", vLLM and DeepSeek "maximum context length is 2 tokens", Kimi "exceeded model
 * token limit: 2", xAI "maximum prompt length is 2", Ollama "input length exceeds the context length", Bedrock "Input is too long".
 */
export function isContextTooLong({ status, body, text }: ProviderError): boolean {
  // A limit of tokens in a minute is another matter.
  if (status === 429 || (status !== undefined && status >= 500)) return false;
  if (status === 413) return true;
  if (stringsAt(body, ["code", "type"]).some((code) => CONTEXT_CODES.has(code))) return true;
  return CONTEXT_TEXT.test(text);
}

const CONTEXT_TEXT =
  /(prompt|input|request|messages?|conversation)\b.{0,60}(?<!string )\b(too long|too large)|(context|prompt) (window|length|size|limit)|(token count|tokens?)\b.{0,60}\bexceeds?\b|exceed(s|ed)?\b.{0,60}\b(token limit|maximum number of tokens|context)/i;

/** The window's size in tokens that a refusal of `isContextTooLong` states; null when it states none. */
export function windowIn({ body, text }: ProviderError): number | null {
  const listed = valuesAt(body, ["n_ctx"]).find((value) => typeof value === "number");
  if (listed !== undefined) return listed;
  const digits = WINDOW_TEXTS.map((pattern) => pattern.exec(text)?.[1]).find(Boolean);
  const tokens = Number((digits ?? "").replaceAll(/[,_]/g, ""));
  return tokens >= MIN_WINDOW ? tokens : null;
}

/** No model has a smaller one: the number in the text is another. */
const MIN_WINDOW = 256;

const WINDOW_TEXTS = [
  />\s*([\d,_]+)\s*(?:maximum|max)?/i,
  /(?:maximum|max)\b[^.\d]{0,60}?(?:is|of|allowed|limit:?)\s*\(?([\d,_]+)/i,
  /([\d,_]+)\s*(?:tokens?\s*)?maximum context/i,
  /(?:token limit|context (?:window|length|size|limit))\D{0,20}([\d,_]+)/i,
];

/**
 * Returns the message of a refusal beside the text that the SDK found: Mistral and vLLM have a `message` at the top, FastAPI
 * `detail`, Ollama `error`.
 */
export function saidIn(body: unknown): string {
  return stringsAt(body, ["message", "detail", "error", "msg"])[0] ?? "";
}

function stringsAt(body: unknown, keys: readonly string[]): string[] {
  return valuesAt(body, keys).filter((value) => typeof value === "string");
}

/** Returns the values of members with these names anywhere in a refusal; it is never deep. */
export function valuesAt(body: unknown, keys: readonly string[], depth = 0): unknown[] {
  if (typeof body !== "object" || body === null || depth > MAX_DEPTH) return [];
  return Object.entries(body).flatMap(([name, value]) => {
    const inside = valuesAt(value, keys, depth + 1);
    return keys.includes(name) ? [value].concat(inside) : inside;
  });
}

const MAX_DEPTH = 6;
