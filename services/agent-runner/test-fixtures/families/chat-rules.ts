import { isObject, listIn, type Json, wordsOf } from "./family.ts";

/** The rules in which the providers of Chat Completions differ. */
interface ChatRules {
  /** The members that a request may have; missing: any, others are ignored. */
  readonly fields?: ReadonlySet<string>;
  /** The form of a call's id; missing: any. */
  readonly id?: RegExp;
  /** The types of parts of a user's message. */
  readonly parts: ReadonlySet<string>;
}

/** Members of a request: https://platform.openai.com/docs/api-reference/chat/create */
export const OPENAI_FIELDS: ReadonlySet<string> = wordsOf(
  "messages model stream stream_options tools tool_choice temperature top_p max_tokens " +
    "max_completion_tokens stop n seed user metadata frequency_penalty presence_penalty " +
    "response_format parallel_tool_calls store reasoning_effort logprobs top_logprobs " +
    "service_tier prompt_cache_key",
);

export const OPENAI_PARTS: ReadonlySet<string> = wordsOf("text image_url input_audio file");

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Returns the first rule that a request breaks, in the words of OpenAI's API; null when it breaks none. */
export function chatProblem(body: Json, { fields, id, parts }: ChatRules): string | null {
  const unknown = Object.keys(body).find((name) => fields !== undefined && !fields.has(name));
  if (unknown !== undefined) return `Unrecognized request argument supplied: ${unknown}`;
  const messages = listIn(body["messages"]);
  if (messages.length === 0 || body["model"] === undefined) return "Missing required parameter";
  return (
    messages.map((message) => messageProblem(message, parts)).find((why) => why !== null) ??
    pairingProblem(messages, id) ??
    toolProblem(listIn(body["tools"]))
  );
}

function messageProblem(
  { role, content, ...more }: Json,
  parts: ReadonlySet<string>,
): string | null {
  if (!["system", "developer", "user", "assistant", "tool"].includes(String(role)))
    return `Invalid value: '${String(role)}'. Supported values are: 'system', 'assistant', 'user', 'tool'`;
  const isCall = role === "assistant" && listIn(more["tool_calls"]).length > 0;
  if (content === null || content === undefined || content === "")
    return isCall ? null : "Invalid value for 'content': expected a string, got null.";
  const bad = listIn(content).find(({ type }) => !parts.has(String(type)));
  return bad === undefined
    ? null
    : `Invalid value: '${String(bad["type"])}'. Supported values are: 'text'`;
}

/**
 * "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'" and "messages with role 'tool' must be a
 * response to a preceeding message with 'tool_calls'": https://github.com/agno-agi/agno/issues/4345
 */
function pairingProblem(messages: readonly Json[], id: RegExp | undefined): string | null {
  let open = new Set<string>();
  for (const { role, tool_call_id: of, tool_calls: calls } of messages) {
    if (role === "tool") {
      if (!open.delete(String(of)))
        return "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'";
      continue;
    }
    if (open.size > 0)
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': ${[...open].join(", ")}`;
    const made = listIn(calls);
    open = new Set(made.map((call) => String(call["id"])));
    if (open.size < made.length) return "Duplicate value for 'tool_call_id'";
    const why = made.map((call) => callProblem(call, id)).find((problem) => problem !== null);
    if (why !== undefined) return why;
  }
  return open.size === 0
    ? null
    : "An assistant message with 'tool_calls' must be followed by tool messages";
}

function callProblem({ id, type, function: made }: Json, form: RegExp | undefined): string | null {
  if (form !== undefined && !form.test(String(id)))
    return `Invalid 'messages[1].tool_calls[0].id': '${String(id)}' does not match ${String(form)}`;
  if (type !== "function" || !isObject(made)) return "Missing required parameter: 'function'";
  if (!NAME.test(String(made["name"])))
    return "Invalid 'messages[1].tool_calls[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'";
  return isObject(parsed(made["arguments"])) ? null : "Invalid 'function.arguments': expected JSON";
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}

/** Names and schemas of functions: https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools */
function toolProblem(tools: readonly Json[]): string | null {
  for (const { type, function: tool } of tools) {
    if (type !== "function" || !isObject(tool)) return "Invalid value for 'tools[0].type'";
    if (!NAME.test(String(tool["name"]))) return "Invalid 'tools[0].function.name'";
    const { parameters } = tool;
    if (isObject(parameters) && parameters["type"] !== "object")
      return `Invalid schema for function '${String(tool["name"])}': schema must be a JSON Schema of 'type: "object"'`;
  }
  return null;
}
