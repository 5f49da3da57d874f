import { isObject, listIn, type Family, type Json, type Refusal, wordsOf } from "./family.ts";

/** Members of a request: https://ai.google.dev/api/generate-content */
const FIELDS: ReadonlySet<string> = wordsOf(
  "contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent " +
    "labels",
);

/**
 * Google's Gemini: https://ai.google.dev/api/generate-content
 *
 * - a turn of calls is followed by one with as many results (https://github.com/google-gemini/gemini-cli/issues/4217);
 * - Gemini 3 requires the signature of the first call of each step since the last message of a user, its own or the documented stand-in
 *   (https://ai.google.dev/gemini-api/docs/thought-signatures, https://github.com/continuedev/continue/issues/8785);
 * - names of functions begin with a letter or `_` (https://ai.google.dev/api/caching#FunctionDeclaration);
 * - a limit states its pause in `google.rpc.RetryInfo`, and a daily quota its name (https://ai.google.dev/gemini-api/docs/rate-limits).
 */
export const gemini: Family = {
  protocol: "gemini",
  model: "gemini-3-pro-preview",
  settings: (url) => ({ type: "google", baseURL: `${url}/v1beta`, apiKeyEnv: "FAMILY_KEY" }),
  refusal({ path, query, headers, body }) {
    if (!/^\/v1beta\/models\/[^/]+:streamGenerateContent$/.test(path) || query.get("alt") !== "sse")
      return googleError(404, "NOT_FOUND", "models/x is not found for API version v1beta");
    if (headers["x-goog-api-key"] !== "key")
      return googleError(
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
      );
    const why = geminiProblem(body, /models\/gemini-3/.test(path));
    return why === null ? null : googleError(400, "INVALID_ARGUMENT", why);
  },
  lessons: [],
  callId: (index) => `unused_${index}`,
  reasons: true,
  sees: true,
  busy: (seconds) =>
    googleError(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details.",
      [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }],
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` },
      ],
    ),
  quota: googleError(
    429,
    "RESOURCE_EXHAUSTED",
    "You exceeded your current quota, please check your plan and billing details.",
    [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }],
      },
    ],
  ),
  tooLong: googleError(
    400,
    "INVALID_ARGUMENT",
    "The input token count (9001) exceeds the maximum number of tokens allowed (8192).",
  ),
  stream: (chunks, { reasoning }) => [
    ...(reasoning === undefined ? [] : [thoughtChunk(reasoning)]),
    ...chunks.map(withSignature),
  ],
};

const SIGNED = "c2lnbmVkIGJ5IGdlbWluaQ==";
/** https://ai.google.dev/gemini-api/docs/thought-signatures: for calls that another model made. */
const STAND_IN = "skip_thought_signature_validator";

function googleError(
  code: number,
  status: string,
  message: string,
  details?: readonly Json[],
): Refusal {
  return { status: code, body: { error: { code, message, status, ...(details && { details }) } } };
}

/** The first rule that a request breaks; null when it breaks none. Models before Gemini 3 need no signatures. */
export function geminiProblem(body: Json, needsSignatures: boolean): string | null {
  const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
  if (unknown !== undefined)
    return `Invalid JSON payload received. Unknown name "${unknown}": Cannot find field.`;
  const declared = listIn(body["tools"]).flatMap(({ functionDeclarations }) =>
    listIn(functionDeclarations),
  );
  const bad = declared.find(({ name }) => !/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(String(name)));
  if (bad !== undefined) return "Invalid function name. Must start with a letter or an underscore.";
  const contents = listIn(body["contents"]);
  const turn = contents.findLastIndex(
    (content) =>
      content["role"] === "user" &&
      partsOf(content).some((part) => "text" in part || "inlineData" in part),
  );
  for (const [index, content] of contents.entries()) {
    const { role } = content;
    if (role !== "user" && role !== "model") return "Please use a valid role: user, model.";
    const parts = partsOf(content);
    if (parts.length === 0)
      return "Unable to submit request because it must include at least one parts field";
    const calls = parts.filter((part) => "functionCall" in part);
    const results =
      contents[index + 1] === undefined
        ? []
        : partsOf(contents[index + 1] ?? {}).filter((part) => "functionResponse" in part);
    if (calls.length !== results.length && (calls.length > 0 || results.length > 0))
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    const [first] = calls;
    const signature = first?.["thoughtSignature"];
    if (
      needsSignatures &&
      index > turn &&
      first !== undefined &&
      signature !== SIGNED &&
      signature !== STAND_IN
    )
      return "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.";
  }
  return null;
}

function partsOf(content: Json): readonly Json[] {
  return listIn(content["parts"]);
}

function thoughtChunk(text: string): Json {
  const parts = [{ text, thought: true }];
  return { candidates: [{ index: 0, content: { role: "model", parts } }], modelVersion: "served" };
}

/** The first call of an answer has a signature, others have none. */
function withSignature(chunk: Json): Json {
  const [candidate] = listIn(chunk["candidates"]);
  const content = candidate?.["content"];
  if (!isObject(content)) return chunk;
  const parts = partsOf(content);
  const first = parts.findIndex((part) => "functionCall" in part);
  if (first === -1) return chunk;
  const signed = parts.toSpliced(first, 1, { ...parts[first], thoughtSignature: SIGNED });
  return { ...chunk, candidates: [{ ...candidate, content: { ...content, parts: signed } }] };
}
