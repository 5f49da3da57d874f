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
