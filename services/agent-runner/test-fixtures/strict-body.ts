/**
 * Why a provider refuses the body of a request, null when it does not: half of a surrogate pair is no JSON for them. Anthropic answers 400 with
 * "The request body is not valid JSON: no low surrogate in string: line 1 column … (char …)" (invalid_request_error), OpenAI 400 with "We could
 * not parse the JSON body of your request" (both as users report them for lone surrogates).
 */
export function refusalOf(body: unknown): string | null {
  return /[^\\](?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(body))
    ? "The request body is not valid JSON: no low surrogate in string"
    : null;
}
