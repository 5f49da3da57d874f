import { anthropicProblem } from "./families/anthropic.ts";
import { chatProblem, OPENAI_FIELDS, OPENAI_PARTS } from "./families/chat-rules.ts";
import type { Json } from "./families/family.ts";
import { geminiProblem } from "./families/gemini.ts";
import { responsesProblem } from "./families/openai-responses.ts";
import type { Protocol } from "./model-protocols.ts";

/**
 * Returns why the maker of the protocol refuses the body of a request; null when it does not. The conformance table of providers has the rules of
 * every other provider.
 */
export function refusalOf(body: Json, protocol?: Protocol): string | null {
  /*
   * Half of a surrogate pair is no JSON for providers. Anthropic answers 400 with "The request body is not valid JSON: no low surrogate in string:
   * line 1 column … (char …)" (invalid_request_error), OpenAI 400 with "We could not parse the JSON body of your request" (both as users report
   * them for lone surrogates).
   */
  if (/[^\\](?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(body)))
    return "The request body is not valid JSON: no low surrogate in string";
  switch (protocol) {
    case "messages":
      return anthropicProblem(body);
    case "responses":
      return responsesProblem(body);
    case "gemini":
      return geminiProblem(body, false);
    case "chat":
      return chatProblem(body, { fields: OPENAI_FIELDS, parts: OPENAI_PARTS, id: /^.{1,40}$/ });
    default:
      return null;
  }
}
