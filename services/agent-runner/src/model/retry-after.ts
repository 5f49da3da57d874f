import { saidIn, valuesAt } from "./provider-errors.ts";

/** The parts of a provider's refusal that may state the time until the next request. */
export interface Refusal {
  /** Undefined for an error in a stream. */
  readonly status?: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON of the body; undefined when it is not JSON. */
  readonly body: unknown;
}

/**
 * The pause before the next request, in milliseconds; null when the refusal states none. It is read in this order: `retry-after-ms` (Azure
 * OpenAI), `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), `retryDelay` of a `google.rpc.RetryInfo` in the body (Gemini), then the reset
 * times of the limits, in headers or, as OpenRouter has them, in the body's `error.metadata.headers`, then the text, which alone has it at Kimi.
 */
export function retryAfterOf({ status, headers, body }: Refusal, now: number): number | null {
  // OpenAI sends the reset times with every answer, also with refusals that no limit caused.
  const isLimited = status === undefined || [429, 503, 529].includes(status);
  return (
    waitOf(Number(headers["retry-after-ms"] ?? Number.NaN)) ??
    retryAfterHeader(headers["retry-after"], now) ??
    retryInfoOf(body) ??
    (isLimited ? (resetOf({ ...headers, ...headersInBody(body) }, now) ?? pauseInText(body)) : null)
  );
}

function retryAfterHeader(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const seconds = Number(value);
  return waitOf(Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - now);
}

/** `{"error":{"details":[{"@type":"…/google.rpc.RetryInfo","retryDelay":"9s"}]}}`; some proxies wrap the body in an array. */
function retryInfoOf(body: unknown): number | null {
  for (const value of valuesAt(body, ["retryDelay"])) {
    const delay = typeof value === "string" ? durationOf(value) : null;
    if (delay !== null) return delay;
  }
  return null;
}

/** "Please try again in 1.2s" or "in 6m0s" (OpenAI), "please try again after 1 seconds" (Kimi), "Please retry after 7 seconds" (Azure). */
function pauseInText(body: unknown): number | null {
  const text = saidIn(body);
  const [, count, words] =
    /\b(?:try again|retry) (?:in|after) (?:(\d+(?:\.\d+)?) seconds?|([\d.hmsu]+[hms]))/i.exec(
      text,
    ) ?? [];
  return count === undefined ? durationOf(words ?? "") : waitOf(Number(count) * 1_000);
}

/**
 * `x-ratelimit-reset-requests: 6m0s` (OpenAI, Groq), `x-ratelimit-reset: 1769900000000` (OpenRouter), `anthropic-ratelimit-tokens-reset` with a
 * date. Used-up limits count when the provider states the rest of each; otherwise the limit that ends first counts.
 */
function resetOf(headers: Readonly<Record<string, string>>, now: number): number | null {
  const resets = Object.entries(headers).flatMap(([name, value]) => {
    const key = name.toLowerCase();
    if (!/ratelimit/.test(key) || !/(^|-)reset(-|$)/.test(key)) return [];
    const waitMs = resetValue(value, now);
    if (waitMs === null) return [];
    const isUsedUp = headers[key.replace(/reset/, "remaining")]?.trim() === "0";
    return [{ waitMs, isUsedUp }];
  });
  const usedUp = resets.filter(({ isUsedUp }) => isUsedUp);
  if (usedUp.length > 0) return Math.max(...usedUp.map(({ waitMs }) => waitMs));
  return resets.length === 0 ? null : Math.min(...resets.map(({ waitMs }) => waitMs));
}

/** A larger number is not a count of seconds from now but a time since 1970. */
const LONGEST_SECONDS = 1e8;

function resetValue(text: string, now: number): number | null {
  const value = text.trim();
  const number = Number(value);
  if (value !== "" && Number.isFinite(number)) {
    if (number < LONGEST_SECONDS) return waitOf(number * 1_000);
    return waitOf((number < LONGEST_SECONDS * 1_000 ? number * 1_000 : number) - now);
  }
  return durationOf(value) ?? waitOf(Date.parse(value) - now);
}

const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000_001,
};

/** A duration as Go and Protobuf write it, such as `1m30.5s`, in milliseconds; null for any other text. */
function durationOf(text: string): number | null {
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return null;
  let sum = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g))
    sum += Number(count) * (UNIT_MS[unit] ?? 0);
  return Math.ceil(sum);
}

function waitOf(ms: number): number | null {
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : null;
}

function headersInBody(body: unknown): Record<string, string> {
  const found = valuesAt(body, ["headers"]).flatMap((value) =>
    typeof value === "object" && value !== null ? Object.entries(value) : [],
  );
  return Object.fromEntries(found.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
