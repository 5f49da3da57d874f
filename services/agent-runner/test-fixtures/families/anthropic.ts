import { SIGNATURE } from "../model-protocols.ts";
import { isObject, listIn, type Family, type Json, type Refusal, wordsOf } from "./family.ts";

/** Members of a request: https://docs.claude.com/en/api/messages */
const FIELDS: ReadonlySet<string> = wordsOf(
  "model messages max_tokens system stream tools tool_choice metadata temperature top_p top_k " +
    "stop_sequences thinking service_tier output_config context_management cache_control",
);

/**
 * Anthropic's Messages: https://docs.claude.com/en/api/messages
 *
 * - each call has its result at the beginning of the next message (https://github.com/anthropics/claude-code/issues/8210,
 *   https://github.com/anthropics/claude-code/issues/18947), and its id the form `^[a-zA-Z0-9_-]+$`;
 * - thinking comes with a signature, which is checked when it is sent back (https://docs.claude.com/en/docs/build-with-claude/extended-thinking);
 * - texts are not empty, and at most four parts are marked for the cache (https://docs.claude.com/en/docs/build-with-claude/prompt-caching);
 * - limits state `retry-after`; no credit is a 400 (https://docs.claude.com/en/api/errors).
 */
export const anthropic: Family = {
  protocol: "messages",
  model: "claude-sonnet-4-5",
  settings: (url) => ({ type: "anthropic", baseURL: `${url}/v1`, apiKeyEnv: "FAMILY_KEY" }),
  refusal({ path, headers, body }) {
    if (path !== "/v1/messages") return anthropicError(404, "not_found_error", "Not Found");
    if (headers["x-api-key"] !== "key")
      return anthropicError(401, "authentication_error", "invalid x-api-key");
    const why =
      headers["anthropic-version"] === undefined
        ? "anthropic-version: header is required"
        : anthropicProblem(body);
    return why === null ? null : anthropicError(400, "invalid_request_error", why);
  },
  lessons: [],
  callId: (index) => `toolu_01A1b2C3d4E5f6G7h8J9k0Lm${index}`,
  reasons: true,
  sees: true,
  busy: (seconds) => ({
    ...anthropicError(
      429,
      "rate_limit_error",
      "This request would exceed your organization's rate limit",
    ),
    headers: { "retry-after": String(seconds) },
  }),
  quota: anthropicError(
    400,
    "invalid_request_error",
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ),
  tooLong: anthropicError(
    400,
    "invalid_request_error",
    "prompt is too long: 9001 tokens > 8192 maximum",
  ),
};

function anthropicError(status: number, type: string, message: string): Refusal {
  return { status, body: { type: "error", error: { type, message }, request_id: "req_1" } };
}

/** The first rule that a request breaks; null when it breaks none. */
export function anthropicProblem(body: Json): string | null {
  const unknown = Object.keys(body).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  const { max_tokens: limit, thinking } = body;
  if (typeof limit !== "number" || limit < 1) return "max_tokens: Field required";
  if (
    isObject(thinking) &&
    typeof thinking["budget_tokens"] === "number" &&
    limit <= thinking["budget_tokens"]
  )
    return "`max_tokens` must be greater than `thinking.budget_tokens`";
  if (isObject(thinking) && thinking["type"] === "enabled" && body["temperature"] !== undefined)
    return "`temperature` may only be set to 1 when thinking is enabled";
  const found = JSON.stringify(body).split('"cache_control":').length - 1;
  if (found > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`;
  const messages = listIn(body["messages"]);
  if (messages[0]?.["role"] !== "user") return 'messages: first message must use the "user" role';
  return (
    messages
      .map((message, index) => messageProblem(messages, message, index))
      .find((why) => why !== null) ?? null
  );
}

function messageProblem(messages: readonly Json[], message: Json, index: number): string | null {
  const { role } = message;
  if (role !== "user" && role !== "assistant")
    return `messages.${index}.role: Input should be 'user' or 'assistant'`;
  const blocks = blocksOf(message);
  if (blocks.length === 0) return `messages.${index}: all messages must have non-empty content`;
  const why = blocks.map(blockProblem).find((problem) => problem !== null);
  if (why !== undefined) return `messages.${index}.${why}`;
  const called = idsIn(blocks, "tool_use", "id");
  const answered = idsIn(blocksOf(messages[index + 1]), "tool_result", "tool_use_id");
  const open = called.filter((id) => !answered.includes(id));
  if (open.length > 0)
    return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
  const results = idsIn(blocks, "tool_result", "tool_use_id");
  const before = idsIn(blocksOf(messages[index - 1]), "tool_use", "id");
  const odd = results.find((id) => !before.includes(id));
  if (odd !== undefined)
    return `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${odd}.`;
  const isFirst = blocks.slice(0, results.length).every(({ type }) => type === "tool_result");
  return isFirst ? null : `messages.${index}: \`tool_result\` blocks must come first`;
}

function blockProblem(block: Json, index: number): string | null {
  const at = `content.${index}`;
  switch (block["type"]) {
    case "text":
      return String(block["text"]).trim() === ""
        ? `${at}: text content blocks must be non-empty`
        : null;
    case "thinking":
      return block["signature"] === SIGNATURE
        ? null
        : `${at}: Invalid \`signature\` in \`thinking\` block`;
    case "tool_use":
      if (!/^[a-zA-Z0-9_-]+$/.test(String(block["id"])))
        return `${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      return isObject(block["input"])
        ? null
        : `${at}.tool_use.input: Input should be a valid dictionary`;
    case "tool_result":
    case "image":
    case "document":
      return null;
    default:
      return `${at}: Input tag '${String(block["type"])}' found using 'type' does not match any of the expected tags`;
  }
}

function blocksOf(message: Json | undefined): readonly Json[] {
  const content = message?.["content"];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return listIn(content);
}

function idsIn(blocks: readonly Json[], type: string, member: string): string[] {
  return blocks.filter((block) => block["type"] === type).map((block) => String(block[member]));
}
