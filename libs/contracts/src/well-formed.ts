/**
 * JSON whose texts are well-formed: half of a surrogate pair, which is written as an escape such as `\ud83d`, becomes U+FFFD. JavaScript
 * writes and reads such halves, while model providers answer them with 400 and Redis' cjson with an error. Both halves of a
 * pair may be escapes, as Python writes them; those stay. Costs a search where there is none.
 */
export function wellFormedJson(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replaceAll(ESCAPE, (escape, half?: string) =>
    half === undefined ? escape : String.raw`\ufffd`,
  );
}

/** `JSON.stringify` for what leaves the process, with its errors, and with undefined for what has no JSON, as that returns despite its type. */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (typeof json !== "string" || !SURROGATE.test(json)) return json;
  return json.replaceAll(WRITTEN_HALF, String.raw`$1\ufffd`);
}

/** Half of a pair as `JSON.stringify` writes it, which never writes a pair as escapes; an even number of backslashes before it is text. */
const WRITTEN_HALF = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** A whole pair, half of one, or any other escape: each is taken as a whole, so `\\ud83d` is a backslash and letters. */
const ESCAPE =
  /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\(u[dD][89a-fA-F][\da-fA-F]{2})|\\[^]/g;
